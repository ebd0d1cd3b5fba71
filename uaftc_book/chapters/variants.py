"""Chapter A_variants: affine layers, additive attention, several classes: Equations 56 to 83, Appendices D to F."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from uaftc_book.cases import SMALL, SURE, Part, Tables, exceeds
from uaftc_book.claims import Cases, reading, reads
from uaftc_book.equations import Equality, Order, equation, relative_error
from uaftc_book.paths import product_rule
from uaftc_book.random_models import Case, View
from uaftc_book.readings import (
    M_OF_LIBRARY,
    OTHER_MODELS,
    RANGES_OF_M,
    both,
    column,
    lead,
    least,
    on_both_sides,
    opposed,
    ranges,
    rows_of,
    several,
    size,
    sure_votes,
    wide,
)
from uaftc_book.small_data import (
    MANY_SEEDS,
    PAPER_NEUTRAL,
    RANGES,
    SEEDS,
    SMALL_NEUTRAL,
    WHOLE_EPOCHS,
    by_kind,
    ends,
    grouped,
    initial_model,
    pair_means,
    small_config,
)
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.synthetic import distinct_integers
from uaftc_lib.dynamics.ledger import ATTENTION, LedgerTrainer
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.models import AttentionClassifier, model_arguments
from uaftc_lib.scores import Types, examined_types
from uaftc_lib.streams import generator, stream_seed
from uaftc_lib.training import Run, batches_of, fit

# ---
# The models that are compared, each from the same vectors, on Data I and its small copy; three classes of words.


RATES = {"DP": 2.0, "DP-A": 2.0, "AD": 1.0}
RUNS = (("DP", 0.0), ("DP-A", 0.0), ("DP-A", 1e-3), ("AD", 0.0))  # variant and penalty
LOSS = 0.02  # to which runs are brought that are to be compared at equal training
NO_M = "no M"


def three_classes(
    seed: int = 0, instances: int = 400, polarity_types: int = 30, neutral_types: int = SMALL_NEUTRAL
) -> tuple[Dataset, Types]:
    """Data I with three classes (Appendix F): 2 words of the class and 10 neutral ones in each instance.

    The classes have ``instances`` instances each; types are called "0", "1", "2" and "3" (neutral), as in
    Figs S11 and S12.
    """
    rng = np.random.default_rng(stream_seed(seed, "data"))
    labels = np.repeat(np.arange(3), instances)
    own = distinct_integers(rng, len(labels), 2, polarity_types) + polarity_types * labels[:, None]
    neutral = distinct_integers(rng, len(labels), 10, neutral_types) + 3 * polarity_types
    corpus = Corpus.from_lists(np.hstack([own, neutral]).tolist(), labels.tolist(), class_count=3)
    bounds = [0, *(polarity_types * k for k in (1, 2, 3)), 3 * polarity_types + neutral_types]
    types = {str(k): torch.arange(bounds[k], bounds[k + 1]) for k in range(4)}
    vocabulary = Vocabulary([f"{k}-{i}" for k, ids in types.items() for i in range(len(ids))])
    return Dataset(name="synthetic-3", vocabulary=vocabulary, classes=corpus.classes, train=corpus), types


def variant_model(
    dataset: Dataset,
    variant: str,
    lam: float = 10.0,
    dimension: int = 50,
    seed: int = 0,
    M: str = M_OF_LIBRARY,
    weight_range: float = 0.1,
) -> AttentionClassifier:
    """DP, DP-A or AD; with one seed all have the same embeddings, V, and W and M but for their ranges."""
    model = initial_model(dataset, lam, dimension, weight_range=weight_range, seed=seed, **model_arguments(variant))
    if M not in (M_OF_LIBRARY, NO_M):
        with torch.no_grad():
            model.M *= RANGES_OF_M[M](dimension) / RANGES_OF_M[M_OF_LIBRARY](dimension)
    return model


def train_variant(
    dataset: Dataset,
    variant: str,
    lam: float = 10.0,
    dimension: int = 50,
    penalty: float = 0.0,
    epochs: int = 75,
    seed: int = 0,
    record=None,
    M: str = M_OF_LIBRARY,
    weight_range: float = 0.1,
) -> tuple[AttentionClassifier, Run]:
    """DP, DP-A or AD by SGD; 75 epochs of the small data are as many steps as 7.5 of the whole."""
    model = variant_model(dataset, variant, lam, dimension, seed, M, weight_range)
    config = small_config(learning_rate=RATES[variant], penalty=penalty, epochs=epochs, seed=seed)
    return model, fit(model, dataset, config, record=record)


# ---
# What each term of da/dτ does to attention while a model learns.


CHECKED = 6  # batches between two looks at the loss: an epoch of small Data I
CALLED = {  # in the stored tables
    "attention_M_pi": "M_pi",
    "attention_M_rho": "M_rho",
    "attention_penalty": "penalty",
    "attention_remainder": "second order",
}


def train_to_loss(trainer: LedgerTrainer, loss: float, most: int = 1000) -> tuple[int, float]:
    """Batches in the order of :func:`fit`, until the mean loss of :data:`CHECKED` of them is no more than ``loss``.

    Returns how often it was looked at, which on small Data I is the number of epochs, and what it was at last.

    Raises
    ------
    RuntimeError
        If ``most`` epochs do not do.
    """
    order, config, looks = generator(trainer.config.seed, "order"), trainer.config, 0
    for _ in range(most):
        batches = batches_of(len(trainer.corpus), config.batch_size, order)
        for begin in range(0, len(batches), CHECKED):
            reached, looks = trainer.epoch(batches[begin : begin + CHECKED]), looks + 1
            if reached <= loss:
                return looks, reached
    raise RuntimeError(f"{most} epochs end at a loss of {reached:.3g}, above {loss}: more epochs or a higher rate")


@torch.no_grad()
def seen_cosine(model: AttentionClassifier) -> float:
    """The cosine of :meth:`~uaftc_lib.models.AttentionClassifier.seen_vectors`."""
    return float(torch.cosine_similarity(*model.seen_vectors(), dim=0))


def run_with_ledger(
    dataset: Dataset, variant: str, penalty: float, lam: float, seed: int, M: str = M_OF_LIBRARY
) -> dict[str, float]:
    """A model trained to :data:`LOSS`: the type means, and what each term did to the attention of each kind."""
    types = examined_types(dataset)
    model = variant_model(dataset, variant, lam, seed=seed, M=M)
    trainer = LedgerTrainer(
        model, dataset.train, small_config(learning_rate=RATES[variant], penalty=penalty, seed=seed)
    )
    epochs, loss = train_to_loss(trainer, LOSS)
    recorded = {
        f"{CALLED.get(name, name)} {kind}": float(sums[ids].mean())
        for name, sums in trainer.ledger().terms(ATTENTION).items()
        for kind, ids in types.items()
    }
    return ends(model, types) | {"cosine": seen_cosine(model), "loss": loss, "epochs": epochs} | recorded


# ---
# The terms of Eq 63 (affine layer), 82 and 83 (several classes) while a model learns, and what is said of them.


EPOCHS = 30  # of the affine model, as in the runs that stand beside it
KINDS = ("0", "1", "2")
AFFINE = (*((M, 10.0) for M in RANGES_OF_M), (M_OF_LIBRARY, 100.0))


@experiment(jobs=[{"M": M, "lam": lam, "seed": s} for M, lam in AFFINE for s in SEEDS], rows=1)
def affine_velocities(M: str, lam: float, seed: int) -> list[dict]:
    """Data I behind an affine layer: the terms of ds/dτ (Eq 63) by kind of word, the mean over looks after every epoch.

    "own" is the sum of the first three terms, B, C and M_pi, "rest" that of the last two, A and M_rho.
    """
    dataset, looks = load_dataset("synthetic-1"), []
    types = examined_types(dataset)

    def look(_epoch: int, model: AttentionClassifier) -> dict:
        terms = dynamics.polarity_update(model, dataset.train)
        sums = {"own": terms.B + terms.C + terms.M_pi, "rest": terms.A + terms.M_rho}
        looks.append(by_kind(terms._asdict() | sums, types))
        return {}

    train_variant(dataset, "DP-A", lam, epochs=EPOCHS, seed=seed, record=look, M=M)
    return [pd.DataFrame(looks).mean().to_dict()]


@experiment(jobs_over(lam=(10.0, 100.0), seed=SEEDS), rows=1)
def class_velocities(lam: float, seed: int) -> list[dict]:
    """12,000 texts of three classes: the terms of Eq 82 for a word's own class and of Eq 83, by the class of the word.

    The mean over looks after every epoch; "3" are neutral words, of which A, B and C are for the first class.
    """
    dataset, types = three_classes(seed, 4000, neutral_types=PAPER_NEUTRAL)
    model, looks = initial_model(dataset, lam, classes=3, seed=seed), []

    def look(_epoch: int, now: AttentionClassifier) -> dict:
        polarity, attention = (f(now, dataset.train) for f in (dynamics.polarity_update, dynamics.attention_update))
        own = torch.zeros(len(now.embedding), dtype=torch.long)
        for k in KINDS:
            own[types[k]] = int(k)
        terms = {name: getattr(polarity, name).gather(1, own[:, None]).squeeze(1) for name in "ABC"}
        looks.append(by_kind(terms | {name: getattr(attention, name) for name in "DEF"}, types))
        return {}

    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS, seed=seed), record=look, progress=False)
    return [pd.DataFrame(looks).mean().to_dict()]


def mean_size(rows: pd.DataFrame, name: str) -> pd.Series:
    """The mean over the words of all classes of the size of a term."""
    return sum(column(rows, f"|{name}| {k}") for k in KINDS) / len(KINDS)


AFFINE_RUNS = several(
    *(rows_of(f"Data I, λ = {lam:g}, {ranges(M)}", "affine_velocities", M=M, lam=lam) for M, lam in AFFINE)
)
CLASS_RUNS = several(*(rows_of(f"three classes, λ = {lam:g}", "class_velocities", lam=lam) for lam in (10.0, 100.0)))

reads("affine_polarity_terms", AFFINE_RUNS, lambda rows: least(*(opposed(rows, name) for name in ("B", "C", "M_pi"))))
reads("affine_polarity_rest", AFFINE_RUNS, lambda rows: SMALL - size(rows, "|rest|") / size(rows, "|own|"))
reads(
    "class_A_is_small",
    CLASS_RUNS,
    lambda rows: SMALL - mean_size(rows, "A") / (mean_size(rows, "B") + mean_size(rows, "C")),
)
reads("class_own_terms", CLASS_RUNS, lambda rows: least(*(column(rows, f"{name} {k}") for name in "BC" for k in KINDS)))
reads("class_F_is_small", CLASS_RUNS, lambda rows: SMALL - mean_size(rows, "F") / mean_size(rows, "E"))
reads("class_E_of_polar", CLASS_RUNS, lambda rows: least(*(column(rows, f"E {k}") for k in KINDS)))


def apart(rows: pd.DataFrame) -> pd.Series:
    """How far above zero D is for one class at least and below it for another, the nearer; negative: on one side."""
    of_class = pd.concat([column(rows, f"D {k}") for k in KINDS], axis=1)
    return pd.concat([of_class.max(axis=1), -of_class.min(axis=1)], axis=1).min(axis=1)


reads("class_D_takes_sides", CLASS_RUNS, apart)


# ---
# The affine and the additive model and three classes, and what Appendices D to F say.


*_, LAST = LOOKED_AT = (4, 6, WHOLE_EPOCHS, 10, 15, 30)
# Variant, penalty and range of M of the runs on the whole of Data I.
RUNS_ON_DATA_I = (("DP", 0.0, NO_M), *((v, p, M) for M, (v, p) in product(RANGES_OF_M, RUNS[1:])))


@experiment(
    jobs=[
        {"variant": v, "penalty": p, "M": M, "seed": s}
        for v, p, M in RUNS_ON_DATA_I
        for s in (MANY_SEEDS if M in (NO_M, M_OF_LIBRARY) else SEEDS)
    ],
    rows=len(LOOKED_AT),
)
def variants_whole(variant: str, penalty: float, M: str, seed: int) -> list[dict]:
    """The models on the whole of Data I, λ = 10, by the range of M: a row at each of some epochs.

    Type means, and mean inner products of embeddings and of what is behind an affine layer.
    """
    return followed_run(load_dataset("synthetic-1"), variant, penalty, M, seed, LOOKED_AT)


def followed_run(
    dataset: Dataset, variant: str, penalty: float, M: str, seed: int, epochs: Sequence[int]
) -> list[dict[str, float]]:
    """A run that is looked at after these epochs."""
    types, rows = examined_types(dataset), []

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch in epochs:
            products = products_of(model, types) if variant == "DP-A" else {}
            rows.append({"epoch": epoch} | ends(model, types) | products)
        return {}

    M = M if variant != "DP" else NO_M
    given = {"seed": seed, "M": M}
    _, run = train_variant(dataset, variant, penalty=penalty, epochs=epochs[-1], record=look, **given)
    losses = run.history.set_index("epoch")["loss"]
    return [row | {"loss": losses[row["epoch"]]} for row in rows]


@experiment(
    jobs=[
        {"variant": v, "penalty": p, "M": M, "lam": x, "seed": s}
        for x, (v, p, M), s in product((10.0, 100.0), RUNS_ON_DATA_I, SEEDS)
        if x == 10 or M in (NO_M, M_OF_LIBRARY)
    ],
    rows=1,
)
def variants_terms_whole(variant: str, penalty: float, M: str, lam: float, seed: int) -> list[dict]:
    """Models trained to one loss on the whole of Data I, by the range of M; epochs are counted in 1,200 texts."""
    return [run_with_ledger(load_dataset("synthetic-1"), variant, penalty, lam, seed, M)]


def of_classes(dataset: Dataset, types: Types, epochs: int, seed: int, weight_range: float = 1.0) -> dict[str, float]:
    """A model of three classes, trained: scores by kind, inner products of words, and of columns of W."""
    model = initial_model(dataset, classes=3, seed=seed, weight_range=weight_range)
    initial = model.token_scores().attention.detach().double()
    fit(model, dataset, small_config(epochs=epochs, seed=seed))
    a, s = (values.double() for values in model.token_scores())
    attention = {f"attention {k}": float(a[ids].mean()) for k, ids in types.items()}
    own = [float((s[types[k]][:, int(k)] - s[types[k]].sum(1).sub(s[types[k]][:, int(k)]) / 2).mean()) for k in "012"]
    products = pair_means(model.embedding.detach().double(), types)
    W = model.W.detach().double()
    norms, others = (W.T @ W).diag(), (W.T @ W).fill_diagonal_(-torch.inf)
    return (
        attention
        | {f"initial attention {k}": float(initial[ids].mean()) for k, ids in types.items()}
        | {f"own polarity {k}": value for k, value in enumerate(own)}
        | {
            "within": min(products[f"{k}–{k}"] for k in "012"),
            "across": max(products[pair] for pair in ("0–1", "0–2", "1–2")),
            "largest W·W'": float(others.max()),
            "smallest ‖W‖²": float(norms.min()),
        }
    )


@experiment(jobs_over(seed=SEEDS), rows=1)
def class_terms_whole(seed: int) -> list[dict]:
    """Three classes of words on 12,000 texts with 1,000 neutral words."""
    return [of_classes(*three_classes(seed, 4000, neutral_types=PAPER_NEUTRAL), WHOLE_EPOCHS, seed)]


@experiment(jobs_over(seed=SEEDS), rows=1)
def class_terms_short(seed: int) -> list[dict]:
    """Three classes of words with W from ±0.1, three times as long."""
    three = three_classes(seed, 4000, neutral_types=PAPER_NEUTRAL)
    return [of_classes(*three, WHOLE_EPOCHS * RANGES[0.1], seed, weight_range=0.1)]


def products_of(model: AttentionClassifier, types: Types) -> dict[str, float]:
    """Mean inner products of embeddings e and of representations h = Me of the affine model."""
    e = model.embedding.detach().double()
    return {
        f"{which} {name}": value
        for which, v in {"e": e, "h": e @ model.M.detach().double().T}.items()
        for name, value in grouped(pair_means(v, types)).items()
    }


def large(rows: pd.DataFrame) -> pd.Series:
    """The least of: attention of either polar kind, and its lead over neutral words."""
    return least(both(rows), lead(rows))


def by_range_of_M(table: str, where: str, ranges_of_M: Iterable[str] = RANGES_OF_M, **job: object) -> Cases:
    """The runs on Data I of a model with a matrix M, by the range from which M is drawn."""
    return several(*(rows_of(f"Data I, {where}{ranges(M)}", table, M=M, **job) for M in ranges_of_M))


def variant(name: str, penalty: float = 0.0, where: str = "") -> Cases:
    """One of the models on Data I at λ = 10."""
    return by_range_of_M("variants_whole", where, variant=name, penalty=penalty, epoch=LAST)


def recorded_terms(name: str, lam: float) -> Cases:
    """One of the models on Data I, with what each term did to attention."""
    Ms = RANGES_OF_M if lam == 10 else [M_OF_LIBRARY]
    return by_range_of_M("variants_terms_whole", f"{name}, λ = {lam:g}, ", Ms, variant=name, penalty=0.0, lam=lam)


def of_figures(scores: str, *models: tuple[str, str]) -> Cases:
    """Ten seeds of models on real data at λ = 10."""
    return lambda tables: [
        (f"{PAPER_NAMES[key]}, {model}", wide(tables, key, model, scores=scores)) for key, model in models
    ]


def set_aside(rows: pd.DataFrame) -> pd.Series:
    """Positive where F and Mρ together are small beside E, on average over both polar kinds."""
    together = [column(rows, f"F {kind}") + column(rows, f"M_rho {kind}") for kind in ("positive", "negative")]
    return SMALL - (together[0].abs() + together[1].abs()) / 2 / size(rows, "E")


def dominates(rows: pd.DataFrame) -> pd.Series:
    """Positive where E outweighs D, F and Mρ together, on average over both polar kinds; in units of E."""
    others = [sum(column(rows, f"{name} {kind}") for name in ("D", "F", "M_rho")) for kind in ("positive", "negative")]
    return 1 - (others[0].abs() + others[1].abs()) / 2 / size(rows, "E")


PENALISED = variant("DP-A", 1e-3, "with penalty, ")
BOTH_AFFINE = several(variant("DP-A", 0.0, "without penalty, "), PENALISED)
ON_REAL_DATA = (("sst", "AD"), ("imdb", "AD"))
RECORDED = {name: several(*(recorded_terms(name, lam) for lam in (10.0, 100.0))) for name in ("DP-A", "AD")}
THREE = several(
    rows_of("12,000 texts of three classes", "class_terms_whole"),
    rows_of("12,000 texts of three classes, W₀ within ±0.1", "class_terms_short"),
)


@reading
def variants_behave_alike(tables: Tables) -> Iterator[Part]:
    for name in ("DP-A", "AD"):
        for case, rows in variant(name, 0.0, f"{name}, ")(tables):
            yield exceeds(case, lead(rows))
    for key, model, lam in (where for where in OTHER_MODELS if where[1] != "DP-L"):
        yield exceeds(f"{PAPER_NAMES[key]}, {model}, λ = {lam:g}", lead(wide(tables, key, model, lam)))
    for case, rows in THREE(tables):
        yield exceeds(case, class_lead(rows))


reads("affine_polarity", BOTH_AFFINE, sure_votes)
reads("affine_attention", PENALISED, large)
reads("additive_attention", several(variant("AD"), of_figures("attention", *ON_REAL_DATA)), large, null=True)
reads("additive_polarity", several(variant("AD"), of_figures("polarity", *ON_REAL_DATA)), sure_votes, null=True)
reads("affine_sides", RECORDED["DP-A"], lambda rows: least(on_both_sides(rows, "D"), on_both_sides(rows, "M_pi")))
reads("affine_E_of_polar", RECORDED["DP-A"], lambda rows: both(rows, "E"))
reads("affine_E_of_neutral", RECORDED["DP-A"], lambda rows: SMALL - column(rows, "E neutral").abs() / size(rows, "E"))
reads("additive_E_of_polar", RECORDED["AD"], lambda rows: both(rows, "E"))
reads("additive_sides", RECORDED["AD"], lambda rows: on_both_sides(rows, "D"))
reads("additive_E_dominates", RECORDED["AD"], dominates)
reads("terms_set_aside", several(*RECORDED.values()), set_aside)
reads("heads_apart", THREE, lambda rows: SMALL - column(rows, "largest W·W'") / column(rows, "smallest ‖W‖²"))
reads("own_class", THREE, lambda rows: least(*(column(rows, f"own polarity {k}") for k in "012")) - SURE)
reads("classes_attract", THREE, lambda rows: column(rows, "within") - column(rows, "across"))
reads(
    "class_attention_grows",
    THREE,
    lambda rows: least(*(column(rows, f"attention {k}") - column(rows, f"initial attention {k}") for k in "012")),
)


def class_attention(rows: pd.DataFrame) -> pd.Series:
    """Attention of the words of the class where it is least."""
    return least(*(column(rows, f"attention {k}") for k in "012"))


def class_lead(rows: pd.DataFrame) -> pd.Series:
    """By how much it is above that of neutral words."""
    return class_attention(rows) - column(rows, "attention 3")


reads("class_attention_is_positive", THREE, lambda rows: least(class_attention(rows), class_lead(rows)))


@reading
def affine_products(tables: Tables) -> Iterator[Part]:
    for case, rows in PENALISED(tables):
        for which, vectors in (("e", "embeddings"), ("h", "representations")):
            yield exceeds(f"{case}, {vectors}", least(column(rows, f"{which} like"), -column(rows, f"{which} unlike")))


# ---
# Equations 56 to 71: the affine input layer (Appendix D) and additive attention (Appendix E).


@equation(56, "affine representation of a token", "definition")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(view.model.score(view.E)[2], torch.stack([view.M @ e for e in view.E]))


@equation(57, "its attention score", "definition")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(view.model.token_scores().attention, view.H @ view.V / view.lam)


@equation(58, "its polarity score", "definition")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(view.model.token_scores().polarity, view.H @ view.W)


@equation(59, "affine: gradient of an embedding", "exact")
def _(case: Case):
    view = case.view("DP-A")
    along_V = torch.outer(view.per_type(view.push), view.M.T @ view.V) / view.lam
    along_W = torch.outer(view.per_type(view.pull), view.M.T @ view.W)
    return Equality(-(along_V + along_W) / view.m, view.grad["embedding"])


@equation(60, "affine: gradient of V", "exact")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(-view.push @ view.h_j / (view.m * view.lam), view.grad["V"])


@equation(
    61,
    "affine: gradient of M",
    "not legible in our copy",
    correction="derived anew: −(1/m) Σ yβα [(sⱼ − s) V/λ + W] eⱼᵀ",
)
def _(case: Case):
    view = case.view("DP-A")
    pulled = view.push[:, None] * view.V / view.lam + view.pull[:, None] * view.W
    return Equality(-pulled.T @ view.e_j / view.m, view.grad["M"])


@equation(
    62,
    "affine: product rule for the polarity score",
    "not legible in our copy",
    correction="derived anew: (de/dτ)ᵀMᵀW + eᵀ(dM/dτ)ᵀW + hₑᵀ dW/dτ",
    standing="derived",
)
def _(case: Case):
    view = case.view("DP-A")
    by_e = -view.grad["embedding"] @ view.M.T @ view.W
    by_M = -view.E @ view.grad["M"].T @ view.W
    return Equality(by_e + by_M - view.H @ view.grad["W"], view.s_rate)


def _seen(view: View) -> tuple[Tensor, Tensor]:
    return view.M.T @ view.V, view.M.T @ view.W


@equation(63, "affine: the update of a polarity score, five terms", "exact")
def _(case: Case):
    view = case.view("DP-A")
    (V_seen, W_seen), Q = _seen(view), view.V @ view.W
    products = view.E @ view.e_j.T
    first = view.pi * (W_seen @ W_seen)
    second = (view.H @ view.h.T) @ view.r
    third = products @ view.pull * (view.W @ view.W)
    fourth = view.rho * (W_seen @ V_seen) / view.lam
    fifth = products @ view.push * Q / view.lam
    return Equality((first + second + third + fourth + fifth) / view.m, view.s_rate)


def _terms_64(view: View) -> tuple[Tensor, Tensor]:
    """The first term of Eq 64 and the sum of the others."""
    (V_seen, W_seen), products = _seen(view), view.E @ view.e_j.T
    first = view.per_type(view.push) * (V_seen @ V_seen) / view.lam**2
    second = view.pi * (W_seen @ V_seen) / view.lam
    third = products @ view.pull * (view.W @ view.V) / view.lam
    fourth = products @ view.push * (view.V @ view.V) / view.lam**2
    fifth = view.H @ view.h_j.T @ view.push / view.lam**2
    return first / view.m, (second + third + fourth + fifth) / view.m


def _printed_64(case: Case) -> Equality:
    # s without an instance: even the number that fits best, by least squares over all types, does not do.
    view = case.view("DP-A")
    _, others = _terms_64(view)
    V_seen, _ = _seen(view)
    factor = (V_seen @ V_seen) / (view.m * view.lam**2) * view.pi
    left_over = factor * view.s_e - (view.a_rate - others)
    best = (factor @ left_over) / (factor @ factor)
    return Equality(factor * (view.s_e - best) + others, view.a_rate)


@equation(
    64,
    "affine: the update of an attention score, five terms",
    "misprinted",
    printed=_printed_64,
    correction="(sₑ − s) must read (sₑ − s⁽ᵗ⁾), different for each text",
)
def _(case: Case):
    view = case.view("DP-A")
    return Equality(sum(_terms_64(view)), view.a_rate)


@equation(65, "additive attention score", "definition")
def _(case: Case):
    view = case.view("AD")
    x = torch.stack([view.M @ e for e in view.E])
    return Equality(view.model.token_scores().attention, torch.tanh(x) @ view.V / view.lam)


class _AdditiveInstance:
    """One instance with additive attention; its representations need not be rows of a table."""

    def __init__(self, case: Case, y: int):
        self.e, self.V, self.W = case.tokens()
        draws = generator(case.seed, "initial values")
        self.M = torch.randn(case.dimension, case.dimension, generator=draws, dtype=torch.float64)
        self.M = (self.M / case.dimension**0.5).requires_grad_()
        self.lam, x = case.lam, self.e @ self.M.T
        self.tanh, self.slope = torch.tanh(x), 1 - torch.tanh(x) ** 2
        self.alpha = (self.tanh @ self.V / self.lam).softmax(0)
        self.h = self.alpha @ self.e
        self.s_j, self.s = self.e @ self.W, self.h @ self.W
        self.r = y * torch.sigmoid(-y * self.s)
        loss = -torch.nn.functional.logsigmoid(y * self.s)
        self.by_e, self.by_V, self.by_M = torch.autograd.grad(loss, [self.e, self.V, self.M])


def _both_labels(case: Case, left, right) -> Equality:
    instances = [_AdditiveInstance(case, y) for y in (-1, 1)]
    return Equality([left(i) for i in instances], [right(i) for i in instances])


@equation(66, "additive: gradient of a token's embedding", "exact")
def _(case: Case):
    def left(i: _AdditiveInstance) -> Tensor:
        identity = torch.eye(len(i.V), dtype=torch.float64)
        return torch.stack(
            [
                -i.r * w * (torch.outer(i.M.T @ (D * i.V), e - i.h) / i.lam + identity) @ i.W
                for w, D, e in zip(i.alpha, i.slope, i.e)
            ]
        )

    return _both_labels(case, left, lambda i: i.by_e)


@equation(67, "additive: gradient of V", "exact")
def _(case: Case):
    def left(i: _AdditiveInstance) -> Tensor:
        return -i.r / i.lam * ((i.alpha * i.s_j) @ (i.tanh - i.alpha @ i.tanh))

    return _both_labels(case, left, lambda i: i.by_V)


@equation(68, "additive: gradient of M", "exact")
def _(case: Case):
    def left(i: _AdditiveInstance) -> Tensor:
        products = torch.einsum("ja,jb->jab", i.e, i.slope * i.V)
        centred = products - torch.einsum("j,jab->ab", i.alpha, products)
        return -i.r / i.lam * torch.einsum("j,jab->ba", i.alpha * i.s_j, centred)

    return _both_labels(case, left, lambda i: i.by_M)


@equation(69, "additive: product rule for the polarity score", "exact", standing="derived")
def _(case: Case):
    return product_rule(case, "polarity", "W", "AD")


@equation(70, "additive: product rule for the attention score", "exact", standing="derived")
def _(case: Case):
    return product_rule(case, "attention", "V", "AD", lambda model: torch.tanh(model.embedding @ model.M.T))


def linearised_71(view: View) -> list[Tensor]:
    """The four terms of Eq 71."""
    products, x = view.E @ view.e_j.T, view.E @ view.M.T
    V_seen = view.M.T @ view.V
    first = view.rho * (V_seen @ V_seen) / view.lam**2
    second = view.pi * (view.W @ V_seen) / view.lam
    third = products @ view.push * (view.V @ view.V) / view.lam**2
    fourth = x @ x[view.tokens].T @ view.push / view.lam**2
    return [term / view.m for term in (first, second, third, fourth)]


def causes_71(view: View) -> list[Tensor]:
    """What these terms linearise: da_e/dτ by what moves (e, e, M, V) and by which score the loss wants it moved."""
    P = {name: p.clone().requires_grad_() for name, p in view.P.items()}
    a, s, _ = view.scores(P)
    zero = {name: torch.zeros_like(p) for name, p in view.P.items()}

    def moved(name: str, pull: Tensor) -> Tensor:
        velocity = torch.autograd.grad(pull / view.m, P[name], retain_graph=True)[0]
        return torch.func.jvp(lambda z: view.scores(z)[0], (view.P,), (zero | {name: velocity},))[1]

    by_attention, by_polarity = view.rho @ a, view.pi @ s
    return [moved(*cause) for cause in (
        ("embedding", by_attention), ("embedding", by_polarity), ("M", by_attention), ("V", by_attention)
    )]  # fmt: skip


def scaled_view(case: Case, scale: float) -> View:
    """The additive model with M, and so every x_e, made smaller."""
    model = case.model("AD")
    with torch.no_grad():
        model.M *= scale
    return View(model, case.corpus())


@equation(
    71,
    "additive: the update of an attention score for small x",
    "approximate",
    correction="the error of each of its terms falls with the square of x; exact terms have Dₑ = diag(1 − tanh² xₑ)",
)
def _(case: Case):
    # Term by term: they grow with different powers of x, so the error of their sum, relative to the sum, has no
    # order before x is so small that the one without x leads, and how small that is depends on the corpus. x itself
    # must be small, because π and ρ move with it too, in first order.
    view = case.view("AD")
    largest = float((view.E @ view.M.T).abs().max())
    scales, errors = [8e-4, 4e-4, 2e-4, 1e-4], []
    for scale in scales:
        view = scaled_view(case, scale / largest)
        pairs = list(zip(linearised_71(view), causes_71(view)))
        errors.append([relative_error(exact, term) for term, exact in pairs])
    # Where every text repeats a single word ρ is zero, and only the second term is there.
    there = slice(None) if view.rho.abs().max() > 1e-12 else slice(1, 2)
    return Order(scales, torch.tensor(errors, dtype=torch.float64)[:, there], expected=2)


# ---
# Equations 72 to 83: several classes (Appendix F).


@equation(72, "polarity scores of an instance, one for each class", "definition")
def _(case: Case):
    view = case.multiclass()
    return Equality(view.model(view.corpus).polarity, torch.stack([view.W.T @ h for h in view.h]))


@equation(73, "class probabilities", "definition")
def _(case: Case):
    view = case.multiclass()
    exponentials = view.s.exp()
    probabilities = torch.log_softmax(view.model(view.corpus).polarity, 1).exp()
    return Equality(probabilities, exponentials / exponentials.sum(1, keepdim=True))


@equation(74, "cross-entropy loss", "definition")
def _(case: Case):
    view = case.multiclass()
    p = view.s.softmax(1)
    losses = [-p[t, k].log() for t, k in enumerate(view.corpus.labels.tolist())]
    return Equality(torch.stack(losses).mean(), view.model.loss(view.corpus))


class _InstanceOfClasses:
    """One instance with K classes, as functions of h and W; every label in turn."""

    def __init__(self, case: Case, label: int):
        h, W = case.multiclass().h[0], case.multiclass().W
        self.h, self.W = h.clone().requires_grad_(), W.clone().requires_grad_()
        s = self.h @ self.W
        self.p_hat = s.softmax(0) - torch.eye(case.classes, dtype=torch.float64)[label]
        loss = -torch.log_softmax(s, 0)[label]
        self.by_h, self.by_W, self.by_s = torch.autograd.grad(loss, [self.h, self.W, s])


def _all_labels(case: Case, left, right) -> Equality:
    instances = [_InstanceOfClasses(case, label) for label in range(case.classes)]
    return Equality([left(i) for i in instances], [right(i) for i in instances])


@equation(75, "gradient of the pooled vector", "exact")
def _(case: Case):
    return _all_labels(case, lambda i: i.W @ i.p_hat, lambda i: i.by_h)


@equation(76, "gradient of the polarity scores", "exact")
def _(case: Case):
    return _all_labels(case, lambda i: i.p_hat, lambda i: i.by_s)


@equation(77, "gradient of W, one instance", "exact")
def _(case: Case):
    return _all_labels(case, lambda i: torch.outer(i.h, i.p_hat), lambda i: i.by_W)


@equation(78, "gradient of an embedding", "exact")
def _(case: Case):
    view = case.multiclass()
    identity = torch.eye(case.dimension, dtype=torch.float64)
    rows = [
        alpha * (torch.outer(view.V, e - view.h[t]) / view.lam + identity) @ view.W @ view.p_hat[t]
        for alpha, e, t in zip(view.alpha, view.e_j, view.t.tolist())
    ]
    return Equality(view.per_type(torch.stack(rows)) / view.m, view.grad["embedding"])


@equation(79, "gradient of W, all instances", "exact")
def _(case: Case):
    view = case.multiclass()
    outer = [torch.outer(h, p) for h, p in zip(view.h, view.p_hat)]
    return Equality(torch.stack(outer).mean(0), view.grad["W"])


@equation(80, "gradient of V", "exact")
def _(case: Case):
    view = case.multiclass()
    p_hat = view.p_hat[view.t]
    by_vectors = ((view.e_j - view.h[view.t]) @ view.W * p_hat).sum(1)
    by_scores = ((view.s_j - view.s[view.t]) * p_hat).sum(1)
    forms = [(view.alpha * lead) @ view.e_j / (view.m * view.lam) for lead in (by_vectors, by_scores)]
    return Equality(forms, [view.grad["V"]] * 2)


@equation(81, "polarity scores of a token, one for each class", "definition")
def _(case: Case):
    view = case.multiclass()
    return Equality(view.model.token_scores().polarity, torch.stack([view.W.T @ e for e in view.E]))


def _polarity_terms(view: View, weight: Tensor) -> Tensor:
    """The right side of Eq 82, with the given weight of each occurrence in terms 1 and 2."""
    p_hat = view.p_hat[view.t]
    lead = ((view.s_j - view.s[view.t]) * p_hat).sum(1)
    first = torch.outer(view.per_type(weight * lead), view.W.T @ view.V) / view.lam
    second = view.per_type(weight[:, None] * p_hat) @ (view.W.T @ view.W)
    third = view.E @ view.h.T @ view.p_hat
    return -(first + second + third) / view.m


def _printed_82(case: Case) -> Equality:
    view = case.multiclass()
    return Equality(_polarity_terms(view, torch.ones_like(view.alpha)), view.s_rate)


@equation(
    82,
    "the update of the polarity scores",
    "misprinted",
    printed=_printed_82,
    correction="αⱼ⁽ᵗ⁾ is missing in terms 1 and 2; in the text after it, row vectors of W are its columns",
)
def _(case: Case):
    view = case.multiclass()
    return Equality(_polarity_terms(view, view.alpha), view.s_rate)


def _attention_terms(view: View, factor: float) -> Tensor:
    """The right side of Eq 83, with the given factor of its first sum."""
    p_hat = view.p_hat[view.t]
    lead = view.alpha * ((view.s_j - view.s[view.t]) * p_hat).sum(1)
    first = factor * (view.E @ view.e_j.T) @ lead
    second = -view.per_type(lead) * (view.V @ view.V) / (view.m * view.lam**2)
    third = -view.per_type(view.alpha[:, None] * p_hat) @ (view.W.T @ view.V) / (view.m * view.lam)
    return first + second + third


def _printed_83(case: Case) -> Equality:
    view = case.multiclass()
    return Equality(_attention_terms(view, 1 / (view.m * view.lam)), view.a_rate)


@equation(
    83,
    "the update of an attention score",
    "misprinted",
    printed=_printed_83,
    correction="the first factor is −1/(mλ²), not 1/(mλ)",
)
def _(case: Case):
    view = case.multiclass()
    return Equality(_attention_terms(view, -1 / (view.m * view.lam**2)), view.a_rate)
