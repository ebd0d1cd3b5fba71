"""Why V·W ends below zero on SST: the same training on data from which one cause after another was taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor, nn

from uaftc_book.controls import shuffled, with_permuted_labels
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment, jobs_over
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


def equal_classes(dataset: Dataset, seed: int) -> Dataset:
    """As many training texts of each class: of the larger ones, a share drawn at random."""
    order, labels = shuffled(len(dataset.train), seed), dataset.train.labels
    least = int(labels.bincount().min())
    kept = [order[labels[order] == k][:least] for k in range(dataset.train.class_count)]
    return replace(dataset, train=dataset.train[torch.cat(kept).sort().values])


def without_types(dataset: Dataset, types: Int[Tensor, "ids"]) -> Dataset:
    """The data set without some words in any split; texts that have no other words are left out."""

    left = {name: corpus.without(torch.isin(corpus.tokens, types)) for name, corpus in dataset.splits.items()}
    return replace(dataset, **left)


def with_types_dealt_out(dataset: Dataset, types: Int[Tensor, "ids"], seed: int, by_class: bool = False) -> Dataset:
    """The training texts with some words dealt out anew among the places where one of them stands: as many of each.

    ``by_class``: as many of each in the texts of each class.
    """
    train, tokens = dataset.train, dataset.train.tokens.clone()
    among = torch.isin(tokens, types)
    classes = train.labels[train.instance_of] if by_class else torch.zeros_like(tokens)
    for places in ((among & (classes == k)).nonzero().squeeze(1) for k in classes.unique()):
        tokens[places] = tokens[places[shuffled(len(places), seed)]]
    return replace(dataset, train=replace(train, tokens=tokens))


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
MANY = range(40)  # seeds where classes are equal, each with a deal of its own where something is dealt out
JOBS = jobs_over(world=WORLDS, bias=False, seed=SEEDS) + jobs_over(world=BIASED, bias=True, seed=SEEDS)
JOBS += jobs_over(world=[one for one in WORLDS if "equal classes" in one], bias=False, seed=MANY[len(SEEDS) :])


@experiment(jobs=JOBS, rows=1)
def sst_tilt(world: str, bias: bool, seed: int) -> list[dict]:
    """SST at λ = 10 without one cause after another: V·W after the first epoch and after ten, from W₀ and from −W₀."""
    dataset = load_dataset("sst")
    for change in WORLDS[world]:
        dataset = change(dataset, seed)
    cell = replace(table2_cell("sst", lam=10.0, seed=seed), epochs=EPOCHS)
    row: dict[str, float] = {}
    for mirror, side in (("", 1), (" from −W₀", -1)):
        model = cell.classifier(dataset, "cpu")
        if bias:
            model = Biased(len(dataset.vocabulary), lam=cell.lam, seed=seed)
        with torch.no_grad():
            model.W *= side

        def look(epoch: int, now: AttentionClassifier, mirror: str = mirror) -> dict:
            if epoch in (0, 1, EPOCHS):
                row[f"V·W {epoch}{mirror}"] = dot_product(now)
            return {}

        run = fit(model, dataset, cell.training(), record=look)
        row.update({f"dev_accuracy{mirror}": run.dev_accuracy, f"test_accuracy{mirror}": run.test_accuracy})
    return [row]
