"""Figures: what they say in words, what they look like, and that they refuse what makes no sense."""

import re
import warnings
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from uaftc_book.chapters.model import architecture, word_map
from uaftc_lib import plots
from uaftc_lib.plots.seeds import sparse_labels

TOKENS = pd.DataFrame(
    {
        "word": [f"w{i}" for i in range(400)],
        "rank": np.arange(1, 401),
        "type": np.repeat(["neutral", "positive", "negative", "positive"], 100),
        "score": np.concatenate([np.zeros(100), np.full(100, 2.0), np.full(100, -3.0), np.full(100, 2.0)]),
    }
)
RUNS = pd.DataFrame(
    [
        {"epoch": e, "seed": s, "type": t, "score": sign * (e + s)}
        for e in range(4)
        for s in range(3)
        for t, sign in (("positive", 1), ("negative", -1))
    ]
)
PUBLISHED = pd.DataFrame(
    {"type": ["positive", "negative"], "low": [1.0, -4], "high": [3.0, -2], "q1": [1.5, -3.5], "median": [2.0, -3],
     "q3": [2.5, -2.5], "epoch": [3, 3], "score": [4.5, -4.5]}
)  # fmt: skip
SPREAD = pd.DataFrame(
    {"type": ["positive", "negative"] * 2, "p5": [0.0, -4, 1, -5], "p25": [1.0, -3, 2, -4], "median": [2.0, -2, 3, -3],
     "p75": [3.0, -1, 4, -2], "p95": [4.0, 0, 5, -1]}
)  # fmt: skip


def every_type():
    """One figure of each type, without and with published values."""
    for known in (None, PUBLISHED):
        yield plots.scatter(TOKENS, "rank", "score", "type", "c", published=known)
        yield plots.boxes(TOKENS, "score", "type", "c", published=known)
        yield plots.quantiles(SPREAD, "type", "c", published=None if known is None else SPREAD[:2])
        yield plots.curves(RUNS, "epoch", "score", "type", "c", published=known)
        yield plots.bars(RUNS, "type", "score", "c", published=known)


@pytest.fixture(scope="module")
def figures():
    return list(every_type())


def test_every_figure_is_whole_and_two_runs_are_byte_identical(figures):
    for figure in figures:
        html = figure._repr_mimebundle_()["text/html"]
        tree = ElementTree.fromstring(html.replace("&quot;", "'").replace("&#x27;", "'"))
        drawings = [node for node in tree.iter() if node.tag.endswith("svg")]
        assert tree.tag == "figure" and len(drawings) == 1
        assert all(node.get("role") == "img" and len(node.get("aria-label")) > 40 for node in drawings)
        assert all("max-width:100%" in node.get("style") for node in drawings)
        assert "c" in tree.find("figcaption").text
        assert "Matplotlib v" not in html and not re.search(r"\d{4}-\d{2}-\d{2}T", html)
        svg = figure.panels[0].svg
        assert "currentColor" in svg and plots.theme.INK not in svg, "ink follows the page"
        assert not re.search(r'<g id="[^"]*patch_1">\s*<path[^>]*fill: #ffffff', svg), "the ground is transparent"
    assert [figure.to_html() for figure in figures] == [figure.to_html() for figure in every_type()]


def test_no_letter_is_below_nine_pixels_on_a_phone(figures):
    words = ["a", "b", "c", "d", "e"]
    powers = RUNS.assign(score=10.0 ** -RUNS["epoch"], epoch=10.0 ** RUNS["epoch"])
    drawn = [
        architecture(words, "c"),
        word_map(pd.DataFrame({"word": words, "attention": range(5), "polarity": range(5)}), "c"),
        plots.scatter(powers, "epoch", "score", "type", "c", log_x=True),
        plots.curves(powers, "epoch", "score", "type", "c", log_y=True, size=plots.WIDE),
    ]
    for figure in [*figures, *drawn]:
        svg = figure.panels[0].svg
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
        assert min(sizes) * min(96 / 72, 342 / width) >= 9, figure.alt  # the page is 390 wide, its text 342


def test_one_colour_has_one_meaning():
    theme, sets = plots.theme, ["SST", "IMDB", "20News I", "20News II"]
    for color, *names in (
        (theme.ORANGE, "negative", "Neg-Neg", "neg-neg", "negative–negative", "negative words: all"),
        (theme.VIOLET, "Pos-Neg", "neg-pos", "positive–negative"),
    ):
        assert {theme.series_style(name, [name]).color for name in names} == {color}
    lab = (Path(plots.__file__).parents[2] / "uaftc_book" / "lab" / "lab.css").read_text(encoding="utf-8").upper()
    for i, terms in enumerate(("AD", "BE", "CF")):
        assert all(f"--TERM{i}: {theme.COLORS[term]};" in lab for term in terms)
    for known in (["DP", "DP-A", "AD", "DP-L"], sets):
        for name in known:
            orders = ([name], ["other", *known[::-1]], known)
            assert len({theme.series_style(name, names) for names in orders}) == 1, "whoever else is there"
    for names in (["positive words: all", "positive words: from neutral", "A", "other", "b"], ["DP-L", *sets]):
        assert len({theme.series_style(name, names) for name in names}) == len(names)


def test_panels_share_a_legend():
    one, two = (plots.curves(RUNS, "epoch", "score", "type", "c", title=title) for title in "ab")
    other = plots.curves(RUNS.replace({"type": {"positive": "good"}}), "epoch", "score", "type", "c")
    joined = plots.row(one, two, other, caption="three")
    assert joined.caption == "three" and len(joined.data) == 3 * len(one.data)
    drawn = [panel.svg for panel in joined.panels]
    assert [">positive<" in svg or ">good<" in svg for svg in drawn] == [True, False, True]
    assert all('class="series s1"' in svg for svg in drawn), "the page lights up curves without names, too"


def test_panels_share_an_axis():
    small, large = (RUNS.assign(score=factor * RUNS.score) for factor in (1, 3))
    drawn = [plots.bars(runs, "type", "score", "c", y_range=(-20, 20)).panels[0].svg for runs in (small, large)]
    assert all(">20<" in re.sub(r"\s", "", svg) for svg in drawn)


def test_ids_of_two_figures_differ():
    one, two = (plots.curves(RUNS, "epoch", "score", "type", "c", title=title) for title in "ab")
    ids = [set(re.findall(r'\bid="([^"]+)"', figure.panels[0].svg)) for figure in (one, two)]
    assert ids[0] and not ids[0] & ids[1]
    for figure, own in zip((one, two), ids):
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', figure.panels[0].svg))
        assert used and used <= own


def test_alternative_text_states_the_data():
    assert "positive: 200 points, median 2" in plots.scatter(TOKENS, "rank", "score", "type", "c").alt
    assert "negative: from −1 at 0 to −4 at 3 (band −5 to −3)" in plots.curves(RUNS, "epoch", "score", "type", "c").alt
    assert "published 4.5" in plots.curves(RUNS, "epoch", "score", "type", "c", published=PUBLISHED).alt
    assert (
        "Published ranges: positive 1 to 3"
        in plots.scatter(TOKENS, "rank", "score", "type", "c", published=PUBLISHED).alt
    )


def test_a_curve_goes_from_left_to_right_whatever_the_order_of_its_rows():
    in_order, shuffled = (plots.curves(rows, "epoch", "score", "type", "c") for rows in (RUNS, RUNS.iloc[::-1]))
    assert "negative: from −1 at 0 to −4 at 3" in shuffled.alt
    assert sorted(shuffled.alt) == sorted(in_order.alt)  # which type comes first is left to the rows


def test_stored_quantiles_are_averaged_and_published_ones_are_not():
    assert plots.quantiles(SPREAD, "type", "c").alt.endswith(
        "positive: median 2.5, middle half 1.5 to 3.5; negative: median −2.5, middle half −3.5 to −1.5."
    )
    compared = plots.quantiles(SPREAD, "type", "c", published=SPREAD[:2])
    assert "Published: positive: median 2, middle half 1 to 3; negative: median −2" in compared.alt
    plain = plots.quantiles(SPREAD, "type", "c").panels[0].svg
    assert compared.panels[0].svg.count("stroke-dasharray") > plain.count("stroke-dasharray")


def test_words_of_the_data_cannot_break_the_page():
    html = plots.bars(RUNS.replace("positive", "<b>"), "type", "score", 'a < b & "c"').to_html()
    assert "<b>" not in html and "a &lt; b &amp; " in html


def test_the_numbers_travel_with_the_figure(tmp_path):
    figure = plots.scatter(TOKENS, "rank", "score", "type", "c")
    link = re.search(r'href="data:text/csv;charset=utf-8,([^"]+)"', figure.to_html())[1]
    assert unquote(unescape(link)) == figure.data.to_csv(index=False, float_format="%.5g")
    figure.save(tmp_path / "deep" / "one")
    stored = pd.read_csv(tmp_path / "deep" / "one.csv")
    pd.testing.assert_frame_equal(stored, TOKENS[["word", "rank", "score", "type"]], check_dtype=False)
    assert (tmp_path / "deep" / "one.svg").read_text(encoding="utf-8") == figure.panels[0].svg
    plots.row(figure, figure, caption="two").save(tmp_path / "two")
    assert (tmp_path / "two.2.svg").exists()


def test_clouds_are_rasterised_and_few_points_are_not():
    assert "data:image/png" in plots.scatter(TOKENS, "rank", "score", "type", "c").panels[0].svg
    assert "data:image/png" not in plots.scatter(TOKENS[:50], "rank", "score", "type", "c").panels[0].svg


def test_published_is_dashed_and_ours_is_not():
    for draw in (plots.boxes, lambda *a, **k: plots.curves(RUNS, "epoch", "score", "type", "c", **k)):
        plain, compared = (draw(TOKENS, "score", "type", "c", published=p).panels[0].svg for p in (None, PUBLISHED))
        assert compared.count("stroke-dasharray") > plain.count("stroke-dasharray")
        assert "published" in compared and "published" not in plain


def test_summary_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": np.repeat(np.arange(2000), 5), "y": rng.normal(3, 1, 10_000)})
    summary = plots.summarise(frame, ["x"], "y")
    covered = ((summary["low"] < 3) & (3 < summary["high"])).mean()
    assert abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 2000)


def test_few_places_on_a_logarithmic_axis_are_all_named_and_close_ones_are_not():
    assert sparse_labels([1.0, 3.0, 10.0, 100.0]) == ["1", "3", "10", "100"]
    assert sparse_labels([1.0, 1.1, 10.0, 100.0]) == ["1", "", "10", "100"]
    assert sparse_labels([100.0, 1000.0, 5000.0, 10000.0]) == ["100", "1000", "", "10000"]
    assert sparse_labels([1e5, 3e5, 1e6, 3e6, 1e7, 3e7]) == ["100000", "", "10⁶", "3·10⁶", "10⁷", "3·10⁷"]
    assert sparse_labels([10.0]) == ["10"]


def test_one_run_has_no_interval():
    summary = plots.summarise(RUNS[RUNS.seed == 0], ["type", "epoch"], "score")
    assert (summary["low"] == summary["mean"]).all() and (summary["n"] == 1).all()


def test_table_cells_may_lead_somewhere():
    data = pd.DataFrame({"page": ["a & b", "c"], "n": [1, 2]})
    html = plots.table(data, links={"page": ["a.html#x", ""]}).to_html()
    assert '><a href="a.html#x">a &amp; b</a></td>' in html and ">c</td>" in html
    with pytest.raises(ValueError, match="no column word"):
        plots.table(data, links={"word": ["", ""]})


def test_table_writes_every_column_its_own_way():
    data = pd.DataFrame(
        {"lam": [10.0], "penalty": [0.0001], "early_loss": [0.5], "share": [0.25], "n": [3], "ok": [True], "w": ["<a>"]}
    )
    html = plots.table(data, digits=2, formats={"share": ".0%", "n": "04d"}).to_html()
    assert ">0</th>" not in html, "no row numbers"
    cells = re.findall(r"<t[hd]>(.*?)</t[hd]>", html)
    assert cells[:7] == ["λ", "penalty", "early loss", "share", "n", "ok", "w"]
    assert cells[7:] == ["10", "0.0001", "0.50", "25%", "0003", "yes", "&lt;a&gt;"]
    assert re.findall(r"tr > :nth-child\((\d)\) \{\s+text-align: right;", html) == list("12345")
    html = plots.table(pd.DataFrame({"n": [-1384, 7], "x": [-1.23456, 1], "new": [True, False]}), digits=2).to_html()
    assert re.findall(r"<td[^>]*>(.*?)</td>", html) == ["−1,384", "−1.23", "yes", "7", "1.00", "no"]
    assert list(data) == ["lam", "penalty", "early_loss", "share", "n", "ok", "w"] and "nowrap" in html


def test_a_letter_that_only_the_page_has_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "V ⟂ W" in plots.bars(RUNS, "type", "score", "c", title="V ⟂ W").to_html()


def test_numbers_are_in_the_page_or_missed_aloud():
    most = plots.theme.DATA_LINK_ROWS
    for rows, linked in ((most, True), (most + 1, False)):
        frame = pd.DataFrame({"x": np.arange(rows), "y": 1.0, "type": "neutral"})
        html = plots.scatter(frame, "x", "y", "type", "c").to_html()
        assert ("The numbers (CSV)" in html) == linked
        assert (f"The numbers, {rows:,} rows, are too many for the page" in html) != linked


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: plots.scatter(TOKENS, "rank", "score", "type", " "), "needs a caption"),
        (lambda: plots.scatter(TOKENS, "rang", "score", "type", "c"), "no column rang"),
        (lambda: plots.scatter(TOKENS[:0], "rank", "score", "type", "c"), "nothing to draw"),
        (lambda: plots.boxes(TOKENS, "score", "kind", "c"), "no column kind"),
        (lambda: plots.boxes(TOKENS, "score", "type", "c", published=PUBLISHED[["type"]]), "no column q1"),
        (lambda: plots.quantiles(SPREAD.drop(columns="p25"), "type", "c"), "no column p25"),
        (lambda: plots.bars(RUNS, "seeds", "score", "c"), "no column seeds"),
        (lambda: plots.curves(RUNS, "epoch", "score", "type", "c", band="box"), "band must be"),
        (lambda: plots.row(plots.bars(RUNS, "type", "score", "c"), caption=""), "needs a caption"),
        (lambda: plots.table(TOKENS[:0]), "nothing to show"),
        (lambda: plots.table(TOKENS, formats={"scores": ".2f"}), "no column scores"),
        (lambda: plots.table(TOKENS, formats={"word": ".2f"}), "a format is for numbers, but word holds"),
    ],
)
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ValueError, match=message):
        mistake()


def test_joined_points_bear_the_values_of_their_ends():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 4.0, 2.0], "kind": "a", "epoch": [21, 22, 28]})
    plain, joined = (plots.scatter(frame, "x", "y", "kind", "c", joined=one).panels[0].svg for one in ("", "epoch"))
    labels = [set(re.findall(r"<text[^>]*>(2\d)</text>", svg)) for svg in (plain, joined)]
    assert labels == [set(), {"21", "28"}]
