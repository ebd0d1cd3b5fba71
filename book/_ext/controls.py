"""Settings that the text names are controls: ``{set}`λ = 100` `` is a button that sets the live figure nearest to it.

The lab hears of it (uaftc_book/lab/js/base.js). Several settings go together, ``{set}`λ = 10 and seed 0` ``; a bare
number is λ. Where nothing trains, on paper or in a notebook, it is the text itself.
"""

import re
from html import escape
from urllib.parse import urlencode

from docutils import nodes

NAMES = {"λ": "lam", "seed": "seed", "penalty": "penalty"}
SETTING = re.compile(rf"(?:({'|'.join(NAMES)})\s*=?\s*)?(\d+(?:\.\d+)?)")


class setting(nodes.inline):  # noqa: N801, as docutils names its nodes
    """A piece of text that names settings."""


def role(name, rawtext, text, lineno, inliner, options=None, content=()):
    wanted = {NAMES[named or "λ"]: value for named, value in SETTING.findall(text)}
    if not wanted:
        return [], [inliner.reporter.error(f"{rawtext} names no setting: {', '.join(NAMES)}", line=lineno)]
    return [setting(rawtext, text, sets=urlencode(wanted))], []


def begin(translator, node):
    translator.body.append(f'<button type="button" class="set" data-set="{escape(node["sets"])}">')


def end(translator, node):
    translator.body.append("</button>")


def setup(app):
    app.add_node(setting, html=(begin, end))
    app.add_role("set", role)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
