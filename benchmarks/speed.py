"""A training epoch of ours beside the textbook and fastText, as benchmarks.csv in the results folder: `make bench`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import fasttext_peer
import numpy as np
import pandas as pd
import torch
from measure import compare, load, seconds, take_turns
from textbook import TextbookTrainer

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, files, fit, load_dataset, results_folder
from uaftc_lib.experiments.provenance import cores, provenance
from uaftc_lib.streams import generator
from uaftc_lib.training import batches_of, choose_trainer

NAMES = {"sst": "SST", "imdb": "IMDB"}
ROUNDS, EPOCHS = 5, 15
AT_LEAST = {("sst", 0.0): 25.0, ("sst", 0.5): 15.0, ("imdb", 0.0): 10.0, ("imdb", 0.5): 5.0}  # textbook over ours
AT_MOST = {"sst": 1.0, "imdb": 0.8}  # ours over fastText


def line(benchmark: str, what: str, unit: str, numbers: dict, sense: str, target: float, note: str) -> dict:
    """A row of the table. The target is a bound on the ratio."""
    met = numbers["ratio"] >= target if sense == "at least" else numbers["ratio"] <= target
    row = {"benchmark": benchmark, "what": what, "unit": unit, **numbers, "sense": sense, "target": target}
    return row | {"load": load(), "note": note, "met": "yes" if met else "no"} | provenance()


def epoch_of(types: int, corpus: Corpus, **settings) -> Callable[[], float]:
    """One epoch of DP by the method that ``fit`` would take, shuffling included."""
    config, model = TrainingConfig(**settings), AttentionClassifier(types)
    trainer, order = choose_trainer(model, config)(model, corpus, config), generator(config.seed, "order")
    return lambda: trainer.epoch(batches_of(len(corpus), config.batch_size, order))


def textbook(dataset: Dataset, dropout: float, rounds: int = ROUNDS) -> dict:
    """An epoch of ours (one thread) and of the textbook loop with the number of threads that suits it best."""
    types, train, name = len(dataset.vocabulary), dataset.train, dataset.name
    ours = epoch_of(types, train, dropout=dropout)
    theirs = TextbookTrainer(types, train, dropout=dropout)
    batches = -(-len(train) // theirs.batch_size)
    some = min(batches, 20)  # its batches cost alike, and an epoch is long

    def with_threads(count: int) -> None:
        torch.set_num_threads(count)
        theirs.train(some)
        torch.set_num_threads(1)

    ours()
    with_threads(1)
    best = min(range(1, cores() + 1), key=lambda count: seconds(partial(with_threads, count)))
    mine, peer = take_turns(rounds, ours, partial(with_threads, best))
    numbers = compare(mine, [one * batches / some for one in peer], peer_over_ours=True)
    benchmark, what = f"textbook-{name}{'-dropout' * bool(dropout)}", f"epoch on {NAMES[name]}, dropout {dropout:g}"
    note = f"textbook: {best} of {cores()} threads, {some} of {batches} batches scaled up"
    return line(benchmark, what, "s", numbers, "at least", AT_LEAST[name, dropout], note)


def fasttext(dataset: Dataset, folder: Path, rounds: int = ROUNDS, epochs: tuple[int, int] = (5, EPOCHS)) -> dict:
    """An epoch of ours and of fastText, whose epoch is the slope between a shorter and a longer training."""
    ours, (short, long) = epoch_of(len(dataset.vocabulary), dataset.train), epochs
    path = fasttext_peer.write(dataset, folder)["train"]
    ours()
    mine, less, more = take_turns(rounds, ours, *(partial(fasttext_peer.train, path, count) for count in epochs))
    numbers = compare(mine, [(b - a) / (long - short) for a, b in zip(less, more)], peer_over_ours=False)
    what, note = f"epoch on {NAMES[dataset.name]} beside fastText", f"slope between {short} and {long} epochs"
    return line(f"fasttext-{dataset.name}", what, "s", numbers, "at most", AT_MOST[dataset.name], note)


def accuracy(dataset: Dataset, folder: Path, seeds: int, epochs: int, lengths: tuple[int, ...]) -> dict:
    """Test accuracies of ours and of fastText, learning rate and epochs chosen on dev: means over seeds."""
    paths = fasttext_peer.write(dataset, folder)

    def our_run(rate: float, seed: int) -> tuple[float, float]:
        model = AttentionClassifier(len(dataset.vocabulary), seed=seed)
        config = TrainingConfig(learning_rate=rate, dropout=0.0, epochs=epochs, seed=seed)
        run = fit(model, dataset, config, progress=False)
        return run.dev_accuracy, run.test_accuracy

    def their_run(rate: float, length: int, seed: int) -> tuple[float, float]:
        model = fasttext_peer.train(paths["train"], length, rate, seed)
        return fasttext_peer.accuracy(model, paths["dev"]), fasttext_peer.accuracy(model, paths["test"])

    ours = {rate: np.array([our_run(rate, seed) for seed in range(seeds)]) for rate in (0.01, 0.02, 0.05)}
    settings = [(rate, length) for rate in (0.1, 0.25, 0.5) for length in lengths]
    theirs = {(rate, length): np.array([their_run(rate, length, s) for s in range(seeds)]) for rate, length in settings}
    best, (rate, length) = (max(runs, key=lambda key: runs[key][:, 0].mean()) for runs in (ours, theirs))
    mine, peer = ours[best][:, 1], theirs[rate, length][:, 1]
    mean, their_mean, size = mine.mean(), peer.mean(), len(dataset.test)
    note = (
        f"chosen on dev: ours η {best:g}, best of {epochs} epochs; fastText η {rate:g}, {length} epochs; "
        f"seeds from {mine.min():.3f} to {mine.max():.3f}, fastText's from {peer.min():.3f} to {peer.max():.3f}; "
        f"standard error of {size} instances {np.sqrt(mean * (1 - mean) / size):.3f}"
    )
    numbers = {"ours": mean, "peer": their_mean, "ratio": mean / their_mean, "rounds": seeds}
    what = f"test accuracy on {NAMES[dataset.name]} beside fastText"
    return line(f"accuracy-{dataset.name}", what, "", numbers, "at least", 1.0, note)


def main() -> None:
    torch.set_num_threads(1)
    sst, imdb = map(load_dataset, NAMES)
    rows = [textbook(dataset, dropout) for dataset in (sst, imdb) for dropout in (0.0, 0.5)]
    if fasttext_peer.fasttext is None:
        print("not measured: fastText is not installed (it comes with the extra `bench` on Linux, for Python 3.11)")
    else:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            rows += [fasttext(sst, folder), accuracy(sst, folder, 3, EPOCHS, (5, 10, 15))]
            rows += [fasttext(imdb, folder), accuracy(imdb, folder, 1, EPOCHS, (5, 10))]
    files.write(results_folder() / "benchmarks.csv", pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"))


if __name__ == "__main__":
    main()
