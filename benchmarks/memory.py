"""Run by itself (types, dimension, tokens): the peak memory of one epoch of ``fit``, as a line of JSON."""

from __future__ import annotations

import json
import sys

import numpy as np
import torch
from measure import words_of_types, zipf_dataset

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, fit
from uaftc_lib.experiments.sweep import forget_peak_memory, peak_memory


def train(dataset: Dataset, dimension: int) -> None:
    fit(AttentionClassifier(len(dataset.vocabulary), dimension), dataset, TrainingConfig(epochs=1, method="fast"))


def main(types: int, dimension: int, tokens: int) -> None:
    torch.set_num_threads(1)
    train(zipf_dataset("tiny", 2000, 100), dimension)  # compiled code is part of the imports
    forget_peak_memory()
    before = peak_memory("cpu")
    ids = np.random.default_rng(0).integers(types, size=tokens - tokens % 100)
    instances = len(ids) // 100
    corpus = Corpus(torch.from_numpy(ids), torch.arange(instances + 1) * 100, torch.arange(instances) % 2)
    train(Dataset("large", words_of_types(types), ("0", "1"), corpus), dimension)
    needed = 2 * 4 * (types * dimension + 2 * dimension) + 8 * len(ids)
    print(json.dumps({"peak": peak_memory("cpu") - before, "needed": needed}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
