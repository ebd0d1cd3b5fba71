"""Do the report's intervals hold what they promise? Simulated: python benchmarks/interval_coverage.py

Made-up files with words of known effect in 5, 10, 20 and 100 of 1,500 texts. For each file, number of texts and effect
a row in interval_coverage.csv in the results folder: the share of words whose interval holds the truth, and of those
whose interval leaves zero out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from uaftc_lib import Corpus, Vocabulary, results_folder
from uaftc_lib.experiments.store import StoredTable, fill
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import FOLDS, Pushes, folds, train_reader

FILES = 40
SUPPORTS, EFFECTS, EACH = (5, 10, 20, 100), (0.0, 3.0), 12


def planted(seed: int, texts: int = 1500, background: int = 400, length: int = 12) -> tuple[Corpus, Vocabulary, list]:
    """Texts of common words, twelve causes, and for each support and effect twelve words in exactly so many texts."""
    draws = np.random.default_rng(seed)
    shares = 1 / (np.arange(background) + 2.7)
    tokens = [[*draws.choice(background, length, p=shares / shares.sum())] for _ in range(texts)]
    logit, planted = np.zeros(texts), []
    kinds = [("cause", texts // 12, 2.0)] * 12
    kinds += [("planted", support, effect) for support in SUPPORTS for effect in EFFECTS for _ in range(EACH)]
    for i, (kind, support, effect) in enumerate(kinds):
        side = 1 if i % 2 else -1
        where = draws.choice(texts, support, replace=False)
        for t in where:
            tokens[t].append(background + i)
        logit[where] += side * effect
        planted.append((kind, support, effect, side))
    labels = (draws.random(texts) < 1 / (1 + np.exp(-logit))).astype(int)
    vocabulary = Vocabulary([f"word{i}" for i in range(background + len(kinds))])
    return Corpus.from_lists([[int(i) for i in text] for text in tokens], labels.tolist()), vocabulary, planted


def pushes_of(seed: int) -> pd.DataFrame:
    """For each planted word its push on the side that it speaks for, and the half width of its interval."""
    whole, vocabulary, kinds = planted(seed)
    labels, alone = whole.labels.numpy(), np.arange(len(whole))
    pushes = Pushes(whole, len(vocabulary), np.ones(len(whole)))
    for k, fold in enumerate(folds(labels, alone, seed=seed)):
        reader = train_reader(whole, vocabulary, fold, Settings(), FOLDS * seed + k)
        pushes = pushes.add(reader, fold, seed)
    _, push, reach, _ = (each[len(vocabulary) - 3 - len(kinds) : -3] for each in pushes.means())
    table = pd.DataFrame(kinds, columns=["kind", "texts", "effect", "side"])
    return table.assign(push=push[:, 1] * table["side"], reach=reach[:, 1])


def coverage(files: int) -> pd.DataFrame:
    """By file, support and effect: how many intervals hold the mean push over all files, and leave zero out.

    A word without effect has the truth zero.
    """
    found = pd.concat([pushes_of(file).assign(file=file) for file in range(files)])
    found = found[found["kind"] == "planted"].dropna()
    truth = found.groupby(["texts", "effect"])["push"].transform("mean").where(found["effect"] > 0, 0.0)
    found = found.assign(held=(found["push"] - truth).abs() <= found["reach"], off=found["push"].abs() > found["reach"])
    by = found.groupby(["file", "texts", "effect"])
    return by.agg(words=("held", "size"), held=("held", "mean"), off=("off", "mean")).reset_index()


if __name__ == "__main__":
    torch.set_num_threads(1)
    table = StoredTable(
        results_folder() / "interval_coverage.csv", ("files",), rows=FILES * len(SUPPORTS) * len(EFFECTS)
    )
    fill(table, [({"files": FILES}, lambda: coverage(FILES).to_dict("records"))])
    print(table.frame().groupby(["texts", "effect"]).agg({"words": "sum", "held": "mean", "off": "mean"}))
