"""The repository's address: what is made from it, and that nothing is while there is none."""

import re
from pathlib import Path

import pytest
from small_book import add_pages, make_checkout

from uaftc_lib import publish
from uaftc_lib.publish.address import VARIABLE, pages_address, repository

EXAMPLE = "https://github.com/Example/living-edition"
HERE = "https://example.github.io/living-edition/"


@pytest.mark.parametrize(
    ("address", "pages"),
    [
        (EXAMPLE, HERE),
        ("https://gitlab.com/example/book", "https://example.gitlab.io/book/"),
        ("https://github.com/Example/example.github.io", "https://example.github.io/"),
    ],
)
def test_pages_follow_from_the_repository(address, pages):
    assert pages_address(address) == pages


@pytest.mark.parametrize("address", ["github.com/a/b", "https://example.org/a/b", "https://github.com/a", "http://"])
def test_another_address_is_refused_in_words(address):
    with pytest.raises(ValueError, match="must be https://github.com/OWNER/NAME or https://gitlab.com/OWNER/NAME, got"):
        pages_address(address)


def test_what_the_environment_says_goes_first(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert repository() == "" and repository("https://github.com/a/b/") == "https://github.com/a/b"
    monkeypatch.setenv(VARIABLE, EXAMPLE)
    assert repository("https://github.com/a/b") == EXAMPLE


@pytest.fixture(scope="module", params=["", EXAMPLE], ids=["unset", "set"])
def built(request, tmp_path_factory) -> tuple[str, Path]:
    """A small book, built with the repository's address or without: the address, and the folder of its pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, request.param)
        return request.param, publish.build(add_pages(make_checkout(tmp_path_factory.mktemp("book"))))


def test_buttons_and_links_need_an_address(built):
    address, folder = built
    page = (folder / "01_small.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="(https?://[^"]*)"', page))
    if not address:
        assert [link for link in links if "github" in link or "colab" in link or "mybinder" in link] == []
        assert "dropdown-source-buttons" not in page and "dropdown-launch-buttons" not in page
        assert 'rel="canonical"' not in page
        return
    name = "Example/living-edition"
    assert {
        f"https://github.com/{name}",
        f"https://mybinder.org/v2/gh/{name}/main?urlpath=lab/tree/book/01_small.ipynb",
        f"https://colab.research.google.com/github/{name}/blob/main/book/01_small.ipynb",
    } <= links
    assert any(link.startswith(f"{address}/issues/new?") for link in links)
    assert f'<link rel="canonical" href="{HERE}01_small.html" />' in page
