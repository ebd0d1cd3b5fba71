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

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from threading import Event

import joblib
import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse, stats
from scipy.special import logit
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
ROUNDS, FEW = 5, 5000  # cross-validations of a small file, and texts of all of them together that are few
MOST_ROUNDS, MORE = 100, 40_000  # the same where the verdict is in doubt
DOUBT = 0.75  # then z is so near to an end of it; after n times as many cross-validations √n times nearer
Z95 = 1.96  # standard errors to either end of a 95 % interval
SPREAD = 1.35  # by how much the AUC of permuted labels varies more than if each text had a model of its own
ABOUT, SURE = 0.8, 2.58  # standard errors above one half: up to which an AUC says nothing, from which it is sure
ANEW = 1000  # from the seed of one cross-validation to that of the next
PATIENCE = 3  # epochs in a row without a better dev loss, after which training ends
MOST_WEIGHED = 5000  # clusters
OF_DEV = 8  # one in so many of the texts that are not tested chooses the epoch
PART = 20_000  # texts that are looked at together
AT_ONCE = 2_000_000  # texts of all models that are trained at once: of a million texts two models
KNOWN = 2  # training texts that a word needs, or nothing can be learnt about it
MOST_AGAIN = {"test": 1000, "rest": 500}  # texts of a fold that a recurrent encoder reads again without each word
STRENGTHS = (1.0, 10.0)  # 1 / regularisation, of the linear model

ByClass = Float[np.ndarray, "types classes"]


@dataclass(frozen=True)
class Answers:
    """What is said of each tested text.

    Attributes
    ----------
    probability : Float[np.ndarray, "texts classes"]
        Mean over the models that are asked about the text.
    logits : Float[np.ndarray, "texts classes"]
        The same of the logarithm of the probability: up to a number that all classes have in common, of the logits.
    rank : Float[np.ndarray, "texts classes"]
        Where the probability of each class of the text's unit stands among those of all units that the model is asked
        about: 0 lowest, 1 highest; nan where a text is in no unit. The models are of different training texts: only
        within one of them can texts be compared.
    """

    probability: Float[np.ndarray, "texts classes"]
    logits: Float[np.ndarray, "texts classes"]
    rank: Float[np.ndarray, "texts classes"]

    @classmethod
    def mean(
        cls, asked: list[tuple[Int[np.ndarray, "_"], Float[np.ndarray, "_ classes"]]], unit: Int[np.ndarray, "texts"]
    ) -> Answers:
        """Of all models; ``asked``: about which texts each was asked, and its probabilities."""
        places, said = (np.concatenate(parts) for parts in zip(*asked))
        ranks = np.concatenate([ranks_of_units(each, unit[rows]) for rows, each in asked])
        means = []
        for values in (said, np.log(said.astype(float).clip(1e-12)), ranks):
            sums = np.zeros((len(unit), values.shape[1]))
            np.add.at(sums, places, values)
            means.append(sums / np.bincount(places, minlength=len(unit)).clip(1)[:, None])
        return cls(*means)

    def at(self, rows: Int[np.ndarray, "rows"]) -> Answers:
        """About some of the texts."""
        return Answers(self.probability[rows], self.logits[rows], self.rank[rows])


def ranks_of_units(
    probability: Float[np.ndarray, "rows classes"], unit: Int[np.ndarray, "rows"]
) -> Float[np.ndarray, "rows classes"]:
    """The rank of each text's unit among all of them, from 0 to 1; nan for a text in none."""
    means, units = by_unit(probability, unit, unit)
    result, counted = np.full(probability.shape, np.nan), unit >= 0
    result[counted] = ((stats.rankdata(means, axis=0) - 0.5) / len(means))[np.searchsorted(units, unit[counted])]
    return result


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
    ours, linear, length, prior : Answers
        About these: by these models, by the linear ones, by the number of words alone, by the shares of the classes.
        Small files are cut into fifths anew, five times or until the verdict is clear, and other models answer too.
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
    ours: Answers
    linear: Answers
    length: Answers
    prior: Answers
    coefficients: Float[np.ndarray, "types classes"]
    line: LinearBaseline
    settings: dict


def train(
    prepared: Prepared,
    settings: Settings,
    bar: Callable,
    make: Callable[..., Iterator[Reader]] | None = None,
    rounds: tuple[int, int] | None = None,
) -> Trained:
    """A model and a linear one for each fold; both are asked about the texts they have not seen.

    ``bar``: makes the bar of the epochs, as :func:`~uaftc_lib.progress.progress_bar`. ``make``: makes the models, as
    :func:`attention_readers` does by default; ``rounds``: cross-validations of a small file, and the most
    where the verdict is in doubt, by default ROUNDS and MOST_ROUNDS.

    Raises
    ------
    Refused
        If a class is left without a text to learn from, or a test with one class alone.
    """
    whole, labels, types = prepared.whole, prepared.whole.labels.numpy(), len(prepared.vocabulary)
    least, most = (
        max(1, min(times, texts // len(whole))) for times, texts in zip(rounds or (ROUNDS, MOST_ROUNDS), (FEW, MORE))
    )
    first = list(folds(labels, prepared.cluster, prepared.test, settings.seed))
    times = np.bincount(np.concatenate([fold.test for fold in first]), minlength=len(whole))
    tested = np.flatnonzero(times)
    counted = prepared.unit >= 0
    weights = counted / np.bincount(prepared.unit[counted])[prepared.unit] / times.clip(1)
    pushes, models, line, coefficients = Pushes(whole, types, weights), [], None, 0.0
    config = settings.training(len(first[0].train), settings.seed)
    asked = {name: [] for name in ("ours", "linear", "length", "prior")}
    with bar(desc="epochs") as epochs:
        for done in range(max(least, most)):
            if done and done % least == 0:
                ours = Answers.mean(asked["ours"], prepared.unit).at(tested)
                if not in_doubt(ours, labels[tested], prepared.unit[tested], DOUBT * math.sqrt(least / done)):
                    break
            seed = settings.seed + ANEW * done
            chosen = list(folds(labels, prepared.cluster, prepared.test, seed)) if done else first
            if why := lacking(prepared, chosen):
                if not done:
                    raise Refused(why)
                break
            with closing(
                cross_validation(prepared, settings, chosen, seed, epochs.update, line, make or attention_readers)
            ) as fitted:
                for fold, (reader, line, answers) in zip(chosen, fitted):
                    for name, probability in answers.items():
                        asked[name].append((fold.test, probability))
                    if not done:
                        coefficients = coefficients + line.coefficients() / FOLDS
                        pushes = pushes.add(reader, fold, settings.seed)
                        models.append(reader)
    used = {
        "epochs": config.epochs,
        "best_epochs": [reader.best_epoch for reader in models],
        "rounds": len(asked["ours"]) // FOLDS,
    }
    used |= {"batch_size": config.batch_size, "optimizer": config.optimizer, "folds": FOLDS}
    return Trained(
        first,
        models,
        pushes,
        tested,
        **{name: Answers.mean(each, prepared.unit).at(tested) for name, each in asked.items()},
        coefficients=coefficients,
        line=line,
        settings=asdict(settings) | used | {"vectors": prepared.start and prepared.start.source},
    )


def cross_validation(
    prepared: Prepared,
    settings: Settings,
    chosen: list[Fold],
    seed: int,
    done: Callable,
    line: LinearBaseline | None,
    make: Callable[..., Iterator[Reader]],
) -> Iterator[tuple[Reader, LinearBaseline, dict[str, Float[np.ndarray, "tested classes"]]]]:
    """For each fold its model, the linear one, and what is said of its test: by both, by the lengths, by the shares.

    ``done()`` after each epoch; ``line``: a linear model from which the first one starts.
    """
    whole, labels, types = prepared.whole, prepared.whole.labels.numpy(), len(prepared.vocabulary)
    lengths = length_features(whole.lengths.numpy())
    with closing(make(prepared, chosen, settings, seed, done)) as trained:
        for fold, reader in zip(chosen, trained):
            line = LinearBaseline(*(reader.read(whole, rows) for rows in (fold.train, fold.dev)), types, line)
            shares = np.bincount(labels[fold.train], minlength=whole.class_count) / len(fold.train)
            of_length = LogisticRegression(max_iter=1000).fit(lengths[fold.rest], labels[fold.rest])
            answers = {
                "ours": reader.probability(whole, fold.test),
                "linear": line.probabilities(reader.read(whole, fold.test)),
                "length": of_length.predict_proba(lengths[fold.test]),
                "prior": np.tile(shares, (len(fold.test), 1)),
            }
            yield reader, line, answers


def in_doubt(ours: Answers, labels: Int[np.ndarray, "tested"], unit: Int[np.ndarray, "tested"], near: float) -> bool:
    """Whether z is so near to another verdict, which other folds and initial values may give."""
    z = auc(*by_unit(ours.rank, labels, unit))["z"]
    return min(abs(z - ABOUT), abs(z - SURE)) <= near


def by_unit(
    values: Float[np.ndarray, "texts columns"], labels: Int[np.ndarray, "texts"], unit: Int[np.ndarray, "texts"]
) -> tuple[Float[np.ndarray, "units columns"], Int[np.ndarray, "units"]]:
    """The mean over the texts of each unit, and its class; what is in no unit (−1) is left out."""
    counted = np.flatnonzero(unit >= 0)
    _, first, unit = np.unique(unit[counted], return_index=True, return_inverse=True)
    means = [np.bincount(unit, column[counted]) / np.bincount(unit) for column in values.T]
    return np.stack(means, 1), labels[counted[first]]


def auc(score: Float[np.ndarray, "units classes"], labels: Int[np.ndarray, "units"]) -> dict[str, float]:
    """AUC: how often a unit of a class has a higher score for it than one of another class, mean over the classes.

    With its 95 % interval (DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44), and z: by how many standard errors it
    is above one half. These are the errors over all permutations of the labels. Both kinds are taken SPREAD times as
    large, because the models that give the scores have training texts in common.
    """
    n, sizes = len(labels), np.bincount(labels, minlength=score.shape[1])
    present = [k for k in np.flatnonzero(sizes) if sizes[k] < n]
    if not present:
        return dict.fromkeys(("auc", "low", "high", "z"), math.nan)
    areas, pull, centred = [], np.zeros(n), np.zeros_like(score)
    for k in present:
        mine, own, others = labels == k, sizes[k], n - sizes[k]
        rank = stats.rankdata(score[:, k])
        place = np.empty(n)  # the share of the other side that a unit is rightly above, or below
        place[mine] = (rank[mine] - stats.rankdata(score[mine, k])) / others
        place[~mine] = 1 - (rank[~mine] - stats.rankdata(score[~mine, k])) / own
        areas.append(place[mine].mean())
        pull += (place - areas[-1]) / np.where(mine, own, others) / len(present)
        centred[:, k] = (rank - (n + 1) / 2) / (own * others * len(present))
    area, reach = float(np.mean(areas)), Z95 * SPREAD * math.sqrt((pull**2).sum())
    centred -= (centred @ sizes / n)[:, None]
    by_chance = SPREAD * math.sqrt((centred**2 @ sizes).sum() / (n - 1))
    z = (area - 0.5) / by_chance if by_chance else 0.0
    return {"auc": area, "low": max(0.0, area - reach), "high": min(1.0, area + reach), "z": z}


def verdict_of(area: dict[str, float]) -> str:
    """ "sure" if an AUC is surely above one half, "nothing" if it is about one half or there is none, else "open"."""
    if area["z"] >= SURE:
        return "sure"
    return "open" if area["z"] >= ABOUT or area["low"] > 0.5 else "nothing"


def lacking(prepared: Prepared, chosen: list[Fold]) -> str:
    """Why nothing can be learnt or tested: a class without a text to learn from, a test with one class alone; or ""."""
    labels = prepared.whole.labels.numpy()
    for fold in chosen:
        for rows, what in ((fold.train, "learn from"), (fold.test, "test")):
            classes, least = np.unique(labels[rows]), len(prepared.classes) if what == "learn from" else 2
            if len(classes) < least:
                name = next(name for k, name in enumerate(prepared.classes) if k not in classes)
                return (
                    f"of the class {name!r} too few texts that belong to no common group or copy are left to {what}"
                    ": leave the class out, or do without --group, --split and --time"
                )
    tested = np.unique(np.concatenate([fold.test for fold in chosen]))
    if len(np.unique(labels[tested[prepared.unit[tested] >= 0]])) < 2:
        return (
            "nothing can be tested: of one class alone are there tested texts whose label is that of more than two "
            "thirds of the texts of the same words"
        )
    return ""


@dataclass(frozen=True)
class Fold:
    """Rows of one model: disjoint, in their old order. ``held_out``: the fifth that it leaves out; ``test``: the same,
    or the texts that --split or --time says."""

    train: Int[np.ndarray, "trained"]
    dev: Int[np.ndarray, "choosing"]
    test: Int[np.ndarray, "tested"]
    held_out: Int[np.ndarray, "held_out"]

    @property
    def rest(self) -> Int[np.ndarray, "others"]:
        """All that is not tested."""
        return np.sort(np.concatenate([self.train, self.dev]))


def parts(
    labels: Int[np.ndarray, "texts"], cluster: Int[np.ndarray, "texts"], count: int, seed: int
) -> Int[np.ndarray, "texts"]:
    """For each text the number of its part: every class in equal shares, clusters whole.

    A cluster counts once in each of its classes, where clusters hold several texts and are not too many to be weighed
    one by one; else in the class that most of its texts have.
    """
    _, cluster = np.unique(cluster, return_inverse=True)
    clusters = int(cluster.max()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer clusters than parts is spread over some of them
        if clusters < len(labels) and clusters <= MOST_WEIGHED:
            first = np.unique(cluster * (labels.max() + 1) + labels, return_index=True)[1]
            y, groups = labels[first], cluster[first]
            splits = StratifiedGroupKFold(count, shuffle=True, random_state=seed).split(y, y, groups)
            return numbered((groups[members] for _, members in splits), clusters)[cluster]
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
        held_out = others[part == k]
        yield Fold(rest[~choosing], rest[choosing], held_out if test is None else np.flatnonzero(test), held_out)


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
    best_epoch : int
    """

    model: AttentionClassifier
    ids: Int[Tensor, "types"]
    best_epoch: int

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

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def again(self) -> dict[str, int] | None:
        """How many texts it reads again without each word, at most; None: it need not."""
        return None if self.model.recurrent is None else MOST_AGAIN

    @torch.no_grad()
    def pair_values(
        self, whole: Corpus, rows: Int[np.ndarray, "rows"]
    ) -> tuple[
        Int[np.ndarray, "pairs"],
        Int[np.ndarray, "pairs"],
        Float[np.ndarray, "rows classes"],
        Float[np.ndarray, "pairs columns"],
    ]:
        """Each word of some texts, the number of its text, the class probabilities of the texts, and
        :func:`~uaftc_lib.explain.words.pair_values` of the words, by what suits the encoder."""
        corpus = whole[torch.from_numpy(rows)]
        word, instance, pair_of = word_instance_pairs(corpus, len(self.ids))
        out, values = word_values(self.model, self.translated(corpus), pair_of, instance)
        return word.numpy(), instance.numpy(), probabilities(out.polarity).numpy(), values

    @torch.no_grad()
    def push_sums(
        self, whole: Corpus, rows: Int[np.ndarray, "rows"]
    ) -> tuple[Int[np.ndarray, "types"], Float[np.ndarray, "types classes"]]:
        """In how many of some texts each word stands, and the sum of its pushes on each class."""
        if self.again:
            return sums_of_pairs(self.pair_values(whole, rows), len(self.ids), whole.class_count)
        corpus = whole[torch.from_numpy(rows)]
        out = self.model(self.translated(corpus))  # pushes alone are wanted here, and these need no words left out
        push = class_polarity(beside(out.weights, out.token_polarity) * out.token_polarity).double()
        of_word = torch.zeros(len(self.ids), push.shape[1], dtype=push.dtype).index_add_(0, corpus.tokens, push)
        word, *_ = word_instance_pairs(corpus, len(self.ids))
        return torch.bincount(word, minlength=len(self.ids)).numpy(), of_word.numpy()

    @torch.no_grad()
    def position_values(
        self, whole: Corpus, rows: Int[np.ndarray, "rows"]
    ) -> tuple[Float[np.ndarray, "positions"], Float[np.ndarray, "positions classes"]]:
        """Attention and push on each class of every position of some texts."""
        return position_values(self.model, self.read(whole, rows))[1:]


def translated(corpus: Corpus, ids: Int[Tensor, "types"]) -> Corpus:
    """Texts with other numbers for their words."""
    return Corpus(ids[corpus.tokens], corpus.offsets, corpus.labels, corpus.class_count, corpus.classes)


def train_reader(
    whole: Corpus,
    vocabulary: Vocabulary,
    fold: Fold,
    settings: Settings,
    seed: int,
    done: Callable = lambda: None,
    vectors: Float[Tensor, "types d"] | None = None,
) -> Reader:
    """The model of one fold. ``done()`` after each epoch."""
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
        done()
        return {}

    config = settings.training(len(fold.train), seed)
    dataset = Dataset("file", vocabulary, whole.classes, translated(train, ids), translated(dev, ids))
    run = fit(model, dataset, config, record, best="loss", progress=False, patience=PATIENCE)
    if not model.binary:
        with torch.no_grad():
            model.W -= model.W.mean(1, keepdim=True)
    return Reader(model, ids, run.best_epoch)


def attention_readers(
    prepared: Prepared, chosen: list[Fold], settings: Settings, seed: int, done: Callable
) -> Iterator[Reader]:
    """:func:`readers` of what is prepared."""
    vectors = prepared.start and prepared.start.matrix
    return readers(prepared.whole, prepared.vocabulary, chosen, settings, seed, done, vectors)


def readers(
    whole: Corpus,
    vocabulary: Vocabulary,
    folds: list[Fold],
    settings: Settings,
    seed: int = 0,
    done: Callable = lambda: None,
    vectors: Float[Tensor, "types d"] | None = None,
) -> Iterator[Reader]:
    """A model for each fold, in their order. As many as there are processors are trained at once, fewer of large files.

    ``seed``: of the first. ``done()`` after each epoch. When this is closed, models that are not done are given up
    after their epoch.
    """
    closed = Event()

    def one(k: int) -> Reader:
        return train_reader(whole, vocabulary, folds[k], settings, seed + k, going_on, vectors)

    def going_on() -> None:
        if closed.is_set():
            raise InterruptedError
        done()

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


def with_length(
    probability: Float[np.ndarray, "texts classes"],
    known: Float[np.ndarray, "texts features"],
    labels: Int[np.ndarray, "texts"],
) -> Callable:
    """What turns class probabilities and lengths of texts into probabilities that know the length as well.

    A model that averages words cannot know how long a text is. Where the classes' texts differ in length, every word
    would seem to add something. So each class is predicted anew, by logistic regression on the logit of its probability
    and the logarithm of the length and its square. ``probability``, ``known``, ``labels``: of unseen texts; ``known``
    are their :func:`length_features`, and a column for each group where groups are compared.
    """

    def features(k: int, probability: np.ndarray, known: np.ndarray) -> Float[np.ndarray, "texts columns"]:
        single = probability[:, k].astype(float)  # in float32 the upper end would be 1
        return np.column_stack([logit(single.clip(1e-9, 1 - 1e-9)), known])

    fitted = {
        k: LogisticRegression(max_iter=1000).fit(features(k, probability, known), labels == k)
        for k in np.unique(labels).tolist()
    }

    def predict(probability: np.ndarray, known: np.ndarray) -> Float[np.ndarray, "texts classes"]:
        result = np.zeros_like(probability)
        for k, model in fitted.items():
            result[:, k] = model.predict_proba(features(k, probability, known))[:, 1]
        return result

    return predict


def length_features(lengths: Int[np.ndarray, "texts"]) -> Float[np.ndarray, "texts 2"]:
    """The logarithm of the number of words and its square."""
    return np.log(lengths)[:, None] ** [1, 2]


@dataclass(frozen=True)
class Pushes:
    """What each word does, by the models of some folds.

    Attributes
    ----------
    whole : Corpus
    types : int
    weights : Float[np.ndarray, "texts"]
        How much a text counts in :meth:`beyond`: those of one unit together as one text.
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
        lengths, labels = (each.numpy()[fold.test] for each in (self.whole.lengths, self.whole.labels))
        expected = with_length(reader.probability(self.whole, fold.test), length_features(lengths), labels)
        sums = self.sums
        for part in chunks(fold.test, reader, "test", seed):
            sums = sums + self.unseen(reader, part, expected)
        rest = zip(*(reader.push_sums(self.whole, part) for part in chunks(fold.rest, reader, "rest", seed)))
        count, push = map(sum, rest)
        with np.errstate(invalid="ignore"):
            return replace(self, sums=sums, others=(*self.others, push / count[:, None]))

    def unseen(
        self, reader: Reader, rows: Int[np.ndarray, "rows"], expected: Callable
    ) -> Float[np.ndarray, "types columns"]:
        """Sums over texts for each word: 1, attention, and for each class push, fall of P, y − P₋ and P₋(1 − P₋).

        P₋ is the class's probability without the word, by ``expected`` (:func:`with_length`). A word that the model
        does not know pushes as <unk> does.
        """
        corpus = self.whole[torch.from_numpy(rows)]
        known = length_features(corpus.lengths.numpy())
        pairs, values, without = read_without(reader, self.whole, rows, expected, known)
        of_class = np.eye(corpus.class_count)[corpus.labels.numpy()[pairs.instance]]
        weight = self.weights[rows][pairs.instance][:, None]
        beyond = weight * np.hstack([of_class - without, without * (1 - without)])
        return pairs.sums(np.hstack([values[:, :2], values[:, 2 + corpus.class_count :], beyond]))

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
        """p of each word and class: is the class commoner among the word's texts than their other words and their
        lengths predict?

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


def read_without(
    reader: Reader,
    whole: Corpus,
    rows: Int[np.ndarray, "rows"],
    expected: Callable,
    known: Float[np.ndarray, "rows features"],
) -> tuple[Pairs, Float[np.ndarray, "pairs columns"], Float[np.ndarray, "pairs classes"]]:
    """The words of some texts, their :meth:`Reader.pair_values`, and P₋: the class probabilities of the text without
    the word, by ``expected`` (:func:`with_length`) from what is ``known`` of each text."""
    word, instance, P, values = reader.pair_values(whole, rows)
    fall = values[:, push_columns(whole.class_count).stop :]
    without = expected(P[instance] - fall, known[instance])
    return Pairs(word, instance, len(reader), len(rows)), values, without


def sums_of_pairs(
    read: tuple, types: int, classes: int
) -> tuple[Int[np.ndarray, "types"], Float[np.ndarray, "types classes"]]:
    """:meth:`Reader.push_sums` from :meth:`Reader.pair_values`."""
    word, instance, P, values = read
    sums = Pairs(word, instance, types, len(P)).sums(values[:, [0, *range(len(values[0]))[push_columns(classes)]]])
    return sums[:, 0].astype(np.int64), sums[:, 1:]


@torch.no_grad()
def position_values(
    model: AttentionClassifier, corpus: Corpus
) -> tuple[Output, Float[np.ndarray, "positions"], Float[np.ndarray, "positions classes"]]:
    """A model's answers, and of each position its attention and its push on each class."""
    if model.recurrent is None:
        out = model(corpus)
        push = class_polarity(beside(out.weights, out.token_polarity) * out.token_polarity)
        return out, out.weights.numpy(), push.numpy()
    out, values = word_values(model, corpus, torch.arange(len(corpus.tokens)), corpus.instance_of)
    return out, values[:, 1], values[:, push_columns(corpus.class_count)]


def chunks(rows: Int[np.ndarray, "rows"], reader: Reader, which: str, seed: int) -> Iterator[Int[np.ndarray, "some"]]:
    """The texts in parts that fit into memory; where each is to be read often, a sample of them.

    ``which``: "test" or "rest", see :attr:`Reader.again`.
    """
    size = PART
    if reader.again:
        size, most = 100, reader.again[which]
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
