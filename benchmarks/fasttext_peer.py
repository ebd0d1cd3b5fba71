"""The peer: fastText (Joulin et al., 2017), which averages word vectors and has no attention."""

from __future__ import annotations

from pathlib import Path

import torch

from uaftc_lib import Dataset, files

try:
    import fasttext
except ImportError:
    fasttext = None
else:
    fasttext.FastText.eprint = lambda *arguments: None  # a notice at every load


def write(dataset: Dataset, folder: Path) -> dict[str, str]:
    """The splits as fastText reads them: a line an instance, its label first; their paths.

    In random order: fastText itself does not shuffle, and the sentences of SST are sorted by class.
    """
    paths = {}
    for split, corpus in dataset.splits.items():
        path = folder / f"{dataset.name}.{split}.txt"
        if not path.exists():
            order = torch.randperm(len(corpus), generator=torch.Generator().manual_seed(0)).tolist()
            lines = (f"__label__{int(corpus.labels[t])} {' '.join(dataset.text(split, t))}\n" for t in order)
            files.write(path, "".join(lines))
        paths[split] = str(path)
    return paths


def train(path: str, epochs: int, learning_rate: float = 0.1, seed: int = 0):
    """Supervised, 100 dimensions, one thread."""
    return fasttext.train_supervised(path, dim=100, epoch=epochs, lr=learning_rate, thread=1, seed=seed, verbose=0)


def accuracy(model, path: str) -> float:
    return model.test(path)[1]
