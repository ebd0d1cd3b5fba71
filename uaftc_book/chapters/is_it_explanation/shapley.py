"""What each way to explain a word's part in a decision tells, beside its exact Shapley value: noise and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from scipy.stats import pearsonr, spearmanr

from uaftc_book.neighbours.estimators import Game, captum_shapley, closed_forms, lime, permutations_for, sampled_shapley
from uaftc_book.small_data import SEEDS
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier

SENTENCES = 100  # of the test set, of three words or more, in a drawn order
EVALUATIONS = (100, 1000, 10_000)  # of the model, for one sentence
LIMES = (100, 1000, 5000)  # the last is LIME's own default
DRAWS, FEWER_DRAWS = 20, 5  # seeds of each, and of what is not asked for its noise
CAPTUM = 1000  # evaluations of Captum's, once, for the time it takes
FORMS = ("exact Shapley", "attention", "contribution", "gradient", "leave one out")
FORMS += ("gradient × embedding", "integrated gradients")
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


def beside_exact(told: Values, exact: Values) -> dict[str, float]:
    """Errors as shares of the sentence's largest |φ|, and rank correlation: means over the sentences."""
    off = [abs(x - y) / abs(y).max() for x, y in zip(told, exact)]
    return {
        "mean error": np.mean([one.mean() for one in off]),
        "max error": np.mean([one.max() for one in off]),
        "rank correlation": np.nanmean([spearmanr(x, y).statistic for x, y in zip(told, exact)]),
    }


def beside_forms(told: Values, forms: dict[str, Values]) -> dict[str, float]:
    """Correlation with each form (mean over the sentences), what multiple of it comes nearest, and how far it is off.

    The last two, "size" and "off", are medians over the sentences; "off" is the length of the difference, as a share.
    """
    row = {}
    for name in FORMS:
        pairs = [*zip(told, forms[name])]
        row[f"{name} r"] = np.nanmean([pearsonr(x, y).statistic for x, y in pairs])
        row[f"{name} size"] = np.median([x @ y / (y @ y) for x, y in pairs])
        row[f"{name} off"] = np.median([np.linalg.norm(x - y) / np.linalg.norm(y) for x, y in pairs])
    return row


def estimates_by_seed(
    estimate: Callable[[Game, int], Float[np.ndarray, "words"]], seeds: int, of: list[Game]
) -> list[np.ndarray]:
    """What an estimate gives of every game by seed: "seeds words" each."""
    return [np.array([estimate(game, seed=seed) for seed in range(seeds)]) for game in of]


def noise(draws: list[np.ndarray]) -> float:
    """The standard deviation over seeds, as a share of the sentence's largest value; nan of a single seed."""
    if len(draws[0]) < 2:
        return np.nan
    return float(np.mean([np.sqrt(one.var(0, ddof=1).mean()) / abs(one.mean(0)).max() for one in draws]))


def estimators() -> Iterator[tuple[str, int, int, Callable]]:
    """Name, evaluations, seeds and function of what is estimated."""
    for count in EVALUATIONS:
        yield "sampled Shapley", count, DRAWS, partial(sampled_shapley, evaluations=count)
    yield "sampled Shapley (Captum)", CAPTUM, 1, partial(captum_shapley, evaluations=CAPTUM)
    for count in LIMES:
        yield "LIME", count, DRAWS, lambda game, seed, count=count: lime(game.logit, len(game.scores), count, seed)
    yield (
        "LIME on probabilities", LIMES[-1], FEWER_DRAWS,
        lambda game, seed: lime(game.probability, len(game.scores), LIMES[-1], seed),
    )  # fmt: skip


def with_processor_seconds(function: Callable, *given: object) -> tuple[object, float]:
    """What a function gives, and the processor's seconds."""
    begin = process_time()
    return function(*given), process_time() - begin


@experiment(jobs_over(seed=SEEDS, lam=(1.0, 10.0, 100.0)), rows=15)
def shapley_estimates(lam: float, seed: int) -> list[dict]:
    """SST, DP, a hundred test sentences: what is used in practice beside exact Shapley values."""
    data = load_dataset("sst")
    model, run = train_real(data, lam=lam, seed=seed)
    model = model.double()
    chosen = sentences(data.test)
    explain.shapley(model, chosen[:1])  # compiled before it is timed
    values, seconds = with_processor_seconds(explain.shapley, model, chosen)
    exact = [one.numpy() for one in values.split(chosen.lengths.tolist())]
    of, count = games(model, chosen), len(chosen)
    told = pd.DataFrame([closed_forms(game) for game in of])
    forms = {"exact Shapley": exact} | {name: [*told[name]] for name in told}
    rows = [
        {"method": name, "seconds a sentence": seconds / count if name == "exact Shapley" else np.nan}
        | beside_exact(forms[name], exact)
        | beside_forms(forms[name], forms)
        for name in FORMS
    ]
    for name, evaluations, seeds, estimate in estimators():
        estimate(of[0], seed=0)
        draws, seconds = with_processor_seconds(estimates_by_seed, estimate, seeds, of)
        spent = [permutations_for(evaluations, len(g.scores)) * len(g.scores) for g in of]
        once = [beside_exact([one[k] for one in draws], exact) for k in range(seeds)]
        rows.append(
            {
                "method": name,
                "samples": evaluations,
                "evaluations": float(np.mean(spent)) if name.startswith("sampled") else evaluations,
                "draws": seeds,
                "seconds a sentence": seconds / seeds / count,
                "noise": noise(draws),
            }
            | pd.DataFrame(once).mean().to_dict()
            | beside_forms([one.mean(0) for one in draws], forms)
        )
    trained = {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    return [row | trained for row in rows]
