"""What a page folds: code is behind a line that says what it is.

The line of a cell that proves statements says by how much both sides differ; their list opens with the code. A section
of the class ``more`` shows its heading and the paragraph under it, the rest opens.
"""

import re
from itertools import pairwise

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from uaftc_book.wording import error_in_words

LIST = '<ul class="uaftc-checks">'
ERROR = re.compile(r"\(error (\S+)\)</li>")
IMPORTS = re.compile(r"(?:from|import) ")


def element(node):
    return node.get("nb_element") if isinstance(node, nodes.Element) else None


def part(cell, name):
    """The source or the output of a cell; None if it has none."""
    return next((one for one in cell.children if element(one) == f"cell_code_{name}"), None)


def html_of(node):
    """The HTML that a cell puts out."""
    return "".join(one.astext() for one in node.findall(nodes.raw) if "html" in one["format"]) if node else ""


def taken(cell):
    """The list of checks that a cell puts out, taken from its output; empty if it puts out none."""
    lists, output = [], part(cell, "output")
    for shown in list(output.children) if output else []:
        if (html := html_of(shown)).startswith(LIST):
            lists.append(html)
            output.remove(shown)
    if lists and not output.children:
        cell.remove(output)
    return "".join(lists).replace(f"</ul>{LIST}", "")


def label(checks):
    """By how much the two sides of a cell's proofs differ."""
    errors = [*map(float, ERROR.findall(checks))]
    proved = f"{len(errors)} proved" if len(errors) > 1 else "proved"
    return f"✓ {proved} ({error_in_words(errors)})".replace("e-", "e−")


def fold(cell, says, kind):
    """Put the code of a cell behind a line that says what it is."""
    cell.setdefault("hide_mode", "input")
    cell["prompt_show"] = cell["prompt_hide"] = says
    cell["classes"].append(f"folded-{kind}")


def join(one, cell, place=None):
    """Put a cell's code behind the line of another one, at a place of its code or last."""
    code, target = part(cell, "source"), part(one, "source")
    cell.remove(code)
    place = len(target) if place is None else place
    target[place:place] = code.children
    if not cell.children:
        cell.parent.remove(cell)


def is_code(cell):
    """Whether the cell's code stands behind a line that says no more than this."""
    return cell.get("prompt_show") == "Code" and part(cell, "source") is not None


def gather(cells):
    """Put code that shows nothing, or stands right before other folded code, behind the next line of its section."""
    for cell, after in pairwise(cell for cell in cells if "prompt_show" in cell and cell in cell.parent.children):
        where, known = cell.parent, is_code(after) or "folded-checks" in after["classes"]
        if not is_code(cell) or not known or after.parent is not where:
            continue
        right_before = where.index(after) == where.index(cell) + 1 and cell["hide_mode"] == "input"
        if part(cell, "output") is None or right_before and is_code(after):
            below = isinstance(part(after, "source")[0], nodes.raw)  # what came of its checks
            join(after, cell, int(below))


def name_cells(doctree):
    """Fold all code that checks or prepares; leave open what a reader is to read."""
    cells = [node for node in doctree.findall(nodes.container) if element(node) == "cell_code" and part(node, "source")]
    first = None
    for cell in cells:
        source, checks = part(cell, "source"), taken(cell)
        code, output = source.astext(), html_of(part(cell, "output"))
        if "tag_parameters" in cell["classes"]:
            first = cell
            fold(cell, "Parameters and preparation", "code")
        elif first and ("chapter = Chapter(" in code or not output and not checks and IMPORTS.match(code)):
            join(first, cell)
        elif '<details class="uaftc-statements">' in output or code == "chapter.show()":
            cell.remove(source)  # what it puts out opens to the proof, or counts
        elif "tag_solution" in cell["classes"]:
            fold(cell, "Check and solution", "code")
        elif checks:
            fold(cell, label(checks), "checks")
            source.insert(0, nodes.raw("", checks, format="html"))
        elif "hide_mode" in cell or '<p class="uaftc-statements">' in output:
            fold(cell, "Code", "code")
    gather(cells)
    answer = next((cell for cell in cells if "<figure" in html_of(part(cell, "output"))), None)
    if first and answer and first.parent is answer.parent:  # what only prepares stands behind the figure that answers
        if is_code(answer):
            join(first, answer)
            first["prompt_show"] = first["prompt_hide"] = "Parameters and code"
        first.parent.remove(first)
        answer.parent.insert(answer.parent.index(answer) + 1, first)


def fold_sections(doctree):
    """Leave heading and first paragraph of a section of the class ``more``; the rest opens."""
    for section in list(doctree.findall(nodes.section)):
        if "more" not in section["classes"]:
            continue
        first = 2 if isinstance(section.children[1], nodes.paragraph) else 1
        rest = section.children[first:]
        words = sum(len(one.astext().split()) for node in rest for one in node.findall(nodes.paragraph))
        figures, tables = (len(re.findall(f"<{tag}\\b", "".join(map(html_of, rest)))) for tag in ("figure", "table"))
        counted = ((figures, "figure"), (tables, "table"), (words, "word"))
        parts = [f"{n} {what}{'s' * (n > 1)}" for n, what in counted if n]
        del section.children[first:]
        opening = f'<details class="section-more"><summary>More: {", ".join(parts)}</summary>'
        section += [nodes.raw("", opening, format="html"), *rest, nodes.raw("", "</details>", format="html")]


def fold_all(app, doctree):
    name_cells(doctree)
    fold_sections(doctree)


class CodeBelow(SphinxPostTransform):
    """What a cell puts out comes before the line that its code stands behind."""

    default_priority = 200  # myst_nb has just hidden the code
    formats = ("html",)

    def run(self, **kwargs):
        for cell in [one for one in self.document.findall(nodes.container) if one.get("hide_mode") == "input"]:
            if "prompt_show" in cell[0] and element(cell[-1]) == "cell_code_output":
                cell.append(cell.pop(0))


def setup(app):
    app.connect("doctree-read", fold_all)
    app.add_post_transform(CodeBelow)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
