"""Nothing of the paper is lost: each figure, table, equation and appendix has a page; pages can be run and moved."""

import re

import pytest

from uaftc_book.chapters import map as figures
from uaftc_book.contents import load_chapters
from uaftc_book.equations import REGISTRY
from uaftc_book.publish import CHECKOUT, chapters, code_cells, parameters_of, read_published, read_source

APPENDICES = {  # of the paper, and the page that holds each
    "A": "A_gradients", "B": "A_geometry", "C": "A_synthetic", "D": "A_variants", "E": "A_variants", "F": "A_variants",
    "G": "A_table2",
}  # fmt: skip


def text_of(chapter: str) -> str:
    """All that a page says: its words, and what its cells put out."""
    cells = read_published(chapter).cells
    return "\n".join([cell.source for cell in cells] + [str(cell.get("outputs", "")) for cell in cells])


def in_words(text: str, kind: str, number: str) -> bool:
    """Whether a text names "Fig S13" or "Table 2", also in a list or a range ("Figs S13 to S28")."""
    if re.search(rf"\b{number}\b", " ".join(re.findall(rf"{kind}s?[  ][^.<;]*", text))):
        return True
    ends = re.findall(rf"{kind}s[  ](S?)(\d+)(?: to |[–-])S?(\d+)", text)
    return any(number == f"{s}{n}" for s, low, high in ends for n in range(int(low), int(high) + 1))


def test_every_figure_and_table_has_a_page_that_names_it():
    wanted = [f"Fig {n}" for n in range(1, 6)] + [f"Fig S{n}" for n in range(1, 29)]
    wanted += ["Table 1", "Table 2", "Table S1"]
    pages = {}
    for item in figures.items():
        whole = re.match(r"(?:Fig|Table) S?\d+", item.number)[0]
        pages.setdefault(whole, set()).add(item.page.partition("#")[0])
    assert set(wanted) == set(pages)
    missing = [(whole, page) for whole, named in pages.items() for page in named
               if not in_words(text_of(page), *whole.split())]  # fmt: skip
    assert missing == []


def test_every_equation_stands_on_the_page_that_proves_it():
    load_chapters()
    assert [number for number in range(1, 84) if number not in REGISTRY] == []
    labels = {name: set(re.findall(r"^:label: eq-(\d+)$", text_of(name), re.MULTILINE)) for name in chapters()}
    assert [n for n, one in REGISTRY.items() if str(n) not in labels[one.page]] == []


@pytest.mark.parametrize("letter", APPENDICES)
def test_every_appendix_has_a_page(letter):
    named = re.findall(r"Appendix ([A-G])|Appendices ([A-G](?:, [A-G])* (?:and|to) [A-G])", text_of(APPENDICES[letter]))
    letters = {letter for one, many in named for letter in one or re.findall("[A-G]", many)}
    assert letter in letters


def test_appendices_are_numbered_in_the_order_of_the_contents():
    contents = (CHECKOUT / "_toc.yml").read_text(encoding="utf-8")
    numbers = re.findall(r'file: A_\w+\n +title: "(A\d+)\. ', contents)
    assert numbers == [f"A{n}" for n in range(1, contents.count("file: A_") + 1)]


@pytest.mark.parametrize("chapter", chapters())
def test_every_chapter_has_parameters_and_is_replayed(chapter):
    assert parameters_of(read_source(chapter))
    compared = [
        cell
        for cell in code_cells(read_published(chapter))
        if "nbval-ignore-output" not in cell.metadata.get("tags", [])
    ]
    assert any(cell.outputs for cell in compared)
