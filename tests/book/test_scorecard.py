"""From cases to a verdict, accuracies against their claims, the page against the data, the map against the book."""

import functools
import re
import shlex
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import uaftc
from docutils.nodes import make_id

from uaftc_book import accuracies, cards, claims, contents, rules
from uaftc_book.cases import OPEN, Part, alike, contrast, exact, exceeds, of_interval
from uaftc_book.chapters import map as figures
from uaftc_book.nulls import Null
from uaftc_book.numbers import number
from uaftc_book.publish import CHECKOUT, chapters, code_cells, parameters_of, read_source
from uaftc_book.strip import of_labels, strip
from uaftc_lib.cli.options import parameters_from
from uaftc_lib.experiments.registry import EXPERIMENTS as STUDIES
from uaftc_lib.experiments.registry import stored
from uaftc_lib.experiments.sweep import encode_errors
from uaftc_lib.experiments.tables import grid_names
from uaftc_lib.intervals import half_width
from uaftc_lib.locations import PAPER_NAMES, published

HOLDS, MOSTLY, MIXED, MOSTLY_NOT, FAILS, UNDECIDED = claims.WORDS
ON_TABLE_2 = ("small_lam_is_worse", "proper_lam_is_best", "huge_lam_is_harmless")
ALL_LAMS = (0.001, 1.0, 10.0, 20.0, 50.0, 100.0, 10000.0)


def table2(accuracy, datasets=("sst", "20news-1"), instances=300):
    """Ten runs of DP a cell, given (dataset, λ) -> accuracy; the errors of a better run lie within a worse one's."""
    rows = []
    for dataset, lam, seed in product(datasets, ALL_LAMS, range(10)):
        right = accuracy(dataset, lam)
        wrong = np.arange(instances) < round((1 - right) * instances)
        rows.append({"dataset": dataset, "model": "DP", "lam": lam, "seed": seed, "test_errors": encode_errors(wrong),
                     "test_accuracy": right, "dev_accuracy": right})  # fmt: skip
    return pd.DataFrame(rows)


def judged_on(name, **tables):
    """A claim on some tables."""
    return claims.judge(claims.CLAIMS[name], claims.Tables(tables))


YES, NO, WIDE = "supported", "contradicted", "undecided"
FEW = rules.LEAST_SEEDS - 1
# accuracies by λ, and what they make of: λ = 1 hurts; a moderate λ is better than a huge one; that is harmless
BY_LAM = {
    "as the paper has it": (lambda lam: 0.6 if lam < 10 else 0.9, (YES, WIDE, YES)),
    "one λ stands out": (lambda lam: 0.6 if lam < 10 else 0.95 if lam == 20 else 0.8, (YES, YES, NO)),
    "λ does nothing": (lambda lam: 0.9, (WIDE, WIDE, WIDE)),
    "small λ helps": (lambda lam: 0.99 if lam < 10 else 0.9, (NO, WIDE, NO)),
    "a huge one costs as much": (lambda lam: 0.6 if lam < 10 or lam == 10000 else 0.9, (YES, YES, NO)),
    "half a point": (lambda lam: 0.9 if lam < 10 else 0.905, (WIDE, WIDE, WIDE)),
}


@pytest.mark.parametrize("name", BY_LAM)
def test_claims_on_lam(name):
    accuracy, wanted = BY_LAM[name]
    runs = table2(lambda d, lam: accuracy(lam))
    judged = [judged_on(claim, table2=runs) for claim in ON_TABLE_2]
    found = [{part.case.removesuffix(", λ = 1"): part.verdict for part in reversed(one.parts)} for one in judged]
    assert tuple(cases["SST, DP"] for cases in found) == wanted
    assert {found[0][f"{data}, DP"] for data in ("IMDB", "20News II")} == {OPEN}


def noisy(shift):
    """Runs whose accuracies lie around the printed ones, less a shift."""
    values = published("table2").set_index(["dataset", "model", "scaling_factor"]).sort_index().test_accuracy_percent
    runs = table2(lambda d, lam: values[PAPER_NAMES[d], "DP", lam] / 100 - shift(d, lam))
    return runs.assign(test_accuracy=runs.test_accuracy + 0.002 * np.random.default_rng(0).normal(size=len(runs)))


@pytest.mark.parametrize("lams, verdict", [((), YES), ((10.0,), YES), ((10.0, 20.0), NO)])
def test_two_printed_accuracies_of_a_column_must_lie_outside(lams, verdict):
    runs = noisy(lambda d, lam: 0.1 * (lam in lams and d == "sst"))
    found = {part.case: part.verdict for part in judged_on("table_2", table2=runs).parts}
    assert found["SST, DP"] == verdict and found["20News I, DP"] == YES and found["IMDB, DP"] == OPEN
    few = {part.case: part.verdict for part in judged_on("table_2", table2=runs[runs.seed < FEW]).parts}
    assert few["SST, DP"] == OPEN, "for print or against it"


def test_a_column_compares_the_seeds_that_all_lam_share():
    runs = table2(lambda d, lam: 0.8, datasets=("sst",))
    column = accuracies.compare_lams(runs[(runs.seed < 6) | (runs.lam == 10)])
    assert column.seeds == 6 and len(column.pairs) == 21 and column.optimum == "illusion"


def judged_of(*parts):
    """A claim with parts of these verdicts, told as "case: verdict"."""
    made = tuple(Part(*text.rsplit(": ", 1)) for text in parts)
    return claims.Judged(claims.CLAIMS["pi_takes_sides"], made)


@pytest.mark.parametrize(
    "parts, verdict",
    [
        (("a: supported",) * 9 + ("b: undecided",), HOLDS),
        (("a: supported",) * 9 + ("b: contradicted",), MOSTLY),
        (("a: supported", "b: supported", "c: open"), MOSTLY),
        (("a: supported", "b: contradicted"), MIXED),
        (("a: supported", "b: undecided"), MIXED),  # no more than half decide nothing
        (("a: contradicted", "b: contradicted", "c: undecided"), MOSTLY_NOT),
        (("a: contradicted",), FAILS),
        (("a: contradicted", "b: undecided", "c: open"), UNDECIDED),
        (("a: contradicted", "b: W₀ within ±0.1: supported"), FAILS),  # beside
    ],
)
def test_cases_make_a_verdict(parts, verdict):
    assert judged_of(*parts).verdict == verdict


def test_what_stands_beside_is_not_counted_and_may_turn_a_verdict():
    one = judged_of("a: contradicted", "b, W₀ within ±0.1: supported", "c, M ±0.1: contradicted")
    assert [part.case for part in one.counted] == ["a"] and one.tally == "1 case: 1 no"
    assert [part.case for part in one.turned_by] == ["b, W₀ within ±0.1"]
    assert "Against it, not counted</b>: b, W₀ within ±0.1" in cards.card(one)
    claim = claims.Claim("own", "3", "", "01_model", "", beside=("second",))
    assert not claims.Judged(claim, ()).counts(Part("a second measure", OPEN))


@pytest.mark.parametrize("cases", [(1, 1, 1), (0, 0, 0)])
def test_cases_that_cannot_be_are_refused(cases):
    with pytest.raises(ValueError, match="cannot be"):
        rules.graded(*cases)


def test_splits_that_overlap_tell_less_than_independent_ones():
    values = np.linspace(-1, 3, 20)
    plain, apart, overlapping = (
        rules.interval(values),
        accuracies.over_splits(values, 0),
        accuracies.over_splits(values, 0.1),
    )
    assert apart == plain and overlapping.mean == plain.mean
    assert (overlapping.high - overlapping.low) / (plain.high - plain.low) == pytest.approx(3**0.5)


def test_parts():
    steady = np.full(10, 2.0) + np.linspace(-1, 1, 10) * 0.1
    assert exceeds("x", steady).verdict == "supported" and exceeds("x", -steady).verdict == "contradicted"
    assert (
        exceeds("x", steady - 2).verdict == "undecided" and "5 of 10 seeds (24–76 %)" in exceeds("x", steady - 2).found
    )
    for n, verdicts in ((FEW + 1, [YES, NO]), (FEW, [OPEN, OPEN])):  # the same rule for a claim and against it
        assert [exceeds("x", sign * steady[:n]).verdict for sign in (1, -1)] == verdicts
        assert [contrast("x", sign * np.tile(steady[:n, None], 9)).verdict for sign in (1, -1)] == verdicts
        assert f"{n} of {n} seeds" in exceeds("x", steady[:n]).found
    assert exceeds("x", []).verdict == OPEN
    of_texts = np.tile(np.arange(100) < 30, (10, 1)).astype(float)
    assert [contrast("x", sign * of_texts).verdict for sign in (1, -1, 0)] == ["supported", "contradicted", "undecided"]
    assert "30 [" in contrast("x", of_texts).found
    assert exact("x", [1e-15, 1e-16]).verdict == "supported" and exact("x", [1e-15, 1e-3]).verdict == "contradicted"
    assert (alike(pd.Series([2.0, 3.0])) > 0).all() and (alike(pd.Series([2.0, -1.0])) < 0).all()


def test_a_claim_is_read_once_and_has_a_sentence():
    claims.CLAIMS["weighted_sum"].parts(claims.Tables({}))
    with pytest.raises(ValueError, match="weighted_sum is read twice"):
        claims.reading(lambda tables: (), "weighted_sum")
    with pytest.raises(ValueError, match="no claim 'nosuch' in claims.toml"):
        claims.reading(lambda tables: (), "nosuch")
    with pytest.raises(ValueError, match="nosuch has no reading in the module of 01_model"):
        claims.Claim("nosuch", "3", "", "01_model#a", "").parts(claims.Tables({}))


# --- the page ----------------------------------------------------------------------------------------------


@functools.cache
def judge_all():
    return claims.judge_all(kinds=claims.KINDS)


@pytest.fixture
def every(untyped):
    """All sentences on the stored results."""
    return judge_all()


@pytest.fixture
def judged(every):
    return [one for one in every if one.claim.kind == "claim"]


def headings():
    """The anchors of every chapter."""
    found = {}
    for name in chapters():
        text = re.sub(
            r"```.*?```", "", (CHECKOUT / "notebooks" / f"{name}.md").read_text(encoding="utf-8"), flags=re.DOTALL
        )
        lines = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
        found[name] = {make_id(line.replace("'", "’")) for line in lines}  # as MyST sets it
    return found


def broken(pages):
    """Those of "chapter#heading" that are not in the notebooks."""
    anchors = headings()
    parts = (each.partition("#") for each in pages)
    return [
        f"{name}#{place}" for name, _, place in parts if name not in anchors or (place and place not in anchors[name])
    ]


@functools.cache
def whys():
    """Printed number -> (why it differs, where that is told), as the chapter of the map has them."""
    (cell,) = (cell for cell in code_cells(read_source("A_map")) if "whys = {" in cell.source)
    exec(cell.source, found := {})
    return found["whys"]


def test_claims_are_many_and_of_all_parts():
    assert sum(one.kind == "claim" for one in claims.CLAIMS.values()) >= 90
    assert {one.section for one in claims.CLAIMS.values()} >= set("4.1 4.2 5 6 B.1 B.2 C.3 D E F G.2".split())
    assert len({one.said for one in claims.CLAIMS.values()}) == len(claims.CLAIMS)


def test_claims_quote_the_paper_in_two_lines_of_plain_text():
    for name, one in claims.CLAIMS.items():
        pieces = one.quote.split("[…]")
        assert len(one.quote) <= 240 and max(map(len, pieces)) > 15, name
        assert one.quote == " ".join(one.quote.split()) and one.quote[-1] in ".]", name
        assert not re.search(r"[$\\^]|\*\*|[¹²³⁴⁵⁶⁷⁸⁹⁰]", one.quote), f"{name}: left over from the conversion"


def test_links_of_claims_and_figures_lead_to_headings():
    assert broken([one.page for one in claims.CLAIMS.values()]) == []
    assert broken([item.page for item in figures.items()]) == []
    assert broken([told for _, told in whys().values()]) == []
    assert broken(["10_scorecard#nowhere", "nochapter"]) == ["10_scorecard#nowhere", "nochapter#"]


def test_a_chapter_reads_its_claims_from_tables(judged):
    for one in judged:
        file = contents.FOLDER / f"{contents.MODULES[one.claim.page.partition('#')[0]]}.py"
        assert f'"{one.claim.name}"' in (text := file.read_text(encoding="utf-8")) or f"def {one.claim.name}(" in text
        assert set(one.tables) <= {*STUDIES, *grid_names()} and one.tables
    (penalty,) = (one for one in judged if one.claim.name == "penalty_and_accuracy")
    assert penalty.tables == ("sst_penalty", "table2")


def test_what_is_no_claim_is_not_graded(every, judged):
    others = [one for one in every if one.claim.kind != "claim"]
    assert others and [one.claim for one in claims.judge_all(claims.Tables({}))] == [one.claim for one in judged]
    for one in others:
        assert f'data-verdict="{one.claim.kind}"' in cards.card(one)


def test_every_case_that_a_claim_sets_beside_is_there(judged):
    for one in judged:
        assert all(any(name in part.case for part in one.parts) for name in one.claim.beside), one.claim.name
        assert one.counted, one.claim.name


# --- the reproduction map ------------------------------------------------------------------------------------


def plain(number):
    """ "Fig S13, top" -> "Fig S13"."""
    return re.sub(r"(?<=\d)([a-z]|, top|, bottom)$", "", number)


def test_the_map_has_every_figure_and_table():
    numbers = (
        [f"Fig {n}" for n in range(1, 6)] + [f"Fig S{n}" for n in range(1, 29)] + ["Table 1", "Table 2", "Table S1"]
    )
    listed = [item.number for item in figures.items()]
    assert list(dict.fromkeys(map(plain, listed))) == ["Table 1", "Table 2", "Table S1", *numbers[:-3]]
    assert len(set(listed)) == len(listed)
    known = {case for item in figures.OTHERS for name, cases in item.shows.items() for case in cases}
    shown = {name for item in figures.OTHERS for name in item.shows}
    cases = {part.case for name in shown for part in claims.CLAIMS[name].parts(claims.Tables({}))}
    assert known <= cases, "a figure asks for a case that no claim has"


@functools.cache
def parameters(chapter):
    return set(parameters_of(read_source(chapter)))


def parses(command):
    """Whether a command of the map can be given: the chapter, its parameters, the study, the grid exist."""
    words = shlex.split(command)
    if words[:2] == ["uaftc", "run"]:
        return words[2] in chapters() and set(parameters_from(words[3:])) <= parameters(words[2])
    if words[:2] == ["uaftc", "tables"]:
        return words[-1] == "--make" and set(words[2:-1]) <= {*STUDIES, *grid_names()}
    return False


def test_every_command_of_the_map_parses():
    assert [word for item in figures.items() for word in item.commands if not parses(word)] == []
    assert not parses("uaftc run 99_none") and not parses("uaftc run 05_real_words -p nosuch 1")
    assert not parses("uaftc tables nosuch --make") and not parses("make coffee")


@pytest.fixture
def made(every):
    """The map of the stored results."""
    return figures.reproduction_map(every)


def of_panels(rows):
    """The map of these scores; of what the claims show nothing is known."""
    nothing = [claims.Judged(one, ()) for one in claims.CLAIMS.values()]
    return figures.reproduction_map(nothing, claims.Tables({"figure_scores": rows})).set_index("number")


def test_the_status_of_a_figure_is_that_of_its_cases():
    one = judged_of("a: supported", "b: supported", "c: contradicted", "d: open")
    one = claims.Judged(one.claim, (*one.parts[:2], replace(one.parts[2], found="0 of 10"), one.parts[3]))

    def status(*cases):
        return figures.by_claims({one.claim.name: cases}, {one.claim.name: one})

    assert status("a", "b") == ("reproduced", "2 of 2 cases hold")
    assert status("a", "d") == ("reproduced", "1 of 1 cases hold, 1 open") and status("d") == ("not yet", "")
    measure = one.claim.measured.partition(";")[0]
    assert status() == ("differs", f"2 of 3 cases hold, 1 open; not: {measure} (c: 0 of 10)")
    assert set(of_panels(pd.DataFrame()).status) == {"not yet"}


def test_the_status_of_a_panel_is_that_of_its_seeds(untyped):
    scores = stored("figure_scores")
    for below, status in ((0, "reproduced"), (5, "reproduced"), (6, "in some seeds")):
        turned = scores.assign(mean=scores["mean"].mask((scores.seed < below) & (scores.type == "neutral"), 9.0))
        panel = of_panels(turned).loc["Fig 2e"]
        assert panel.status == status and f"in {10 - below} of 10 seeds" in panel.reason


# --- the command -----------------------------------------------------------------------------------------------


def test_the_command_prints_verdicts_and_writes_cases(tmp_path, judged, monkeypatch):
    monkeypatch.setattr(claims, "judge_all", lambda: judged)  # which takes its time
    out = tmp_path / "cases.csv"
    result = uaftc("scorecard", "--verdict", FAILS, "--out", out)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert sum(FAILS in line for line in lines[:-2]) == claims.counted(judged)[FAILS] == len(lines) - 2
    assert lines[-2] == cards.headline(judged)
    assert len(pd.read_csv(out)) == sum(len(one.parts) for one in judged)


@pytest.mark.parametrize(
    "words, message", [(["--verdict", "maybe"], "no verdict 'maybe'"), (["--out", "no/x.csv"], "does not exist")]
)
def test_the_command_refuses(words, message):
    result = uaftc("scorecard", *words)
    assert result.exit_code == 2 and message in result.stderr


# --- what is said of a verdict ---------------------------------------------------------------------------------


def made_up(*parts):
    """A judged claim of our own; parts: (case, verdict, strength)."""
    claim = claims.Claim("own", "3", "It is so.", "01_model", "a − b")
    far = [(*one, number(rules.Interval(s, s - 1, s + 1, 10))) for *one, s in parts]
    return claims.Judged(claim, tuple(Part(case, word, f"found in {case}", 10, s) for case, word, s in far))


NAN = float("nan")


def test_the_weakest_case_is_a_contradicted_one_or_else_the_one_nearest_to_zero():
    assert (
        made_up(("a", "supported", 2.0), ("b", "contradicted", -1.5), ("c", "contradicted", -5.0)).weakest.case == "c"
    )
    assert made_up(("a", "supported", 9.0), ("b", "undecided", 0.4), ("c", "supported", 1.1)).weakest.case == "b"
    assert made_up(("a", "supported", 9.0), ("b", "supported", 1.1), ("c", "supported", NAN)).weakest.case == "b"
    assert made_up(("a", "supported", 9.0), ("b", OPEN, NAN)).weakest.case == "b"


@pytest.mark.parametrize(
    "first, every, real, invented",
    [("SST: supported", "2 of 4", "1 of 2", "1 of 2"), ("SST: contradicted", "1 of 4", "0 of 2", "1 of 2"),
     ("Data I: supported", "2 of 4", "0 of 1", "2 of 3")],
)  # fmt: skip
def test_the_headline_follows_the_verdicts_and_the_texts(first, every, real, invented):
    mixed = judged_of("SST, a: contradicted", "Data I: supported")
    mostly = judged_of("Data I, a: supported", "Data I, b: supported", "Data II: contradicted")
    rest = [mixed, mostly, judged_of("IMDB, W ±0.1: supported", "Data II: undecided")]
    line = (
        f"{every} sentences hold or mostly hold: {real} with cases on real texts, {invented} on invented texts alone."
    )
    assert cards.headline([judged_of(first), *rest]) == line


def pool_of(name, *ends):
    """A claim with cases whose intervals have these ends, and one of too few seeds."""
    made = [number(rules.Interval(np.mean(each), *each, 10)) for each in ends]
    parts = [of_interval(f"case {i}", one, "") for i, one in enumerate(made)]
    return claims.Judged(claims.CLAIMS[name], (*parts, exceeds("few", [99.0, 98.0])))


def test_a_pool_is_that_of_random_effects():
    half = half_width(0.5 / 1.96 / 2, 3)  # of four means of equal error
    assert rules.pooled([rules.around(1.0, 0.5, 10)] * 4) == pytest.approx((1, 1 - half, 1 + half, 4), rel=1e-3)
    apart = rules.pooled(
        [rules.around(mean, 1e-6, 10) for mean in (0, 0, 2, 2)]
    )  # a variance of 4/3, in a mean of four
    half = half_width(np.sqrt(4 / 3) / 2, 3)
    assert apart == pytest.approx((1, 1 - half, 1 + half, 4), abs=1e-3)


def test_a_pool_may_doubt_what_the_count_says_and_turns_no_verdict():
    better, name = ((-0.5, 2.0), (0.2, 1.6), (-0.2, 2.4), (-0.1, 2.2)), "proper_lam_is_best"
    more, same, less = (pool_of(name, *ends) for ends in (better, [(1, 2)] * 4, [*[(1, 2)] * 4, (-90, -89)]))
    assert [one.verdict for one in (more, same, less)] == [UNDECIDED, MOSTLY, MOSTLY] and more.pooled.n == 4
    assert [one.pool_doubts for one in (more, same, less)] == [False, False, True]
    assert ["The pooled mean leaves it open" in cards.card(one) for one in (more, same, less)] == [False, False, True]
    for unpooled in (pool_of("figure_4", *better), pool_of(name, (1, 2), (1, 2))):  # two quantities; two cases
        assert not unpooled.pooled and not unpooled.pool_doubts
    assert more.pool_in_words.startswith("0.9") and more.pool_in_words.endswith(" points")
    assert set(claims.UNITS) <= set(claims.CLAIMS)


def test_the_strip_has_a_square_a_sentence_and_a_bar_where_labels_were_shuffled(judged):
    shown = strip(judged, "Each square is a sentence.")
    for word, n in claims.counted(judged).items():
        assert shown.panels[0].svg.count(cards.SIGNS[word]) == n + (n > 0), "and in the legend"
    assert shown.data["shuffled labels"].ne("").sum() == sum(bool(one.shuffled) for one in judged) > 0
    parts = [Part("a", YES, null=Null("", mean, 0.0, 1.0, 10, 40)) for mean in (9.0, 0.5, -9.0)]
    made = [claims.Judged(judged[0].claim, tuple(some)) for some in ((), parts[:1], parts, parts[1:])]
    assert [of_labels(one) for one in made] == ["", "less", "less", "no less"]
    assert cards.control(made[2]) == "Shuffled labels: less in 1, as much in 1, more in 1 of 3"


# --- the map, as it is shown -----------------------------------------------------------------------------------


def test_why_is_told_of_what_differs_alone(made):
    assert set(whys()) <= set(made.number)
    table_2 = pd.DataFrame([{"number": "Table 2", "status": "differs", "reason": "", "page": "06_accuracy"}])
    assert "(A_table2.html#the-cells-that-differ-and-why)" in figures.differing(table_2, whys())
    assert "Why is not known ([more](06_accuracy.html))." in figures.differing(table_2, {})
    assert not re.search(r"\d", " ".join(re.sub(r"20News II?|L2", "", why) for why, _ in whys().values()))


def test_the_data_of_a_figure_are_those_that_its_chapter_reads():
    drawn = {name: "".join(cell.source for cell in read_source(name).cells) for name in ("05_real_words", "A_atlas")}
    for item in figures.items():
        source = drawn.get(item.page.split("#")[0])
        assert source is None or all(f'"{name}"' in source for name in {*item.data.split(", ")} - {"live"}), item.number
