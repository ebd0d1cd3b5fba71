"""Claims against made-up results that decide them, the page against the data, the map against the book."""

import functools
import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from cases import uaftc
from docutils.nodes import make_id
from worlds import SEEDS, figure_scores, printed, table2, world

from uaftc_book import accuracies, cards, claims, contents, rules
from uaftc_book.cases import OPEN, Part, alike, contrast, exact, exceeds
from uaftc_book.chapters import map as figures
from uaftc_book.nulls import Null
from uaftc_book.panels import compare, in_print
from uaftc_book.publish import CHECKOUT, chapters, code_cells, parameters_of, read_published, read_source
from uaftc_lib.cli.options import parameters_from
from uaftc_lib.experiments.registry import EXPERIMENTS as STUDIES
from uaftc_lib.experiments.tables import grid_names
from uaftc_lib.locations import PAPER_NAMES

HOLDS, MOSTLY, MIXED, MOSTLY_NOT, FAILS, UNDECIDED = claims.WORDS
BETWEEN = (MOSTLY, MIXED, MOSTLY_NOT)
ON_TABLE_2 = ("small_lam_is_worse", "proper_lam_is_best", "huge_lam_is_harmless", "lam_is_crucial_with_affine",
              "lam_is_crucial_with_lstm", "table_2", "large_lam_still_works", "penalty_and_accuracy")  # fmt: skip
CALCULATED = ("weighted_sum",)
OTHERS = [name for name in claims.CLAIMS if name not in (*ON_TABLE_2, *CALCULATED)]


@pytest.fixture(scope="module")
def so():
    return world(True)


@pytest.fixture(scope="module")
def not_so():
    return world(False)


def verdicts(tables, names=OTHERS):
    stored = claims.Tables(tables)
    return {name: claims.judge(claims.CLAIMS[name], stored) for name in names}


AXES = (
    "lam",
    "penalty",
    "noise",
    "neutral_types",
    "weight_range",
    "embedding_range",
    "perpendicular",
)  # no measurements


def cells_of(frame, but=()):
    """The number of each row's cell: what tells rows apart but for seed and epoch."""
    axes = [c for c in frame if c not in but and (c in AXES or not pd.api.types.is_numeric_dtype(frame[c]))]
    return frame.groupby(axes).ngroup().to_numpy() if axes else np.zeros(len(frame), int)


def mixed(so, not_so, rng, by_seed):
    """Some seeds (and not all cells), or some cells (now and then columns) of the one world, the rest of the other."""
    both, columnwise = {}, rng.random() < 0.5
    chosen_seeds = rng.random(len(SEEDS)) < rng.choice([0.2, 0.35, 0.5, 0.65, 0.8])
    for name, frame in so.items():
        other, cells = not_so[name], cells_of(frame)
        seeds = frame["seed"].to_numpy() % 10 if "seed" in frame else np.zeros(len(frame), int)
        chosen = rng.random((cells.max() + 1, len(frame.columns) if columnwise else 1)) < 0.5
        for i, column in enumerate(frame):
            so_here = chosen_seeds[seeds] if by_seed else chosen[cells, i if columnwise else 0]
            both.setdefault(name, {})[column] = np.where(so_here, frame[column], other[column])
        runs = cells_of(frame, but=("type", "scores"))
        kept = rng.random(runs.max() + 1) < (rng.choice([0.3, 0.7, 1.0]) if by_seed else 1.0)
        both[name] = pd.DataFrame(both[name])[kept[runs]]
    return both


def made(judged):
    """The claims, each with those of its cases that the tables have."""
    for one in judged.values():
        counting = replace(one.claim, beside=())  # second measures, too: some are all that is made up
        yield claims.Judged(counting, tuple(part for part in one.parts if part.verdict != OPEN))


@pytest.fixture(scope="module")
def judged_so(so):
    return verdicts(so)


def test_what_the_paper_says_holds_where_it_is_so(judged_so):
    assert not [one for one in made(judged_so) if one.verdict != HOLDS]


def test_and_fails_where_it_is_not(not_so):
    assert not [one for one in made(verdicts(not_so)) if one.verdict != FAILS]


def open_ones(judged):
    """The claims of which no case has enough seeds."""
    return {name for name, one in judged.items() if {part.verdict for part in one.parts} == {OPEN}}


def test_nothing_measured_decides_nothing():
    judged = verdicts({}, [*OTHERS, *ON_TABLE_2])
    assert {one.verdict for one in judged.values()} == {UNDECIDED} and open_ones(judged) == set(judged)


def test_too_few_seeds_decide_nothing(so):
    few = {name: frame[frame.seed < rules.LEAST_SEEDS - 1] if "seed" in frame else frame for name, frame in so.items()}
    judged = verdicts(few)
    assert set(judged) - open_ones(judged) == {"balanced", "table_1", "table_S1"}  # no "X exceeds Y"
    assert "10 seeds are needed" in judged["pi_takes_sides"].parts[0].found
    assert judged["pi_takes_sides"].tally == "0 of 4 cases support it, 4 too few seeds"


def test_a_claim_that_is_asked_twice_has_the_same_cases():
    asked = [{name: [part.case for part in one.parts] for name, one in verdicts({}).items()} for _ in range(2)]
    assert asked[0] == asked[1]


SIMILAR = ("patterns_are_similar", "trials_are_similar")


def test_seeds_as_far_from_their_mean_as_that_from_zero_decide_nothing(so):
    swings = {name: frame.copy() for name, frame in so.items() if {"seed", "attention positive"} <= set(frame)}
    for frame in swings.values():
        odd = frame.seed % 2
        frame["attention positive"], frame["attention negative"], frame["attention neutral"] = 4.0 * odd, 2.0 * odd, 0.0
    assert {one.verdict for one in verdicts(swings, SIMILAR).values()} == {UNDECIDED}


def test_every_claim_can_be_undecided_or_hold_in_some_cases(so, not_so, judged_so):
    several = {name for name, one in judged_so.items() if sum(part.verdict != OPEN for part in one.counted) > 1}
    counts = ("balanced", "table_1", "table_S1")
    open_ = {(name, UNDECIDED) for name in OTHERS if name not in (*counts, *SIMILAR)}
    open_ |= {(name, BETWEEN) for name in several}
    rng = np.random.default_rng(0)
    for draw in range(240):  # what is found is asked no more
        by_seed = draw % 2 == 1
        left = sorted({name for name, word in open_ if (word == UNDECIDED) == by_seed})
        if not left:
            continue
        for name, one in verdicts(mixed(so, not_so, rng, by_seed), left).items():
            open_.discard((name, BETWEEN if one.verdict in BETWEEN else one.verdict))
    assert not open_


YES, NO, WIDE = "supported", "contradicted", "undecided"
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
    judged = verdicts({"table2": table2(lambda d, m, lam: accuracy(lam))}, ON_TABLE_2[:3])
    case = {"small_lam_is_worse": "SST, DP, λ = 1"}
    found = [
        {part.case: part.verdict for part in judged[one].parts}[case.get(one, "SST, DP")] for one in ON_TABLE_2[:3]
    ]
    assert tuple(found) == wanted
    assert {"IMDB, DP", "20News II, DP"} <= set(judged["small_lam_is_worse"].cases(OPEN))


def test_the_other_columns_are_judged_in_the_same_way():
    tables = {
        "table2": table2(lambda d, m, lam: 0.6 if lam < 10 else 0.9, models=("DP-A", "DP-L"), datasets=PAPER_NAMES)
    }
    assert {one.verdict for one in verdicts(tables, ON_TABLE_2[3:5]).values()} == {HOLDS}
    assert open_ones(verdicts(tables, ON_TABLE_2[:1]))


def noisy(shift):
    """Runs whose accuracies lie around the printed ones, less a shift."""
    runs = table2(lambda d, m, lam: printed(d, m, lam) - shift(d, m, lam), models=("DP",))
    return runs.assign(test_accuracy=runs.test_accuracy + 0.002 * np.random.default_rng(0).normal(size=len(runs)))


@pytest.mark.parametrize("lams, verdict", [((), "supported"), ((10.0,), "supported"), ((10.0, 20.0), "contradicted")])
def test_two_printed_accuracies_of_a_column_must_lie_outside(lams, verdict):
    runs = noisy(lambda d, m, lam: 0.1 * (lam in lams and d == "sst"))
    found = {part.case: part.verdict for part in verdicts({"table2": runs}, ["table_2"])["table_2"].parts}
    assert found["SST, DP"] == verdict and found["20News I, DP"] == "supported" and found["IMDB, DP"] == OPEN
    few = verdicts({"table2": runs[runs.seed < 9]}, ["table_2"])["table_2"]
    told = {part.case: part for part in few.parts}
    assert told["SST, DP"].verdict == ("contradicted" if verdict == "contradicted" else OPEN)


def test_a_column_with_one_seed_at_some_lam_is_not_judged():
    runs = noisy(lambda *cell: 0.1)
    for rows in (runs[(runs.seed < 1) | (runs.lam != 10)], runs[runs.lam != 10]):
        assert open_ones(verdicts({"table2": rows}, ["table_2"]))
    assert not open_ones(verdicts({"table2": runs}, ["table_2"]))


def test_a_column_of_fewer_seeds_than_the_rules_ask_for_is_undecided():
    accuracy = BY_LAM["as the paper has it"][0]
    for shift in (0.0, 0.1):
        runs = table2(lambda d, m, lam, shift=shift: accuracy(lam) - shift, models=("DP-L",))
        judged = verdicts({"table2": runs[runs.seed < 9]}, ["lam_is_crucial_with_lstm"])["lam_is_crucial_with_lstm"]
        assert judged.verdict == UNDECIDED and len(judged.cases(OPEN)) == len(judged.parts)
        assert all("10 seeds are needed" in part.found for part in judged.parts if part.n)


def test_a_column_compares_the_seeds_that_all_lam_share():
    runs = table2(lambda d, m, lam: 0.8, models=("DP",), datasets=("sst",))
    column = accuracies.compare_lams(runs[(runs.seed < 6) | (runs.lam == 10)])
    assert column.seeds == 6 and len(column.pairs) == 21 and column.optimum == "illusion"


@pytest.mark.parametrize("gain, verdict", [(0.0, YES), (0.02, YES), (0.2, NO)])
def test_what_a_penalty_gains_is_set_beside_what_a_small_lam_costs(gain, verdict):
    """λ = 1 costs 28 points, of which a fifth is 5.6."""
    free = table2(lambda d, m, lam: 0.8 if lam == 10 else 0.6 if lam < 10 else 0.9)
    held = table2(lambda d, m, lam: 0.8 + gain, datasets=("sst",)).query("lam == 10")[["lam", "seed", "test_errors"]]
    found = verdicts({"table2": free, "sst_penalty": held}, ON_TABLE_2[-1:])["penalty_and_accuracy"]
    assert [part.verdict for part in found.parts] == [verdict, OPEN]
    few = verdicts({"table2": free, "sst_penalty": held[held.seed < 9]}, ON_TABLE_2[-1:])["penalty_and_accuracy"]
    assert {part.verdict for part in few.parts} == {OPEN}


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
    assert [part.case for part in one.counted] == ["a"] and one.tally == "one case, which contradicts it"
    assert [part.case for part in one.turned_by] == ["b, W₀ within ±0.1"]
    assert "turned beside</b>: b, W₀ within ±0.1" in cards.card(one)
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


@pytest.mark.parametrize(
    "points, wide, verdict", [(-3.0, 1, "contradicted"), (0.0, 1, "supported"), (-0.9, 10, "undecided")]
)
def test_a_huge_lam_on_other_splits(points, wide, verdict):
    spread = wide * np.linspace(-1, 1, 20) / 100
    rows = [
        {"dataset": "20news-2", "model": "DP", "lam": lam, "seed": 0, "options": f"{k}", "test_accuracy": accuracy}
        for k, noise in enumerate(spread)
        for lam, accuracy in ((20.0, 0.9), (10000.0, 0.9 + points / 100 + 0.3 * noise))
    ]
    counts = pd.DataFrame([{"dataset": "20news-2", "table": "1", "what": f"{split}, a", "ours": n}
                           for split, n in (("train", 1000), ("test", 100))])  # fmt: skip
    judged = verdicts({"splits": pd.DataFrame(rows), "data_counts": counts}, ["huge_lam_is_harmless"])
    (part,) = (one for one in judged["huge_lam_is_harmless"].parts if one.case.endswith("other splits"))
    assert part.verdict == verdict and "20 splits" in part.found


def test_parts():
    steady = np.full(10, 2.0) + np.linspace(-1, 1, 10) * 0.1
    assert exceeds("x", steady).verdict == "supported" and exceeds("x", -steady).verdict == "contradicted"
    assert (
        exceeds("x", steady - 2).verdict == "undecided" and "5 of 10 seeds (24–76 %)" in exceeds("x", steady - 2).found
    )
    assert exceeds("x", steady[:9]).verdict == exceeds("x", []).verdict == OPEN
    of_texts = np.tile(np.arange(100) < 30, (10, 1)).astype(float)
    assert [contrast("x", sign * of_texts).verdict for sign in (1, -1, 0)] == ["supported", "contradicted", "undecided"]
    assert contrast("x", of_texts[:9]).verdict == OPEN and "30 [" in contrast("x", of_texts).found
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


@pytest.fixture(scope="module")
def judged():
    return claims.judge_all()


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
    assert {one.section for one in claims.CLAIMS.values()} >= {
        "4.1",
        "4.2",
        "5",
        "6",
        "B.1",
        "B.2",
        "C.3",
        "D",
        "E",
        "F",
        "G.2",
    }
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


@pytest.mark.skipif(read_published("10_scorecard") is None, reason="the scorecard has not been executed here")
def test_the_page_says_what_the_data_say(judged):
    text = "".join(str(output) for cell in code_cells(read_published("10_scorecard")) for output in cell.outputs)
    assert cards.counted_line(judged).replace("**", "") in text
    for one in judged:
        shown = cards.card(one)
        assert text.count(repr(shown)[1:-1]) == 1 or shown in text, one.claim.name


def test_cards_tell_quotation_verdict_numbers_and_link(judged):
    for one in judged:
        shown = cards.card(one)
        assert f'id="{one.claim.name}"' in shown and f'href="#{one.claim.name}"' in shown
        assert all(word in shown for word in (one.verdict, cards.address(one.claim.page), one.tally))
        assert all(part.found == "" or part.found.split(";")[0][:20] in shown for part in one.parts)
    assert cards.cards([]).count("No claim here") == 1
    assert all(one.claim.said in cards.surprise(one) for one in claims.surprises(judged))
    assert len(claims.surprises(judged)) == 3 and sum(claims.counted(judged).values()) == len(judged)


def test_cards_name_the_file_that_reads_a_claim_and_the_tables(judged):
    for one in judged:
        file = contents.FOLDER / claims.READ_BY[one.claim.name]
        assert f'"{one.claim.name}"' in (text := file.read_text(encoding="utf-8")) or f"def {one.claim.name}(" in text
        assert f"Read by <code>{claims.READ_BY[one.claim.name]}</code>" in cards.card(one)
        assert set(one.tables) <= {*STUDIES, *grid_names()} and (one.tables or one.claim.name in CALCULATED)
    (penalty,) = (one for one in judged if one.claim.name == "penalty_and_accuracy")
    assert penalty.tables == ("sst_penalty", "table2")


def test_what_is_no_claim_is_not_graded(judged):
    others = claims.judge_all(kinds=[kind for kind in claims.KINDS if kind not in claims.GRADED])
    assert others and not {one.claim.name for one in others} & {one.claim.name for one in judged}
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
    cases = {
        part.case
        for name in claims.CLAIMS
        if name not in ON_TABLE_2
        for part in claims.CLAIMS[name].parts(claims.Tables({}))
    }
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


def statuses(tables):
    names = {name for item in figures.OTHERS for name in item.shows}
    return figures.reproduction_map(verdicts(tables, names).values(), claims.Tables(tables)).set_index("number")


@pytest.fixture(scope="module")
def if_so(so):
    return statuses(so)


@pytest.fixture(scope="module")
def if_not(not_so):
    return statuses(not_so)


def test_the_status_of_a_figure_is_measured(if_so, if_not):
    none, true, false = statuses({}), if_so, if_not
    of_claims = [item.number for item in figures.OTHERS if item.number not in ("Fig 1", "Table 2")]
    assert set(none.status.drop("Fig 1")) == {"not yet"}
    assert set(true.status[of_claims]) == {"reproduced"} and set(false.status[of_claims]) == {"differs"}
    assert false.reason[of_claims].str.contains("; not: ").all()
    panels = {"Fig 2e", "Fig 3c", "Fig 4b"}  # those that only ask for polar above neutral words
    assert set(true.status[list(panels)]) == {"reproduced"} and set(false.status[list(panels)]) == {"differs"}
    assert true.reason["Fig 2e"] == "published order of the means in 10 of 10 seeds"
    some = figure_scores(True)
    some.loc[(some.seed < 5) & (some.type == "neutral"), "mean"] = 9.0
    assert statuses({"figure_scores": some}).loc["Fig 2e", ["status", "reason"]].tolist() == [
        "reproduced", "published order of the means in 5 of 10 seeds"]  # fmt: skip
    some.loc[(some.seed < 6) & (some.type == "neutral"), "mean"] = 9.0
    assert statuses({"figure_scores": some}).status["Fig 2e"] == "in some seeds"


# --- the command -----------------------------------------------------------------------------------------------


def test_the_command_prints_verdicts_and_writes_cases(tmp_path, judged, monkeypatch):
    monkeypatch.setattr(claims, "judge_all", lambda: judged)  # which takes its time
    out = tmp_path / "cases.csv"
    result = uaftc("scorecard", "--verdict", FAILS, "--out", out)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert sum(FAILS in line for line in lines[:-2]) == claims.counted(judged)[FAILS] == len(lines) - 2
    assert len(pd.read_csv(out)) == sum(len(one.parts) for one in judged)


@pytest.mark.parametrize(
    "words, message", [(["--verdict", "maybe"], "no verdict 'maybe'"), (["--out", "no/x.csv"], "does not exist")]
)
def test_the_command_refuses(words, message):
    result = uaftc("scorecard", *words)
    assert result.exit_code == 2 and message in result.stderr


# --- what is said of a verdict ---------------------------------------------------------------------------------


def made_up(*parts, instead="It is not."):
    """A judged claim of our own; parts: (case, verdict, strength)."""
    claim = claims.Claim("own", "3", "It is so.", "01_model", "a − b", instead)
    return claims.Judged(claim, tuple(Part(case, word, f"found in {case}", 10, s) for case, word, s in parts))


NAN = float("nan")


def test_surprises_are_the_clearest_failures_and_then_the_clearest_counter_cases():
    fails = made_up(("a", "contradicted", -2.0), ("b", "contradicted", -5.0))
    less = made_up(("a", "contradicted", -3.0), ("b", "undecided", 0.5), ("c", "contradicted", -0.4))
    but = made_up(("a", "supported", 90.0), ("b", "contradicted", -70.0))
    barely = made_up(("a", "supported", 90.0), ("b", "contradicted", -1.1))
    as_much, beaten = (
        claims.Judged(fails.claim, (*fails.parts[:1], replace(fails.parts[1], null=Null("", mean, 0.0, 1.0, 10, 40))))
        for mean in (0.5, -0.5)
    )
    never = [as_much, made_up(("a", "supported", 9.0)), made_up(("a", "undecided", -0.5)), made_up(("a", OPEN, NAN)),
             made_up(("a", "supported", 9.0), ("b", "undecided", -0.9)), made_up(("a", "contradicted", NAN)),
             made_up(("a", "contradicted", -np.inf))]  # fmt: skip
    assert claims.surprises([*never, barely, less, but, fails], 9) == [fails, less, but, barely]
    assert claims.surprises([beaten]) == [beaten]
    assert claims.surprises([barely, less, but, fails]) == [fails, less, but] and claims.surprises(never) == []
    assert claims.surprises([made_up(("a", "contradicted", -2.0), instead="")]) == [], "nothing to say of it"
    assert made_up(("a", "contradicted", NAN), ("b", "contradicted", -1.5), ("c", "undecided", -0.1)).worst.case == "b"


def test_a_surprise_says_what_was_found_instead():
    steady = np.full(10, 2.0) + np.linspace(-1, 1, 10)
    parts = exceeds("x", -steady), exceeds("y", 1 - steady), exceeds("z", steady)
    template = "In {case} it is {mean} [{low}, {high}], by {size}; {held} of {n}; {share}."
    claim = claims.Claim("own", "3", "It is so.", "01_model#a", "a − b", template)
    told = cards.surprise(claims.Judged(claim, parts))
    assert told == (
        "*It is so.* In x it is −2 [−2.5, −1.5], by 2; 0 of 10; 2.2. The sentence holds in 1 of 3 cases. "
        "[The page](01_model.html#a) shows it."
    )
    assert cards.surprise(made_up(("a", "contradicted", -2.0))) == (
        "*It is so.* It is not. [The page](01_model.html) shows it."
    )
    with pytest.raises(ValueError, match="no placeholder {median}; there are case, held"):
        claims.filled("it is {median}", Part("x", OPEN))
    assert "never registered" not in claims.CLAIMS


def test_no_surprise_tells_a_number_that_is_not_there(judged):
    told = [cards.surprise(one) for one in judged if one.worst and one.claim.instead]
    assert len(told) >= 3 and not [each for each in told if re.search(r"\bnan\b|[{}]", each)]
    assert "nan" in cards.surprise(made_up(("a", "contradicted", -2.0), instead="it is {mean}"))


def test_dependent_cases_are_said_to_be():
    assert "not independent" in cards.dependence(made_up(("SST, a", OPEN, NAN), ("SST, b", OPEN, NAN)))
    assert cards.dependence(made_up(("SST, a", OPEN, NAN), ("IMDB, b", OPEN, NAN))) == ""


# --- the map, as it is shown -----------------------------------------------------------------------------------


def test_why_is_told_of_what_differs_alone(if_so, if_not):
    true, false = if_so.reset_index(), if_not.reset_index()
    known = ["Table 1", "Table S1", "Fig S10", "Fig S18", "Fig S23"]
    assert (false.set_index("number").status[known] == "differs").all() and set(whys()) <= set(false.number)
    for made in (true, false):
        told, differing = figures.differing(made, whys()), set(made.number[made.status.isin(figures.WRONG)])
        assert told.count("* **") == len(differing)
        given = {number for number, (why, _) in whys().items() if f"**{number}**" in told and f"Why: {why} (" in told}
        assert given == differing & set(whys())
    table_2 = pd.DataFrame([{"number": "Table 2", "status": "differs", "reason": "", "page": "06_accuracy"}])
    assert "(A_table2.html#the-cells-that-differ-and-why)" in figures.differing(table_2, whys())
    assert "Why is not known ([more](06_accuracy.html))." in figures.differing(table_2, {})
    assert not re.search(r"\d", " ".join(re.sub(r"20News II?|L2", "", why) for why, _ in whys().values()))


def test_sizes_far_from_print_are_told():
    scores = figure_scores(True)
    printed_medians = in_print("S18").set_index("type")["median"]
    s18 = scores[["dataset", "model", "scores"]].eq(["imdb", "DP-A", "attention"]).all(axis=1)
    as_printed = scores.assign(median=scores["median"].where(~s18, scores.type.map(printed_medians)))
    near, far = (compare(rows).set_index("figure").off for rows in (as_printed, scores.assign(median=99.0)))
    for rows, off in ((as_printed, near), (scores.assign(median=99.0), far)):
        reasons = statuses({"figure_scores": rows}).reason
        for figure, distance in off.items():
            told = f"a median {distance:.1f} boxes off" in reasons[figures.cited_panel(figure)]
            assert told == (distance > figures.FAR), figure
    assert near["S18"] < figures.FAR and (far.dropna() > figures.FAR).all() and far["S18"] > 0


def test_numbers_commands_and_data_of_the_map():
    by_number = {item.number: item for item in figures.items()}
    assert {"Fig S13, top", "Fig S13, bottom", "Fig 2a"} <= set(by_number)
    assert figures.whole_figure("Fig S13, top") == "Fig S13" and figures.whole_figure("Fig 2a") == "Fig 2"
    assert figures.whole_figure("Table S1") == "Table S1" and figures.order("Fig S13, bottom") == 13
    scores, points, weights, start, terms = (
        f"uaftc tables {name} --make"
        for name in ("figure_scores", "figure_points", "sst_weights", "embedding_start", "terms")
    )
    assert by_number["Fig S20"].commands[1:] == (scores,)
    assert by_number["Fig 4b"].commands[1:] == (scores, points)
    assert by_number["Fig 5"].commands == ("uaftc run 05_real_words", scores, weights)
    assert by_number["Fig S1"].commands == ("uaftc run A_geometry", start)
    assert by_number["Table 2"].commands == ("uaftc run 06_accuracy", "uaftc tables table2 --make")
    assert by_number["Fig S2"].commands == ("uaftc run A_geometry", terms)
    drawn = {name: read_source(name) for name in ("05_real_words", "A_atlas")}
    for item in figures.items():  # the data are those that the chapter reads
        source = drawn.get(item.page.split("#")[0])
        stored = set(item.data.split(", ")) - {"live"}
        assert source is None or all(f'"{name}"' in cells_text(source) for name in stored), item.number


def cells_text(source):
    return "".join(cell.source for cell in source.cells)


def test_the_map_is_one_table(if_so):
    made = if_so.reset_index()
    shown = figures.map_table(made, whys())
    assert shown.count("<tr>") == len(made) + 1 and shown.count("<table>") == 1
    shown = shown.replace("\N{NO-BREAK SPACE}", " ")
    for row in made.itertuples():
        assert f'<a href="{cards.address(row.page)}">{row.number}</a>' in shown
    codes = BeautifulSoup(shown, "html.parser").find_all("code")
    assert [code.get_text().strip() for code in codes] == [one for row in made.commands for one in row]
    for code in codes:  # a line breaks between options alone
        pieces = [span.get_text() for span in code.find_all("span", style="white-space:nowrap")]
        assert " ".join(pieces) == code.get_text().strip() and all(piece.startswith("-") for piece in pieces[1:])
    assert (
        shown.count("10 of 10 seeds")
        == made.reason[made.status == "reproduced"].str.contains("10 of 10 seeds").sum()
        > 0
    )
