"""The symbols of the book, from symbols.toml: their page, their entries in the index, what formulas say of them.

``{symbols} GROUP`` makes the table of a group. The script that finds symbols in formulas gets them in a file beside
it, for a page that is read from file:// can fetch nothing; pages without a formula load neither.
"""

import json
import re
import tomllib
from pathlib import Path

from docutils.nodes import Element, make_id
from docutils.statemachine import StringList
from sphinx.addnodes import index
from sphinx.util.docutils import SphinxDirective

from uaftc_lib import files

FILE = "symbols.toml"
SCRIPTS = ("symbols-data.js", "symbols.js")
HEADER = ["| symbol | what it is | first in, and in the code |", "|---|---|---|"]


def read(folder):
    """All that symbols.toml says."""
    return tomllib.loads((Path(folder) / FILE).read_text(encoding="utf-8"))


def anchor(symbol):
    """Its address on the page of symbols."""
    return "symbol-" + make_id(symbol["name"])


def row(symbol):
    """A line of the table, in Markdown."""
    return (
        f"| [${symbol['tex']}$]{{#{anchor(symbol)}}} | **{symbol['name']}** ({symbol['shape']})<br>{symbol['meaning']} "
        f"| {{doc}}`{symbol['chapter']}`<br>`{symbol['code'].removeprefix('uaftc_lib.')}` |"
    )


def scripted(told):
    """What the script needs, as JavaScript; a letter that is local to a page has a name alone."""
    kept = ("tex", "also", "plain", "name", "meaning", "shape", "only")
    symbols = [{key: one[key] for key in kept if key in one} | {"id": anchor(one)} for one in told["symbol"]]
    symbols += [
        {"tex": tex, "only": [page], "plain": re.sub(r"\\boldsymbol|[\\{}_^]", "", tex).strip(), "name": name}
        for page, letters in told["local"].items()
        for tex, name in letters.items()
    ]
    return f"window.SYMBOLS = {json.dumps(symbols, ensure_ascii=False)};\n"


class Symbols(SphinxDirective):
    """The symbols of a group."""

    required_arguments = 1

    def run(self):
        self.env.note_dependency(str(Path(self.env.srcdir) / FILE))
        chosen = [one for one in read(self.env.srcdir)["symbol"] if one["group"] == self.arguments[0]]
        if not chosen:
            raise self.error(f"no symbol has the group {self.arguments[0]!r}")
        names = [(anchor(one), f"{one['plain']}, {one['name']}", f"{one['name']}, {one['plain']}") for one in chosen]
        entries = [("single", name, where, "", None) for where, *both in names for name in both]
        lines = [":::{div} symbols", *HEADER, *map(row, chosen), ":::"]
        table = Element()
        self.state.nested_parse(StringList(lines, source=FILE), self.content_offset, table)
        return [index(entries=entries), *table.children]


def add_scripts(app):
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static" / SCRIPTS[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write(target, scripted(read(app.srcdir)))
        app.add_js_file(SCRIPTS[0])  # book/_static/symbols.js is added with all that stands there


def only_beside_formulas(app, pagename, templatename, context, doctree):
    if not app.env.get_domain("math").has_equations(pagename):
        context["script_files"] = [
            one for one in context["script_files"] if Path(str(one.filename or "")).name not in SCRIPTS
        ]


def setup(app):
    app.add_directive("symbols", Symbols)
    app.connect("builder-inited", add_scripts)
    app.connect("html-page-context", only_beside_formulas)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
