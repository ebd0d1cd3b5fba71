"""Chapter 16: the paper's classifier over a transformer: what is left of its scores where words know their text."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from uaftc_book.chapters.pretrained.initialisations import from_book
from uaftc_book.chapters.pretrained.unseen_words import DATASETS, LAMS
from uaftc_book.chapters.scores.null_controls import aucs_of_types, score_measures
from uaftc_book.controls import with_permuted_labels
from uaftc_book.neighbours.again import left_out, part_shares, whole_output
from uaftc_book.neighbours.words_kept import alone_and_in_texts
from uaftc_book.neighbours.yardsticks import agreement, change
from uaftc_book.small_data import SEEDS
from uaftc_book.transformers.classifier import TransformerClassifier
from uaftc_book.transformers.masked_language_model import own_transformer
from uaftc_book.transformers.states import WordStates
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.extras import needs
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import auc_of, examined_types, score_frame
from uaftc_lib.settings import TrainingConfig
from uaftc_lib.training import fit

# Minutes each: too few to decide anything, shown with their intervals.
FINE_TUNED_SEEDS = (("sst", "fine-tuned", 5), ("sst", "fine-tuned, untrained", 3), ("20news-1", "fine-tuned", 3))
LOOKED_AT = {"sst": 200, "20news-1": 40}  # test texts whose words are left out one by one: the first so many
LONGEST = 300  # words of such a text
HEAD = {"learning_rate": 0.05, "epochs": 10}  # of the paper's own training
# Three passes, as is usual (Devlin et al., 2019).
FINE_TUNED = {"optimizer": "adam", "learning_rate": 1e-3, "epochs": 3}
ENCODER_RATE = 3e-4


def untrained(folder: Path, seed: int, to: str) -> str:
    """A folder with a transformer of the same architecture and tokenizer, its weights at random."""
    with needs("a transformer with random weights", "uaftc-lib[transformers]"):
        from transformers import AutoConfig, AutoModel, AutoTokenizer

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        AutoModel.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(to)
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
        initial = untrained(own_transformer(), seed, folder)
        return TransformerClassifier(initial, words, frozen=reader == "untrained", **known)


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
        f"τ {name}, {how}": float(agreement(values, effect, corpus).tau.mean())
        for (name, values), (how, effect) in product(said.items(), effects.items())
    }
    return (
        row
        | {"τ held, again": float(agreement(effects["held"], effects["again"], corpus).tau.mean())}
        | part_shares(left)
    )


def story(model: AttentionClassifier, data: Dataset) -> dict[str, float]:
    """What the paper tells of a model, by scores of words alone, and by their means over the training texts."""
    types = examined_types(data)
    local = score_frame(model, data, types, data.train)
    row = score_measures(model, data, types)
    row |= {f"local {name}": value for name, value in aucs_of_types(local).items()}
    row["local AUC polarity"] = auc_of(local, "polarity", "positive", "negative")
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
    for data, reader, seeds in FINE_TUNED_SEEDS:
        jobs += jobs_over(dataset=data, reader=reader, lam=10.0, seed=range(seeds))
    return jobs


@experiment(jobs=contextual_jobs(), rows=1)
def contextual_readers(dataset: str, reader: str, lam: float, seed: int) -> list[dict]:
    """The head of the paper over words and over transformers: accuracy, scores, what of them explains a decision."""
    data = load_dataset(dataset)
    model, right = trained_reader(data, reader, lam, seed)
    return [{"right": right} | story(model, data)]
