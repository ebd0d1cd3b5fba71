"""The claims of Appendices D to G: the affine layer, additive attention, several classes, further panels."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from uaftc_lib.claims.accuracy import as_printed
from uaftc_lib.claims.analysis import both, column, lead, least, on_both_sides, opposed, rows_of, several, size
from uaftc_lib.claims.experiments import ONE_BELOW, beside, wide
from uaftc_lib.claims.verdicts import SMALL, Cases, Part, Tables, asked_of, claim, exceeds
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.panels import panels, starts_of

VARIANTS, SCORES = "07_variants", "10_scores#every-panel-of-the-paper"
AFFINE, ADDITIVE, CLASSES = (
    f"{VARIANTS}#{name}" for name in ("an-affine-layer", "additive-attention", "several-classes")
)
PARTED = "the smaller of s (positive words) and −s (negative words)"
LARGE = "the least of: attention of either polar kind, and its lead over neutral words"


def large(rows: pd.DataFrame) -> pd.Series:
    """The least of: attention of either polar kind, and its lead over neutral words."""
    return least(both(rows), lead(rows))


def variant(name: str, penalty: float = 0.0, case: str = "small Data I") -> Cases:
    """Ten starts of one of the models on small Data I."""
    return rows_of(case, "variants", variant=name, penalty=penalty)


def booked_terms(name: str, lam: float) -> Cases:
    """Ten starts of one of the models on small Data I, with what each term did to attention."""
    return rows_of(f"small Data I, {name}, λ = {lam:g}", "variants_terms", variant=name, penalty=0.0, lam=lam)


def of_figures(scores: str, *models: tuple[str, str]) -> Cases:
    """Ten starts of models on real data at λ = 10."""
    return lambda tables: [
        (f"{PAPER_NAMES[key]}, {model}", wide(tables, key, model, scores=scores)) for key, model in models
    ]


def set_aside(rows: pd.DataFrame) -> pd.Series:
    """Positive where F and Mρ together are small beside E, on average over both polar kinds."""
    together = [column(rows, f"F {kind}") + column(rows, f"M_rho {kind}") for kind in ("positive", "negative")]
    return SMALL - (together[0].abs() + together[1].abs()) / 2 / size(rows, "E")


PENALISED = "small Data I, with penalty"
BOTH_AFFINE = several(variant("DP-A", 0.0, "small Data I, without penalty"), variant("DP-A", 1e-3, PENALISED))
ON_REAL_DATA = (("sst", "AD"), ("imdb", "AD"))
# fmt: off
asked_of(BOTH_AFFINE, "affine_polarity", "D", "With an affine layer polarity scores part as in the simple model.",
         AFFINE, PARTED, lambda rows: opposed(rows, "polarity"))
asked_of(variant("DP-A", 1e-3, PENALISED), "affine_attention", "D",
         "With an affine layer both polar kinds end with large positive attention scores, if the second and the third "
         "term are small (Fig S9).", AFFINE, LARGE, large)
asked_of(several(variant("AD"), of_figures("attention", *ON_REAL_DATA)), "additive_attention", "E",
         "With additive attention both polar kinds end with large positive attention scores, if the second term is "
         "small or λ is appropriate (Fig S10).",
         ADDITIVE, LARGE, large)
asked_of(several(variant("AD"), of_figures("polarity", *ON_REAL_DATA)), "additive_polarity", "E",
         "With additive attention polarity scores part as in the simple model (Fig S10).", ADDITIVE, PARTED,
         lambda rows: opposed(rows, "polarity"))
BOOKED = {name: several(*(booked_terms(name, lam) for lam in (10.0, 100.0))) for name in ("DP-A", "AD")}
asked_of(BOOKED["DP-A"], "affine_sides", "D",
         "Behind an affine layer the second and the third term act in opposite ways on positive and negative tokens.",
         AFFINE, "how far from zero the nearer kind is, the lesser of D and Mπ; negative: both kinds on the same side",
         lambda rows: least(on_both_sides(rows, "D"), on_both_sides(rows, "M_pi")))
asked_of(several(*BOOKED.values()), "terms_set_aside", "E",
         "In the last two terms of the additive model, and so it is assumed of the affine one, positive and negative "
         "texts offset each other, and they are small.", f"{VARIANTS}#the-terms-that-are-set-aside",
         f"{SMALL:g} − |F + Mρ| of polar words, in units of |E|, over the run", set_aside,
         instead="They are not small: where it is clearest ({case}), both together have {share} times the size of the "
                 "first term, which is kept, and part the two kinds of polar words.")
THREE = rows_of("three classes", "class_terms")
asked_of(THREE, "heads_apart", "F",
         "Products of two columns of W lie far below their squared norms, or are even negative.", CLASSES,
         f"{SMALL:g} − the largest product of two columns, in units of the smallest squared norm",
         lambda rows: SMALL - column(rows, "largest W·W'") / column(rows, "smallest ‖W‖²"))
asked_of(THREE, "own_class", "F", "A word's polarity score for its own class becomes large.", CLASSES,
         "s of the word's class minus the mean of the others",
         lambda rows: least(*(column(rows, f"own polarity {k}") for k in "012")))
asked_of(THREE, "classes_attract", "F",
         "Products of words of a class are larger than those of words of two classes (Fig S11).",
         CLASSES, "the smallest within a class minus the largest across",
         lambda rows: column(rows, "within") - column(rows, "across"))
asked_of(THREE, "class_attention_grows", "F", "The attention of the words of every class grows (Fig S12).", CLASSES,
         "attention at the end minus at the start, of the class that grows least",
         lambda rows: least(*(column(rows, f"attention {k}") - column(rows, f"start attention {k}") for k in "012")))
asked_of(THREE, "class_attention_is_positive", "F",
         "The attention of the words of every class ends positive (Fig S12).", CLASSES,
         "attention at the end, of the class where it is least",
         lambda rows: least(*(column(rows, f"attention {k}") for k in "012")))
asked_of(several(rows_of("small Data I", "exact_optimizers", optimizer="adam", lam=10.0), beside("Adam")),
         "adam_is_similar", "G", "With Adam the patterns are similar.",
         "12_lambda#with-another-optimizer-with-another-encoder",
         "the lesser of: attention of the weaker polar kind minus neutral words; s or −s of the weaker kind",
         lambda rows: least(lead(rows), opposed(rows, "polarity")))
# fmt: on


claim(
    "G",
    "The examined tokens are as many as in Table S1.",
    "09_datasets#counting-words",
    "counts that differ",
    "table_S1",
)(as_printed("S1"))


@claim("D", "Behind the affine layer representations have the properties of embeddings (Fig S8).", AFFINE,
       "the smaller of like and −unlike products")  # fmt: skip
def affine_products(tables: Tables) -> Iterator[Part]:
    rows = tables("affine_terms")
    for which, case in (("e", "small Data I, embeddings"), ("h", "small Data I, representations")):
        yield exceeds(case, least(column(rows, f"{which} like"), -column(rows, f"{which} unlike")))


def of_lstm(tables: Tables, scores: str, value: str = "mean") -> tuple[pd.DataFrame, pd.Series]:
    """Scores of the LSTM on SST by type, and their mean over all polar words."""
    rows, words = (wide(tables, "sst", "DP-L", scores=scores, value=name) for name in (value, "words"))
    kinds = [f"{scores} {kind}" for kind in ("positive", "negative")]
    many = [column(words, kind) for kind in kinds]
    return rows, sum(n * column(rows, kind) for n, kind in zip(many, kinds)) / sum(many)


@claim("G.1", "With an LSTM polarity tokens generally have larger local attention scores than neutral ones (Fig S13).",
       SCORES, "mean local score of polar words, all or those of the weaker kind, minus neutral words")  # fmt: skip
def lstm_local(tables: Tables) -> Iterator[Part]:
    rows, polar = of_lstm(tables, "local attention")
    yield exceeds("SST, all polar words", polar - column(rows, "local attention neutral"))
    yield exceeds("SST, the weaker kind", lead(rows, "local attention"))


@claim("G.1", "With global scores the pattern is clearer than with local ones (Fig S13).", SCORES,
       "probability that a polar word leads a neutral one: global minus local")  # fmt: skip
def lstm_global(tables: Tables) -> Iterator[Part]:
    by = {
        scores: wide(tables, "sst", "DP-L", scores=scores, value="over neutral")
        for scores in ("attention", "local attention")
    }
    for kind in ("positive", "negative"):
        pair = [column(rows, f"{scores} {kind}") for scores, rows in by.items()]
        yield exceeds(f"SST, {kind} words", pair[0] - pair[1])
    everyone = [of_lstm(tables, scores, "over neutral")[1] for scores in by]
    yield exceeds("SST, all polar words", everyone[0] - everyone[1])


@claim("G.2", "Other models and other λ show similar patterns: polar words have more attention (Figs S15 to S28).",
       SCORES, "attention of the weakest polar kind minus neutral words", instead=ONE_BELOW)  # fmt: skip
def other_panels(tables: Tables) -> Iterator[Part]:
    of = panels()
    for panel in of[of.figure.str.startswith("S") & (of.scores == "attention") & (of.model != "DP-L")].itertuples():
        rows = wide(tables, panel.dataset, panel.model, panel.lam)
        kinds = [name for name in rows.columns if name not in ("seed", "attention neutral")] if len(rows) else []
        found = least(*(column(rows, name) for name in kinds)) - column(rows, "attention neutral") if kinds else []
        yield exceeds(f"{panel.figure}: {PAPER_NAMES[panel.dataset]}, {panel.model}, λ = {panel.lam:g}", found)


@claim("G.2", "Other models and other λ show similar polarity scores (Figs S14 to S27).", SCORES,
       "two classes: the smaller of s and −s of its kind; three: mean s for the own class minus the next")  # fmt: skip
def other_polarity_panels(tables: Tables) -> Iterator[Part]:
    of, stored = panels(), tables("figure_scores")
    for panel in of[of.figure.str.startswith("S") & (of.scores == "polarity")].to_dict("records"):
        rows, kind = starts_of(panel, stored) if len(stored) else stored, panel["type"]
        means = rows.pivot(index="seed", columns="type", values="mean") if len(rows) else rows
        found = []
        if len(rows):
            found = (
                means[kind] - means.drop(columns=kind).max(axis=1) if kind else least(means.positive, -means.negative)
            )
        case = f"{panel['figure']}: {PAPER_NAMES[panel['dataset']]}, {panel['model']}, λ = {panel['lam']:g}"
        yield exceeds(f"{case}, {kind}" if kind else case, found)
