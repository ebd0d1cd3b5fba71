"""The command ``uaftc``: thin commands over the library. Its errors come out as one line and exit code 2."""

from __future__ import annotations

import ast
import json
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import torch
import typer
from typer.core import TyperGroup

from uaftc_lib import AttentionClassifier, Run, TrainingConfig, __version__, fit, load_dataset
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import dataset_names, dataset_options
from uaftc_lib.explain.settings import Settings
from uaftc_lib.locations import results_folder
from uaftc_lib.models import ENCODERS, MODELS, model_arguments
from uaftc_lib.provenance import provenance
from uaftc_lib.training import METHODS, OPTIMIZERS


class Commands(TyperGroup):
    """Commands whose expected errors are one line each."""

    def invoke(self, ctx):
        """Run a command; a wrong argument, a file that cannot be had or a part not made yet exits with 2."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, NotImplementedError) as error:
            typer.echo(f"uaftc: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder of the downloaded corpora; default: $UAFTC_DATA, else the platform's cache."),
]
DataOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Option of the data set, e.g. noise=0.2. Repeatable."),
]


def show_version(wanted: bool) -> bool:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"uaftc {__version__}")
        raise typer.Exit()
    return wanted


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The living edition of "Understanding Attention for Text Classification"."""


def value_of(text: str) -> object:
    """A number, list or other literal as Python reads it; any other text as it stands."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assignments(texts: list[str] | None) -> dict[str, object]:
    """``["noise=0.2"]`` as ``{"noise": 0.2}``.

    Raises
    ------
    ValueError
        If a text is no NAME=VALUE, or a name stands there twice.
    """
    pairs = [text.partition("=") for text in texts or []]
    for i, (name, equals, value) in enumerate(pairs):
        if not (name and equals and value):
            raise ValueError(f"expected NAME=VALUE, got {name + equals + value!r}")
        if name in (earlier for earlier, _, _ in pairs[:i]):
            raise ValueError(f"{name} is given twice")
    return {name: value_of(value) for name, _, value in pairs}


@app.command()
def data(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; none: list those there are.")] = None,
    data_home: DataHome = None,
    option: DataOptions = None,
) -> None:
    """Download and prepare data sets, and count what is in them."""
    if not names:
        for name in dataset_names():
            options = ", ".join(f"{key}={value}" for key, value in dataset_options(name).items())
            typer.echo(f"{name:12} {f'options: {options}' if options else ''}".rstrip())
    for name in names or []:
        describe(load_dataset(name, data_home, **assignments(option)))


def describe(dataset: Dataset) -> None:
    """Print what Table 1 says of a data set."""
    corpora = dataset.splits.values()
    average = sum(len(corpus.tokens) for corpus in corpora) / sum(map(len, corpora))
    typer.echo(f"{dataset.name}: {average:.1f} tokens on average, {len(dataset.vocabulary):,} token types")
    for split, corpus in dataset.splits.items():
        counts = torch.bincount(corpus.labels, minlength=corpus.class_count).tolist()
        listed = ", ".join(f"{count:,} {name}" for name, count in zip(dataset.classes, counts))
        typer.echo(f"  {split:5} {len(corpus):6,} instances: {listed}")


@app.command()
def train(
    dataset: Annotated[str, typer.Option(help="Data set; `uaftc data` lists them.")] = "sst",
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "DP",
    lam: Annotated[float, typer.Option(help="Scaling factor λ.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Of initial values, order and dropout masks.")] = 0,
    dimension: Annotated[int, typer.Option(help="Of embeddings.")] = 100,
    hidden: Annotated[int, typer.Option(help="Units per direction of a recurrent encoder.")] = 50,
    optimizer: Annotated[str, typer.Option(help=f"One of {', '.join(OPTIMIZERS)}.")] = TrainingConfig.optimizer,
    learning_rate: float = TrainingConfig.learning_rate,
    learning_rate_decay: float = TrainingConfig.learning_rate_decay,
    learning_rates: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Learning rate of one parameter, e.g. V=0.002. Repeatable."),
    ] = None,
    batch_size: Annotated[str, typer.Option(metavar="INTEGER|full", help="Instances of a batch, or full.")] = str(
        TrainingConfig.batch_size
    ),
    epochs: int = TrainingConfig.epochs,
    dropout: Annotated[float, typer.Option(help="On embeddings and on the pooled vector.")] = TrainingConfig.dropout,
    penalty: Annotated[float, typer.Option(help="Coefficient of |V·W|.")] = TrainingConfig.penalty,
    weight_decay: Annotated[float, typer.Option(help="On M and recurrent weights.")] = TrainingConfig.weight_decay,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = TrainingConfig.method,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    data_home: DataHome = None,
    option: DataOptions = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the result to FILE.json, or with the model to FILE.pt.")
    ] = None,
) -> None:
    """Train one classifier, and print its accuracies."""
    if out and (out.suffix not in (".json", ".pt") or not out.parent.is_dir()):
        raise ValueError(f"--out must be a .json or a .pt file in a folder that exists, got {out}")
    if batch_size != "full" and not batch_size.isdecimal():
        raise ValueError(f"--batch-size must be a whole number, at least 1, or full, got {batch_size}")
    config = TrainingConfig(
        optimizer=optimizer,
        learning_rate=learning_rate,
        learning_rate_decay=learning_rate_decay,
        learning_rates=assignments(learning_rates),
        batch_size=None if batch_size == "full" else int(batch_size),
        epochs=epochs,
        dropout=dropout,
        penalty=penalty,
        weight_decay=weight_decay,
        method=method,
        seed=seed,
    )
    arguments = model_arguments(model) | {"dimension": dimension, "lam": lam, "hidden": hidden, "seed": seed}
    options = assignments(option)
    loaded = load_dataset(dataset, data_home, **options)
    arguments |= {"vocabulary_size": len(loaded.vocabulary), "classes": len(loaded.classes)}
    classifier = AttentionClassifier(**arguments, device=device)
    typer.echo(f"{dataset}, {model}, λ = {lam:g}, seed {seed}: {epochs} epochs", err=True)
    started = time.perf_counter()
    run = fit(classifier, loaded, config)
    seconds = time.perf_counter() - started
    for name, value in (
        ("dev accuracy", percent(run.dev_accuracy)),
        ("test accuracy", percent(run.test_accuracy)),
        ("best epoch", f"{run.best_epoch} of {epochs}"),
        ("seconds", f"{seconds:.1f}"),
    ):
        typer.echo(f"{name:14}{value}")
    if out:
        told = {"dataset": dataset, "options": options, "model": model, "device": device, "seconds": seconds}
        keep(out, told | arguments, run, classifier)


def percent(accuracy: float) -> str:
    """An accuracy in percent, or a dash where there is none."""
    return "-" if math.isnan(accuracy) else f"{100 * accuracy:.1f} %"


def keep(out: Path, told: dict, run: Run, classifier: AttentionClassifier) -> None:
    """Write what was asked for, what came out and where: as JSON, or with the parameters as a torch file."""
    results = {name: getattr(run, name) for name in ("dev_accuracy", "test_accuracy", "best_epoch")}
    history = run.history.to_dict("records")
    record = told | asdict(run.config) | results | provenance() | {"history": history}
    record = json.loads(json.dumps(record), parse_constant=lambda _: None)  # JSON has no nan
    if out.suffix == ".json":
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    else:
        torch.save({"record": record, "parameters": classifier.state_dict()}, out)
    typer.echo(f"{'written to':14}{out}")


@app.command()
def sweep(
    grid: Annotated[str | None, typer.Option(help="A grid by name (table2, quick) or a .toml file.")] = None,
    dataset: Annotated[str | None, typer.Option(metavar="A,B,...", help="Data sets.")] = None,
    model: Annotated[str | None, typer.Option(metavar="A,B,...", help=f"Some of {', '.join(MODELS)}.")] = None,
    lam: Annotated[str | None, typer.Option(metavar="A,B,...", help="Scaling factors λ.")] = None,
    seeds: Annotated[int | None, typer.Option(help="How many: 0, 1, ...")] = None,
    epochs: int | None = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting, e.g. dropout=0.5. Repeatable."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    dask: Annotated[str | None, typer.Option(help="Address of a dask scheduler; its workers run the cells.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    out: Annotated[Path | None, typer.Option(help="Results file; default: GRID.csv in the results folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, and about how long.")] = False,
    data_home: DataHome = None,
) -> None:
    """Train a grid of cells, each finished one written at once; run again, it goes on where it stopped.

    Options override the grid.
    """
    from uaftc_lib import sweep as sweeps  # imports joblib, which only this command needs

    lists = {"dataset": dataset, "model": model, "lam": lam}
    given = {name: text and [value_of(part.strip()) for part in text.split(",")] for name, text in lists.items()}
    given |= {"seeds": seeds, "epochs": epochs}
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = assignments(setting)
    if twice := chosen.keys() & settings.keys():
        raise ValueError(f"{', '.join(sorted(twice))} is given twice")
    defaults = {"dataset": "sst", "model": "DP", "lam": 10.0}
    cells = sweeps.cells_of(defaults if grid is None else sweeps.load_grid(grid), **chosen, **settings)
    out = out or results_folder() / f"{'sweep' if grid is None else Path(grid).stem}.csv"
    if dry_run:
        sweeps.check_request(out, workers, dask, device)
        told = sweeps.estimate(cells, out, device)
        typer.echo(told.to_string(index=False, formatters={"hours": "{:.2f}".format}))
        open_ = told["runs"].sum() - told["finished"].sum()
        typer.echo(
            f"{told['cells'].sum()} cells, {told['runs'].sum()} runs, {open_} of them to do: "
            f"about {told['hours'].sum() / workers:.1f} hours with {workers} workers; results: {out}"
        )
        return
    finished = sweeps.sweep(cells, out, workers, dask, device, data_home)
    typer.echo(f"{len(finished)} runs in {out}")


@app.command()
def explain(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, JSON lines or Parquet.")],
    text: Annotated[str, typer.Option(help="Column of the texts.")],
    label: Annotated[str, typer.Option(help="Column of the classes.")],
    out: Annotated[Path, typer.Option(help="Folder for report.html, words.csv and report.json.")],
    encoding: Annotated[str, typer.Option(help="Of the file, if it is not UTF-8, e.g. cp1252.")] = "utf-8",
    encoder: Annotated[str, typer.Option(help=f"One of {', '.join(ENCODERS)}.")] = Settings.encoder,
    lam: Annotated[float, typer.Option(help="Scaling factor λ.")] = Settings.lam,
    dimension: Annotated[int, typer.Option(help="Of embeddings.")] = Settings.dimension,
    seeds: Annotated[int, typer.Option(help="Training runs that are averaged.")] = Settings.seeds,
    seed: Annotated[int, typer.Option(help="The first seed.")] = Settings.seed,
    epochs: Annotated[int | None, typer.Option(help="Default: 5 to 30, by the size of the file.")] = None,
    learning_rate: float = Settings.learning_rate,
    dropout: float = Settings.dropout,
    replicates: Annotated[int, typer.Option(help="Bootstrap samples.")] = Settings.replicates,
) -> None:
    """Train on a file of your own, and report which words drive which class."""
    from uaftc_lib.explain.quality import VERDICTS
    from uaftc_lib.explain.report import explain_file

    settings = Settings(lam, dimension, encoder, seeds, epochs, learning_rate, dropout, seed, replicates)
    report = explain_file(file, text, label, out, settings, encoding)
    rows, quality = report["rows"], report["quality"]
    for reason, dropped in rows["dropped"].items():
        typer.echo(f"{'dropped':14}{dropped:,}: {reason}")
    for note in report["notes"]:
        typer.echo(f"{'note':14}{note}")
    typer.echo(f"{'used':14}{rows['used']:,} of {rows['read']:,} rows, {len(report['classes'])} classes")
    for name, key in (("attention", "attention"), ("linear model", "linear"), ("largest class", "majority")):
        typer.echo(f"{name:14}{percent(quality[key]['accuracy'])} right of unseen texts")
    for name, told in zip(("verdict", "because"), VERDICTS[quality["verdict"]]):
        typer.echo(f"{name:14}{told.format_map(quality)}")
    typer.echo(f"{'written to':14}{out / 'report.html'}")


@app.command()
def scorecard(
    verdict: Annotated[str | None, typer.Option(help="Only claims with this verdict, e.g. 'does not hold'.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write every measured case.")] = None,
) -> None:
    """What the paper says, and what was measured: the verdict on every claim, from the stored results."""
    from uaftc_lib import claims

    if verdict not in (None, *claims.WORDS):
        raise ValueError(f"no verdict {verdict!r}; there are {', '.join(claims.WORDS)}")
    if out and not out.parent.is_dir():
        raise ValueError(f"the folder of --out {out} does not exist")
    judged = claims.judge_all()
    for one in judged:
        if verdict in (None, one.verdict):
            only = f" ({one.condition})" if one.condition else ""
            typer.echo(f"{one.claim.section:4} {one.verdict}{only}: {one.claim.said}")
    typer.echo("; ".join(f"{n} {word}" for word, n in claims.counted(judged).items()))
    if out:
        claims.scorecard(judged).to_csv(out, index=False)
        typer.echo(f"{'written to':14}{out}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    ctx: typer.Context,
    notebook: Annotated[str, typer.Argument(metavar="NOTEBOOK", help="A chapter, e.g. 12_lambda.")],
    out: Annotated[Path | None, typer.Option(help="The executed copy; default: out_NOTEBOOK.ipynb.")] = None,
) -> None:
    """Execute a chapter again: uaftc run 12_lambda -p lam 50 [-p NAME VALUE]..."""
    import papermill
    from traitlets.config import Config

    from uaftc_lib.publish import CHECKOUT, chapters, parameters_of, read_source

    if notebook not in chapters():
        known = ", ".join(chapters()) or "none: the library runs outside a checkout of the book"
        raise ValueError(f"no chapter {notebook!r}; there are {known}")
    given = parameters_from(ctx.args)
    known = parameters_of(read_source(notebook))
    for name in given:
        if name not in known:
            raise ValueError(f"{notebook} has no parameter {name!r}; it has {', '.join(known)}")
    out = out or Path(f"out_{notebook}.ipynb")
    if not out.parent.is_dir():
        raise ValueError(f"the folder of --out {out} does not exist")
    try:
        encrypted = Config(KernelManager={"transport_encryption": "auto"})
        papermill.execute_notebook(CHECKOUT / "book" / f"{notebook}.ipynb", out, given, config=encrypted)
    except papermill.PapermillExecutionError as error:
        where = f"{notebook}, cell [{error.exec_count}]"
        raise ValueError(f"{where}: {error.ename}: {error.evalue} (see {out})") from None
    typer.echo(f"executed with {given or 'its own parameters'}: {out}")


def parameters_from(words: list[str]) -> dict[str, object]:
    """``-p NAME VALUE`` and so on as a dict.

    Raises
    ------
    ValueError
        If anything else is there.
    """
    given = {}
    while words:
        if words[0] != "-p" or len(words) < 3:
            raise ValueError(f"expected -p NAME VALUE, got {' '.join(words[:3])!r}")
        given[words[1]], words = value_of(words[2]), words[3:]
    return given
