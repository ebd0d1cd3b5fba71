"""Chapter 08_is_it_explanation: what attention tells of a decision, how soon it turns, how free the weights are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy.stats import norm, pearsonr
from torch import Tensor

from uaftc_book import rules
from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.claims import reading
from uaftc_book.neighbours.erasure import AFTER, standing, still_there
from uaftc_book.neighbours.estimators import Game, lime, sampled_shapley
from uaftc_book.neighbours.jain_wallace import (
    JainWallaceClassifier,
    classifier_quality,
    default_lam,
    permutations,
    train_classifier,
)
from uaftc_book.neighbours.measured import (
    LOO,
    SPREAD,
    STATE,
    TOLERANCE,
    after_epochs,
    all_measures,
    at_kept_epoch,
    growth,
    looked_at,
)
from uaftc_book.neighbours.people import asked
from uaftc_book.neighbours.settings import BY_EPOCH, QUARREL
from uaftc_book.readings import column
from uaftc_book.small_data import SEEDS
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.intervals import CONFIDENCE
from uaftc_lib.locations import PAPER_NAMES, data_home, published
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.settings import MODELS
from uaftc_lib.streams import generator
from uaftc_lib.vectors.unused_reviews import own_vectors
from uaftc_lib.vectors.word_vectors import read_vectors

# ---
# The classifiers of both sides of the quarrel, their seeds and λ, and all that is measured of them.


# In the order in which figures take them, so that each keeps its colour where those at the end are lacking.
ENCODERS = {"DP": "words (DP)", "projection": "projection", "words": "words", "bilstm": "BiLSTM", "DP-L": "LSTM (DP-L)"}
ENCODERS |= {"bigru": "BiGRU"}
THEIR_NAMES = {"projection": "average", "bilstm": "lstm"}  # of the published table
LAMS = QUARREL.lams


def usual_lam(model: str) -> float:
    """The λ at which a model is looked at by itself: 10 for those of Table 2, what it amounts to for the others."""
    return 10.0 if model in MODELS else default_lam(*model.split("+"))


def trained_by_protocol(data: Dataset, model: str, lam: float, seed: int) -> tuple[AttentionClassifier, dict]:
    """A model of Table 2 by its protocol ("DP", "DP-L"), or one of Jain & Wallace's by theirs, and how it went."""
    if model in MODELS:
        fitted, run = train_real(data, model=model, lam=lam, seed=seed)
        return fitted, {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    fitted, best_epoch = train_classifier(data, *model.split("+"), lam=lam, seed=seed)
    return fitted, {"best_epoch": best_epoch}


def jobs_of(models: dict[str, int], **settings: Iterable) -> list[dict]:
    """A job for each seed of each model at each value of the settings, the first seeds first."""
    return [
        {"model": model} | dict(zip(settings, values)) | {"seed": seed}
        for seed in range(max(models.values()))
        for model, values in product(models, product(*settings.values()))
        if seed < models[model]
    ]


def jobs() -> list[dict]:
    """Every model at its usual λ, then some of them at every λ, then more at some; in this order they are made."""
    usual = [
        {"dataset": dataset, "model": job["model"], "lam": usual_lam(job["model"]), "seed": job["seed"]}
        for dataset, models in QUARREL.usual.items()
        for job in jobs_of(models)
    ]
    by_lam = [
        {"dataset": dataset} | job for dataset, models in QUARREL.by_lam.items() for job in jobs_of(models, lam=LAMS)
    ]
    more = [{"dataset": "sst"} | job for job in jobs_of(QUARREL.at_ends["sst"], lam=QUARREL.ends)]
    return [dict(job) for job in dict.fromkeys(tuple(job.items()) for job in usual + by_lam + more)]


@experiment(jobs=jobs(), rows=1)
def quarrel(dataset: str, model: str, lam: float, seed: int) -> list[dict]:
    """What a model's attention agrees with, how soon its decisions turn, how free its weights are: on the test set."""
    data = load_dataset(dataset)
    fitted, went = trained_by_protocol(data, model, lam, seed)
    corpus = looked_at(data)
    people = asked(data, corpus, data_home())
    return [went | classifier_quality(fitted, data.test) | all_measures(fitted, corpus, people=people)]


# ---
# When one looks: agreement after some epochs, at several λ, and from several starts of the embeddings.


READ_AS = {"words+tanh": "words", "projection+tanh": "projections", "bigru+tanh": "a GRU", "bilstm+tanh": "an LSTM"}
SIZES = {"±0.1": 0.1, "±1": 1.0}  # uniform starts; theirs were fastText's vectors


def started(data: Dataset, model: str, lam: float, start: str, seed: int) -> JainWallaceClassifier:
    """One of Jain & Wallace's models before training, its embeddings from a start.

    "normal" is N(0, 1). "skip-gram" are the book's own vectors, turned at random into as many dimensions as the
    embeddings have, which leaves lengths and angles; words without a vector start in ±0.1.
    """
    fitted = JainWallaceClassifier(len(data.vocabulary), *model.split("+"), lam, seed, SIZES.get(start, SIZES["±0.1"]))
    draws, table = generator(seed, "start of embeddings"), fitted.embedding.data
    if start == "normal":
        table.copy_(torch.randn(table.shape, generator=draws, dtype=torch.float64))
    elif start == "skip-gram":
        vectors = read_vectors(own_vectors()).aligned(data.vocabulary, data.train).matrix
        known = vectors.isfinite().all(1)
        turn = torch.linalg.qr(torch.randn(table.shape[1], vectors.shape[1], generator=draws, dtype=torch.float64)).Q
        table[known] = (vectors[known] @ turn.T).to(table)
    return fitted


def moments() -> list[dict]:
    """The jobs of :func:`agreement_by_epoch`, the first seeds first."""
    made = [
        {"dataset": run["dataset"], "model": model, "lam": lam or usual_lam(model), "start": start, "seed": seed}
        for run in BY_EPOCH.runs
        for seed in range(max(run["models"].values()))
        for model, seeds in run["models"].items()
        for lam, start in product(run.get("lams", [None]), run["starts"])
        if seed < seeds
    ]
    return [dict(job) for job in dict.fromkeys(tuple(job.items()) for job in made)]


@experiment(jobs=moments(), rows=len(BY_EPOCH.epochs))
def agreement_by_epoch(dataset: str, model: str, lam: float, start: str, seed: int) -> list[dict]:
    """What attention agrees with after some epochs, by λ and by where the embeddings start."""
    data = load_dataset(dataset)
    return after_epochs(started(data, model, lam, start, seed), data, seed)


FITS = 0.8  # of the variance of τ: what a spread explains where it settles the agreement


def answer(runs: pd.DataFrame, plain: pd.DataFrame, moments: pd.DataFrame) -> str:
    """The headline: what attention orders where scores spread, and whether an LSTM's agreement grows in training.

    From SST's rows of :func:`quarrel`, a plain LSTM's of ``remedies``, and those of :func:`agreement_by_epoch`.
    """
    explained = explained_by_encoder(runs)
    sentences = ["How far its scores spread does not settle what attention orders."]
    if min(explained["words"], explained["states"]) >= FITS > explained["words of LSTMs"]:
        sentences = [
            "Where its scores spread far, attention orders what is pooled: words, or over an LSTM only states."
        ]
    first, last = BY_EPOCH.epochs[0], BY_EPOCH.epochs[-1]
    parts = []
    for dataset, rows in plain.groupby("dataset", sort=False):
        early, late = (rows[rows["epoch"] == epoch][LOO].mean() for epoch in (first, last))
        change = rules.interval(growth(rows).to_numpy())
        how = "grows" if change.low > 0 else "falls" if change.high < 0 else "does not surely change"
        parts.append(f"{how} on {PAPER_NAMES[dataset]} (τ = {early:.2f}, then {late:.2f})".replace("-0", "−0"))
    sentences.append(
        f"When one looks matters, too: from small embeddings an LSTM's agreement with leaving words out "
        f"{', and '.join(parts)}, from epoch {first} to epoch {last}."
    )
    larger = from_larger_starts(moments)
    if all(rules.interval(growth(rows).to_numpy()).low <= 0 for rows in larger.values()):
        early = [rows[rows["epoch"] == first][LOO].mean() for rows in larger.values()]
        sentences.append(
            f"From larger ones it is on SST {min(early):.2f} to {max(early):.2f} from the first epoch, and does not "
            "surely grow."
        )
    return " ".join(sentences)


def from_larger_starts(moments: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of the LSTM with tanh at λ = 1 on SST, by where embeddings start, if not within ±0.1."""
    chosen = (moments["dataset"] == "sst") & (moments["model"] == "bilstm+tanh") & (moments["lam"] == 1.0)
    return dict([*moments[chosen & (moments["start"] != USUAL.start)].groupby("start", sort=False)])


def explained_by_encoder(rows: pd.DataFrame) -> dict[str, float]:
    """What the spread of scores explains of τ, for words pooled without an LSTM, and for an LSTM's states and words."""
    lstms = rows["model"].isin(("DP-L", "bilstm+tanh", "bilstm+dot"))
    cases = {"words": (~lstms, LOO), "states": (lstms, STATE), "words of LSTMs": (lstms, LOO)}
    return {name: explained_by_spread(rows[chosen], quantity) for name, (chosen, quantity) in cases.items()}


class Moment(NamedTuple):
    """Where all runs start and when all are looked at: an epoch, or None for the one Jain & Wallace would keep."""

    start: str
    epoch: int | None


USUAL = Moment("±0.1", None)


def published_and_own(rows: pd.DataFrame) -> pd.DataFrame:
    """Jain & Wallace's τ of attention and leaving out, and the mean of our runs at each :class:`Moment`.

    A row is a data set and a model of theirs. Only their code comes with values of τ.
    """
    found = {}
    for (dataset, model, lam), own in rows.groupby(["dataset", "model", "lam"]):
        value = printed(LOO, model, PAPER_NAMES[dataset])
        if np.isnan(value) or not np.isclose(lam, usual_lam(model)):
            continue
        means = {}
        for start in SIZES:
            of_start = own[own["start"] == start]
            means[Moment(start, None)] = at_kept_epoch(of_start, "model")[LOO].mean()
            means |= {Moment(start, epoch): one[LOO].mean() for epoch, one in of_start.groupby("epoch")}
        found[dataset, model] = {"published": value} | means
    return pd.DataFrame(found).T


def nearest_moment(table: pd.DataFrame) -> Moment:
    """The moment at which our runs are nearest to the published values, by the mean squared difference."""
    errors = table.drop(columns="published").sub(table["published"], axis=0)
    return (errors**2).mean().idxmin()


def explained_elsewhere(table: pd.DataFrame) -> float:
    """The share of the squared difference at the usual moment that another moment explains.

    The moment is chosen without the model on which it is tried, so the share can be below zero.
    """
    rest = [row["published"] - row[nearest_moment(table.drop(index=[name]))] for name, row in table.iterrows()]
    before = table["published"] - table[USUAL]
    return 1 - float(np.square(rest).sum() / np.square(before).sum())


def encoder_of(model: str) -> str:
    """ "bilstm+dot" -> "BiLSTM", as the figures call it."""
    return ENCODERS[model.partition("+")[0]]


def seeds_of_model(model: str, lam: float | None = None, dataset: str = "sst") -> pd.DataFrame:
    """The stored seeds of a model, at its usual λ or another."""
    return stored("quarrel", dataset=dataset, model=model, lam=usual_lam(model) if lam is None else lam)


def over_texts(rows: pd.DataFrame, column: str) -> rules.Interval:
    """A mean over texts, and its interval over seeds, made wider by what the texts, shared by all seeds, leave open."""
    return by_texts(rows[column].to_numpy(), (rows[f"{column} sd"] ** 2).mean() / rows["texts"].mean())


def by_texts(means: Float[np.ndarray, "seeds"], variance: float) -> rules.Interval:
    """The interval of the seeds' means, made wider by the variance that the texts leave each of them."""
    return rules.widened(rules.interval(means), norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(variance))


def printed(quantity: str, model: str, dataset: str = "SST") -> float:
    """What Jain & Wallace's code gave of one of their models; nan of any other."""
    reads, _, keys = model.partition("+")
    table = published("neighbours")
    table = table[table.source.str.startswith("Jain") & (table.dataset == dataset) & (table.quantity == quantity)]
    values = table[table.model == f"{THEIR_NAMES.get(reads)}+{keys}"].value
    return float(values.iloc[0]) if len(values) else np.nan


def explained_by_spread(rows: pd.DataFrame, quantity: str = LOO) -> float:
    """The share of the variance of a τ over some models that a parabola in log σ explains."""
    size = np.log(rows[SPREAD].to_numpy())
    columns = np.column_stack([np.ones_like(size), size, size**2])
    rest = rows[quantity] - columns @ np.linalg.lstsq(columns, rows[quantity])[0]
    return 1 - (rest**2).mean() / rows[quantity].var(ddof=0)


def drawn(rows: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Some columns under other names, and each row's encoder, in the order of figures."""
    found = pd.DataFrame({name: rows[column] for name, column in columns.items()})
    found["encoder"] = pd.Categorical(rows.model.map(encoder_of), [*ENCODERS.values()])
    return found.sort_values("encoder", kind="stable").astype({"encoder": object})


# ---
# How far what is estimated of a word's part in a decision is from its exact Shapley value.


SENTENCES = 100  # of the test set, of three words or more, in a drawn order
DRAWS = 20  # seeds of each estimate
# Evaluations of the model, for one sentence; the last of LIME's are its own default.
ESTIMATES = (("sampled Shapley", (100, 1000, 10_000)), ("LIME", (100, 1000, 5000)))
Values = list[Float[np.ndarray, "_"]]  # of each sentence


def sentences(corpus: Corpus, count: int = SENTENCES) -> Corpus:
    """So many sentences of three words or more, in a drawn order."""
    usable = np.nonzero(corpus.lengths.numpy() >= 3)[0]
    return corpus[torch.from_numpy(np.random.default_rng(0).permutation(usable)[:count])]


def games(model: AttentionClassifier, corpus: Corpus) -> list[Game]:
    """Every text as a game of words kept and dropped."""
    with torch.no_grad():
        out = model(corpus)
    sizes = corpus.lengths.tolist()
    parts = zip(out.scores.split(sizes), out.token_polarity.split(sizes))
    return [Game(a.numpy(), s.numpy()) for a, s in parts]


def off_exact(told: Values, exact: Values) -> float:
    """The mean error, as a share of the sentence's largest |φ|: a mean over the sentences."""
    return float(np.mean([(abs(x - y) / abs(y).max()).mean() for x, y in zip(told, exact)]))


@experiment(jobs_over(seed=SEEDS, lam=(1.0, 10.0, 100.0)), rows=6)
def shapley_estimates(lam: float, seed: int) -> list[dict]:
    """SST, DP, a hundred test sentences: what is used in practice beside exact Shapley values.

    "gradient r": the correlation of the mean of the draws with the gradient with respect to a mask of ones that
    multiplies the e^{a_j}, a mean over the sentences.
    """
    data = load_dataset("sst")
    model, run = train_real(data, lam=lam, seed=seed)
    model = model.double()
    chosen = sentences(data.test)
    exact = [one.numpy() for one in explain.shapley(model, chosen).split(chosen.lengths.tolist())]
    of = games(model, chosen)
    rows = []
    for method, samples in ((method, samples) for method, counts in ESTIMATES for samples in counts):
        estimate = sampled_shapley if method == "sampled Shapley" else lime
        draws = [[estimate(game, samples, draw) for game in of] for draw in range(DRAWS)]
        r = [pearsonr(np.mean(values, 0), game.gradient).statistic for game, *values in zip(of, *draws)]
        errors = [off_exact(values, exact) for values in draws]
        rows.append(
            {"method": method, "samples": samples, "mean error": np.mean(errors), "gradient r": float(np.nanmean(r))}
        )
    trained = {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    return [row | trained for row in rows]


# ---
# What attention tells of a decision, how soon it turns without words, how far other weights with the same answer lie.


SHORTEST = 3  # words of a sentence that is looked at: one word has no rival, two have no order to speak of
UNIFORM = 1e6  # λ at which all weights of a sentence are equal: mean pooling
STEPS, RATE, PENALTY = 500, 0.3, 20.0  # of the searches for other weights
MARGIN = 0.8  # of the tolerance is what the searches aim at, so as to end within it
LARGEST = log(2)  # divergence


def usable(corpus: Corpus) -> Corpus:
    """The sentences of a corpus that have at least :data:`SHORTEST` words."""
    return corpus[corpus.lengths >= SHORTEST]


@dataclass(frozen=True)
class Reading:
    """What a model of two classes says of each sentence and each word of a corpus.

    ``contribution`` and ``left_out`` are those of :mod:`uaftc_lib.explain`; ``towards`` is ``left_out`` with the sign
    of the decision. ``watched``, ``decisive``, ``contributor``: the word of each sentence with most attention, without
    which the logit falls most towards the other side, and of the largest contribution to the decision.
    """

    model: AttentionClassifier
    corpus: Corpus
    out: Output
    alpha: Float[np.ndarray, "positions"]
    logit: Float[np.ndarray, "instances"]
    side: Int[np.ndarray, "instances"]
    contribution: Float[np.ndarray, "positions"]
    left_out: Float[np.ndarray, "positions"]
    towards: Float[np.ndarray, "positions"]
    watched: Int[np.ndarray, "instances"]
    decisive: Int[np.ndarray, "instances"]
    contributor: Int[np.ndarray, "instances"]

    @classmethod
    def of(cls, model: AttentionClassifier, corpus: Corpus) -> Reading:
        """Everything in float64."""
        model = model.double()
        with torch.no_grad():
            out = model(corpus)
        logit = out.polarity.numpy()
        side = np.where(logit > 0, 1, -1)
        sentence_of = corpus.instance_of.numpy()
        contribution, left_out = (f(model, corpus).numpy() for f in (explain.contributions, explain.leave_one_out))
        towards = left_out * side[sentence_of]
        return cls(
            model, corpus, out, out.weights.numpy(), logit, side, contribution, left_out, towards,
            watched=largest_position(out.weights.numpy(), corpus),
            decisive=largest_position(towards, corpus),
            contributor=largest_position(contribution * side[sentence_of], corpus),
        )  # fmt: skip

    @property
    def sentence_of(self) -> Int[np.ndarray, "positions"]:
        return self.corpus.instance_of.numpy()


def largest_position(values: Float[np.ndarray, "positions"], corpus: Corpus) -> Int[np.ndarray, "instances"]:
    """The position of the largest value in each sentence."""
    return pd.Series(values).groupby(corpus.instance_of.numpy()).idxmax().to_numpy()


def removals(read: Reading, seed: int) -> dict[str, Float[np.ndarray, "instances"]]:
    """How many words must go, in each of four orders, until the decision turns; nan: it never does."""
    smallest = [np.nan if found is None else len(found) for found in explain.minimal_flip_sets(read.model, read.corpus)]
    # As logarithms: at a small λ the contributions of one sentence differ by more than floats can add.
    polarity, scores = read.out.token_polarity.numpy(), read.out.scores.numpy()
    sign, size = np.sign(polarity), scores + np.log(abs(polarity))
    for_decision = sign * read.side[read.sentence_of]
    orders = {
        "by contribution": np.lexsort((for_decision * size, for_decision)).argsort().astype(float),
        "by attention": scores,
        "at random": np.random.default_rng(seed).random(len(scores)),
    }
    needed = {name: removed_until_turned(order, sign, size, read) for name, order in orders.items()}
    return {"smallest set": np.array(smallest, dtype=float)} | needed


def removed_until_turned(
    order_by: Float[np.ndarray, "positions"],
    sign: Float[np.ndarray, "positions"],
    size: Float[np.ndarray, "positions"],
    read: Reading,
) -> Float[np.ndarray, "instances"]:
    """How many words must go in falling order of a quantity; sign and logarithm are those of e^a s."""
    begins = read.corpus.offsets.numpy()
    needed = np.full(len(read.corpus), np.nan)
    for t, (begin, end) in enumerate(zip(begins[:-1], begins[1:])):
        order = begin + np.argsort(-order_by[begin:end], kind="stable")
        good, bad = (np.where(sign[order] == one, size[order], -np.inf)[::-1] for one in (1, -1))
        left = (np.logaddexp.accumulate(good) > np.logaddexp.accumulate(bad))[::-1]
        turned = np.nonzero(left[1:] != (read.logit[t] > 0))[0]
        if len(turned):
            needed[t] = turned[0] + 1
    return needed


class Found(NamedTuple):
    """What a search found: the divergence (0 where the tolerance is not kept), and whether it is kept."""

    divergence: Float[np.ndarray, "instances"]
    within: Bool[np.ndarray, "instances"]


def search(
    start: Float[Tensor, "parameters"],
    scores_of: Callable[[Tensor], Tensor],
    read: Reading,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    rate: float = RATE,
    penalty: float = PENALTY,
) -> Found:
    """Other weights by gradient ascent, judged at the step at which the mean over sentences is greatest.

    Adam on the mean divergence less ``penalty`` times what exceeds the tolerance; its rate falls to 0 as a cosine.
    """
    corpus, answer = read.corpus, read.out.polarity.sigmoid()
    parameter = start.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([parameter], lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, kept = answer.new_zeros(len(corpus)), torch.ones(len(corpus), dtype=torch.bool)
    for _ in range(steps):
        weights = softmax_by_instance(scores_of(parameter), corpus.instance_of, len(corpus))
        logit = sum_by_instance(weights * read.out.token_polarity, corpus.instance_of, len(corpus))
        moved = (logit.sigmoid() - answer).abs()
        divergence = explain.jensen_shannon(read.out.weights, weights, corpus)
        within = moved.detach() <= tolerance
        counted = divergence.detach() * within
        if counted.sum() > best.sum():
            best, kept = counted, within
        optimizer.zero_grad()
        (penalty * (moved - MARGIN * tolerance).clamp(min=0) - divergence).mean().backward()
        optimizer.step()
        schedule.step()
    return Found(best.numpy(), kept.numpy())


def searches(read: Reading, seed: int, **settings: float) -> dict[str, Found]:
    """The same search with three kinds of parameters, from the model's own with noise.

    The weights of each sentence by itself; one score for each word, the same in all sentences; the context vector. All
    are scaled so that the noise moves scores by about one.
    """
    model = read.model
    types, place = read.corpus.tokens.unique(return_inverse=True)
    with torch.no_grad():
        type_scores, embedding = model.token_scores().attention[types], model.embedding[types]
        size = embedding.norm(dim=1).mean()
    noise = torch.randn(read.out.scores.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    kinds = {
        "each sentence": (read.out.scores, lambda scores: scores),
        "one score a word": (type_scores, lambda scores: scores[place]),
        "the context vector": (model.V.detach() / model.lam * size, lambda vector: (embedding @ vector / size)[place]),
    }
    return {
        name: search(start + noise[: len(start)], scores_of, read, **settings)
        for name, (start, scores_of) in kinds.items()
    }


@experiment(jobs_over(seed=SEEDS, lam=(1.0, 10.0, 100.0, UNIFORM)), rows=1)
def explanation_seeds(lam: float, seed: int) -> list[dict]:
    """SST, DP: what attention tells of decisions on the test set. Divergences are shares of the largest possible."""
    model, run = train_real(data := load_dataset("sst"), lam=lam, seed=seed)
    read = Reading.of(model, usable(data.test))
    mixed = permutations(read.out, read.corpus, 1, seed)
    row = {
        "test_accuracy": run.test_accuracy,
        "best_epoch": run.best_epoch,
        "early loss": run.history["loss"].iloc[:5].mean(),
        "watched decides": float((read.watched == read.decisive).mean()),
        "contributor decides": float((read.contributor == read.decisive).mean()),
        "kept by uniform weights": float((mixed.mean * read.side > 0).mean()),
    }
    for name, needed in removals(read, seed).items():
        stands = standing(needed, read.corpus.lengths.numpy() - 1.0)
        row |= {f"{name} {k}": share for k, share in zip(AFTER, still_there(stands, AFTER).tolist())}
        row |= {f"{name} median": float(stands.quantile(0.5)), f"{name} never": float(np.isnan(needed).mean())}
    exact = explain.adversarial_attention(model, read.corpus, TOLERANCE)
    row["exact"] = float(exact.divergence.mean()) / LARGEST
    for name, found in searches(read, seed).items():
        row[name] = float(found.divergence.mean()) / LARGEST
    return [row]


@reading
def averages_at_large_lam(tables: Tables) -> list[Part]:
    kept = {lam: column(tables("explanation_seeds", lam=lam), "kept by uniform weights") for lam in (10.0, 100.0)}
    return [exceeds("SST", SMALL - (1 - kept[100.0]) / (1 - kept[10.0]))]
