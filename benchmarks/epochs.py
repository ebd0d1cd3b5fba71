"""The seconds of a training epoch, beside the textbook, fastText and the memory."""

from __future__ import annotations

from functools import partial

import fasttext_peer
import numpy as np
import torch
from measure import (
    Line,
    Seconds,
    Setup,
    clock,
    compare,
    load,
    median,
    not_measured,
    single_thread,
    take_turns,
    trainer_of,
)
from textbook import TextbookTrainer

from uaftc_lib import AttentionClassifier, Corpus, TrainingConfig, fit
from uaftc_lib.experiments.provenance import cores

NAMES = {"sst": "SST", "imdb": "IMDB"}
EPOCHS = 15
ACCURACY = "test accuracy on {} beside fastText"


def textbook(setup: Setup, name: str, dropout: float, target: float) -> list[Line]:
    """An epoch of ours (one thread) and of the textbook loop with the number of threads that suits it best."""
    dataset = setup.dataset(name)
    types, train = len(dataset.vocabulary), dataset.train
    ours = trainer_of(AttentionClassifier(types), train, dropout=dropout)
    theirs = TextbookTrainer(types, train, dropout=dropout)
    batches = -(-len(train) // theirs.batch_size)
    some = min(batches, 20)  # its batches cost alike, and an epoch is long

    def with_threads(count: int) -> None:
        torch.set_num_threads(count)
        theirs.train(some)
        single_thread()

    ours()
    with_threads(1)
    trial = {count: clock(partial(with_threads, count)).wall for count in range(1, cores() + 1)}
    best = min(trial, key=trial.get)
    mine, peer = take_turns(setup.rounds, ours, partial(with_threads, best))
    peer = [Seconds(s.wall * batches / some, s.cpu * batches / some) for s in peer]
    note = f"textbook: {best} of {cores()} threads, {some} of {batches} batches scaled up"
    what = f"epoch on {NAMES[name]}, dropout {dropout:g}"
    suffix = "-dropout" if dropout else ""
    numbers = compare(mine, peer, peer_over_ours=True)
    return [Line(f"textbook-{name}{suffix}", what, "s", **numbers, sense="at least", target=target, note=note)]


def additive(setup: Setup) -> list[Line]:
    """An epoch of additive attention with dropout, fused and by automatic differentiation."""
    dataset = setup.dataset("sst")
    ours, peer = (
        trainer_of(
            AttentionClassifier(len(dataset.vocabulary), attention="additive"),
            dataset.train,
            dropout=0.5,
            method=method,
        )
        for method in ("fast", "autograd")
    )
    ours(), peer()
    numbers = compare(*take_turns(setup.rounds, ours, peer), peer_over_ours=True)
    what = "epoch of AD on SST, dropout 0.5, beside automatic differentiation"
    return [Line("additive", what, "s", **numbers, note="keys tanh(M e) of every occurrence: d² operations each")]


def fasttext(setup: Setup, name: str, target: float) -> tuple[list[Line], list[dict]]:
    """An epoch of ours and of fastText (from the slope between 5 and 15 epochs), and the accuracies of both."""
    what = f"epoch on {NAMES[name]} beside fastText"
    if fasttext_peer.fasttext is None:
        why = "fastText is not installed (it comes with the extra `bench` on Linux, for Python 3.11)"
        return [
            not_measured(f"fasttext-{name}", what, "s", why, sense="at most", target=target),
            not_measured(f"accuracy-{name}", ACCURACY.format(NAMES[name]), "", why, sense="at least", target=1.0),
        ], []
    dataset = setup.dataset(name)
    ours = trainer_of(AttentionClassifier(len(dataset.vocabulary)), dataset.train)
    ours()
    paths = fasttext_peer.write(dataset, setup.scratch)
    short, long = (1, 2) if setup.quick else (5, 15)
    turns = [ours] + [partial(fasttext_peer.train, paths["train"], epochs) for epochs in (short, long)]
    mine, less, more = take_turns(setup.rounds, *turns)
    peer = [Seconds((b.wall - a.wall) / (long - short), (b.cpu - a.cpu) / (long - short)) for a, b in zip(less, more)]
    numbers = compare(mine, peer, peer_over_ours=False)
    note = f"slope between {short} and {long} epochs"
    speed = Line(f"fasttext-{name}", what, "s", **numbers, sense="at most", target=target, note=note)
    if numbers["peer"] <= 0:
        why = "other work drowned the seconds by which fastText's longer training is longer"
        speed = not_measured(f"fasttext-{name}", what, "s", why, sense="at most", target=target)
    accuracy, curve = accuracies(setup, name, numbers["ours_cpu"], numbers["peer_cpu"], paths)
    return [speed, accuracy], curve


def accuracies(setup: Setup, name: str, ours: float, peer: float, paths: dict) -> tuple[Line, list[dict]]:
    """Test accuracies, learning rate and epochs chosen on dev, mean over seeds; and accuracy against time.

    ``ours`` and ``peer``: seconds of processor time of an epoch.
    """
    dataset = setup.dataset(name)
    seeds = range(1 if setup.quick or name == "imdb" else 3)
    epochs = 2 if setup.quick else EPOCHS
    curve = []

    def train(rate: float, dropout: float, seed: int):
        model = AttentionClassifier(len(dataset.vocabulary), seed=seed)
        config = TrainingConfig(learning_rate=rate, dropout=dropout, epochs=epochs, seed=seed)
        return fit(model, dataset, config, record=lambda _, model: {"test": model.accuracy(dataset.test)})

    rates = (0.02,) if setup.quick else (0.01, 0.02, 0.05)
    runs = {rate: [train(rate, 0.0, seed) for seed in seeds] for rate in rates}
    best = max(runs, key=lambda rate: np.mean([run.dev_accuracy for run in runs[rate]]))
    mine = [run.test_accuracy for run in runs[best]]
    for run in runs[best][:1]:
        history = run.history
        curve += [
            {"dataset": name, "method": "ours", "epochs": e, "seconds": e * ours, "test_accuracy": accuracy}
            for e, accuracy in zip(history["epoch"], history["test"])
        ]

    found = {}
    lengths = (1, 2) if setup.quick else (5, 10, 15) if name == "sst" else (5, 10)
    for rate in (0.1,) if setup.quick else (0.1, 0.25, 0.5):
        for length in lengths:
            models = [fasttext_peer.train(paths["train"], length, rate, seed) for seed in seeds]
            found[rate, length] = [
                [fasttext_peer.accuracy(model, paths[split]) for model in models] for split in ("dev", "test")
            ]
    rate, length = max(found, key=lambda key: np.mean(found[key][0]))
    theirs = found[rate, length][1]
    for e in (1, 2) if setup.quick else (1, 2, 3, 5, 8, 10, 15) if name == "sst" else (1, 2, 5):
        model = fasttext_peer.train(paths["train"], e, rate)
        accuracy = fasttext_peer.accuracy(model, paths["test"])
        row = {"dataset": name, "method": "fastText", "epochs": e, "seconds": e * peer}
        curve.append(row | {"test_accuracy": accuracy})
    if name == "sst":
        curve += textbook_curve(setup, dataset)
    mean, their_mean = float(np.mean(mine)), float(np.mean(theirs))
    error = np.sqrt(mean * (1 - mean) / len(dataset.test))
    return Line(
        f"accuracy-{name}",
        ACCURACY.format(NAMES[name]),
        "",
        mean,
        their_mean,
        mean / their_mean,
        sense="at least",
        target=1.0,
        rounds=len(seeds),
        load=load(),
        note=(
            f"chosen on dev: ours η {best:g}, best of {epochs} epochs; fastText η {rate:g}, {length} epochs; "
            f"seeds from {min(mine):.3f} to {max(mine):.3f}, fastText's from {min(theirs):.3f} to {max(theirs):.3f}; "
            f"standard error of {len(dataset.test)} instances {error:.3f}"
        ),
    ), curve


def textbook_curve(setup: Setup, dataset) -> list[dict]:
    single_thread()
    trainer = TextbookTrainer(len(dataset.vocabulary), dataset.train)
    rows, seconds = [], 0.0
    for e in range(1, 3 if setup.quick else 9):
        seconds += clock(trainer.train).cpu
        row = {"dataset": dataset.name, "method": "textbook", "epochs": e, "seconds": seconds}
        rows.append(row | {"test_accuracy": trainer.accuracy(dataset.test)})
    return rows


def bytes_to_move(corpus: Corpus, dimension: int = 100, batch_size: int = 100, seed: int = 0) -> int:
    """The least an epoch must move: each type's row and its Adagrad sums, read and written once a batch."""
    order = torch.randperm(len(corpus), generator=torch.Generator().manual_seed(seed))
    rows = sum(len(corpus[batch].tokens.unique()) for batch in order.split(batch_size))
    return rows * dimension * 4 * 2 * 2


def memory_limit(setup: Setup, name: str) -> list[Line]:
    """An epoch of ours beside the time that copying the touched rows takes at the speed of plain copying."""
    dataset = setup.dataset(name)
    moved = bytes_to_move(dataset.train)
    source = torch.ones(8_000_000 if setup.quick else 64_000_000)  # 256 MB: no cache holds it
    target = torch.empty_like(source)
    traffic = 2 * source.numel() * source.element_size()
    lines = []
    for dropout in (0.0, 0.5):
        ours = trainer_of(AttentionClassifier(len(dataset.vocabulary)), dataset.train, dropout=dropout)
        ours()
        target.copy_(source)
        mine, copies = take_turns(setup.rounds, ours, partial(target.copy_, source))
        peer = [Seconds(s.wall * moved / traffic, s.cpu * moved / traffic) for s in copies]
        numbers = compare(mine, peer, peer_over_ours=False)
        bandwidth = traffic / median(s.wall for s in copies) / 1e9
        note = f"{moved / 1e6:.0f} MB to move an epoch; copying moves {bandwidth:.1f} GB/s"
        suffix = "-dropout" if dropout else ""
        what = f"epoch on {NAMES[name]}, dropout {dropout:g}, beside its memory traffic"
        lines.append(Line(f"limit-{name}{suffix}", what, "s", **numbers, note=note))
    return lines


def gpu(setup: Setup) -> list[Line]:
    """Tokens a second on a GPU: the typewise path, autograd and the textbook."""
    what = "training on a GPU, without dropout, IMDB"
    if not torch.cuda.is_available():
        return [not_measured("gpu", what, "tokens/s", "no GPU is at hand")]
    dataset = setup.dataset("imdb").to("cuda")
    types, tokens, lines = len(dataset.vocabulary), len(dataset.train.tokens), []
    theirs = TextbookTrainer(types, setup.dataset("imdb").train, device="cuda")

    def synchronised(action):
        action()
        torch.cuda.synchronize()

    for method in ("fast", "autograd"):
        ours = trainer_of(AttentionClassifier(types, device="cuda"), dataset.train, method=method)
        synchronised(ours)
        synchronised(theirs.train)
        mine, peer = take_turns(setup.rounds, partial(synchronised, ours), partial(synchronised, theirs.train))
        ratio = median(b.wall / a.wall for a, b in zip(mine, peer))
        speeds = [tokens / median(s.wall for s in seconds) for seconds in (mine, peer)]
        note = f"{torch.cuda.get_device_name()}; {method}, peer: the textbook loop there"
        numbers = {"rounds": setup.rounds, "load": load(), "note": note}
        lines.append(Line(f"gpu-{method}", what, "tokens/s", *speeds, ratio, **numbers))
    return lines
