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
def wide(browser, tmp_path):
    """A page whose one table is wider than a phone."""
    data = pd.DataFrame({"case": ["a small λ costs accuracy on SST", "no"], **{f"n{i}": [1000.5, 2] for i in range(8)}})
    article = f'<article class="bd-article">{plots.table(data).to_html()}</article>'
    style = f"<style>{INKS}{STYLE.read_text(encoding='utf-8')}</style>"
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8">{style}{article}', encoding="utf-8")
    with opened(browser, tmp_path / "page.html", 390) as (page, _):
        yield page


def test_the_first_column_stays_on_a_phone(wide):
    found = wide.evaluate(FIRST)
    assert found["scrolled"] > 50 and abs(found["off"]) <= 1
    assert found["share"] <= 0.4 and found["backgroundColor"] == "rgb(18, 52, 86)"


def test_a_long_text_at_the_end_of_a_row_stands_below_it_on_a_phone(browser, tmp_path):
    """And within the window, also where the rest of the row scrolls."""
    data = pd.DataFrame(
        {"case": ["a", "b"], **{f"n{i}": [1000.5, 2] for i in range(8)}, "why": ["so long a text " * 5] * 2}
    )
    article = f'<article class="bd-article">{plots.table(data).to_html()}</article>'
    style = f"<style>{INKS}{STYLE.read_text(encoding='utf-8')}</style>"
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8">{style}{article}', encoding="utf-8")
    for width in (390, 1280):
        with opened(browser, tmp_path / "page.html", width) as (page, _):
            boxes = [page.locator("tbody tr").first.locator("td").nth(i).bounding_box() for i in (0, 1, -1)]
            room = page.locator(".uaftc-table").bounding_box()
            (first, second, last), phone = boxes, width == 390
            assert first["y"] == pytest.approx(second["y"], abs=1)
            assert (last["y"] >= first["y"] + first["height"] - 1) == phone
            if phone:
                page.evaluate("document.querySelector('.uaftc-table').scrollLeft = 1000")
                last = page.locator("tbody tr").first.locator("td").last.bounding_box()
                assert last["x"] >= room["x"] - 1 and last["x"] + last["width"] <= room["x"] + room["width"] + 1


def test_a_table_of_a_slider_says_too_that_it_continues(browser, tmp_path):
    data = pd.DataFrame({f"n{i}": ["0.51 [0.48, 0.54]"] * 2 for i in range(8)})
    shown = Slider("scaling factor", "λ", [Stop(1.0, plots.table(data).to_html(), "λ = 1: so.")])
    article = f'<article class="bd-article">{style()}{shown._repr_html_()}{plots.table(data).to_html()}</article>'
    css = f"<style>{INKS}{STYLE.read_text(encoding='utf-8')}</style>"
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8">{css}{article}', encoding="utf-8")
    with opened(browser, tmp_path / "page.html", 390) as (page, _):
        assert [cut > 50 for _, cut in page.evaluate(CUT)] == [True, True]
        tables = page.locator(".uaftc-table").all()
        cues = [
            one.evaluate("one => getComputedStyle(one).backgroundImage.split('gradient(').length - 1") for one in tables
        ]
        assert cues == [4, 4]


def test_a_table_that_is_cut_is_seen(wide):
    assert [cut > 50 for _, cut in wide.evaluate(CUT)] == [True]
