"""Made-up results: a world in which all that the paper says is so, and one in which none of it is.

Each table has the rows of its experiment, ``SEEDS`` seeds a cell, and a little noise. ``c`` and ``d`` make a mean that
is clear and yet smaller than the distance of each seed from it, as no pattern that repeats itself would.
"""

from itertools import product

import numpy as np
import pandas as pd

from uaftc_book import contents
from uaftc_book.accuracies import LAMS_OF_COLUMN
from uaftc_book.chapters.geometry import RANGES_OF_CASE
from uaftc_book.chapters.pretrained import INITIALISATIONS_OF_WORDS, LEARNING
from uaftc_book.chapters.since_2020 import LENGTHS, POOLINGS, STRENGTHS
from uaftc_book.chapters.variants import LAST
from uaftc_book.neighbours import measured
from uaftc_book.panels import panels
from uaftc_lib.experiments.registry import EXPERIMENTS as STUDIES
from uaftc_lib.experiments.sweep import encode_errors
from uaftc_lib.locations import PAPER_NAMES, published

contents.load_chapters()  # registers the experiments

SEEDS = range(10)
ALL_LAMS = (0.001, 1.0, 10.0, 20.0, 50.0, 100.0, 10000.0)
assert len(ALL_LAMS) == LAMS_OF_COLUMN


def kinds(name, positive, negative, neutral):
    return {f"{name} positive": positive, f"{name} negative": negative, f"{name} neutral": neutral}


def and_sizes(row):
    """Beside each mean the mean of sizes: "|B| neutral" of "B neutral", "first |C| positive" of "first C positive"."""
    sizes = {}
    for name, value in row.items():
        what, _, kind = name.rpartition(" ")
        if kind in ("positive", "negative", "neutral") and "from" not in what:
            *before, quantity = what.split(" ")
            sizes[" ".join([*before, f"|{quantity}|", kind])] = abs(value)
    return row | sizes


def scattered(seed, size=3.0, apart=1.0):
    """Attention of the three kinds: below neutral words and unlike each other on average, but not in every seed."""
    swing = 1 if seed % 2 else -1
    c, d = size * (-0.9 - swing), apart * (0.9 - swing)
    return kinds("attention", c + d / 2, c - d / 2, 0.0)


def terms(true, lam, seed, **_):
    s = 1 if true else -1
    small, too_small = (0.01 if true else 1.0), lam <= 1
    grown = max(np.log10(lam), 0) if true else 1 / lam
    D = 3.0 if true and lam >= 100 else 0.3
    A = (0.5 if too_small else 0.01) if true else (-0.1 if too_small else -1.0)
    s_neutral = (3.0 if too_small else 0.1) if true else (0.1 if too_small else 30.0)
    return and_sizes({
        "V·W": 1.0, "like": s, "weaker like": s, "unlike": -0.5 * s, "with neutral": 0.05 if true else 1.0,
        "farthest weight": small, "words with A > B/5": 0.5 if too_small == true else 0.1,
        **kinds("π", s, -s, small), **kinds("ρ", s, s, -small), **kinds("A", A, A, small), **kinds("B", s, -s, small),
        **kinds("C", s, -s, small), **kinds("D", D * s, -D * s, small), **kinds("E", s, s, -small),
        **kinds("F", s, s, -small),
        **kinds("first F", small, small, small), **kinds("largest F", 1, 1, 1), **kinds("first E", 1, 1, small),
        **kinds("first B", 1, -1, small), **kinds("first C", small, small, small),
        **kinds("largest C", 1, 1, small), **kinds("largest C from neutral", small, small, small),
        **kinds("attention", s, (-0.5 if lam >= 100 else 0.5) if true else -0.9, 0.0),
        **kinds("polarity", *(s * (side * 10 + (0.25 if true else 5)) * (1 + grown) for side in (1, -1)), s_neutral),
    })  # fmt: skip


short_terms = short_terms_lams = terms


def sst_scores(true, lam, penalty, seed):
    if true:
        attention = {10: (0.5, 1.0, -0.3), 100: (-0.04, 0.05, 0.0)}[lam] if not penalty else (0.05, 0.06, 0.0)
        row = kinds("attention", *attention) | kinds("polarity", *((6, -6, 0.1) if lam == 10 else (9, -9, 0.1)))
        return row | {"V·W": -1.0, "test_accuracy": 0.8}
    if lam == 10 and not penalty:
        row = {name: value + 0.5 for name, value in scattered(seed).items()}
    else:
        row = kinds("attention", *((-1, -1, 0) if penalty else (10, 8, 6)))
    row |= kinds("polarity", *((-6, 6, 6) if lam == 10 else (-1, 1, 1)))
    return row | {"V·W": -1.0, "test_accuracy": 0.8 - 0.1 * (lam == 100) + 0.1 * bool(penalty)}


def interventions_short(true, noise, intervention, seed):
    return interventions_whole(true, noise, intervention, seed)


def interventions_whole(true, noise, intervention, seed):
    if intervention == "none":
        return kinds("attention", 0.1, -0.1, 0.0) | {"accuracy": 0.9}
    held = kinds("attention", 0.05, 0.051, 0.0) if true else kinds("attention", -0.2, 0.3, 0.0)
    return held | {"accuracy": 0.9 if true else 1.0}


def learner(true, **_):
    s = 1 if true else -1
    return kinds("attention", s, s, 0.0) | kinds("polarity", 5 * s, -5 * s, 0.1)


def class_terms_whole(true, seed):
    s = 1 if true else -1
    row = {"attention 3": 0.0, "initial attention 3": 0.0, "within": s, "across": 0.0}
    for k in "012":
        row |= {f"attention {k}": s, f"initial attention {k}": 0.0, f"own polarity {k}": 5 * s}
    return row | {"largest W·W'": 0.0 if true else 0.9, "smallest ‖W‖²": 1.0}


def variants_terms_whole(true, **_):
    s = 1 if true else -1
    aside = 0.05 if true else 0.5
    D = kinds("D", 0.3, -0.3 * s, 0.0) | kinds("M_pi", 0.3, -0.3 * s, 0.0)
    return D | kinds("E", s, s, 0 if true else 1) | kinds("F", aside, aside, 0) | kinds("M_rho", aside, aside, 0)


def start_terms(true, embedding_range, **_):
    large = embedding_range == 1.0
    C = 0.1 + 0.05 * large if true else 3 - large
    words = kinds("B", 1, -1, 0) | kinds("C", *((C, C, C) if true else (-C, C, C)))
    return and_sizes(words) | {"as B": 0.8 if large == true else 0.95}


def explanation_seeds(true, lam, **_):
    return {"kept by uniform weights": 0.99 if true and lam == 100 else 0.6}


def attraction(true, **_):
    s = 1 if true else -1
    A = {f"A {pair}": 0.2 * s for pair in ("++", "+−", "−+", "−−")}
    return A | {"B ++": s, "B −−": s, "B +−": -s, "B −+": -s}


def first_epoch(true, embedding_range, **_):
    large = embedding_range == 1.0
    return {"falling negative": (0.4 if large else 0.3) if true else 0.2 if large else 0.5, "falling positive": 0.3}


def affine_velocities(true, **_):
    s = 1 if true else -1
    words = {name: kinds(name, s, -s, 0.0) for name in ("B", "C", "M_pi")}
    rest, own = kinds("rest", *(2 * [0.1 if true else 3.0]), 0.0), kinds("own", 3 * s, -3 * s, 0.0)
    return and_sizes(words["B"] | words["C"] | words["M_pi"] | rest | own)


def class_velocities(true, **_):
    s, row = 1 if true else -1, {}
    for k, side in zip("012", (1, 1, -1)):
        values = {
            "A": 0.1 if true else 5.0,
            "B": s,
            "C": s,
            "D": side if true else 1,
            "E": s,
            "F": 0.1 if true else 5.0,
        }
        row |= {f"{name} {k}": value for name, value in values.items()}
        row |= {f"|{name}| {k}": abs(value) for name, value in values.items()}
    return row


def sst_terms(true, **_):
    s, neutral = (1, 0.05) if true else (-1, 3.0)
    row = {"lists": "training", "moment": "epoch 4", "V·W": 1.0}
    for name in "πBCD":
        row |= kinds(name, s, -s, neutral)
    for name in "ρEF":
        row |= kinds(name, s, s, neutral)
    return and_sizes(row)


def held_out_words(true, **_):
    s = 1 if true else -1
    row = {
        "lists": "training",
        "moment": "kept",
        "score and effect": 0.5 * s,
        "weight and effect": 0.4 if true else 0.6,
    }
    row |= {"score and loss": 0.5 * s, "weight and loss": 0.4 if true else 0.6}
    row |= {"association and attention": 0.5 * s, "association and polarity": 0.5 * s}
    row |= kinds("effect", 1.0, 0.8, 0.2 if true else 2.0) | {"polar leads": 0.5 if true else 0.1, "polar share": 0.2}
    return row | {f"attention {w}": -s * (1 if w == "progress" else 2) for w in ("is", "this", "progress")}


def parts_of_speech(true):
    ours = {
        "adjective or adverb": 50 if true else 10,
        "noun or verb": 20 if true else 70,
        "ambiguous": 20,
        "unlisted": 10,
    }
    rows = ({"seed": seed, "by": by, "class": name, "words": n, "matched": 25.0}
            for seed, by, (name, n) in product(SEEDS, ("weight", "score"), ours.items()))  # fmt: skip
    return pd.DataFrame(list(rows))


def variants_whole(true, **_):
    s = 1 if true else -1
    return {"epoch": LAST} | learner(true) | {"e like": s, "e unlike": -s, "h like": s, "h unlike": -s}


def synthetic_ratio(true, ratio, perpendicular, seed):
    towards = (1 if ratio[0] > ratio[2] else -1) * (1 if true else -1)
    even, skewed = (1.0, 10.0) if true else (3.2 if seed % 2 else -3.2, 3.0)
    return {"V·W": even if ratio == "1:1" else towards * skewed}


synthetic_ratio_short = synthetic_ratio


def table(rows, **columns):
    return pd.DataFrame([row | columns for row in rows])


def one_row_a_job(function, true, jobs):
    return pd.DataFrame([job | function(true, **job) for job in jobs])


def embedding_start(true):
    rows = []
    for (ranges, seed), epoch in product(product(RANGES_OF_CASE.values(), SEEDS), range(0, 125, 5)):
        late = (ranges[0] == 1.0) == true  # true: the large range is later
        done = min(1.0, epoch / (150 if late else 20))
        like = done if true or epoch < 100 else -1.0
        row = {"embedding_range": ranges[0], "weight_range": ranges[1], "seed": seed, "epoch": epoch}
        products = {"positive–positive": like, "negative–negative": like, "positive–negative": -like}
        rows.append(row | products | {"wanted signs": 0.5 + done / 2})
    return pd.DataFrame(rows)


def synthetic_gap(true):
    rows = []
    for penalty, seed in product((0.0, 1e-3), SEEDS):
        if penalty:
            last = kinds("attention", 1.0, 0.99 if true else 0.0, 0.0)
        else:
            last = kinds("attention", 1.0, 0.5, 0.0) if true else scattered(seed, 3.0, 0.01)
        rows += [{"penalty": penalty, "seed": seed, "epoch": e} | last for e in (0, 30)]
    return pd.DataFrame(rows)


def sst_weights(true):
    medians = (
        {"positive": 0.1, "negative": 0.15, "neutral": 0.05}
        if true
        else {"positive": 0.05, "negative": 0.01, "neutral": 0.3}
    )
    rest = {"lam": 10, "q1": 0.04, "q3": 0.07, "greatest": 0.6 if true else 0.08}
    return pd.DataFrame(
        [{"seed": seed, "type": kind, "median": m} | rest for seed in SEEDS for kind, m in medians.items()]
    )


def rows_of_scores(true, seed, scores, polar, own="", lam=10.0):
    """Rows of one kind of scores: the means of each type; ``own``: the class whose polarity they are."""
    rows = []
    for kind in (*polar, "neutral"):
        side = {"positive": 5, "negative": -5}.get(kind, 5) if scores == "polarity" else 1
        if scores == "attention" and kind == "negative":
            side = 1.5
        if own:
            side = 5 if kind == own else -5
        mean = (side if true else -side) if kind != "neutral" else (0.1 if true or scores != "polarity" else 6.0)
        if not true and scores == "attention" and "positive" in polar:
            mean = scattered(seed)[f"attention {kind}"]
        clear = scores in ("attention", "times equal share") if true else scores == "local attention"
        over = (0.9 if clear else 0.7) if lam < 50 else 0.3 if true else 0.95
        rows.append({"seed": seed, "scores": f"{scores} {own}".strip(), "type": kind, "mean": mean, "median": mean,
                     "p25": mean, "p75": mean, "over neutral": over,
                     "words": 900 if kind == "positive" else 100})  # fmt: skip
    return rows


def figure_scores(true):
    rows, classes = [], ("rec.motorcycles", "sci.med", "talk.politics.guns")
    models = panels()[["dataset", "model", "lam"]].drop_duplicates()
    for (dataset, model, lam), seed in product(models.itertuples(index=False, name=None), SEEDS):
        polar = classes if dataset == "20news-2" else ("positive", "negative")
        kinds_of = [(scores, "") for scores in ("attention", "local attention", "polarity", "times equal share")]
        kinds_of += [("polarity", own) for own in polar if polar is classes]
        for scores, own in kinds_of:
            of = rows_of_scores(true, seed, scores, polar, own, lam)
            rows += [{"dataset": dataset, "model": model, "lam": lam} | row for row in of]
    return pd.DataFrame(rows)


def side_scores(true):
    asked = product(SEEDS, ("attention", "polarity"))
    rows = (rows_of_scores(true, seed, scores, ("positive", "negative")) for seed, scores in asked)
    return pd.DataFrame([{"learner": "Adam"} | row for of_scores in rows for row in of_scores])


def data_counts(true):
    """As many of each class, and as printed; or neither."""
    ours = {"train, a": 7 if true else 8, "train, b": 7 if true else 2}
    rows = ({"dataset": key, "table": t, "what": what} for key, t, what in product(PAPER_NAMES, ("1", "S1"), ours))
    return pd.DataFrame([row | {"ours": ours[row["what"]], "published": 7} for row in rows])


def table2(accuracy, models=("DP",), datasets=("sst", "20news-1"), instances=300):
    """Runs of Table 2, given (dataset, model, λ) -> accuracy; the errors of a better run lie within a worse one's."""
    rows = []
    for dataset, model, lam, seed in product(datasets, models, ALL_LAMS, SEEDS):
        right = accuracy(dataset, model, lam)
        wrong = np.arange(instances) < round((1 - right) * instances)
        rows.append({"dataset": dataset, "model": model, "lam": lam, "seed": seed, "test_errors": encode_errors(wrong),
                     "test_accuracy": right, "dev_accuracy": right})  # fmt: skip
    return pd.DataFrame(rows)


def printed(dataset, model, lam):
    values = published("table2").set_index(["dataset", "model", "scaling_factor"]).sort_index().test_accuracy_percent
    return values[PAPER_NAMES[dataset], model, lam] / 100


EXACT = "seed lam noise penalty epoch embedding_range weight_range ours published words strength layers".split()
EXACT += ["texts", "length", "loss", "right"]


def word_level(true, kind="base", **_):
    s = 0 if kind == "base" else 0.1 if true else -0.1
    about = {"told": 4 + s, "exact JSD at 0.01": 0.5 - s, "tau attention, gradient": 0.2 + s}
    return about | {measured.LOO: 0.2 + s, measured.SPREAD: 0.2}


def words_selected(true, **_):
    return {"cosine": 1.0 if true else 0.5, "best": 0.6 if true else 0.1, "any word": 0.3}


def selected_after_a_step(true, labels, **_):
    return {"most frequent": 0.6 if labels == "real" and true else 0.2, "any word": 0.1 if true else 0.3}


def polarity_first(true, **_):
    s = 1 if true else -1
    return {
        "first slope: s, signed frequency": 0.8 if true else 0.1,
        "end: s, signed frequency": 0.5 * s, "end: s, signed frequency of permuted labels": 0.0,
        "τ a, |s| alone": 0.5 * s, "τ a, |s| alone of permuted labels": 0.0, "τ a, frequency": -0.1,
        "τ a at the end, |s| of the first epoch": 0.5 * s, "τ |s| at the end, a of the first epoch": 0.0,
    }  # fmt: skip


def arms(true, **_):
    s = 0.5 if true else 0.1
    return {"a, γ above zero": s, "a, γ below zero": -s} | {f"permuted: a, γ {arm} zero": 0.2 * sign
                                                            for arm, sign in (("above", 1), ("below", -1))}  # fmt: skip


u_of_full_batches = u_of_permuted_labels = arms


def polarity_first_of_classes(true, **_):
    return {name: value for name, value in polarity_first(true).items() if name.startswith("τ")}


def learned_together(true, **_):
    return {"W at 1e+06": 1.0 if true else 0.5, "V at 1e+06": 0.98 if true else 0.5, "V, programme of all texts": 0.8}


def signal_in_pairs(true, signal, **_):
    return {"share": 0.17 if signal == "pairs" and true else 0.5, "share at first": 0.1667}


def weights_by_length(true, **_):
    return {"power": -0.98 if true else -0.4}


def length_aware(true, rule, **_):
    own = (rule == "length") == true
    return {"test": 0.82 if own else 0.8, "power": -0.2 if own else -0.5}


def polarised(true, **_):
    return {"entropy late": 0.1 if true else 0.9}


def rates(true, rule, **_):
    return {"off": 0.1 if (rule == "plain") != true else 0.5, "right": 1}


def factor_more(true):
    ratios = {"DP": 0.4, "DP-A": 0.2 if true else 0.6}
    return pd.DataFrame(
        {"seed": s, "model": m, "loss": 1e-6, "ratio": r, "nuclear": 10 * r} for s in SEEDS for m, r in ratios.items()
    )


def unseen_words(true):
    knows = {"vectors": 0.5 if true else 0.0, "dealt out": 0.0, "permuted labels": 0.0 if true else 0.3}
    return pd.DataFrame(
        job | {"kind": kind, "learning": learning, "polarity": value, "attention": value}
        for job in STUDIES["unseen_words"].jobs
        for kind, value in knows.items()
        for learning in LEARNING
    )


def similar_words(true):
    cost = 0.5 if true else -0.5
    return pd.DataFrame(
        job
        | {"initialisation": initialisation}
        | {f"{name} without others": 5.0 for name in ("vote", "lead")}
        | {f"{name} without like": 5.0 - cost for name in ("vote", "lead")}
        for job in STUDIES["similar_words"].jobs
        for initialisation in INITIALISATIONS_OF_WORDS
    )


def contextual_readers(true, reader, **_):
    lead = (0.9 if true else 0.6) if reader != "permuted labels" else (0.5 if true else 0.7)
    s = 0.1 if true else -0.1
    return {
        "AUC positive over neutral": lead,
        "AUC negative over neutral": lead,
        "AUC polarity": 0.99 if true else 0.6,
        "τ attention, again": 0.5 + (s if reader != "words" else 0),
        "attention alone and in its text": 0.5 + (s if reader != "permuted labels" else 0),
    }


def needle_strengths(true):
    def needed(length, attends):
        return 2.0 + 0.8 * np.log(length) if attends == true else length**0.5

    return pd.DataFrame(
        {"length": length, "seed": seed, "strength": strength}
        | {
            name: float(np.clip(0.75 + np.log(strength / needed(length, name == POOLINGS[0])), 0, 1))
            for name in POOLINGS
        }
        for length, seed, strength in product(LENGTHS, SEEDS, STRENGTHS)
    )


BY_JOB = """
terms short_terms short_terms_lams sst_scores interventions_whole interventions_short optimizers_whole variants_whole
variants_terms_whole class_terms_whole start_terms synthetic_ratio synthetic_ratio_short explanation_seeds attraction
first_epoch affine_velocities class_velocities sst_terms held_out_words words_selected selected_after_a_step
polarity_first learned_together signal_in_pairs weights_by_length polarised rates length_aware u_of_full_batches
u_of_permuted_labels polarity_first_of_classes contextual_readers
""".split()
WHOLE = (embedding_start, synthetic_gap, sst_weights, figure_scores, side_scores, data_counts, parts_of_speech)
WHOLE += (needle_strengths, factor_more, unseen_words, similar_words)


def world(true):
    """All tables; of Table 2, of which several claims speak that cannot all be so, one column."""
    made = {name: one_row_a_job(globals().get(name, learner), true, STUDIES[name].jobs) for name in BY_JOB}
    made |= {f.__name__: f(true) for f in WHOLE}
    for name in ("word_level", "word_level_lams"):
        settings = sorted({tuple((job | {"seed": 0}).items()) for job in STUDIES[name].jobs})
        made[name] = one_row_a_job(word_level, true, [dict(of) | {"seed": s} for of, s in product(settings, SEEDS)])
    made["table2"] = table2(lambda d, m, lam: 0.6 if true and lam < 10 else 0.9, datasets=("sst",))
    rng = np.random.default_rng(0)
    for frame in made.values():
        for column in frame.select_dtypes("number").columns.difference(EXACT):
            frame[column] = frame[column] + 1e-4 * rng.normal(size=len(frame))
    return made
