"""Chapter A_pretrained: words that come with a meaning, and words that know their text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn.functional import normalize

from uaftc_book import rules
from uaftc_book.controls import with_permuted_labels
from uaftc_book.inner_products import growing_vector
from uaftc_book.lab import Frame, Slider, Stop
from uaftc_book.lab.slider import counts, draw_scores
from uaftc_book.neighbours.word_level import alone_and_in_texts
from uaftc_book.neighbours.yardsticks import agreement, change, left_out, part_shares, whole_output
from uaftc_book.readings import column
from uaftc_book.real_scores import human_agreement, score_measures, score_row
from uaftc_book.small_data import SEEDS, by_kind, ends, sst_config
from uaftc_book.transformers.classifier import TransformerClassifier
from uaftc_book.transformers.masked_language_model import own_transformer
from uaftc_book.transformers.states import WordStates
from uaftc_lib import checks, dynamics, explain, files
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.cache import prepared_folder
from uaftc_lib.dynamics.laws import admissible_band
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.extras import needs
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.locations import results_folder
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.plots import Figure, scatter
from uaftc_lib.plots.summaries import number
from uaftc_lib.scores import Types, examined_types, outranks, score_frame
from uaftc_lib.settings import TrainingConfig
from uaftc_lib.streams import generator
from uaftc_lib.token_lists import association, token_types
from uaftc_lib.training import choose_trainer, fit
from uaftc_lib.vectors.unused_reviews import NAME, RULES, own_vectors
from uaftc_lib.vectors.word_vectors import WordVectors, read_vectors

DATASETS, LAMS = ("sst", "20news-1"), (1.0, 10.0, 100.0)


# ---
# Initialisations of E far from zero and near it, with a geometry that means something and without; what they led to.
#
# Word vectors differ from the paper's initialisation in two ways: embeddings are long, and like words are near each
# other. :data:`INITIALISATIONS` has both, either and neither. Nearly all vectors of a file also share a direction,
# which words without a vector lack: one initialisation is without it. V and W start as ever, the same in all of one
# seed.


INITIALISATIONS = {
    "random": "within ±0.1, as in the paper: near zero, without meaning",
    "short vectors": "the vectors, all multiplied by the number that makes them as long as random ones",
    "long random": "random directions, each as long as the word's vector: far from zero, without meaning",
    "dealt out": "the vectors, permuted among words of like frequency: far from zero, a geometry, no meaning",
    "vectors": "the book's own vectors: far from zero, with meaning",
    "centred": "the vectors less their mean, so that having a vector is no common direction",
}
GROUP = 50  # words of like frequency, among which vectors are dealt out


def random_directions(vectors: Float[Tensor, "types d"], draws: torch.Generator) -> Float[Tensor, "types d"]:
    """For each vector another of its length, in a random direction; what is nan stays."""
    drawn = torch.randn(vectors.shape, generator=draws, dtype=vectors.dtype)
    return drawn * (vectors.norm(dim=1) / drawn.norm(dim=1)).unsqueeze(1)


def dealt_among_like(
    vectors: Float[Tensor, "types d"], counts: Int[Tensor, "types"], draws: torch.Generator
) -> Float[Tensor, "types d"]:
    """The vectors, permuted within groups of :data:`GROUP` words that follow one another by count; nan stays."""
    there = (~vectors.isnan().any(1)).nonzero().squeeze(1)
    by_count, dealt = there[counts[there].argsort(descending=True, stable=True)], vectors.clone()
    for ids in by_count.split(GROUP):
        dealt[ids] = vectors[ids[torch.randperm(len(ids), generator=draws)]]
    return dealt


def initial_vectors(name: str, vectors: WordVectors, dataset: Dataset, seed: int) -> Float[Tensor, "types d"] | None:
    """What E starts from: the argument ``vectors`` of a model. Words without a vector start as ever in all of them.

    Raises
    ------
    ValueError
        If ``name`` is none of :data:`INITIALISATIONS`.
    """
    checks.one_of("initialisation", name, INITIALISATIONS)
    if name == "random":
        return None
    scale = 0.1 if name == "short vectors" else None
    matrix, draws = vectors.aligned(dataset.vocabulary, dataset.train, scale).matrix, generator(seed, "data")
    if name == "centred":
        return matrix - matrix.nanmean(0)
    if name == "long random":
        return random_directions(matrix, draws)
    if name == "dealt out":
        return dealt_among_like(matrix, torch.bincount(dataset.train.tokens, minlength=len(matrix)), draws)
    return matrix


def vectors_are_there() -> bool:
    """Whether the book's own vectors have been made on this machine: if not, that takes minutes."""
    return prepared_folder(find_data_home(), NAME, RULES).exists()


@cache
def book_vectors() -> WordVectors:
    """The book's own vectors, read once."""
    return read_vectors(own_vectors())


def from_book(name: str, dataset: Dataset, seed: int = 0) -> Float[Tensor, "types d"] | None:
    """:func:`initial_vectors` of the book's own vectors."""
    return initial_vectors(name, book_vectors(), dataset, seed)


class Change(NamedTuple):
    """The change of a score by its two causes, "types" or "types classes"; see :func:`changes`."""

    moved: Float[Tensor, "types ..."]
    carried: Float[Tensor, "types ..."]


@torch.no_grad()
def changes(first: AttentionClassifier, last: AttentionClassifier) -> dict[str, Change]:
    """What became of the scores of every type between two states of a DP, exactly.

    s − s₀ = (e − e₀)·W + e₀·(W − W₀): ``moved`` is what the embedding's own movement did, ``carried`` what a word
    would have got had its embedding stayed where it began. Likewise a, with V/λ.
    """
    e0, e = first.embedding.double(), last.embedding.double()
    heads = {
        "polarity": (first.W.double(), last.W.double()),
        "attention": (first.V.double() / first.lam, last.V.double() / last.lam),
    }
    return {name: Change((e - e0) @ now, e0 @ (now - before)) for name, (before, now) in heads.items()}


def carried_shares(first: AttentionClassifier, last: AttentionClassifier, types: Types) -> dict[str, float]:
    """Which share of the change of scores was carried (:func:`changes`), of polar words and of neutral ones.

    Σ sign(Δs)·carried / Σ|Δs|: together with that of what moved, one.
    """
    groups = {
        "polar": torch.cat([ids for name, ids in types.items() if name != "neutral"]),
        "neutral": types["neutral"],
    }
    found = {}
    for score, (moved, carried) in changes(first, last).items():
        total = moved + carried
        for name, ids in groups.items():
            share = (total[ids].sign() * carried[ids]).sum() / total[ids].abs().sum()
            found[f"{score} carried {name}"] = float(share)
    return found


# ---
# What becomes of the dynamics, of the band and of the law of the gap when E starts far from zero: the runs.

CLAIMED, OTHER_LAMS = (10.0, 100.0), (1.0, 0.1, 10000.0)  # λ of the claims; those that show the band
FEWER = ("random", "long random", "dealt out", "vectors")
MIRRORS = {"as drawn": (1, 1), "−V": (-1, 1), "−W": (1, -1), "−V −W": (-1, -1)}  # the signs of V and W


def far_model(dataset: Dataset, initialisation: str, lam: float, seed: int, **options) -> AttentionClassifier:
    """A DP of the paper's size, with E from an initialisation."""
    vectors = from_book(initialisation, dataset, seed)
    return AttentionClassifier(len(dataset.vocabulary), lam=lam, vectors=vectors, seed=seed, **options)


@experiment(
    jobs_over(seed=SEEDS, dataset=DATASETS, initialisation=INITIALISATIONS, optimizer=("Adagrad", "SGD"), lam=10.0),
    rows=1,
)
def far_terms(dataset: str, initialisation: str, optimizer: str, lam: float, seed: int) -> list[dict]:
    """From each initialisation of E, without dropout: π, ρ and what A to F have added, means over words of each kind.

    In the form of "sst_terms": π and ρ are the mean of looks after every epoch. With what V and W brought alone.
    """
    data, looks = load_dataset(dataset), []
    types, model = examined_types(data), far_model(data, initialisation, lam, seed, dtype=torch.float64)
    first = deepcopy(model)

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch:
            sums = dynamics.token_sums(model, data.train)
            looks.append(by_kind({"π": sums.pi, "ρ": sums.rho}, types))
        return {}

    only = replace(data, dev=None, test=None)
    run, ledgers = fit_with_ledger(model, only, sst_config(optimizer, seed), look)
    names = {name: name for name in "ABCDEF"} | {"rest of s": "polarity_remainder", "rest of a": "attention_remainder"}
    added = by_kind({name: getattr(ledgers[-1], entry) for name, entry in names.items()}, types)
    seen = pd.DataFrame(looks).mean().to_dict() | {"loss": run.history["loss"].iloc[-1]}
    return [seen | added | ends(model, types) | carried_shares(first, model, types)]


@experiment(
    jobs=[
        {"dataset": data, "initialisation": initialisation, "optimizer": optimizer, "lam": lam, "seed": seed}
        for data, optimizer, lam in (
            ("sst", "Adagrad", 10.0),
            ("20news-1", "Adagrad", 10.0),
            ("sst", "Adagrad", 100.0),
            ("sst", "SGD", 10.0),
        )
        for seed, initialisation in product(SEEDS, INITIALISATIONS)
    ],
    rows=len(MIRRORS),
)
def far_pairs(dataset: str, initialisation: str, optimizer: str, lam: float, seed: int) -> list[dict]:
    """From each initialisation of E, V₀ and W₀ as drawn and with other signs: the gap, and V₀·(the W that grows)."""
    data = load_dataset(dataset)
    types, only, rows = examined_types(data), replace(data, dev=None, test=None), []
    for mirror, signs in MIRRORS.items():
        model = far_model(data, initialisation, lam, seed)
        with torch.no_grad():
            for parameter, sign in zip((model.V, model.W), signs):
                parameter *= sign
        V, W, growing = model.V.detach().clone(), model.W.detach(), growing_vector(model, data.train)
        told = {"V₀·W₀": float(V @ W), "V₀·growing": float(V @ growing), "‖W₀‖": float(W.norm())}
        told |= {"‖growing‖": float(growing.norm()), "initial gap": ends(model, types)["gap"]}
        run = fit(model, only, sst_config(optimizer, seed), progress=False)
        rows.append({"mirror": mirror} | told | ends(model, types) | {"loss": run.history["loss"].iloc[-1]})
    return rows


def middle_of_band(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """The ends of the band of λ (:func:`admissible_band`): their medians over polar words."""
    polar = torch.cat([types["positive"], types["negative"]])
    found = admissible_band(model, dataset.train)._asdict()
    return {f"{name} end": float(values[polar].nanmedian()) for name, values in found.items()}


def score_jobs() -> list[dict]:
    """SST at the λ of the claims, with and without the penalty, other λ, then 20News I; from four initialisations."""
    cells = [("sst", CLAIMED, (0.0, 1e-4)), ("sst", OTHER_LAMS, (0.0,)), ("20news-1", CLAIMED + OTHER_LAMS, (0.0,))]
    return [
        job
        for data, lams, penalties in cells
        for job in jobs_over(dataset=data, lam=lams, penalty=penalties, seed=SEEDS, initialisation=FEWER)
    ]


@experiment(jobs=score_jobs(), rows=1)
def far_scores(dataset: str, initialisation: str, lam: float, penalty: float, seed: int) -> list[dict]:
    """The paper's training from each initialisation of E: scores and accuracies, gap, lead, the band before and after.

    In the form of "sst_scores"; of 20News I without what people say of words.
    """
    data = load_dataset(dataset)
    types, cell = examined_types(data), table2_cell(dataset, lam=lam, penalty=penalty, seed=seed)
    model = cell.classifier(data, "cpu", vectors=from_book(initialisation, data, seed))
    first = deepcopy(model)
    run = fit(model, data, cell.training(), progress=False)
    row = score_row(model, run, score_frame(model, data, types), types) | ends(model, types)
    row |= {f"initial {name}": value for name, value in middle_of_band(first, data, types).items()}
    row |= middle_of_band(model, data, types) | carried_shares(first, model, types)
    return [row | (human_agreement(model, data) if dataset == "sst" else {})]


# ---
# What runs from other initialisations of E say: terms against each other, the law of the gap.


def with_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of "far_terms" with the sizes of A to F set against each other, over polar words.

    A of B, D of E: the other score's part in a word's own movement. C of B + C, F of E + F: what W and V brought.
    """
    size = {name: (rows[f"|{name}| positive"] + rows[f"|{name}| negative"]) / 2 for name in "ABCDEF"}
    return rows.assign(
        **{
            "A / B": size["A"] / size["B"],
            "C / (B + C)": size["C"] / (size["B"] + size["C"]),
            "D / E": size["D"] / size["E"],
            "F / (E + F)": size["F"] / (size["E"] + size["F"]),
        }
    )


def gap_law(rows: pd.DataFrame) -> pd.DataFrame:
    """How well V₀·(the W that grows) predicts the gap in "far_pairs"; by data set, optimizer, λ and initialisation.

    "told": the share of runs in which the gap has its sign; "V·W tells": that in which it has the sign of V·W at the
    end. "along": the gap with the sign of V₀·growing, which −V₀ turns; "besides": the mean gap of V₀ and −V₀, which no
    V₀·W can predict.
    """
    sign = np.sign(rows["V₀·growing"])
    rows = rows.assign(along=sign * rows["gap"], besides=rows["gap"])
    rows["told"] = (sign == np.sign(rows["gap"])).astype(float)
    rows["V·W tells"] = (np.sign(rows["V·W"]) == np.sign(rows["gap"])).astype(float)
    keys, found = ["dataset", "optimizer", "lam", "initialisation"], []
    for values, some in rows.groupby(keys, sort=False):
        for name in ("told", "V·W tells", "along", "besides"):
            by_seed = some.groupby("seed")[name].mean()  # runs of one seed share their V and W
            found.append(dict(zip(keys, values)) | {"measure": name} | rules.interval(by_seed.to_numpy())._asdict())
    return pd.DataFrame(found)


# ---
# What words that no training text holds come to score, by their vectors alone.
#
# Fixed before the ten seeds were run (five others had been looked at, to choose rate and epochs of frozen vectors): a
# fifth of the words that have a vector is drawn and cut out of the training texts. After training their scores e·V/λ
# and e·W are compared, in what they gained, with those of a model that read the texts whole, from random vectors and
# from another seed: all that the two share is the texts. Looked at are words that occur at least ten times there.
# Controls: vectors dealt out among words of like frequency; labels dealt out.


UNSEEN_SEEDS = range(10, 20)  # those below were looked at while the protocol was made
HELD_OUT = 0.2  # of the words that have a vector
LEAST = 10  # occurrences in the whole texts of a word that is looked at: the scores of rarer ones tell little
OTHER = 1000  # added to the seed of the model that read the texts whole
# With vectors that do not move V and W alone learn: at a larger rate and for longer, or they are not done.
LEARNING = {
    "frozen": {"learning_rates": {"embedding": 0.0}, "learning_rate": 0.2, "epochs": 100},
    "trained": {"epochs": 10},
}
KINDS = ("vectors", "dealt out", "permuted labels")
SHOWN_LAMS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # stops of the slider


def training_counts(dataset: Dataset) -> Int[Tensor, "types"]:
    """Occurrences of each type in training."""
    return torch.bincount(dataset.train.tokens, minlength=len(dataset.vocabulary))


def words_cut_out(matrix: Float[Tensor, "types d"], seed: int) -> Bool[Tensor, "types"]:
    """A fifth of the words that have a vector."""
    drawn = torch.rand(len(matrix), generator=generator(seed, "masked words")) < HELD_OUT
    return drawn & ~matrix.isnan().any(1)


class Gained(NamedTuple):
    """Scores of all types after training, what they gained by it, and the test accuracy."""

    scores: dict[str, Float[Tensor, "types"]]
    gains: dict[str, Float[Tensor, "types"]]
    accuracy: float


def gained(dataset: Dataset, matrix: Float[Tensor, "types d"] | None, learning: str, lam: float, seed: int) -> Gained:
    """DP, plainly trained from vectors or, with None, from the paper's initialisation."""
    d = {} if matrix is None else {"dimension": matrix.shape[1], "vectors": matrix}
    model = AttentionClassifier(len(dataset.vocabulary), **d, lam=lam, seed=seed)
    before = model.token_scores()._asdict()
    run = fit(model, dataset, TrainingConfig(seed=seed, **LEARNING[learning]), progress=False)
    after = model.token_scores()._asdict()
    return Gained(after, {name: after[name] - before[name] for name in after}, run.test_accuracy)


def unseen_row(mine: Gained, whole: Gained, asked: Bool[Tensor, "types"], lists: dict[str, Tensor]) -> dict[str, float]:
    """How the unseen words' gains agree with those of the model that read them, and where the lists' words stand.

    Rank correlations; AUC of unseen positive over negative words by polarity, of polar over neutral ones by attention.
    """
    row = {name: spearmanr(mine.gains[name][asked], whole.gains[name][asked]).statistic for name in mine.gains}
    there = {kind: ids[asked[ids]] for kind, ids in lists.items()}
    positive, negative, neutral = (there[kind] for kind in ("positive", "negative", "neutral"))
    for of, scores in (("unseen", mine.scores), ("read", whole.scores)):
        vote, a = scores["polarity"], scores["attention"]
        row[f"{of}: positive over negative"] = outranks(vote[positive], vote[negative])
        row[f"{of}: polar over neutral"] = outranks(a[torch.cat([positive, negative])], a[neutral])
    return row | {f"{kind} words": len(ids) for kind, ids in there.items()}


def unseen(
    dataset: str, lam: float, seed: int, kinds: tuple[str, ...] = KINDS
) -> Iterator[tuple[dict, Gained, Gained, Tensor]]:
    """Of each kind of run and of learning: its name, the run without the drawn words, that with them, who is asked."""
    data = load_dataset(dataset)
    counts, out = training_counts(data), words_cut_out(from_book("vectors", data), seed)
    whole, asked = gained(data, None, "trained", lam, seed + OTHER), out & (counts >= LEAST)
    without = replace(data, train=data.train.without(out[data.train.tokens]))
    for kind in kinds:
        given = from_book({"dealt out": "dealt out", "short": "short vectors"}.get(kind, "vectors"), data, seed)
        of = with_permuted_labels(without, seed) if kind == "permuted labels" else without
        for learning in LEARNING:
            yield {"kind": kind, "learning": learning}, gained(of, given, learning, lam, seed), whole, asked


@experiment(jobs_over(dataset=DATASETS, lam=LAMS, seed=UNSEEN_SEEDS), rows=len(KINDS) * len(LEARNING))
def unseen_words(dataset: str, lam: float, seed: int) -> list[dict]:
    """Words cut out of the training texts: their scores by vector against those of a model that read them."""
    data = load_dataset(dataset)
    lists = token_types(data.train, data.vocabulary)
    return [
        name | unseen_row(mine, whole, asked, lists)
        | {"words": int(asked.sum()), "right": mine.accuracy, "right, all words read": whole.accuracy}
        for name, mine, whole, asked in unseen(dataset, lam, seed)
    ]  # fmt: skip


@experiment(jobs_over(dataset=DATASETS, lam=LAMS, seed=UNSEEN_SEEDS), rows=len(LEARNING))
def unseen_words_short(dataset: str, lam: float, seed: int) -> list[dict]:
    """unseen_words from vectors as short as the paper's random ones: a setting that the question leaves open."""
    data = load_dataset(dataset)
    lists = token_types(data.train, data.vocabulary)
    return [
        name | unseen_row(mine, whole, asked, lists) | {"right": mine.accuracy}
        for name, mine, whole, asked in unseen(dataset, lam, seed, ("short",))
    ]


def path_of_unseen(folder: Path, dataset: str) -> Path:
    """Where the frames of the slider are kept."""
    return folder / f"unseen_{dataset}.json"


def shown_at(dataset: str, lam: float) -> tuple[list[dict], dict[str, float]]:
    """Of one seed, from frozen vectors: the unseen words of the lists, each with its scores, and their row."""
    data = load_dataset(dataset)
    lists = token_types(data.train, data.vocabulary)
    kind_of = {i: kind for kind, ids in lists.items() for i in ids.tolist()}
    _, mine, whole, asked = next(unseen(dataset, lam, UNSEEN_SEEDS[0], ("vectors",)))
    ids = [i for i in asked.nonzero()[:, 0].tolist() if i in kind_of]
    words = [{"word": data.vocabulary.word(i), "kind": kind_of[i]} for i in ids]
    for (of, run), name in product((("unseen", mine), ("read", whole)), mine.scores):
        for word, value in zip(words, run.scores[name][ids].tolist()):
            word[f"{name} {of}"] = round(value, 4)
    return words, unseen_row(mine, whole, asked, lists)


@experiment(jobs=[{"dataset": "sst"}], rows=len(SHOWN_LAMS))
def unseen_frames(dataset: str, folder: Path) -> list[dict]:
    """What the slider shows, in a file beside the table: unseen polar words of one seed, at each λ."""
    shown = {lam: shown_at(dataset, lam) for lam in SHOWN_LAMS}
    frames = [{"lam": lam, "words": words} for lam, (words, _) in shown.items()]
    path = path_of_unseen(folder, dataset)
    files.write(path, json.dumps(frames, ensure_ascii=False))
    return [{"lam": lam, "seed": UNSEEN_SEEDS[0], "words": len(words)} | row for lam, (words, row) in shown.items()]


# ---
# The slider over λ: the scores of words that were never seen in training.


FIRST = 10.0  # the λ that is shown first


def unseen_scores(dataset: str) -> dict[float, pd.DataFrame]:
    """λ -> a row for each unseen word of the lists: word, kind, its scores by vector and by a model that saw it."""
    kept = json.loads(path_of_unseen(results_folder(), dataset).read_text(encoding="utf-8"))
    return {frame["lam"]: pd.DataFrame(frame["words"]) for frame in kept}


def frame_of_unseen(lam: float, words: pd.DataFrame) -> Frame:
    """The scores by vector as a picture of the lab."""
    of_kind = {kind: rows for kind, rows in words.groupby("kind")}
    scores = [
        {kind: rows[f"{name} unseen"].tolist() for kind, rows in of_kind.items()} for name in ("polarity", "attention")
    ]
    means = {
        kind: (rows["polarity unseen"].mean(), rows["attention unseen"].mean(), len(rows))
        for kind, rows in of_kind.items()
    }
    return Frame(lam, math.nan, math.nan, 0, *scores, means)


def draw_agreement(words: pd.DataFrame, says: str) -> Figure:
    """Polarity by vector against that of a model that saw the word: a dot a word."""
    return scatter(
        words, "polarity unseen", "polarity read", "kind", says, x_label="polarity by its vector",
        y_label="of a model that saw it", raster=False,
    )  # fmt: skip


def stop_of(lam: float, words: pd.DataFrame, told: Mapping[str, object]) -> Stop:
    """Both pictures at a λ, and what they show in numbers."""
    says = (
        f"λ = {number(lam)}: {len(words)} words that stand in no training text. A positive one has more polarity "
        f"than a negative one in {told['unseen: positive over negative']:.0%} of the pairs, a polar one more "
        f"attention than a neutral one in {told['unseen: polar over neutral']:.0%}; rank correlation with a "
        f"model that saw them, of what was gained: polarity {number(told['polarity'])}, attention "
        f"{number(told['attention'])}."
    )
    pictures = draw_scores(frame_of_unseen(lam, words)), draw_agreement(words, says)
    return Stop(lam, "".join(picture.drawings() for picture in pictures), says)


def unseen_slider(dataset: str) -> Slider:
    """A slider over the stored λ; a live kernel trains both models at any other, once the vectors are there."""
    frames, told = unseen_scores(dataset), stored("unseen_frames", dataset=dataset).set_index("lam")
    stops = [stop_of(lam, words, told.loc[lam].to_dict()) for lam, words in frames.items()]

    def trained(lam: float) -> Stop:
        words, row = shown_at(dataset, lam)
        return stop_of(lam, pd.DataFrame(words), row)

    redraw = trained if vectors_are_there() else None
    return Slider("scaling factor", "λ", stops, FIRST, redraw, counts(frame_of_unseen(FIRST, frames[FIRST])))


# ---
# Whether similar words lift each other's scores: what a word loses when words like it are not read.
#
# Twenty words of the lists of Eq 28 are drawn, and the words nearest to them by their vectors are cut out of the
# training texts; or, for comparison, as many words that are not like them but as frequent and as strongly associated
# with the same class. A text without a telling word says less of its class, and others must say more: both have that
# in common. What the first costs beyond the second is what similar words gave. That the comparison can show such a
# gift is seen of words that are not read themselves, and have their scores by their vectors alone.


ASKED, NEAREST = 20, 10  # words that are looked at, and how many of the words nearest to each are not read
FAR = 0.5  # of the words, by the largest cosine with a word that is looked at: those below may stand in
INITIALISATIONS_OF_WORDS = {  # how the words that are looked at begin and learn, and whether they are read themselves
    "random": ("trained", True),
    "dealt out": ("trained", True),
    "vectors": ("trained", True),
    "frozen": ("frozen", True),
    "vectors, not read": ("trained", False),
    "frozen, not read": ("frozen", False),
}


def asked_words(lists: dict[str, Int[Tensor, "ids"]], usable: Bool[Tensor, "types"], seed: int) -> Int[Tensor, "asked"]:
    """Half positive, half negative words, drawn."""
    draws = generator(seed, "masked words")
    of_kind = (ids[usable[ids]] for ids in (lists["positive"], lists["negative"]))
    return torch.cat([ids[torch.randperm(len(ids), generator=draws)[: ASKED // 2]] for ids in of_kind])


def nearest_words(
    cosines: Float[Tensor, "asked types"], asked: Int[Tensor, "asked"], usable: Bool[Tensor, "types"]
) -> Int[Tensor, "near"]:
    """Of all the words that are asked for, those whose vectors are nearest to theirs; none of these themselves."""
    others = usable.clone()
    others[asked] = False
    return cosines.masked_fill(~others, -torch.inf).topk(NEAREST).indices.unique()


def stand_ins(
    near: Int[Tensor, "near"],
    candidates: Int[Tensor, "candidates"],
    gamma: Float[Tensor, "types"],
    counts: Int[Tensor, "types"],
) -> Int[Tensor, "near"]:
    """For each near word another that is about as frequent and as associated, no two the same.

    Distance: of γ in units of its deviation, and of the logarithm of the count in units of its own.
    """
    known = torch.stack([gamma.double(), counts.double().clamp(min=1).log()], 1)
    known = known / known[torch.cat([near, candidates])].std(0)
    distances, chosen = torch.cdist(known[near], known[candidates]), []
    for row in distances:
        chosen.append(int(row.argmin()))
        distances[:, chosen[-1]] = torch.inf
    return candidates[torch.tensor(chosen)]


@experiment(jobs_over(lam=(10.0, 1.0, 100.0), dataset=DATASETS, seed=SEEDS), rows=len(INITIALISATIONS_OF_WORDS))
def similar_words(lam: float, dataset: str, seed: int) -> list[dict]:
    """What words lose when those like them are not read, and when others as telling are not: mean y s and mean a."""
    data = load_dataset(dataset)
    matrix = from_book("vectors", data)
    counts, lists = training_counts(data), token_types(data.train, data.vocabulary)
    usable = ~matrix.isnan().any(1) & (counts >= LEAST)
    asked = asked_words(lists, usable, seed)
    unit = normalize(matrix.nan_to_num())
    cosines = unit[asked] @ unit.T
    near = nearest_words(cosines, asked, usable)
    far = cosines.amax(0)
    candidates = (usable & (far < far[usable].quantile(FAR))).nonzero()[:, 0]
    gamma = association(data.train, data.vocabulary)
    others = stand_ins(near, candidates, gamma, counts)
    cut = {"whole": [], "without like": near, "without others": others}
    sides = torch.isin(asked, lists["positive"]) * 2.0 - 1
    rows = []
    for initialisation, (learning, is_read) in INITIALISATIONS_OF_WORDS.items():
        given = from_book(initialisation if initialisation in ("random", "dealt out") else "vectors", data, seed)
        row = {"initialisation": initialisation}
        for name, ids in cut.items():
            gone = torch.isin(data.train.tokens, torch.as_tensor(ids))
            if not is_read:
                gone |= torch.isin(data.train.tokens, asked)
            # To the last epoch: scores grow, so that runs must be as long as each other.
            read = replace(data, train=data.train.without(gone), dev=None)
            a, s = gained(read, given, learning, lam, seed).scores.values()
            neutral = a[lists["neutral"]].mean()
            row |= {f"vote {name}": float((sides * s[asked]).mean()), f"lead {name}": float(a[asked].mean() - neutral)}
        rows.append(row)
    return rows


# ---
# Which words lift a word that was never read: the shared part of its scores, by who moved V and W.
#
# Under gradient descent ΔW = (η/m) Σ over steps and words v of π(v) e_v (Eq 17), and ΔV likewise of ρ(v) e_v/λ (Eq
# 23). So the shared part e_w·ΔW is a sum over words v, each with its inner product with w: it can be said who gave
# how much.


RATES = {"sst": 0.5, "20news-1": 4.0}  # with which the test set is told about as well as by Adagrad
EPOCHS = 20
NUMBERS_OF_NEAREST = (1, 10, 30, 100, 300, 1000, 3000)  # of the words that are read, by the cosine of the vectors


class Givers:
    """A trainer that also adds up what each type moved W and V by: "types d" each."""

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        self.model, self.corpus, self.rate = model, corpus, config.learning_rate
        self.inner = choose_trainer(model, config)(model, corpus, config)
        self.of_W, self.of_V = (torch.zeros_like(model.embedding.detach()) for _ in range(2))

    def epoch(self, batches: list[Int[Tensor, "batch"]]) -> float:
        """One pass, as the inner trainer makes it, batch by batch."""
        total = 0.0
        for indices in batches:
            texts, E = self.corpus[indices], self.model.embedding.detach()
            pi, rho = dynamics.token_sums(self.model, texts)
            step = self.rate / len(texts)
            self.of_W += step * pi.unsqueeze(1) * E
            self.of_V += step / self.model.lam * rho.unsqueeze(1) * E
            total += self.inner.epoch([indices]) * len(indices)
        return total / len(self.corpus)


def with_givers(model: AttentionClassifier, data: Dataset, config: TrainingConfig) -> Givers:
    """Train the model in place, to the last epoch; what each type gave."""
    kept: list[Givers] = []

    def trainer(*given: object) -> Givers:
        kept.append(Givers(*given))
        return kept[0]

    fit(model, replace(data, dev=None), config, trainer=trainer, progress=False)
    return kept[0]


def given_by(
    gifts: Float[Tensor, "asked types"], cosines: Float[Tensor, "asked types"], givers: Bool[Tensor, "types"]
) -> Callable[[int], Float[Tensor, "asked"]]:
    """What a word's so many most similar givers gave it, of all their gifts."""
    order = cosines.masked_fill(~givers, -torch.inf).argsort(1, descending=True)[:, : int(givers.sum())]
    sums = gifts.gather(1, order).cumsum(1)
    return lambda count: sums[:, min(count, sums.shape[1]) - 1]


def lifted_jobs() -> list[dict]:
    """All at λ = 10; vectors trained along at the others, too."""
    at_ten = {"lam": 10.0, "kind": ("vectors", "dealt out"), "learning": ("trained", "frozen")}
    elsewhere = {"lam": (1.0, 100.0), "kind": "vectors", "learning": "trained"}
    return [job for of in (at_ten, elsewhere) for job in jobs_over(**of, dataset=DATASETS, seed=UNSEEN_SEEDS)]


@experiment(jobs=lifted_jobs(), rows=len(NUMBERS_OF_NEAREST) + 1)
def lifted_by(lam: float, kind: str, learning: str, dataset: str, seed: int) -> list[dict]:
    """Unread words of the lists: how much of their vote and attention came by the words most similar to each.

    Votes towards a word's class; means over the words. The last row has all givers, ``shared`` whatever gave it.
    """
    data = load_dataset(dataset)
    matrix = from_book(kind, data, seed)
    counts, out = training_counts(data), words_cut_out(matrix, seed)
    without = replace(data, train=data.train.without(out[data.train.tokens]))
    lists = token_types(data.train, data.vocabulary)
    kinds = {name: ids[(out & (counts >= LEAST))[ids]] for name, ids in lists.items()}
    asked = torch.cat([kinds["positive"], kinds["negative"]])
    sides = torch.ones(len(asked)).index_fill(0, torch.arange(len(kinds["positive"]), len(asked)), -1.0).unsqueeze(1)
    model = AttentionClassifier(len(data.vocabulary), matrix.shape[1], vectors=matrix, lam=lam, seed=seed)
    first = model.embedding.detach()[asked].clone()
    held = {"embedding": 0.0} if learning == "frozen" else {}
    config = TrainingConfig("sgd", RATES[dataset], batch_size=100, epochs=EPOCHS, learning_rates=held, seed=seed)
    gave = with_givers(model, without, config)
    unit = normalize(matrix.nan_to_num())
    readable = ~matrix.isnan().any(1) & ~out & (counts > 0)
    vote, attention = sides * (first @ gave.of_W.T), first @ gave.of_V.T / lam
    of = {
        name: given_by(gifts, unit[asked] @ unit.T, readable)
        for name, gifts in (("vote", vote), ("attention", attention))
    }
    about = {"shared vote": float(vote.sum(1).mean()), "shared attention": float(attention.sum(1).mean())}
    about |= {"givers": int(readable.sum()), "words": len(asked), "right": model.accuracy(data.test)}
    return [
        {"nearest": count} | {name: float(by(count).mean()) for name, by in of.items()} | about
        for count in (*NUMBERS_OF_NEAREST, int(readable.sum()))
    ]


# ---
# The paper's classifier over a transformer: what is left of its scores where words know their text.


# Minutes each: too few to decide anything, shown with their intervals.
FINE_TUNED_SEEDS = (("sst", "fine-tuned", 5), ("20news-1", "fine-tuned", 3))
LOOKED_AT = {"sst": 200, "20news-1": 40}  # test texts whose words are left out one by one: the first so many
LONGEST = 300  # words of such a text
HEAD = {"learning_rate": 0.05, "epochs": 10}  # of the paper's own training
# Three passes, as is usual (Devlin et al., 2019).
FINE_TUNED = {"optimizer": "adam", "learning_rate": 1e-3, "epochs": 3}
ENCODER_RATE = 3e-4


# Standard deviation of random weights, by reader. With the first a random transformer starts, and hardly mixes words;
# with the second it mixes them about as much as the trained one: of a word's effect its own state has the same share.
RANDOM_WEIGHTS = {"untrained": 0.06, "untrained, mixing": 0.135}


def untrained(folder: Path, deviation: float, seed: int, to: str) -> str:
    """A folder with a transformer of the same architecture and tokenizer, its weights at random."""
    with needs("a transformer with random weights", ".[transformers]"):
        from transformers import AutoConfig, AutoModel, AutoTokenizer

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = AutoConfig.from_pretrained(folder, initializer_range=deviation)
        AutoModel.from_config(config).save_pretrained(to)
    AutoTokenizer.from_pretrained(folder).save_pretrained(to)
    return to


@cache
def held_states(dataset: str) -> WordStates:
    """The book's own transformer, held: runs of a data set share it, and the states that it has told."""
    data = load_dataset(dataset)
    return TransformerClassifier(own_transformer(), data.vocabulary).recurrent


def fresh_reader(data: Dataset, reader: str, lam: float, seed: int) -> AttentionClassifier:
    """A classifier of one kind before training."""
    words, known = data.vocabulary, {"lam": lam, "seed": seed}
    if reader == "words":
        return AttentionClassifier(len(words), **known)
    if reader == "vectors":
        matrix = from_book("vectors", data)
        return AttentionClassifier(len(words), matrix.shape[1], vectors=matrix, **known)
    if reader in ("frozen", "permuted labels"):
        return TransformerClassifier(held_states(data.name), words, **known)
    if reader == "fine-tuned":
        return TransformerClassifier(own_transformer(), words, frozen=False, **known)
    with TemporaryDirectory() as folder:
        initial = untrained(own_transformer(), RANDOM_WEIGHTS[reader], seed, folder)
        return TransformerClassifier(initial, words, **known)


def trained_reader(data: Dataset, reader: str, lam: float, seed: int) -> tuple[AttentionClassifier, float]:
    """A classifier of one kind, trained, and its accuracy on the test set."""
    model = fresh_reader(data, reader, lam, seed)
    tuned = reader.startswith("fine-tuned")
    config = HEAD if not tuned else FINE_TUNED | {"learning_rates": model.rates(ENCODER_RATE)}
    texts = with_permuted_labels(data, seed) if reader == "permuted labels" else data
    return model, fit(model, texts, TrainingConfig(seed=seed, **config), progress=False).test_accuracy


def first_texts(data: Dataset) -> Corpus:
    """The test texts whose words are left out."""
    corpus = data.test
    usable = ((corpus.lengths >= 4) & (corpus.lengths <= LONGEST)).nonzero()[:, 0]
    return corpus[usable[: LOOKED_AT[data.name]]]


@torch.no_grad()
def erasure_agreements(model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Kendall's τ within texts of what is said of a word with what leaving it out does, states held or read again."""
    out, left = whole_output(model, corpus), left_out(model, corpus)
    logit = out.polarity.cpu().numpy()[corpus.instance_of.cpu().numpy()]
    contribution = (out.weights * out.token_polarity).cpu().numpy()
    said = {
        "attention": out.weights.cpu().numpy(),
        "contribution": np.abs(contribution),
        "Shapley value": explain.shapley(model, corpus).abs().cpu().numpy(),
    }
    effects = {"held": change(logit, left.own), "again": change(logit, left.whole)}
    row = {
        f"τ {name}, {how}": float(agreement(values, effect, corpus).mean())
        for (name, values), (how, effect) in product(said.items(), effects.items())
    }
    return (
        row | {"τ held, again": float(agreement(effects["held"], effects["again"], corpus).mean())} | part_shares(left)
    )


def story(model: AttentionClassifier, data: Dataset) -> dict[str, float]:
    """What the paper tells of a model, by scores of words alone; how these agree with those in texts; and erasure."""
    types = examined_types(data)
    row = score_measures(model, data, types)
    return row | alone_and_in_texts(model, data.test) | erasure_agreements(model, first_texts(data))


def contextual_jobs() -> list[dict]:
    """Who reads: words from the paper's initialisation, or from vectors; the transformer, held or trained along.

    Controls: the held one with its head trained on labels dealt out; and transformers with random weights.
    """
    jobs = []
    for data in DATASETS:
        jobs += jobs_over(dataset=data, reader=("words", "frozen"), lam=LAMS, seed=SEEDS)
        jobs += jobs_over(dataset=data, reader=("vectors", "permuted labels"), lam=10.0, seed=SEEDS)
        jobs += jobs_over(dataset=data, reader="untrained", lam=10.0, seed=SEEDS[:5])
        jobs += jobs_over(dataset=data, reader="untrained, mixing", lam=10.0, seed=SEEDS)
    for data, reader, seeds in FINE_TUNED_SEEDS:
        jobs += jobs_over(dataset=data, reader=reader, lam=10.0, seed=range(seeds))
    return jobs


@experiment(jobs=contextual_jobs(), rows=1)
def contextual_readers(dataset: str, reader: str, lam: float, seed: int) -> list[dict]:
    """The head of the paper over words and over transformers: accuracy, scores, what of them explains a decision."""
    data = load_dataset(dataset)
    model, right = trained_reader(data, reader, lam, seed)
    return [{"right": right} | story(model, data)]


# ---
# What the vectors and the transformer were made of, and how well they know what they were made for.


@experiment(jobs_over(dataset=DATASETS), rows=1)
def own_vectors_cover(dataset: str) -> list[dict]:
    """Of what the book's own vectors are made, and how many of a data set's words have one."""
    path, data = own_vectors(), load_dataset(dataset)
    about = json.loads((path.parent / "about.json").read_text(encoding="utf-8"))
    covered = read_vectors(path).aligned(data.vocabulary, data.train)
    made = {name: about[name] for name in ("tokens", "words")} | {"reviews": about["reviews"]["unused"]}
    return [made | {"share of words": covered.words, "share of occurrences": covered.occurrences}]


@experiment(jobs=[{"of": "masked pieces"}], rows=1)
def own_transformer_tells(of: str) -> list[dict]:
    """Of what the book's own transformer is made, and how well it tells the masked pieces of reviews it never read."""
    about = json.loads((own_transformer() / "about.json").read_text(encoding="utf-8"))
    sizes, told, by_frequency = about["sizes"], about["held out"], about["unigram"]
    return [
        {name: sizes[name] for name in ("layers", "dimension", "heads", "steps")}
        | {name: about[name] for name in ("parameters", "vocabulary", "pieces")}
        | {"minutes": about["seconds"] / 60, "right": told["right"], "loss": told["loss"]}
        | {f"{name} by frequency": by_frequency[name] for name in ("right", "loss")}
    ]


# ---
# What is left of a score once its controls are taken off.


def beyond_controls(rows: pd.DataFrame, name: str) -> pd.Series:
    """A number of runs from word vectors, minus the larger of those of both controls, seed by seed."""
    of = {kind: column(rows[rows.kind == kind], name) for kind in KINDS}
    return of["vectors"] - np.maximum(of["dealt out"], of["permuted labels"])
