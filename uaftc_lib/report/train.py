"""Train: five models, each on the texts outside one fifth, and a linear one beside each; and what they answer.

Each model leaves out a fifth of the texts. A word's push on a class is what it adds to the score of the class, averaged
over the texts that hold it, each read by a model that has not seen it. How far that may be from what other texts and
another training would give, the models show among themselves: model k is what training without the k-th fifth gives, so
the grouped jackknife applies (Efron & Stein 1981, The Annals of Statistics 9). With θ₍₋ₖ₎ the mean push by model k over
the texts outside that fifth,

    variance = (K − 1)/K Σ_k (θ₍₋ₖ₎ − θ̄)²,  interval = push ± t(K − 1) √variance.

On the page the push is called influence.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from threading import Event

import joblib
import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse, stats
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.explain.contributions import beside, by_hop, probabilities
from uaftc_lib.explain.words import Pairs, class_polarity, pair_values, word_instance_pairs
from uaftc_lib.intervals import half_width
from uaftc_lib.models import AttentionClassifier, Output, sum_by_instance
from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.request import Refused
from uaftc_lib.report.settings import Settings
from uaftc_lib.threads import one_thread
from uaftc_lib.training import fit

FOLDS = 5
MOST_WEIGHED = 5000  # clusters
OF_DEV = 8  # one in so many of the texts that are not tested chooses the epoch
PART = 20_000  # texts that are looked at together
AT_ONCE = 2_000_000  # texts of all models that are trained at once: of a million texts two models
KNOWN = 2  # training texts that a word needs, or nothing can be learnt about it
MOST_AGAIN = {"test": 1000, "rest": 500}  # texts of a fold that a recurrent encoder reads again without each word
STRENGTHS = (1.0, 10.0)  # 1 / regularisation, of the linear model

ByClass = Float[np.ndarray, "types classes"]


@dataclass(frozen=True)
class Trained:
    """Five models, and what they and their yardsticks answer on the texts that they have not seen.

    Attributes
    ----------
    folds : list of Fold
    readers : list of Reader
    pushes : Pushes
    tested : Int[np.ndarray, "tested"]
        Places of the tested texts in ``prepared.whole``.
    part : Int[np.ndarray, "tested"]
        To which fifth each belongs.
    ours, linear, prior : Float[np.ndarray, "tested classes"]
        Their class probabilities: by these models, by the linear ones, by the shares of the classes.
    coefficients : Float[np.ndarray, "types classes"]
        Of the linear models, in the mean.
    line : LinearBaseline
        The last one.
    settings : dict
        As report.json has them.
    """

    folds: list[Fold]
    readers: list[Reader]
    pushes: Pushes
    tested: Int[np.ndarray, "tested"]
    part: Int[np.ndarray, "tested"]
    ours: Float[np.ndarray, "tested classes"]
    linear: Float[np.ndarray, "tested classes"]
    prior: Float[np.ndarray, "tested classes"]
    coefficients: Float[np.ndarray, "types classes"]
    line: LinearBaseline
    settings: dict

    def reader_of(self, text: int) -> Reader:
        """A model that has not seen this text."""
        return next(reader for reader, fold in zip(self.readers, self.folds) if text in fold.test)


def train(prepared: Prepared, settings: Settings, bar: Callable) -> Trained:
    """A model and a linear one for each fold; both are asked about the texts they have not seen.

    ``bar``: makes the bar of the epochs, as :func:`~uaftc_lib.progress.progress_bar`.

    Raises
    ------
    Refused
        If a class is left without a text to learn from, or a test with one class alone.
    """
    whole, labels, types = prepared.whole, prepared.whole.labels.numpy(), len(prepared.vocabulary)
    chosen = list(folds(labels, prepared.cluster, prepared.test, settings.seed))
    check_classes(prepared, chosen)
    answers = {name: np.zeros((len(whole), whole.class_count)) for name in ("ours", "linear", "prior")}
    times = np.bincount(np.concatenate([fold.test for fold in chosen]), minlength=len(whole))
    unit = pd.Series(prepared.cluster * whole.class_count + labels)
    weights = 1 / unit.groupby(unit).transform("size").to_numpy() / times.clip(1)
    pushes, models, line, coefficients = Pushes(whole, types, weights), [], None, 0.0
    config = settings.training(len(chosen[0].train), settings.seed)
    start = prepared.start
    with (
        bar(desc="epochs", total=FOLDS * config.epochs) as epochs,
        closing(
            readers(whole, prepared.vocabulary, chosen, settings, epochs.update, start and start.matrix)
        ) as in_turn,
    ):
        for fold, reader in zip(chosen, in_turn):
            line = LinearBaseline(*(reader.read(whole, rows) for rows in (fold.train, fold.dev)), types, line)
            coefficients = coefficients + line.coefficients() / FOLDS
            pushes = pushes.add(reader, fold, settings.seed)
            shares = np.bincount(labels[fold.train], minlength=whole.class_count) / len(fold.train)
            for name, probability in (
                ("ours", reader.probability(whole, fold.test)),
                ("linear", line.probabilities(reader.read(whole, fold.test))),
                ("prior", shares),
            ):
                answers[name][fold.test] += probability / times[fold.test, None]
            models.append(reader)
    tested = np.flatnonzero(times)
    if prepared.test is None:
        part = numbered((fold.test for fold in chosen), len(whole))
    else:
        part = parts(labels[tested], prepared.cluster[tested], FOLDS, settings.seed)
    used = {"epochs": config.epochs, "batch_size": config.batch_size, "optimizer": config.optimizer, "folds": FOLDS}
    return Trained(
        chosen,
        models,
        pushes,
        tested,
        part,
        **{name: probability[tested] for name, probability in answers.items()},
        coefficients=coefficients,
        line=line,
        settings=asdict(settings) | used | {"vectors": start and start.source},
    )


def check_classes(prepared: Prepared, chosen: list[Fold]) -> None:
    """Refuse what leaves a class without a text to learn from, or a test with one class alone."""
    labels = prepared.whole.labels.numpy()
    for fold in chosen:
        for rows, what in ((fold.train, "learn from"), (fold.test, "test")):
            classes, least = np.unique(labels[rows]), len(prepared.classes) if what == "learn from" else 2
            if len(classes) < least:
                lacking = next(name for k, name in enumerate(prepared.classes) if k not in classes)
                raise Refused(
                    f"of the class {lacking!r} too few texts that belong to no common group or copy are left to {what}"
                    ": leave the class out, or do without --group, --split and --time"
                )


@dataclass(frozen=True)
class Fold:
    """Rows of one model: disjoint, in their old order."""

    train: Int[np.ndarray, "trained"]
    dev: Int[np.ndarray, "choosing"]
    test: Int[np.ndarray, "tested"]

    @property
    def rest(self) -> Int[np.ndarray, "others"]:
        """All that is not tested."""
        return np.sort(np.concatenate([self.train, self.dev]))


def parts(
    labels: Int[np.ndarray, "texts"], cluster: Int[np.ndarray, "texts"], count: int, seed: int
) -> Int[np.ndarray, "texts"]:
    """For each text the number of its part: every class in equal shares, clusters whole.

    Where clusters hold several texts and are not too many to be weighed one by one, each class is spread over the parts
    by its texts; else a cluster counts as one text of the class that most of its texts have.
    """
    _, cluster = np.unique(cluster, return_inverse=True)
    clusters = int(cluster.max()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer clusters than parts is spread over some of them
        if clusters < len(labels) and clusters <= MOST_WEIGHED:
            splits = StratifiedGroupKFold(count, shuffle=True, random_state=seed).split(labels, labels, cluster)
            return numbered((members for _, members in splits), len(labels))
        votes = np.zeros((clusters, labels.max() + 1), np.int64)
        np.add.at(votes, (cluster, labels), 1)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(votes, votes.argmax(1))
        return numbered((members for _, members in splits), clusters)[cluster]


def numbered(parts: Iterable[Int[np.ndarray, "part"]], count: int) -> Int[np.ndarray, "members"]:
    """For each of so many members the number of the part in which it is."""
    part = np.empty(count, np.int64)
    for k, members in enumerate(parts):
        part[members] = k
    return part


def folds(
    labels: Int[np.ndarray, "texts"],
    cluster: Int[np.ndarray, "texts"],
    test: Bool[np.ndarray, "texts"] | None = None,
    seed: int = 0,
) -> Iterator[Fold]:
    """Five models: each leaves out a fifth of the texts, and is tested on it.

    ``test``: the texts that are to be tested; then each model leaves out a fifth of the others, and all are tested on
    these.
    """
    others = np.arange(len(labels)) if test is None else np.flatnonzero(~test)
    part = parts(labels[others], cluster[others], FOLDS, seed)
    for k in range(FOLDS):
        rest = others[part != k]
        choosing = parts(labels[rest], cluster[rest], OF_DEV, seed + 1 + k) == 0
        yield Fold(rest[~choosing], rest[choosing], others[part == k] if test is None else np.flatnonzero(test))


@dataclass(frozen=True)
class Reader:
    """A fold's model with the words it knows: those of at least two of its training texts, all others are <unk>.

    Attributes
    ----------
    model : AttentionClassifier
        With more than two classes what all logits have in common is taken out of them (W less its mean over the
        classes): no probability changes, because only differences of logits matter, and pushes can be compared between
        classes.
    ids : Int[Tensor, "types"]
        Of each word, as the model sees it.
    unfinished : bool
        Whether it was best after its last epoch.
    """

    model: AttentionClassifier
    ids: Int[Tensor, "types"]
    unfinished: bool

    def read(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> Corpus:
        """Some texts as this model sees them."""
        return self.translated(whole[torch.from_numpy(rows)])

    def translated(self, corpus: Corpus) -> Corpus:
        """Texts with what the model does not know as <unk>."""
        return translated(corpus, self.ids)

    @torch.no_grad()
    def probability(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "rows classes"]:
        """Class probabilities of some texts."""
        parts = (rows[start : start + PART] for start in range(0, len(rows), PART))
        return np.concatenate([probabilities(self.model(self.read(whole, part)).polarity).double() for part in parts])


def translated(corpus: Corpus, ids: Int[Tensor, "types"]) -> Corpus:
    """Texts with other numbers for their words."""
    return Corpus(ids[corpus.tokens], corpus.offsets, corpus.labels, corpus.class_count, corpus.classes)


def train_reader(
    whole: Corpus,
    vocabulary: Vocabulary,
    fold: Fold,
    settings: Settings,
    seed: int,
    done: Callable,
    vectors: Float[Tensor, "types d"] | None = None,
) -> Reader:
    """The model of one fold. ``done(epochs)`` after each epoch."""
    train, dev = (whole[torch.from_numpy(rows)] for rows in (fold.train, fold.dev))
    word, *_ = word_instance_pairs(train, len(vocabulary))
    known = torch.bincount(word, minlength=len(vocabulary)) >= KNOWN
    ids = torch.where(known, torch.arange(len(vocabulary)), vocabulary.unk)
    model = AttentionClassifier(
        len(vocabulary),
        settings.dimension,
        settings.lam,
        encoder=settings.encoder,
        classes=whole.class_count,
        vectors=vectors,
        seed=seed,
    )

    def record(epoch: int, model: AttentionClassifier) -> dict:
        done(epoch > 0)
        return {}

    config = settings.training(len(fold.train), seed)
    dataset = Dataset("file", vocabulary, whole.classes, translated(train, ids), translated(dev, ids))
    run = fit(model, dataset, config, record, best="loss", progress=False)
    if not model.binary:
        with torch.no_grad():
            model.W -= model.W.mean(1, keepdim=True)
    return Reader(model, ids, run.best_epoch == config.epochs)


def readers(
    whole: Corpus,
    vocabulary: Vocabulary,
    folds: list[Fold],
    settings: Settings,
    done: Callable,
    vectors: Float[Tensor, "types d"] | None = None,
) -> Iterator[Reader]:
    """A model for each fold, in their order. As many as there are processors are trained at once, fewer of large files.

    ``done()`` after each epoch. When this is closed, models that are not done are given up after their epoch.
    """
    closed = Event()

    def one(k: int) -> Reader:
        return train_reader(whole, vocabulary, folds[k], settings, settings.seed + k, counted, vectors)

    def counted(epochs: int) -> None:
        if closed.is_set():
            raise InterruptedError
        done(epochs)

    most = max(1, min(len(folds), joblib.cpu_count(), AT_ONCE // len(whole)))
    with one_thread(), ThreadPoolExecutor(most) as pool:
        try:
            yield from pool.map(one, range(len(folds)))
        finally:
            closed.set()


def push_columns(classes: int) -> slice:
    """Where the pushes stand among the columns of :func:`~uaftc_lib.explain.words.pair_values`."""
    return slice(2 + classes, 2 + 2 * classes)


@torch.no_grad()
def read_again(
    model: AttentionClassifier,
    out: Output,
    corpus: Corpus,
    pair_of: Int[Tensor, "positions"],
    instance: Int[Tensor, "pairs"],
) -> Float[np.ndarray, "pairs columns"]:
    """What :func:`~uaftc_lib.explain.words.pair_values` says, where states know their neighbours.

    Each text is read again without each of its words; the contribution of a word is the fall of the logit. A word that
    is the whole text has none.
    """
    pairs, copies = len(instance), corpus[instance]
    dropped = corpus._with(tokens=pair_of)[instance].tokens == copies.instance_of
    erased = torch.bincount(copies.instance_of[~dropped], minlength=pairs) > 0
    others = copies.without(dropped)
    logit, P = class_polarity(out.polarity)[instance], probabilities(out.polarity)[instance]
    without, P_without = logit.clone(), P.clone()
    again = model(others).polarity
    without[erased], P_without[erased] = class_polarity(again), probabilities(again)
    hops = by_hop(out, corpus)
    A = sum(sum_by_instance(hop.weights, pair_of, pairs) for hop in hops).unsqueeze(1) / len(hops)
    return torch.cat([torch.ones_like(A), A, A * P, logit - without, P - P_without], 1).cpu().numpy()


@dataclass(frozen=True)
class Pushes:
    """What each word does, by the models of some folds.

    Attributes
    ----------
    whole : Corpus
    types : int
    weights : Float[np.ndarray, "texts"]
        How much a text counts in :meth:`beyond`: copies together count as one text.
    sums : Float[np.ndarray, "types columns"]
        See :meth:`unseen`; over all folds.
    others : tuple of Float[np.ndarray, "types classes"]
        θ₍₋ₖ₎ of each fold; nan where no text holds the word.
    """

    whole: Corpus
    types: int
    weights: Float[np.ndarray, "texts"]
    sums: Float[np.ndarray, "types columns"] | float = 0.0
    others: tuple[ByClass, ...] = ()

    def add(self, reader: Reader, fold: Fold, seed: int) -> Pushes:
        """With what a fold's model answers on the texts it has not seen, and on the others."""
        sums = self.sums
        for part in chunks(fold.test, reader, MOST_AGAIN["test"], seed):
            sums = sums + self.unseen(reader, part)
        rest = sum(self.seen(reader, part) for part in chunks(fold.rest, reader, MOST_AGAIN["rest"], seed))
        with np.errstate(invalid="ignore"):
            return replace(self, sums=sums, others=(*self.others, rest[:, 1:] / rest[:, :1]))

    @torch.no_grad()
    def unseen(self, reader: Reader, rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "types columns"]:
        """Sums over texts for each word: 1, attention, and for each class push, fall of P, y − P₋ and P₋(1 − P₋).

        P₋ is the class's probability without the word. A word that the model does not know pushes as <unk> does.
        """
        corpus = self.whole[torch.from_numpy(rows)]
        classes, pushes = corpus.class_count, push_columns(corpus.class_count)
        word, instance, pair_of = word_instance_pairs(corpus, self.types)
        out, values = word_values(reader.model, reader.translated(corpus), pair_of, instance)
        push, fall = values[:, pushes], values[:, pushes.stop :]
        without = probabilities(out.polarity)[instance].numpy() - fall
        of_class = np.eye(classes)[corpus.labels[instance].numpy()]
        weight = self.weights[rows][instance.numpy()][:, None]
        beyond = weight * np.hstack([of_class - without, without * (1 - without)])
        pairs = Pairs(word.numpy(), instance.numpy(), self.types, len(corpus))
        return pairs.sums(np.hstack([values[:, :2], push, fall, beyond]))

    @torch.no_grad()
    def seen(self, reader: Reader, rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "types columns"]:
        """Sums over texts for each word: 1, and its push on each class."""
        corpus = self.whole[torch.from_numpy(rows)]
        seen = reader.translated(corpus)
        word, instance, pair_of = word_instance_pairs(corpus, self.types)
        if reader.model.recurrent is not None:
            _, values = word_values(reader.model, seen, pair_of, instance)
            pairs = Pairs(word.numpy(), instance.numpy(), self.types, len(corpus))
            return pairs.sums(np.hstack([values[:, :1], values[:, push_columns(corpus.class_count)]]))
        out = reader.model(seen)  # pushes alone are wanted here, and these need no words left out
        push = class_polarity(beside(out.weights, out.token_polarity) * out.token_polarity).double()
        of_word = torch.zeros(self.types, push.shape[1], dtype=push.dtype).index_add_(0, corpus.tokens, push)
        return np.hstack([torch.bincount(word, minlength=self.types).numpy()[:, None], of_word.numpy()])

    def means(self) -> tuple[Float[np.ndarray, "types"], ByClass, ByClass, ByClass]:
        """Over the unseen texts of each word: attention, push, half width of its interval, and fall of P."""
        K, classes = len(self.others), self.whole.class_count
        with np.errstate(invalid="ignore"):
            means = self.sums[:, 1 : 2 + 2 * classes] / self.sums[:, :1]
        among = np.stack(self.others)
        variance = (K - 1) / K * ((among - among.mean(0)) ** 2).sum(0)
        reach = half_width(np.sqrt(variance), K - 1)
        return means[:, 0], means[:, 1 : 1 + classes], reach, means[:, 1 + classes :]

    def beyond(self) -> ByClass:
        """p of each word and class: is the class commoner among the word's texts than their other words foretell?

        The score test of a word beside the others: Σ (y − P₋) / √Σ P₋(1 − P₋) over its unseen texts, one-sided.
        """
        excess, variance = np.split(self.sums[:, 2 + 2 * self.whole.class_count :], 2, axis=1)
        return stats.norm.sf(excess / np.sqrt(variance.clip(1e-12)))


@torch.no_grad()
def word_values(
    model: AttentionClassifier, corpus: Corpus, pair_of: Int[Tensor, "positions"], instance: Int[Tensor, "pairs"]
) -> tuple[Output, Float[np.ndarray, "pairs columns"]]:
    """The model's answers, and :func:`~uaftc_lib.explain.words.pair_values` of the words by what suits its encoder."""
    out = model(corpus)
    if model.recurrent is None:
        return out, pair_values(out, corpus, pair_of, instance)
    return out, read_again(model, out, corpus, pair_of, instance)


def chunks(rows: Int[np.ndarray, "rows"], reader: Reader, most: int, seed: int) -> Iterator[Int[np.ndarray, "some"]]:
    """The texts in parts that fit into memory; where each is to be read often, a sample of at most so many."""
    size = PART
    if reader.model.recurrent is not None:
        size = 100
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def word_counts(corpus: Corpus, types: int) -> sparse.csr_matrix:
    """How often each word occurs in each instance: "instances types"."""
    ones = np.ones(len(corpus.tokens), np.float32)
    counts = sparse.csr_matrix((ones, corpus.tokens.cpu().numpy(), corpus.offsets.cpu().numpy()), (len(corpus), types))
    counts.sum_duplicates()
    return counts


def fitted_from(
    first: LogisticRegression | None, features: sparse.csr_matrix, labels: Int[np.ndarray, "instances"], C: float
) -> LogisticRegression:
    """A logistic regression whose first guess are the weights of another one."""
    # The tolerance is one of the mean gradient: of many words that are rare each, it is small from the start.
    model = LogisticRegression(C=C, max_iter=1000, tol=1e-6, warm_start=True)
    if first:
        model.coef_, model.intercept_ = first.coef_, first.intercept_
    return model.fit(features, labels)


class LinearBaseline:
    """The yardstick: tf-idf and logistic regression, of two strengths that which is best on ``dev``.

    No attention, no order of words.

    ``before``: one that was fitted to nearly the same texts: its strength is taken, its weights are the first guess.
    ``without``: words (ids) that it does not see.
    """

    def __init__(
        self,
        train: Corpus,
        dev: Corpus,
        types: int,
        before: LinearBaseline | None = None,
        without: Int[np.ndarray, "words"] | tuple = (),
    ):
        self.seen = np.ones(types, np.float32)
        self.seen[list(without)] = 0
        self.tfidf = TfidfTransformer(sublinear_tf=True).fit(self.counts(train))
        features, labels = self.features(train), train.labels.cpu().numpy()
        if before:
            self.model = fitted_from(before.model, features, labels, before.model.C)
        else:
            weak, strong = sorted(STRENGTHS)
            first = fitted_from(None, features, labels, weak)
            both = (first, fitted_from(first, features, labels, strong))
            chosen, truth = self.features(dev), dev.labels.cpu().numpy()
            self.model = max(both, key=lambda model: model.score(chosen, truth))

    def counts(self, corpus: Corpus) -> sparse.csr_matrix:
        """How often each word that it sees occurs in each instance."""
        counts = word_counts(corpus, len(self.seen))
        return counts if self.seen.all() else counts @ sparse.diags_array(self.seen, dtype=np.float32)

    def features(self, corpus: Corpus) -> sparse.csr_matrix:
        return self.tfidf.transform(self.counts(corpus))

    def probabilities(self, corpus: Corpus) -> Float[np.ndarray, "instances classes"]:
        """Class probabilities; every class must occur in the training split."""
        return self.model.predict_proba(self.features(corpus))

    def coefficients(self) -> Float[np.ndarray, "types classes"]:
        """The weight of each word for each class; two classes: −β and β."""
        beta = self.model.coef_.T
        return np.hstack([-beta, beta]) if beta.shape[1] == 1 else beta
