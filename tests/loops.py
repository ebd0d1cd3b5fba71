"""Compiles every loop once, before the processes of a test run start: each of them would compile it for itself."""

from uaftc_book import same_sums  # noqa: F401 (numba comes later)

# isort: split
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import torch

from uaftc_book.neighbours.yardsticks import kendall
from uaftc_lib import AttentionClassifier, Corpus, TrainingConfig, explain
from uaftc_lib.fast.masks import draw_masks
from uaftc_lib.fast.trainers import FusedTrainer

# The loops of training are compiled for each attention, dtype and number of classes.
CLASSES = {("dot", torch.float32): (8, 3, 2), ("dot", torch.float64): (3, 2)}
CLASSES |= {("additive", torch.float64): (3, 2), ("additive", torch.float32): (2,)}


def compile_training(attention: str, dtype: torch.dtype, classes: int) -> None:
    corpus = Corpus.from_lists([[0, 1]], [0], classes)
    model = AttentionClassifier(2, dimension=2, lam=1.0, attention=attention, classes=classes, dtype=dtype)
    FusedTrainer(model, corpus, TrainingConfig()).epoch([torch.tensor([0])])


def compile_others() -> None:
    corpus, model = Corpus.from_lists([[0, 1]], [0]), AttentionClassifier(2, dimension=2, lam=1.0, dtype=torch.float64)
    explain.shapley(model, corpus)
    explain.minimal_flip_sets(model, corpus)
    explain.adversarial_attention(model, corpus)
    kendall(np.zeros(2), np.zeros(2), corpus.offsets.numpy())
    draw_masks(seed=0, stream=0, step=0, first_row=0, rows=1, dimension=2, dropout=0.5)


if __name__ == "__main__":
    jobs = [partial(compile_training, *kind, classes) for kind in CLASSES for classes in CLASSES[kind]]
    with ProcessPoolExecutor() as pool:
        for job in list(map(pool.submit, [*jobs, compile_others])):
            job.result()
