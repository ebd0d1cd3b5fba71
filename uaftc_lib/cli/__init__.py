"""The command ``uaftc``: thin commands over the library. Its errors come out as one line and exit code 2.

What was typed is checked before anything heavy is imported, so that a mistake is answered at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C is answered in a line while modules are imported, too."""
    try:
        yield
    except KeyboardInterrupt:
        print("uaftc: stopped; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None


with stoppable():  # the first tenth of a second
    import json
    import pickle
    import tarfile
    import time
    import warnings
    import zipfile
    import zlib
    from pathlib import Path

    import click

    import uaftc_lib
    from uaftc_lib import __version__, checks, files
    from uaftc_lib.cli.options import FOLDER, PATH, assignments, known_device, options_of, value_of
    from uaftc_lib.cli.records import as_percent, keep_run
    from uaftc_lib.cli.vectors import of_its_dimension, read_file, word_vectors
    from uaftc_lib.datasets import dataset_names, dataset_options
    from uaftc_lib.experiments import tables as stored
    from uaftc_lib.experiments.cells import AXES, Cell, cells_of, check_file, check_workers, load_grid
    from uaftc_lib.report import explain_file
    from uaftc_lib.report.request import Columns, check_folder, check_request, limits
    from uaftc_lib.report.settings import Settings
    from uaftc_lib.settings import DEVICES, MODELS


# What libraries raise where memory, a file or a number is at fault (torch: RuntimeError). click takes an EOFError for
# Ctrl-D, and would say no more than "Aborted!".
OTHERS = (ArithmeticError, EOFError, MemoryError, RuntimeError)
OTHERS += (pickle.PickleError, tarfile.TarError, zipfile.BadZipFile, zlib.error)


class Commands(click.Group):
    """Commands whose expected errors are one line each, as are their warnings."""

    def main(self, *args, **more) -> object:
        """Start; a character that the terminal or the file cannot hold is written as Python escapes it."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with warnings.catch_warnings():
            warnings.showwarning = warn
            return super().main(*args, **more)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; a wrong argument, a file or a package that cannot be had exits with 2."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, click.exceptions.Exit, click.Abort):
            raise
        except (ValueError, OSError, ImportError) as error:
            said = str(error)
        except OTHERS as error:
            said = f"{ctx.invoked_subcommand}: {type(error).__name__}: {str(error) or 'no more is known'}"
        click.echo(f"uaftc: {' '.join(said.split())}", err=True)
        raise click.exceptions.Exit(2)


def warn(message: Warning | str, *_, **__) -> None:
    """A warning without the line of the source that gave it."""
    click.echo(f"warning: {' '.join(str(message).split())}", err=True)


DATA_HOME = click.option(
    "--data-home",
    type=FOLDER,
    help="Folder of the downloaded corpora; default: $UAFTC_DATA, else the platform's cache.",
)
DEVICE = click.option(
    "--device", default="cpu", callback=known_device, help=f"One of {', '.join(DEVICES)}; or one of several, as cuda:1."
)
WORKERS = click.option("--workers", default=1, help="Processes on this machine.")
DASK = click.option("--dask", help="Address of a dask scheduler, whose workers do the work.")


@click.group(cls=Commands, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(__version__, message="uaftc %(version)s")
def app() -> None:
    """The living edition of "Understanding Attention for Text Classification"."""


@app.command()
@click.argument("names", nargs=-1)
@DATA_HOME
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="Of the data set, e.g. noise=0.2. Repeatable.")
def data(names: tuple[str, ...], data_home: Path | None, option: tuple[str, ...]) -> None:
    """Download and prepare data sets, and count what is in them; none named: list them."""
    options = assignments(option)
    if options and not names:
        raise ValueError(f"--option {option[0]} is of no data set: name one, such as uaftc data synthetic-1")
    for name in names:
        checks.one_of("data set", name, dataset_names())
    for name in names:
        describe(uaftc_lib.load_dataset(name, data_home, **options))
    for name in () if names else dataset_names():
        listed = ", ".join(f"{key}={value}" for key, value in dataset_options(name).items())
        click.echo(f"{name:12} {f'options: {listed}' if listed else ''}".rstrip())


def describe(dataset: uaftc_lib.Dataset) -> None:
    """Print what Table 1 says of a data set."""
    corpora = dataset.splits.values()
    average = sum(len(corpus.tokens) for corpus in corpora) / sum(map(len, corpora))
    click.echo(f"{dataset.name}: {average:.1f} tokens on average, {len(dataset.vocabulary):,} token types")
    for split, corpus in dataset.splits.items():
        counts = corpus.labels.bincount(minlength=corpus.class_count).tolist()
        listed = ", ".join(f"{count:,} {name}" for name, count in zip(dataset.classes, counts))
        click.echo(f"  {split:5} {len(corpus):6,} instances: {listed}")


app.add_command(word_vectors)


@app.command(params=options_of(Cell))
@click.option("--vectors", "file", type=PATH, metavar="FILE", help="Word vectors that the embeddings start from.")
@DEVICE
@DATA_HOME
@click.option("--out", type=PATH, help="Write the result to FILE.json, or with the model to FILE.pt.")
def train(file: Path | None, device: str, data_home: Path | None, out: Path | None, **given) -> None:
    """Train one classifier, and print its accuracies."""
    if out:
        if out.suffix not in (".json", ".pt") or not out.parent.is_dir():
            raise ValueError(f"--out must be a .json or a .pt file in a folder that exists, got {out}")
        check_file(out)
        files.check_writable(out)
    cell = Cell(**of_its_dimension(file, given))
    read = read_file(file) if file else None
    loaded = uaftc_lib.load_dataset(cell.dataset, data_home, **cell.table("options"))
    start = read and read.aligned(loaded.vocabulary, loaded.train)
    more = {"vectors": start.matrix} if start else {}
    classifier = cell.classifier(loaded, device, **more)
    click.echo(f"{cell.dataset}, {cell.model}, λ = {cell.lam:g}, seed {cell.seed}: {cell.epochs} epochs", err=True)
    if start:
        click.echo(start.told, err=True)
    started = time.perf_counter()
    run = uaftc_lib.fit(classifier, loaded, cell.training())
    seconds = time.perf_counter() - started
    for name, value in (
        ("dev accuracy", as_percent(run.dev_accuracy)),
        ("test accuracy", as_percent(run.test_accuracy)),
        ("best epoch", f"{run.best_epoch} of {cell.epochs}"),
        ("seconds", f"{seconds:.1f}"),
    ):
        click.echo(f"{name:14}{value}")
    if out:
        told = {"device": device, "seconds": seconds, "vectors": start and start.record}
        keep_run(out, cell, told, run, classifier)


@app.command()
@click.option("--grid", help="A grid by name (table2, quick) or a .toml file.")
@click.option("--dataset", metavar="A,B,...", help="Data sets.")
@click.option("--model", metavar="A,B,...", help=f"Some of {', '.join(MODELS)}.")
@click.option("--lam", metavar="A,B,...", help="Scaling factors λ.")
@click.option("--seeds", type=int, help="How many: 0, 1, ...")
@click.option("--epochs", type=int, help="Of each run.")
@click.option(
    "--set", "setting", multiple=True, metavar="NAME=VALUE", help="Another setting, e.g. dropout=0.5. Repeatable."
)
@WORKERS
@DASK
@DEVICE
@click.option("--out", type=PATH, help="Results file; default: of a grid of the book its table, else GRID.csv here.")
@click.option("--dry-run", is_flag=True, help="Print what would run, and about how long.")
@DATA_HOME
def sweep(
    grid: str | None,
    setting: tuple[str, ...],
    workers: int,
    dask: str | None,
    device: str,
    out: Path | None,
    dry_run: bool,
    data_home: Path | None,
    **given,
) -> None:
    """Train a grid of cells, each finished one written at once; run again, it goes on where it stopped.

    Options override the grid.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    chosen |= {name: [value_of(part.strip()) for part in chosen[name].split(",")] for name in AXES if name in chosen}
    settings = assignments(setting)
    if twice := chosen.keys() & settings.keys():
        raise ValueError(f"{', '.join(sorted(twice))} is given twice")
    defaults = {name: getattr(Cell, name) for name in AXES}
    cells = cells_of(defaults if grid is None else load_grid(grid), **chosen, **settings)
    check_workers(workers, dask)
    if out:
        check_file(out)
    from uaftc_lib.experiments import sweep as sweeps

    folder = uaftc_lib.results_folder() if grid in stored.grid_names() else Path()
    out = out or folder / f"{Path(grid or 'sweep').stem}.csv"
    if dry_run:
        sweeps.check_sweep(out, workers, dask, device)
        told = sweeps.estimate(cells, out, device)
        click.echo(told.to_string(index=False, formatters={"hours": "{:.2f}".format}))
        open_ = told["runs"].sum() - told["finished"].sum()
        click.echo(
            f"{told['cells'].sum()} cells, {told['runs'].sum()} runs, {open_} of them to do: "
            f"about {told['hours'].sum() / workers:.1f} hours with {workers} workers; results: {out}"
        )
        return
    finished = sweeps.sweep(cells, out, workers, dask, device, data_home)
    lost = int(finished["best_epoch"].isna().sum())
    click.echo(f"{len(finished)} runs in {out}" + (f", {lost} of them diverged: no mean takes these" if lost else ""))


@app.command(params=options_of(Settings))
@click.argument("file", metavar="FILE", type=PATH)
@click.option("--text", required=True, help="Column of the texts.")
@click.option("--label", required=True, help="Column of the classes.")
@click.option("--out", type=PATH, required=True, help="Folder for the report.")
@click.option("--group", help="Column: texts of one group (author, customer) stay on one side of every split.")
@click.option("--split", help="Column: texts marked test are the unseen ones, those marked train are trained on.")
@click.option("--time", help="Column of dates or numbers: the latest fifth of the texts are the unseen ones.")
@click.option("--compare", help="Column of groups or times: which words drive a class in one more than in another.")
@click.option("--no-texts", is_flag=True, help="Write no text of the file into the report, and no row's words.")
@click.option("--save", type=PATH, metavar="FOLDER", help="Keep the models in a folder, for uaftc ask.")
@click.option("--all-words", is_flag=True, help="Write every word of two texts or more into words.csv.")
@click.option("--encoding", default="utf-8", help="Of the file, if it is not UTF-8, e.g. cp1252.")
@click.option("--quiet", is_flag=True, help="Print nothing but what must be seen ('take care'), and that to stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print report.json, in UTF-8, and nothing else.")
def explain(
    file: Path,
    text: str,
    label: str,
    out: Path,
    group: str | None,
    split: str | None,
    time: str | None,
    compare: str | None,
    all_words: bool,
    no_texts: bool,
    save: Path | None,
    encoding: str,
    quiet: bool,
    as_json: bool,
    **given,
) -> None:
    """Train on a file of your own, and report which words drive which class."""
    try:
        settings = Settings(**of_its_dimension(given["vectors"], given))
        check_folder(out)
        check_request(file, Columns(text, label, group, split, time, compare), encoding)
        columns = {"group": group, "split": split, "time": time, "compare": compare}
        kept = {"all_words": all_words, "no_texts": no_texts, "save": save, "progress": not quiet}
        report = explain_file(file, text, label, out, settings, encoding, **columns, **kept)
    except KeyboardInterrupt:
        click.echo("uaftc: stopped; nothing was written", err=True)
        raise click.exceptions.Exit(130) from None
    from uaftc_lib.report.write import terminal_lines

    if as_json:
        return click.echo((out / "report.json").read_bytes(), nl=False)
    lines = [*terminal_lines(report, out), *[f"models in     {save}; ask them: uaftc ask {save} TEXT"] * bool(save)]
    for line in lines[: len(report["loud"])] if quiet else lines:
        click.echo(line, err=quiet)


@app.command()
@click.argument("folder", type=PATH)
@click.argument("text", required=False)
@click.option("--file", type=PATH, help="A file that is one text.")
@click.option(
    "--rows", type=PATH, metavar="FILE", help="A file as explain reads it, a text a row; the answers are CSV."
)
@click.option("--text", "column", help="Column of the texts of --rows; default: as in the file that was explained.")
@click.option("--encoding", default="utf-8", help="Of the file, if it is not UTF-8.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; of --rows an object a line.")
def ask(
    folder: Path,
    text: str | None,
    file: Path | None,
    rows: Path | None,
    column: str | None,
    encoding: str,
    as_json: bool,
) -> None:
    """What the models that explain --save kept in FOLDER answer about a TEXT; - reads it from standard input."""
    if sum(each is not None for each in (text, file, rows)) != 1:
        raise ValueError("give one of: a text in quotation marks, - (standard input), --file FILE, --rows FILE")
    if column is not None and rows is None:
        raise ValueError("--text names a column of --rows")
    from uaftc_lib.report import ask as asking

    model = asking.load_saved(folder)
    if rows is not None:
        lines = asking.rows_answered(model, rows, column or model.column, encoding, as_json)
    else:
        whole = text if text not in (None, "-") else asking.text_of(file or Path("-"), encoding)
        answer = asking.ask(model, [whole])[0]
        lines = [json.dumps(answer, ensure_ascii=False)] if as_json else asking.lines_of(model, answer)
    for line in lines:
        click.echo(line)


explain.help += f"\n\n{limits()}\n\nA sample is docs/emotions.csv of a clone; chapter 7 of the book shows its report."
explain.params.sort(key=lambda option: not option.required)  # what must be given is told first


if find_spec("uaftc_book"):  # in a checkout the book's commands join these
    with stoppable():
        import_module("uaftc_book.cli")
