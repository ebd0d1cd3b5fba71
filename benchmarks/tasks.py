"""What a reader waits for: a sweep, an evaluation, a corpus, a slider; and the step of a recurrent encoder."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import recurrent
import torch
from measure import Line, Setup, clock, load, median, single_thread, take_turns, words_of_types, zipf_corpus

from uaftc_book.lab import lambda_slider
from uaftc_lib import AttentionClassifier, Dataset, TrainingConfig, load_dataset
from uaftc_lib.datasets import cache, imdb
from uaftc_lib.locations import data_home

SWEEP = """
import sys
from uaftc_lib.experiments.cells import cells_of, load_grid
from uaftc_lib.experiments.sweep import sweep

if __name__ == "__main__":
    out, workers, dropout, grid, dataset, options, seeds, epochs, *lam = sys.argv[1:]
    chosen = {"lam": [float(value) for value in lam]} if lam else {}
    cells = cells_of(load_grid(grid), dataset=dataset, model="DP", seeds=int(seeds), epochs=int(epochs),
                     dropout=float(dropout), options=options, **chosen)
    sweep(cells, out, workers=int(workers))
"""


def sweep(setup: Setup) -> list[Line]:
    """DP on SST, seven λ, 20 seeds, 15 epochs, in two processes, from the start of Python to the last line.

    Without dropout, and once with: 140 runs are their own repetition.
    """
    tiny = ["table2", "synthetic-1", '{"class_sizes": [20, 20]}', "1", "1", "10"]
    given, workers = (tiny, 1) if setup.quick else (["table2", "sst", "{}", "20", "15"], 2)
    lines = []
    for dropout in (0.5,) if setup.quick else (0.0, 0.5):
        out = setup.scratch / f"sweep-{dropout:g}.csv"
        command = [sys.executable, "-c", SWEEP, str(out), str(workers), str(dropout), *given]
        seconds = clock(partial(subprocess.run, command, check=True, env=os.environ | {"TQDM_DISABLE": "1"}))
        cells = len(out.read_text(encoding="utf-8").splitlines()) - 1
        what = f"sweep of DP on SST, dropout {dropout:g}: {cells} runs of {given[4]} epochs, {workers} processes"
        lines.append(
            Line(
                "sweep-dropout" if dropout else "sweep", what, "s", seconds.wall, sense="at most", target=40.0,
                ours_cpu=seconds.cpu, load=load(), note="start-up included",
            )
        )  # fmt: skip
    return lines


def evaluation(setup: Setup) -> list[Line]:
    """Scores, weights and averages per type over a corpus."""
    single_thread()
    corpus = zipf_corpus(10_000 if setup.quick else 10_000_000, 20_000)
    model = AttentionClassifier(20_000)
    model.token_scores(corpus)
    (seconds,) = take_turns(setup.rounds, partial(model.token_scores, corpus))
    tokens = len(corpus.tokens)
    what = "evaluation: scores, weights and averages per type"
    return [
        Line(
            "evaluation", what, "tokens/s", tokens / median(s.wall for s in seconds), sense="at least", target=1e7,
            ours_cpu=median(s.cpu for s in seconds), rounds=setup.rounds, load=load(),
            note=f"{tokens} tokens, one thread",
        )
    ]  # fmt: skip


def loading(setup: Setup) -> list[Line]:
    """A prepared corpus from the disk (its pages in the system's cache), checks included."""
    tokens = 10_000 if setup.quick else 10_000_000
    folder = setup.scratch / "prepared"
    if not folder.exists():
        corpus = zipf_corpus(tokens, 20_000)
        cache.write_prepared(Dataset("large", words_of_types(20_000), ("0", "1"), corpus), folder)
    cache.read_prepared(folder)
    (seconds,) = take_turns(setup.rounds, partial(cache.read_prepared, folder))
    scale = 1e7 / tokens
    return [
        Line(
            "load", "loading a prepared corpus, memory-mapped", "s per 10^7 tokens",
            scale * median(s.wall for s in seconds), sense="at most", target=0.2,
            ours_cpu=scale * median(s.cpu for s in seconds), rounds=setup.rounds, load=load(), note=f"{tokens} tokens",
        )
    ]  # fmt: skip


def imdb_corpus(setup: Setup) -> list[Line]:
    """IMDB in a data home that holds only its unpacked reviews: prepared the first time, then loaded."""
    home = setup.scratch / "home"
    home.mkdir(exist_ok=True)
    if setup.quick:
        read = partial(cache.prepared, home, "imdb", imdb.RULES, partial(setup.dataset, "imdb"))
    else:
        (home / "aclImdb").symlink_to(imdb.reviews_folder(data_home()).resolve())
        read = partial(load_dataset, "imdb", home)
    first = clock(read)
    (again,) = take_turns(setup.rounds, read)
    return [
        Line(
            "prepare-imdb", "preparing IMDB from its unpacked reviews", "s", first.wall, sense="at most", target=40.0,
            ours_cpu=first.cpu, load=load(), note="once, one thread",
        ),
        Line(
            "load-imdb", "loading IMDB a second time", "s", median(s.wall for s in again), sense="at most", target=1.0,
            ours_cpu=median(s.cpu for s in again), rounds=setup.rounds, load=load(),
        ),
    ]  # fmt: skip


def slider(setup: Setup) -> list[Line]:
    """From a move of the λ slider to the new picture, training from scratch in between."""
    single_thread()
    config = TrainingConfig(epochs=1 if setup.quick else 20)
    control, picture = lambda_slider(setup.dataset("sst"), (1, 100), config).live().children
    seconds = []
    for lam in [3.0, 20.0, 5.0, 50.0, 8.0, 30.0, 15.0][: max(2, setup.rounds)]:
        before = picture.value
        seconds.append(clock(partial(setattr, control, "value", lam)))
        if picture.value == before or "<svg" not in picture.value:
            raise RuntimeError(f"the slider drew no new figure at λ = {lam}")
    what = "live slider: a change of λ on SST to the redrawn figure"
    return [
        Line(
            "slider", what, "s", median(s.wall for s in seconds), sense="at most", target=0.4,
            ours_cpu=median(s.cpu for s in seconds), rounds=len(seconds), load=load(),
            note=f"{config.epochs} epochs, d = 100, no dropout",
        )
    ]  # fmt: skip


def recurrent_step(setup: Setup) -> list[Line]:
    """A training step of DP-L on documents as long as IMDB's, beside packed sequences."""
    single_thread()
    sizes = {"instances": 4, "types": 500, "repeats": 1} if setup.quick else {"repeats": setup.rounds}
    told = recurrent.measure(**sizes)
    what = "step of DP-L on IMDB-length documents beside packed sequences"
    return [
        Line(
            "recurrent", what, "s", told["ours"], told["packed"], told["ratio"], sense="at least", target=3.0,
            rounds=sizes["repeats"], load=load(), note=f"{told['tokens']} tokens, {torch.get_num_threads()} thread",
        )
    ]  # fmt: skip
