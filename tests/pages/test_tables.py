"""Tables in a real browser: a laptop shows all of them, on a phone what a row is of stays while the row scrolls."""

import pandas as pd
import pytest
from test_pages import CUT, opened

from uaftc_book.lab import Slider, Stop
from uaftc_book.lab.module import style
from uaftc_book.publish import CHECKOUT
from uaftc_lib import plots

STYLE = CHECKOUT / "book" / "_static" / "book.css"
INKS = ":root { --pst-color-background: #123456; --pst-color-text-muted: #777; --pst-color-border: #ccc }"
FIRST = """() => {
  const table = document.querySelector('.uaftc-table'), cell = table.querySelector('td');
  table.scrollLeft = 1000;
  const [{ left, width }, all] = [cell.getBoundingClientRect(), table.getBoundingClientRect()];
  const { backgroundColor } = getComputedStyle(cell);
  return { scrolled: table.scrollLeft, off: left - all.left, share: width / all.width, backgroundColor };
}"""


@pytest.fixture
def page_of(browser, tmp_path):
    """``page_of(html, width)``: a page with this in its article."""

    def made(content: str, width: int = 390):
        css = f"<style>{INKS}{STYLE.read_text(encoding='utf-8')}</style>"
        article = f'<meta charset="utf-8">{css}<article class="bd-article">{content}</article>'
        (tmp_path / "page.html").write_text(article, encoding="utf-8")
        return opened(browser, tmp_path / "page.html", width)

    return made


def table(name: str, text: str = "no", **columns) -> str:
    """A table that is wider than a phone."""
    numbers = {f"n{i}": [1000.5, 2] for i in range(8)}
    return plots.table(pd.DataFrame({"case": [name, text], **numbers, **columns})).to_html()


def test_the_first_column_stays_on_a_phone_and_what_is_cut_is_seen(page_of):
    with page_of(table("a small λ costs accuracy on SST")) as (page, _):
        assert [cut > 50 for _, cut in page.evaluate(CUT)] == [True]
        found = page.evaluate(FIRST)
    assert found["scrolled"] > 50 and abs(found["off"]) <= 1
    assert found["share"] <= 0.4 and found["backgroundColor"] == "rgb(18, 52, 86)"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_text_at_the_end_of_a_row_stands_below_it_on_a_phone(page_of, width):
    """And within the window, also where the rest of the row scrolls."""
    with page_of(table("a", "b", why=["so long a text " * 5] * 2), width) as (page, _):
        cells, room = page.locator("tbody tr").first.locator("td"), page.locator(".uaftc-table").bounding_box()
        first, second, last = (cells.nth(i).bounding_box() for i in (0, 1, -1))
        assert first["y"] == pytest.approx(second["y"], abs=1)
        assert (last["y"] >= first["y"] + first["height"] - 1) == (width == 390)
        if width == 390:
            page.evaluate("document.querySelector('.uaftc-table').scrollLeft = 1000")
            last = cells.last.bounding_box()
            assert last["x"] >= room["x"] - 1 and last["x"] + last["width"] <= room["x"] + room["width"] + 1


def test_a_table_of_a_slider_says_too_that_it_continues(page_of):
    alone = plots.table(pd.DataFrame({f"n{i}": ["0.51 [0.48, 0.54]"] * 2 for i in range(8)})).to_html()
    shown = Slider("scaling factor", "λ", [Stop(1.0, alone, "λ = 1: so.")])
    with page_of(style() + shown._repr_html_() + alone) as (page, _):
        assert [cut > 50 for _, cut in page.evaluate(CUT)] == [True, True]
        shadows = "all => all.map(one => getComputedStyle(one).backgroundImage.split('gradient(').length - 1)"
        assert page.locator(".uaftc-table").evaluate_all(shadows) == [4, 4]
