"""What a page folds: code is behind a line that says what it is, and beside each formula stands what its check found.

A cell that checks statements is called by what came out of them, which the list at the foot of the page has, in their
order. A section of the class ``more`` shows its heading and the paragraph under it, the rest opens.
"""

import ast
import re
from html import escape, unescape
from itertools import pairwise

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

LIST = re.compile(r'<ul class="uaftc-checks">(.*?)</ul>(?=\s*(?:</div>|$))', re.DOTALL)
ITEM = re.compile(r"<b>(\w[\w ]*)</b> (.*?)(?:</summary>|</li>)", re.DOTALL)
ERROR = re.compile(r"error ([\d.e+-]+)\)?$")
SHOWN = 6  # measured values that the line of a cell tells
STATES = ("finding", "identity")
CHECKS = re.compile(r"\bchapter\.(?:finding|identity|housekeeping)\(|\b(?:most|surely|undecided|measured)\(")
EQUATION = re.compile(r"^Eq (\w+)", re.MULTILINE)


def element(node):
    return node.get("nb_element") if isinstance(node, nodes.Element) else None


def part(cell, name):
    """The source or the output of a cell; None if it has none."""
    return next((one for one in cell.children if element(one) == f"cell_code_{name}"), None)


def html_of(node):
    """The HTML that a cell puts out."""
    return "".join(one.astext() for one in node.findall(nodes.raw) if "html" in one["format"]) if node else ""


def statements(html):
    """What a list of checks says: the kind and the text of each."""
    return [(kind, unescape(text)) for found in LIST.findall(html) for kind, text in ITEM.findall(found)]


def texts(source):
    """Patterns of the texts of a cell, each with the size of its fixed part; what is filled in may be anything."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic of IPython
        return []
    stated = [node.args[0] for node in ast.walk(tree) if getattr(getattr(node, "func", 0), "attr", 0) in STATES]
    found = []
    for node in ast.walk(tree):
        pieces = node.values if isinstance(node, ast.JoinedStr) else [node]
        fixed = [one.value if isinstance(getattr(one, "value", 0), str) else "" for one in pieces]
        size = sum(map(len, fixed))
        if size >= (3 if node in stated else 14):
            found.append((size, re.compile(".*?".join(map(re.escape, fixed)))))
    return found


def share_out(cells, lines):
    """The lines of each cell: they come in the cells' order, and together fit the texts of their cells best."""
    patterns, shared = [texts(source) for source in cells], [[] for _ in cells]
    # Of the lines so far, if the last is of this cell: how well they fit, and their cells.
    best = [(0, [])] * len(cells)
    for _, text in lines:
        fits = [max((size for size, one in of_cell if one.search(text)), default=0) for of_cell in patterns]
        before = [max(best[: n + 1], key=lambda one: one[0]) for n in range(len(cells))]
        best = [(score + fit, [*path, n]) for n, ((score, path), fit) in enumerate(zip(before, fits))]
    for line, n in zip(lines, max(best, key=lambda one: one[0], default=(0, []))[1]):
        shared[n].append(line)
    return shared


def worst(texts):
    """The largest error of what was proved, in brackets; nothing where none is told."""
    errors = [float(error[1]) for text in texts if (error := ERROR.search(text))]
    most = f"{max(errors):.0e}".replace("0e+00", "0").replace("e-", "e−") if errors else ""
    return f" (error {'at most ' * (len(errors) > 1)}{most})" * bool(errors)


def measures(texts):
    """What was measured of equations that no error tells of, in brackets: "(measured order 1, 2, 2)"."""
    (first, *_), *others = found = [text.rpartition(", ")[2].rpartition(" ")[::2] for text in texts]
    same = all(what == first for what, _ in others)
    told = f"{first} {', '.join(value for _, value in found)}" if same else ", ".join(map(" ".join, found))
    return f" ({told})".replace(" -", " −")


def told(lines):
    """What came out, in a few words."""
    proved = [text for kind, text in lines if kind == "proved"]
    parts = [(f"{len(proved)} proved" if len(proved) > 1 else "proved") + worst(proved)] * bool(proved)
    if found := [text.rpartition(": ")[2] for kind, text in lines if kind != "proved"]:
        measured = ", ".join(text.partition(" ")[0] for text in found[:SHOWN]) + ", …" * (len(found) > SHOWN)
        parts.append(f"{len(found)} findings checked: {measured}" if len(found) > 1 else f"finding checked: {found[0]}")
    return f"✓ {', '.join(parts)}"


def equations(lines):
    """What came out of a proof of several equations: which hold, how nearly, and where they do not."""
    found = []
    for what in ("proved", "derived", "as printed fails", "outside its condition fails"):
        where, _, kind = what.rpartition(" ")
        texts = [text for one, text in lines if one == kind and where in text]
        if texts:
            numbers = ", ".join(EQUATION.findall("\n".join(texts)))
            found.append(f"{what} {numbers}" if where else f"{what}: Eq {numbers}{worst(texts) or measures(texts)}")
    told = "; ".join(found)
    return f"✓ {told[0].upper()}{told[1:]}"


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
    first, waiting = None, []
    for cell in cells:
        source, output = part(cell, "source").astext(), html_of(part(cell, "output"))
        checks = CHECKS.search(source)
        if "tag_parameters" in cell["classes"]:
            first = cell
            fold(cell, "Parameters and preparation", "code")
        elif first and ("chapter = Chapter(" in source or not output and re.match(r"(?:from|import) ", source)):
            join(first, cell)
        elif statements(output) and re.fullmatch(r"(?:\s*prove\([^()]*(?:\([^()]*\))?[^()]*\)\s*)+", source):
            cell.remove(part(cell, "source"))  # what it puts out opens to the proof
        elif "tag_exercise" in cell["classes"]:
            fold(cell, "How an answer is tried", "code")
        elif "tag_solution" in cell["classes"]:
            fold(cell, "A solution", "code")
        elif checks or "chapter.show()" in source:
            waiting.append(cell)
        elif "hide_mode" in cell:
            fold(cell, "Code", "code")
        if "chapter.show()" in source:
            name_checks(waiting, statements(output))
            waiting = []
    gather(cells)
    answer = next((cell for cell in cells if "<figure" in html_of(part(cell, "output"))), None)
    if first and answer and first.parent is answer.parent:  # what only prepares stands behind the figure that answers
        if is_code(answer):
            join(first, answer)
            first["prompt_show"] = first["prompt_hide"] = "Parameters and code"
        first.parent.remove(first)
        answer.parent.insert(answer.parent.index(answer) + 1, first)


def name_checks(cells, lines):
    """Call each cell by what its statements came to."""
    shared = share_out([part(cell, "source").astext() for cell in cells], lines)
    for cell, of_it in zip(cells, shared):
        fold(cell, told(of_it) if of_it else "Code", "checks" if of_it else "code")
        items = "".join(f"<li><b>{kind}</b> {escape(text)}</li>" for kind, text in of_it)
        part(cell, "source").insert(
            0, nodes.raw("", f'<ul class="uaftc-checks">{items}</ul>' * bool(of_it), format="html")
        )


def fold_statements(doctree):
    """The list of statements of a page is one line that opens; the line counts the equations above it, too."""
    numbers = set()
    for raw in doctree.findall(nodes.raw):
        lines = statements(raw.astext())
        if not lines or element(raw.parent) == "cell_code_source":  # these stand behind the line of their cell
            continue
        if all(EQUATION.match(text) for _, text in lines):
            line = equations(lines)
            numbers |= {EQUATION.match(text)[1] for _, text in lines}
        elif len(lines) < 2:
            continue
        else:
            count = {kind: sum(one == kind for one, _ in lines) for kind, _ in lines}
            line = f"{len(lines)} statements checked: {', '.join(f'{n} {kind}' for kind, n in count.items())}"
            line += f"; {len(numbers)} equation{'s' * (len(numbers) > 1)} checked above" * bool(numbers)
        html = f'<details class="uaftc-statements"><summary>{escape(line)}</summary>{raw.astext()}</details>'
        raw.children[:] = [nodes.Text(html)]


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
    fold_statements(doctree)
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
