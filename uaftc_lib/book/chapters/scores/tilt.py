"""Why V·W ends below zero on SST: the same training on data from which one cause after another was taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from uaftc_lib.book.controls import equal_classes, with_permuted_labels, with_types_dealt_out, without_types
from uaftc_lib.book.small_data import SEEDS
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.experiments.table2 import table2_cell
from uaftc_lib.models import AttentionClassifier, Dropout, Output
from uaftc_lib.scores import dot_product
from uaftc_lib.training import fit

EPOCHS = 10  # about the kept one, and the same for all


class Biased(AttentionClassifier):
    """DP with a bias: its polarity may lean to a class without any word's help. Trained by autograd."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        out = super().forward(corpus, dropout, sparse)
        return out._replace(polarity=out.polarity + self.bias)


def without(*ranks: int) -> Callable[[Dataset, int], Dataset]:
    """The data set without the words of these frequency ranks (from, to; counted from 0)."""
    return lambda dataset, _seed: without_types(dataset, torch.arange(*ranks))


def dealt_out(*ranks: int, by_class: bool = False) -> Callable[[Dataset, int], Dataset]:
    """The words of these frequency ranks stay as frequent, but which stands at which of their places is drawn anew."""
    return lambda dataset, seed: with_types_dealt_out(dataset, torch.arange(*ranks), seed, by_class)


FREQUENT, WORDS = 50, 100_000  # how many words are called frequent; more than SST has
WORLDS: dict[str, tuple[Callable[[Dataset, int], Dataset], ...]] = {
    "as it is": (),
    "equal classes": (equal_classes,),
    "without the 10 most frequent words": (without(10),),
    "without the 50 most frequent words": (without(50),),
    "without words 51 to 500": (without(50, 500),),
    "equal classes, without the 50": (equal_classes, without(50)),
    "permuted labels": (with_permuted_labels,),
    "permuted labels, equal classes": (with_permuted_labels, equal_classes),
    "permuted labels, without the 50": (with_permuted_labels, without(50)),
    "equal classes, without the 10": (equal_classes, without(10)),
    "permuted labels, equal classes, without the 50": (with_permuted_labels, equal_classes, without(50)),
    "equal classes, the 50 dealt out": (equal_classes, dealt_out(FREQUENT)),
    "equal classes, all others dealt out": (equal_classes, dealt_out(FREQUENT, WORDS)),
    "equal classes, the 50 dealt out within classes": (equal_classes, dealt_out(FREQUENT, by_class=True)),
}
BIASED = ("as it is", "equal classes", "permuted labels")
MANY = range(40)  # starts where classes are equal, each with a deal of its own where something is dealt out
JOBS = [{"world": world, "bias": False, "seed": seed} for world in WORLDS for seed in SEEDS]
JOBS += [{"world": world, "bias": True, "seed": seed} for world in BIASED for seed in SEEDS]
JOBS += [
    {"world": world, "bias": False, "seed": seed}
    for world in WORLDS
    for seed in MANY[len(SEEDS) :]
    if "equal classes" in world
]


@experiment(jobs=JOBS, rows=1)
def sst_tilt(world: str, bias: bool, seed: int) -> list[dict]:
    """SST at λ = 10 without one cause after another: V·W after the first epoch and after ten, from W₀ and from −W₀."""
    dataset = load_dataset("sst")
    for change in WORLDS[world]:
        dataset = change(dataset, seed)
    cell = replace(table2_cell("sst", lam=10.0, seed=seed), epochs=EPOCHS)
    row: dict[str, float] = {}
    for start, side in (("", 1), (" from −W₀", -1)):
        model = cell.classifier(dataset, "cpu")
        if bias:
            model = Biased(len(dataset.vocabulary), lam=cell.lam, seed=seed)
        with torch.no_grad():
            model.W *= side

        def look(epoch: int, now: AttentionClassifier, start: str = start) -> dict:
            if epoch in (0, 1, EPOCHS):
                row[f"V·W {epoch}{start}"] = dot_product(now)
            return {}

        run = fit(model, dataset, cell.training(), record=look)
        row.update({f"dev_accuracy{start}": run.dev_accuracy, f"test_accuracy{start}": run.test_accuracy})
    return [row]
