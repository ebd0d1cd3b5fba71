"""Chapter 20: with E and W held, which words V comes to choose, held against the quadratic programme of its choice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int

from uaftc_book.neighbours import selection
from uaftc_book.random_models import Case
from uaftc_book.small_data import SEEDS, initial_model, small_config, small_data
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.explain import leave_one_out
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.training import TrainingConfig, fit

PROBLEMS = 50  # random ones
SST_TEXTS = (20, 50, 100)
MANY_TEXTS, FEW_SEEDS = (200, 500), range(3)  # of many texts
END, LONGER = 1e3, 2e4  # log τ of all flows, and of those that are looked at again
UNSETTLED = ((20, 1), (50, 2), (100, 2), (100, 6))  # SST texts and seed of these: see the chapter
TRAINED = 10.0  # log τ: 22,000 units of time, longer than any run of the book
UNSHARED = 0.999  # a weight below it leaves a text's attention shared at the end
RANDOM, DATA_I, SST = "random", "small Data I", "SST"


def problem(data: str, texts: int, seed: int) -> tuple[AttentionClassifier, Corpus]:
    """A model whose E and W are to be held, and the texts that V then learns; Data I and SST: after training."""
    if data == RANDOM:
        case = Case(dimension=20, lam=1.0, types=40, instances=texts, seed=seed)
        return case.model(), case.corpus()
    if data == DATA_I:
        dataset = small_data(seed)
        model = initial_model(dataset, seed=seed)
        fit(model, dataset, small_config(seed=seed), progress=False)
        return model, dataset.train[torch.arange(texts)]
    dataset = load_dataset("sst")
    model = AttentionClassifier(len(dataset.vocabulary), seed=seed)
    fit(model, dataset, TrainingConfig(epochs=10, seed=seed), progress=False)
    among = torch.from_numpy(np.random.default_rng(seed).permutation(len(dataset.train))[:texts])
    return model, dataset.train[among.sort().values]


class Selected(NamedTuple):
    """A flow of V with E and W held, the words that it comes to choose, and their programme."""

    texts: selection.Texts
    path: selection.Path
    chosen: Int[np.ndarray, "texts"]
    margin: selection.Margin


def initial_V(model: AttentionClassifier) -> Float[np.ndarray, "d"]:
    """V/λ: where V begins when λ is taken to be 1."""
    return model.V.detach().double().numpy() / model.lam


def select(model: AttentionClassifier, corpus: Corpus, end: float = END) -> Selected:
    """Let V flow alone from where it is, to log τ = ``end``."""
    texts = selection.texts_of(model, corpus)
    path = selection.gradient_flow(texts, initial_V(model), end)
    chosen = selection.chosen_by(texts, path.V[-1])
    return Selected(texts, path, chosen, selection.max_margin(texts, chosen))


def choice_measures(model: AttentionClassifier, corpus: Corpus, found: Selected) -> dict[str, float]:
    """Direction against programme, its conditions, and whose word the chosen one is."""
    texts, path, chosen, margin = found
    initial, end = path.V[0], path.V[-1]
    lost = leave_one_out(model, corpus).detach().abs().double().numpy()
    telling = [own[lost[a:b].argmax()] for own, a, b in pieces(corpus)]
    several = np.diff(np.append(texts.first, len(texts.text))) > 1  # texts with something to choose
    best, attended = texts.best(texts.gamma), selection.chosen_by(texts, initial)
    better = selection.tight_and_better(texts, chosen, margin)
    wrong = np.logical_or.reduceat(better, texts.first)
    rest = selection.max_margin(texts, chosen, better) if wrong.any() else margin
    size = np.linalg.norm(margin.V)
    soon = path.V[min(int(np.searchsorted(path.log_times, TRAINED)), len(path.V) - 1)]
    return {
        "cosine": selection.cosine(end, margin.V),
        "initial cosine": selection.cosine(initial, margin.V),
        "cosine of the first slope": selection.cosine(selection.slope(texts, initial)[0], margin.V),
        "cosine at training's time": selection.cosine(soon, margin.V),
        "chosen at training's time": agreeing_share(chosen == selection.chosen_by(texts, soon), several),
        "margin reached": selection.margin_reached(texts, chosen, margin, end),
        "condition": float(not wrong.any()),
        "texts not locally optimal": int(wrong.sum()),
        "cosine without their constraints": selection.cosine(rest.V, margin.V),
        "error": margin.error,
        "shared": int((selection.largest_weight(texts, end) < UNSHARED).sum()),
        "choice since": float(path.log_times[last_change(texts, path)]),
        "log time": float(path.log_times[-1]),
        "rests": float(path.rests),
        "|V|/|V of the programme|": float(np.linalg.norm(end) / size),
        "|V of the programme|": float(size),
        "without choice": int((~several).sum()),
        "best": agreeing_share(chosen == best, several),
        "attended": agreeing_share(chosen == attended, several),
        "telling": agreeing_share(texts.type[chosen] == telling, several),
        "attended is best": agreeing_share(attended == best, several),
        "any word": float((1 / np.diff(np.append(texts.first, len(texts.text))))[several].mean()),
        "best is possible": float(selection.max_margin(texts, best).feasible),
        "best contradicted": contradicted(texts, best),
        "polarity below zero": float((texts.gamma[chosen] < 0)[several].mean()),
    }


def last_change(texts: selection.Texts, path: selection.Path) -> int:
    """The first step from which on the choice is that of the end."""
    choices = np.array([selection.chosen_by(texts, V) for V in path.V])
    return int(np.flatnonzero((choices != choices[-1]).any(1)).max(initial=-1) + 1)


def agreeing_share(same: np.ndarray, among: np.ndarray) -> float:
    """The share of some texts in which two choices are the same."""
    return float(np.asarray(same)[among].mean())


def pieces(corpus: Corpus) -> list[tuple[np.ndarray, int, int]]:
    """Of each text its types, and where it begins and ends."""
    tokens, ends = corpus.tokens.numpy(), corpus.offsets.tolist()
    return [(tokens[a:b], a, b) for a, b in zip(ends, ends[1:])]


def contradicted(texts: selection.Texts, chosen: Int[np.ndarray, "texts"]) -> float:
    """The share of texts whose chosen word must lead a word that, chosen in another text, must lead it: no V can."""
    own = texts.type[chosen][texts.text]
    leads = {(a, b) for a, b in zip(own.tolist(), texts.type.tolist()) if a != b}
    against = np.array([(b, a) in leads for a, b in zip(own.tolist(), texts.type.tolist())])
    return float(np.logical_or.reduceat(against, texts.first).mean())


@experiment(
    jobs_over(data=RANDOM, texts=10, seed=range(PROBLEMS))
    + jobs_over(data=DATA_I, texts=1200, seed=SEEDS)
    + jobs_over(data=SST, texts=SST_TEXTS, seed=SEEDS),
    rows=1,
)
def words_selected(data: str, texts: int, seed: int) -> list[dict]:
    """V alone by gradient flow, E and W held: its direction beside the programme of the words that it chooses."""
    model, corpus = problem(data, texts, seed)
    return [choice_measures(model, corpus, select(model, corpus))]


@experiment(jobs=[{"texts": n, "seed": s} for n, s in UNSETTLED], rows=1)
def words_selected_later(texts: int, seed: int) -> list[dict]:
    """words_selected on problems of SST that are not settled by then, twenty times as far in log time."""
    model, corpus = problem(SST, texts, seed)
    return [choice_measures(model, corpus, select(model, corpus, LONGER))]


@experiment(jobs_over(texts=MANY_TEXTS, seed=FEW_SEEDS), rows=1)
def words_selected_many(texts: int, seed: int) -> list[dict]:
    """words_selected on more texts of SST, with few seeds."""
    model, corpus = problem(SST, texts, seed)
    return [choice_measures(model, corpus, select(model, corpus))]
