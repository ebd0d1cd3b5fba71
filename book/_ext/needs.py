"""Under its title each chapter says what should be read before it, how long it takes, and where it says it in short."""

import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.errors import ExtensionError

REFERENCE = "reference"  # the line of needs.toml that names them
MEANING, LONG = "What it means", 4  # the section that says the whole in short; more sections than these are long
WORDS, LOOKS = 200, 3  # a minute: words that are read, figures and formulas that are looked at


def minutes(doctree):
    """How long what is not folded takes to read, to the nearest five minutes."""
    folded = {id(one) for section in doctree.findall(nodes.section) if "more" in section["classes"]
              for one in section.findall(nodes.Element)}  # fmt: skip
    open_to_see = [one for one in doctree.findall(nodes.Element) if id(one) not in folded]
    words = sum(len(one.astext().split()) for one in open_to_see if isinstance(one, nodes.paragraph))
    looks = sum(isinstance(one, nodes.math_block) for one in open_to_see)
    looks += sum(one.astext().count("<figure") for one in open_to_see if isinstance(one, nodes.raw))
    return max(5, 5 * round((words / WORDS + looks / LOOKS) / 5))


def before(app, docname):
    """The pages that this one builds on, None if it is no chapter; and whether it is one to look things up in."""
    path = Path(app.srcdir) / "needs.toml"
    app.env.note_dependency(str(path))
    needs = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := {one for names in needs.values() for one in names} - app.env.found_docs:
        raise ExtensionError(f"needs.toml names pages that are not there: {', '.join(sorted(unknown))}")
    return needs.get(docname), docname in needs.get(REFERENCE, [])


def say(app, doctree):
    docname = app.env.docname
    (needed, reference), title = before(app, docname), next(iter(doctree.findall(nodes.title)), None)
    if needed is None or title is None:
        return
    line = nodes.paragraph(classes=["page-needs"])
    line += nodes.Text("A page to look things up in" if reference else f"{minutes(doctree)} minutes to read")
    for n, name in enumerate(needed):
        link = pending_xref("", refdomain="std", reftype="doc", reftarget=f"/{name}", refexplicit=False, refdoc=docname)
        link += nodes.inline("", name)
        line += [nodes.Text(", after " if n == 0 else " and "), link]
    line += nodes.Text(".")
    sections = [one for one in title.parent.children if isinstance(one, nodes.section)]
    meaning = next((one["ids"][0] for one in sections if one[0].astext() == MEANING), None)
    if meaning and len(sections) > LONG:
        line += [nodes.Text(" In short: "), nodes.reference("", MEANING.lower(), refid=meaning), nodes.Text(".")]
    title.parent.insert(title.parent.index(title) + 1, line)


def setup(app):
    app.connect("doctree-read", say, priority=400)  # before the sections are folded
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
