"""The search, from file://: what people type leads to the page about it, above the sentence that describes the page."""

import re
import tomllib
from html import unescape

from test_pages import PAGES, opened

import conftest
from uaftc_book.publish import CHECKOUT

NUMBERS = {"01_model": ["Fig 1", "equation 7"], "05_real_words": ["Figure 3"], "06_accuracy": ["Table 2"]}
NUMBERS |= {"A_atlas": ["Fig. S14"], "A_data_sets": ["Table S1"], "A_geometry": ["Fig S6"], "A_gradients": ["Eq 27"]}
SEARCH = "typed => { document.getElementById('search-results').replaceChildren(); Search.performSearch(typed); }"
RESULTS = "all => all.map(o => [o.querySelector('a').getAttribute('href'), o.querySelector('p')?.textContent])"


def results(page):
    """All results, as they come: the address of each, and what stands below it."""
    page.wait_for_selector("#search-results .search-summary:not(:empty)")
    return page.locator("#search-results li").evaluate_all(RESULTS)


def description(name):
    page = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    return unescape(re.search('<meta name="description" content="([^"]*)"', page)[1])


def test_what_is_typed_leads_to_the_page_about_it(browser, axe):
    words, first = tomllib.loads((CHECKOUT / "book" / "search.toml").read_text(encoding="utf-8")), []
    wanted = [(typed, name) for pages in (words, NUMBERS) for name, listed in pages.items() for typed in listed]
    with opened(browser, PAGES / "search.html") as (page, troubles):
        for typed, _ in wanted:
            page.evaluate(SEARCH, typed)
            (address, below), *_ = results(page)
            first.append((typed, address.partition(".html")[0], below))
        assert first == [(typed, name, description(name)) for typed, name in wanted]
        assert conftest.violations(page, axe) == [] == troubles


def test_the_dialogue_of_a_page_leads_to_a_formula(browser):
    """And formulas whose numbers only begin so are one result for their page."""
    with opened(browser, PAGES / "00_intro.html", 390) as (page, troubles):
        page.keyboard.press("Control+k")
        page.wait_for_function("document.activeElement.closest('#pst-search-dialog')")
        page.keyboard.type("Eq 2")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=Eq+2")
        addresses = [address for address, _ in results(page)]
        assert addresses[0] == "01_model.html#equation-eq-2" and addresses.count("A_gradients.html") == 1
        assert [one for one in addresses if "A_gradients.html#" in one] == [] == troubles
