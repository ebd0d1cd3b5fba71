"""A chapter says under its title what to read before it, and how long it takes, if it is one to be read."""

import importlib.util
from types import SimpleNamespace

import pytest
from docutils import nodes
from sphinx.errors import ExtensionError

from uaftc_book.publish import CHECKOUT

SPEC = importlib.util.spec_from_file_location("needs", CHECKOUT / "book" / "_ext" / "needs.py")
needs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(needs)


def said(folder, docname, words=2000):
    """The line under the title of a page."""
    env = SimpleNamespace(
        docname=docname, found_docs={"first", "second", "looked_up"}, note_dependency=lambda path: None
    )
    page = nodes.section("", nodes.title("", "Title"), nodes.paragraph("", "word " * words))
    needs.say(SimpleNamespace(srcdir=folder, env=env), page)
    return page.children[1].astext() if "page-needs" in page.children[1].get("classes", []) else ""


def test_minutes_are_told_of_what_is_read_and_not_of_what_is_looked_up(tmp_path):
    (tmp_path / "needs.toml").write_text('reference = ["looked_up"]\nsecond = ["first"]\nlooked_up = ["first"]\n')
    assert said(tmp_path, "second") == "10 minutes to read, after first."
    assert said(tmp_path, "looked_up") == "A page to look things up in, after first."
    assert said(tmp_path, "first") == ""


@pytest.mark.parametrize(("sections", "told"), [(5, " In short: what it means."), (4, "")])
def test_a_long_page_leads_to_what_it_means(tmp_path, sections, told):
    (tmp_path / "needs.toml").write_text('second = ["first"]\n')
    env = SimpleNamespace(docname="second", found_docs={"first", "second"}, note_dependency=lambda path: None)
    titles = [*map(str, range(sections - 1)), "What it means"]
    parts = [nodes.section("", nodes.title("", title), ids=[f"of-{n}"]) for n, title in enumerate(titles)]
    page = nodes.section("", nodes.title("", "Title"), *parts)
    needs.say(SimpleNamespace(srcdir=tmp_path, env=env), page)
    assert page[1].astext() == f"5 minutes to read, after first.{told}"
    assert [link["refid"] for link in page[1].findall(nodes.reference)] == [f"of-{sections - 1}"] * bool(told)


@pytest.mark.parametrize("line", ['second = ["gone"]', 'reference = ["gone"]'])
def test_a_page_that_is_not_there_is_an_error(line, tmp_path):
    (tmp_path / "needs.toml").write_text(line + "\n")
    with pytest.raises(ExtensionError, match="names pages that are not there: gone"):
        said(tmp_path, "second")
