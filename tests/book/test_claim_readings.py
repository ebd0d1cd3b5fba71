"""Where the readings of the claims change their answer: at a fifth, at zero, and by sizes that do not cancel.

Rows are made of the values of single words, as the studies make them, with one percent of noise.
"""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book import claims, rules
from uaftc_book.chapters.variants import LAST
from uaftc_book.readings import CELLS, M_OF_LIBRARY, RANGES_OF_M, TOO_SMALL
from uaftc_book.small_data import by_kind
from uaftc_lib.locations import PAPER_NAMES

SUPPORTED, CONTRADICTED, _ = rules.VERDICTS
OPEN = "open"
TYPES = {kind: torch.arange(10) + 10 * i for i, kind in enumerate(("positive", "negative", "neutral"))}
EITHER = torch.tensor([1.0, -1.0] * 5, dtype=torch.float64)  # ten words of either sign, with mean zero
ALIKE = torch.ones(10, dtype=torch.float64)


def table(words=None, columns=None, jobs=({},)):
    """Ten seeds of each job.

    ``words``: quantity -> its values for positive, negative and neutral words. A quantity may be "first E".
    ``columns``: name -> value, of what is no mean over words.
    """
    rng, rows = np.random.default_rng(0), []
    for job, seed in product(jobs, range(10)):
        row = dict(job) | {"seed": seed}
        for name, values in (words or {}).items():
            when, _, quantity = name.rpartition(" ")
            of_words = torch.cat([v * ALIKE * (1 + 0.01 * rng.normal()) for v in values])
            row |= {f"{when} {key}".strip(): value for key, value in by_kind({quantity: of_words}, TYPES).items()}
        rows.append(row | {name: value * (1 + 0.01 * rng.normal()) for name, value in (columns or {}).items()})
    return pd.DataFrame(rows)


TERM_JOBS = [where for name, where in {**CELLS, **TOO_SMALL}.values() if name == "terms"]
HUGE_JOB = [{"noise": 0.0, "lam": 10000.0}]
LARGE_JOB = [{"noise": 0.0, "lam": 100.0}]


def terms(words=None, columns=None, jobs=TERM_JOBS):
    return {"terms": table(words, columns, jobs)}


def decided(name, tables):
    """The verdicts on a claim in those of its cases for which there are rows."""
    parts = claims.judge(claims.CLAIMS[name], claims.Tables(tables)).parts
    return {part.verdict for part in parts if part.verdict != OPEN}


def kinds(name, value):
    return {f"{name} {kind}": value for kind in ("positive", "negative")}


def neutral_beside_polar(quantity, unit="", **others):
    """A quantity of neutral words, of either sign, in units of one of polar words, of either sign as well."""

    def of(share):
        words = {quantity: (EITHER, EITHER, share * EITHER)}
        if unit:
            words = {quantity: (9 * EITHER, 9 * EITHER, share * EITHER), unit: (EITHER, EITHER, 9 * EITHER)}
        return terms(words | {name: (EITHER, EITHER, v * EITHER) for name, v in others.items()})

    return of


def polar_beside_polar(quantity, unit, **where):
    """Of polar words, of either sign; neutral words, which do not count, are far larger."""
    return lambda share: table({quantity: (share * EITHER,) * 2 + (9 * EITHER,), unit: (EITHER,) * 3}, **where)


def first_F(kind):
    """Before the first step F is small for two kinds of words, and a share of its largest size for the third."""

    def of(share):
        values = [(share if one == kind else 0.01) * EITHER for one in TYPES]
        return terms({"first F": values}, {f"largest |F| {one}": 1.0 for one in TYPES})

    return of


def gap(share, jobs):
    """Attention of positive and of negative words, whose gap is a share of their mean size."""
    return table({"attention": (1 + share / 2, 1 - share / 2, 0.0)}, jobs=jobs)


def penalised(share):
    free, held = ({"attention": (value, 0.0, 0.0)} for value in (1.0, share))
    last = [table(words, jobs=[{"penalty": p, "epoch": 30}]) for words, p in ((free, 0.0), (held, 1e-3))]
    interventions = [
        table(words, jobs=[{"noise": noise, "intervention": intervention} for noise in (0.0, 0.1)])
        for words, intervention in ((free, "none"), (held, "penalty"))
    ]
    return {"synthetic_gap": pd.concat(last), "interventions_whole": pd.concat(interventions)}


def on_sst(words_at):
    """SST without a penalty: λ -> words."""
    made = [table(words, jobs=[{"lam": float(lam), "penalty": 0.0}]) for lam, words in words_at.items()]
    return {"sst_scores": pd.concat(made)}


def set_aside(large, small):
    """Of the two terms that are set aside, in units of E."""
    runs = product(("DP-A", "AD"), RANGES_OF_M, (10.0, 100.0))
    jobs = [{"variant": v, "penalty": 0.0, "M": M, "lam": lam} for v, M, lam in runs]
    words = {small: (0.01,) * 3, "E": (1.0, -1.0, 9.0)}
    return lambda share: {"variants_terms_whole": table({large: (share, -share, 9.0)} | words, jobs=jobs)}


def large_A(share):
    """A of polar words in units of B; where it is large it is so for more words at a small λ than at λ = 10."""
    words = {"A": (share * EITHER,) * 2 + (9 * EITHER,), "B": (EITHER,) * 3}
    many = {job["lam"]: 0.1 + (share - 0.2) / 10 * (job["lam"] < 10) for job in TERM_JOBS}
    return {"terms": pd.concat(table(words, {"words with A > B/5": many[job["lam"]]}, [job]) for job in TERM_JOBS)}


def on_panels(share):
    """Votes of Fig 2a to c: neutral words lie to one side, about a share of what polar ones have."""
    rows = [
        {"dataset": key, "model": "DP", "lam": 10.0, "scores": "polarity", "type": kind, "seed": seed,
         "mean": value, "p25": 0.9 * value, "p75": 1.1 * value}
        for key, (kind, value), seed in product(PAPER_NAMES, zip(TYPES, (1.0, -1.0, share)), range(10))
    ]  # fmt: skip
    return {"figure_scores": pd.DataFrame(rows)}


def on_real_data(share):
    """The ledger of SST; where neutral words have more than a fifth, polar ones are on the wrong side, too."""
    side = 1.0 if share < 0.2 else -1.0
    words = {name: (side * ALIKE, (-side if name in "πBCD" else side) * ALIKE, share * EITHER) for name in "πρBCDEF"}
    runs = {"labels": "real", "lists": "training", "moment": "epoch 12"}
    jobs = [runs | {"optimizer": name} for name in ("Adagrad", "SGD")]
    return {"sst_terms": table(words, {"V·W": 1.0}, jobs)}


def unbalanced(share):
    """Of 10,000 texts the one class has, the other lacks this share."""
    of = {"train, a": 10_000, "train, b": round(10_000 * (1 - share)), "vocabulary": 3}
    return {"data_counts": pd.DataFrame([{"dataset": key, "table": "1", "what": what, "ours": n, "published": n}
                                         for key, (what, n) in product(PAPER_NAMES, of.items())])}  # fmt: skip


def around(mean):
    """Neutral words that are large and of either sign, with this mean; polar words of size one."""
    return {"polarity": (1.0, -1.0, mean + 5 * EITHER)}


def variant_terms(words):
    """What terms did behind an affine layer and with additive attention."""
    runs = product(("DP-A", "AD"), RANGES_OF_M, (10.0, 100.0))
    jobs = [{"variant": v, "penalty": 0.0, "M": M, "lam": lam} for v, M, lam in runs]
    return {"variants_terms_whole": table(words, jobs=jobs)}


def beside_own(share):
    """The last two terms of Eq 63 in units of the first three; neutral words, which do not count, are far larger."""
    jobs = [*({"M": M, "lam": 10.0} for M in RANGES_OF_M), {"M": M_OF_LIBRARY, "lam": 100.0}]
    return table({"rest": (share * EITHER,) * 2 + (9 * EITHER,), "own": (EITHER,) * 3}, jobs=jobs)


def of_classes(small, **units):
    """A term of three classes in units of others; that of neutral words, which do not count, is far larger."""

    def of(share):
        sizes = {f"|{name}| {k}": value for name, value in ({small: share} | units).items() for k in "012"}
        return {"class_velocities": table(None, sizes | {f"|{small}| 3": 9.0}, [{"lam": 10.0}, {"lam": 100.0}])}

    return of


def changed_decisions(share):
    """Equal weights change a tenth of the decisions at λ = 10, and a share of that at λ = 100."""
    made = [
        table(None, {"kept by uniform weights": 1.0}, [{"lam": lam}]).assign(
            **{"kept by uniform weights": lambda rows, lost=lost: 1 - lost * rows["kept by uniform weights"]}
        )
        for lam, lost in ((10.0, 0.1), (100.0, 0.1 * share))
    ]
    return {"explanation_seeds": pd.concat(made)}


def still_neutral(share):
    """B and C of polar words take sides if those of neutral ones are small, else they do not."""
    side = 1.0 if share < claims.SMALL else -1.0
    return {"start_terms": table({name: (side, -side, share * EITHER) for name in "BC"}, jobs=RANGES_OF_BOTH)}


def unlike_votes(share):
    """Negative words whose vote is weaker: the sum of both is this share of their mean size."""
    made = terms({"polarity": (1.0, -1.0, 0.0)})["terms"]
    return {"terms": made.assign(**{"polarity negative": (share - 2) / (share + 2) * made["polarity positive"]})}


RANGES_OF_BOTH = [{"embedding_range": e, "weight_range": w} for e, w in product((0.1, 1.0), repeat=2)]


def gained_by_pairs(share):
    """The gain in weight of words that tell nothing alone, of that of words that do; both are many initial weights."""
    gains = {"words": 100.0, "pairs": 100 * share}
    rows = [
        table(None, {"share": 1 + gain, "share at first": 1.0}, jobs=[{"signal": signal, "lam": lam}])
        for signal, gain in gains.items()
        for lam in (1.0, 10.0, 100.0)
    ]
    return {"signal_in_pairs": pd.concat(rows)}


READINGS = [  # a claim, and its tables where the first quantity is this share of the other
    ("pi_of_neutral", neutral_beside_polar("π")),
    ("rho_of_neutral", neutral_beside_polar("ρ")),
    ("polarity_of_neutral", neutral_beside_polar("polarity")),
    ("B_and_C_of_neutral", neutral_beside_polar("B", C=0.01)),
    ("B_and_C_of_neutral", neutral_beside_polar("C", B=0.01)),
    ("D_of_neutral", neutral_beside_polar("D")),
    ("E_of_neutral", neutral_beside_polar("E")),
    ("F_of_neutral", neutral_beside_polar("F", E=9)),
    ("findings_on_real_data", on_real_data),
    ("A_is_small", lambda share: {"terms": polar_beside_polar("A", "B", jobs=TERM_JOBS)(share)}),
    ("E_dominates_first", lambda share: {"terms": polar_beside_polar("first F", "first E", jobs=TERM_JOBS)(share)}),
    ("B_decides_first", lambda share: {"start_terms": polar_beside_polar("C", "B", jobs=RANGES_OF_BOTH)(share)}),
    *(("F_at_first", first_F(kind)) for kind in TYPES),
    ("neutral_part_of_C", lambda share: terms(None, kinds("largest C from neutral", share) | kinds("largest C", 1.0))),
    ("products_of_neutral", lambda share: terms(None, {"with neutral": share, "like": 1.0})),
    ("products_of_neutral", lambda share: terms(None, {"with neutral": share, "like": -1.0})),
    ("mean_pooling", lambda share: terms(None, {"farthest weight": share}, HUGE_JOB)),
    ("neutral_around_zero", lambda share: terms(around(share))),
    ("neutral_around_zero", lambda share: terms(around(-share))),
    ("figure_2_neutral", on_panels),
    ("figure_2_neutral", lambda share: on_panels(-share)),
    ("penalty_closes_the_gap", penalised),
    (
        "attention_shrinks",
        lambda share: on_sst({10: {"attention": (1, -1, 1)}, 100: {"attention": (-share, share, -share)}}),
    ),
    ("balanced", unbalanced),
    ("terms_set_aside", set_aside("F", "M_rho")),
    ("terms_set_aside", set_aside("M_rho", "F")),
    ("affine_E_of_neutral", lambda share: variant_terms({"E": (1.0, -1.0, share)})),
    ("affine_E_of_neutral", lambda share: variant_terms({"E": (1.0, -1.0, -share)})),
    ("affine_polarity_rest", lambda share: {"affine_velocities": beside_own(share)}),
    ("class_A_is_small", of_classes("A", B=0.5, C=0.5)),
    ("class_F_is_small", of_classes("F", E=1.0)),
    ("averages_at_large_lam", changed_decisions),
    ("pairs_have_opposite_votes", unlike_votes),
    ("first_updates", still_neutral),
    ("no_attention_without_telling_words", gained_by_pairs),
    ("heads_apart", lambda share: {"class_terms_whole": table(None, {"largest W·W'": share, "smallest ‖W‖²": 1.0})}),
]


def neutral_votes(at_small, at_moderate=0.2):
    """The votes of neutral words at λ ≤ 1 and above, in units of polar ones; of either sign, with mean zero."""

    def votes(jobs):
        shares = [at_small if job["lam"] <= 1 else at_moderate for job in jobs]
        return pd.concat(
            table({"polarity": (EITHER, EITHER, share * EITHER)}, jobs=[job]) for share, job in zip(shares, jobs)
        )

    short = [{"lam": lam} for lam in (0.01, 0.1, 1.0, 10.0)]
    return {"terms": votes(TERM_JOBS), "short_terms": votes(short), "short_terms_lams": votes(short)}


LARGE_READINGS = [  # the same, of claims that say that it is not small
    ("small_lam_spoils_polarity", neutral_votes),
    ("small_lam_makes_A_large", large_A),
    ("apparent_gap", lambda share: {"synthetic_gap": gap(share, [{"penalty": 0.0, "epoch": 30}])}),
    ("apparent_gap", lambda share: {"synthetic_gap": gap(-share, [{"penalty": 0.0, "epoch": 30}])}),
]


def named(value):
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(("name", "tables"), READINGS, ids=named)
def test_small_is_less_than_a_fifth(name, tables):
    assert decided(name, tables(0.18)) == decided(name, tables(0.19)) == {SUPPORTED}
    assert decided(name, tables(0.21)) == decided(name, tables(1.0)) == {CONTRADICTED}


@pytest.mark.parametrize(("name", "tables"), LARGE_READINGS, ids=named)
def test_large_is_more_than_a_fifth(name, tables):
    assert decided(name, tables(0.19)) == decided(name, tables(0.01)) == {CONTRADICTED}
    assert decided(name, tables(0.22)) == decided(name, tables(1.0)) == {SUPPORTED}


def test_every_claim_that_asks_for_a_fifth_is_tried():
    asking = {n for n, one in claims.CLAIMS.items() if f"{claims.SMALL:g}" in re.findall(r"[\d.]*\d", one.measured)}
    assert asking == {name for name, _ in (*READINGS, *LARGE_READINGS)}


def test_a_small_lam_is_set_against_a_moderate_one_beside():
    claim = claims.CLAIMS["small_lam_spoils_polarity"]
    for at_small, verdict in ((0.6, SUPPORTED), (0.4, CONTRADICTED)):
        one = claims.judge(claim, claims.Tables(neutral_votes(at_small, 0.5)))
        assert {part.verdict for part in one.parts if "against" in part.case} == {verdict} and one.verdict == "holds"


def variants_whole(words):
    runs = product(("DP-A", "AD"), (0.0, 1e-3), RANGES_OF_M)
    return {
        "variants_whole": table(words, jobs=[{"variant": v, "penalty": p, "M": M, "epoch": LAST} for v, p, M in runs])
    }


VOTES = {  # a claim that asks for large votes, and its tables where they are so large
    "polarity_parts": lambda size: terms({"polarity": (size, -size, 9.0)}),
    "affine_polarity": lambda size: variants_whole({"polarity": (size, -size, 9.0)}),
    "additive_polarity": lambda size: variants_whole({"polarity": (size, -size, 9.0)}),
    "own_class": lambda size: {"class_terms_whole": table(None, {f"own polarity {k}": size for k in "012"})},
}


@pytest.mark.parametrize("name", VOTES)
def test_a_large_vote_alone_gives_odds_of_99_to_1(name):
    assert decided(name, VOTES[name](4.75)) == {SUPPORTED}
    assert decided(name, VOTES[name](4.45)) == {CONTRADICTED}
    assert f"{claims.SURE:.1f}" == "4.6" in claims.CLAIMS[name].measured


def by_case(name, tables):
    return {part.case: part for part in claims.judge(claims.CLAIMS[name], claims.Tables(tables)).parts}


def test_F_is_a_number_a_run_in_units_of_E():
    found = by_case("F_of_polar", terms({"F": (0.2, 0.1, 9.0), "E": (1.0, 3.0, 9.0)}))
    assert len(found) == len(CELLS) and found["Data I, λ = 10"].mean == pytest.approx(0.1 / 2, rel=0.05)
    assert decided("F_of_polar", terms({"F": (0.2, -0.1, 9.0), "E": (1.0, 1.0, 9.0)})) == {CONTRADICTED}
    beside = by_case("F_is_positive", terms({"F": (0.1, 0.1, 9.0), "E": (1.0, 1.0, 9.0)}))
    assert [beside[f"Data I, λ = 10{what}"].verdict for what in ("", ", more than small beside E")] == [
        SUPPORTED, CONTRADICTED]  # fmt: skip


@pytest.mark.parametrize("left, verdict", [(0.5, SUPPORTED), (1.0, "undecided"), (1.5, CONTRADICTED)])
def test_on_SST_the_gap_is_what_goes_with_VW(left, verdict):
    """Negative words lead by 1 where V·W ends below zero, and by ``left`` with a penalty on it."""
    runs = [
        table({"attention": (0.0, lead, 0.0)}, {"V·W": -1.0}, [{"lam": 10.0, "penalty": penalty}])
        for penalty, lead in ((0.0, 1.0), (1e-4, left))
    ]
    turned = pd.concat(
        table({"attention": (1.0, 0.0, 0.0)}, {"V·W": side}, [{"data": "SST", "lam": 10.0, "optimizer": o}])
        for o, side in (("sgd", 1.0), ("adagrad", 1.0), ("adagrad", -1.0))
    )
    found = by_case("gap_follows_VW", {"sst_scores": pd.concat(runs), "exact_range": turned})
    assert found["SST, λ = 10, less with a penalty"].verdict == verdict
    against = found["SST, λ = 10, where V·W ends above zero"]
    assert (against.n, against.verdict) == (10, SUPPORTED), "a number a seed"


def large_lam(words):
    return {"terms": table(words, jobs=LARGE_JOB)}


BORDERS = [  # helper, a claim by it, its tables; positive, negative and neutral words on the one side, and on the other
    (
        "lead", "polar_lead", lambda values: terms({"attention": values}),
        [(1.05, 3, 1), (3, 1.05, 1), (-0.95, 3, -1), (3, -0.95, -1)],
        [(0.95, 3, 1), (3, 0.95, 1), (-1.05, 3, -1), (3, -1.05, -1)],
    ),
    (
        "both", "rho_of_polar", lambda values: terms({"ρ": values}),
        [(0.05, 3, 9), (3, 0.05, -9)],
        [(-0.05, 3, 9), (3, -0.05, -9), (-3, -3, 9)],
    ),
    (
        "opposed", "pi_takes_sides", lambda values: terms({"π": values}),
        [(0.05, -3, 9), (3, -0.05, -9)],
        [(-0.05, -3, 9), (3, 0.05, -9), (-3, 3, 9)],
    ),
    (
        "on_both_sides", "opposite_signs", lambda values: large_lam({"attention": values}),
        [(0.05, -3, 9), (3, -0.05, 9), (-0.05, 3, -9), (-3, 0.05, -9)],
        [(0.05, 3, 9), (3, 0.05, -9), (-0.05, -3, 9), (-3, -0.05, -9)],
    ),
    (
        "difference along V·W", "gap_follows_VW",
        lambda values: {"terms": table({"attention": values}, {"V·W": -1.0}, LARGE_JOB)},
        [(1, 1.05, 9), (-1.05, -1, -9)],
        [(1.05, 1, 9), (-1, -1.05, -9)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tables", "so", "not_so"), [row[1:] for row in BORDERS], ids=[row[0] for row in BORDERS]
)
def test_each_helper_changes_sides_at_its_border(name, tables, so, not_so):
    assert {values: decided(name, tables(values)) for values in so} == dict.fromkeys(so, {SUPPORTED})
    assert {values: decided(name, tables(values)) for values in not_so} == dict.fromkeys(not_so, {CONTRADICTED})


@pytest.mark.parametrize("negative", [0.5, 2.0], ids=["positive words lead", "negative words lead"])
def test_seeds_are_alike_while_they_lie_nearer_to_their_mean_than_that_to_zero(negative):
    """Seeds at 1 ± ``distance`` in turn; the gap is half the lead, or its negative."""
    for distance, verdict in ((0.95, SUPPORTED), (1.05, CONTRADICTED)):
        sides = 1 + distance * np.array([1, -1] * 5)
        made = pd.concat(
            table({"attention": (x, negative * x, 0.0)}, jobs=[{"penalty": 0.0, "epoch": 30}]).query("seed == @seed")
            for seed, x in enumerate(sides)
        )
        assert decided("trials_are_similar", {"synthetic_gap": made}) == {verdict}
