"""The book's commands, which join ``uaftc`` where the book is: tables, scorecard, run, book, transformer."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

import uaftc_lib
from uaftc_book import choices, contents
from uaftc_book.parameters import check_given
from uaftc_book.same_sums import SAME_SUMS
from uaftc_book.verdicts import WORDS
from uaftc_lib import checks, files
from uaftc_lib.cli import DASK, WORKERS, app
from uaftc_lib.cli.options import FOLDER, PATH, parameters_from
from uaftc_lib.experiments import tables as stored
from uaftc_lib.experiments.cells import check_file, check_workers
from uaftc_lib.extras import needs


@app.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--make", is_flag=True, help="Compute the rows that are missing.")
@click.option("--out", type=PATH, help="Folder: make the tables anew there, and compare.")
@click.option("--minutes", type=float, help="With --out: the quickest jobs that these hold, each variant's first.")
@WORKERS
@DASK
def tables(
    names: tuple[str, ...], make: bool, out: Path | None, minutes: float | None, workers: int, dask: str | None
) -> None:
    """List the stored tables; complete them; or make them anew and compare with what is stored.

    Sums come out the same on every processor, as in the book. A line tells how much of a table is there, the file that
    makes it, by a function of its name, and what it holds.
    """
    for name in names:
        checks.one_of("table", name, stored.table_names(contents.FOLDER))
    check_workers(workers, dask)
    if make or out:
        stored.check_made_here(names)
    if minutes is not None:
        checks.real_number("minutes", minutes)
        if not out:
            raise ValueError("--minutes goes with --out, the folder where tables are made anew")
    if out:
        stored.check_remade(out)
    os.environ.update(SAME_SUMS)  # before numpy and torch are imported
    contents.load_chapters()  # where the experiments stand
    if out:
        lines = stored.remake(names, out, workers, dask, minutes)
    elif make:
        lines = stored.complete(names, workers, dask)
    else:
        lines = (
            f"{table.name:20} {table.kind:10} {table.done:5} of {table.jobs:5} jobs {table.rows:6} rows "
            f"{table.seconds / 60:7.1f} min  {table.maker}  {table.about}".rstrip()
            for table in stored.listing(names)
        )
    for line in lines:
        click.echo(line)


@app.command()
@click.option("--verdict", help="Only claims with this verdict, e.g. 'does not hold'.")
@click.option("--out", type=PATH, metavar="FILE.csv", help="Write every measured case.")
def scorecard(verdict: str | None, out: Path | None) -> None:
    """What the paper says, and what was measured: the verdict on every claim, from the stored results."""
    if verdict not in (None, *WORDS):
        raise ValueError(f"no verdict {verdict!r}; there are {', '.join(WORDS)}")
    if out and not out.parent.is_dir():
        raise ValueError(f"the folder of --out {out} does not exist")
    if out:
        check_file(out)
    uaftc_lib.results_folder(existing=True)  # without one there is nothing to judge
    from uaftc_book import cards, claims

    judged = claims.judge_all()
    for one in judged:
        if verdict in (None, one.verdict):
            click.echo(f"{one.claim.section:4} {one.claim.name}: {one.verdict} ({one.tally}): {one.claim.said}")
    click.echo(cards.headline(judged))
    if out:
        files.write(out, claims.scorecard(judged).to_csv(index=False))
        click.echo(f"{'written to':14}{out}")


@app.command(context_settings={"ignore_unknown_options": True})
@click.argument("notebook", metavar="NOTEBOOK")
@click.argument("words", metavar="[-p NAME VALUE]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--out", type=PATH, help="The executed copy; default: out_NOTEBOOK.ipynb.")
def run(notebook: str, words: tuple[str, ...], out: Path | None) -> None:
    """Execute a chapter again, e.g. uaftc run 06_accuracy -p lam 50."""
    with needs("running a chapter"):
        from uaftc_book.publish import CHECKOUT, chapters, kernel_options, parameters_of, read_published

    if notebook not in chapters():
        known = ", ".join(chapters()) or "none: the library runs outside a checkout of the book"
        raise ValueError(f"no chapter {notebook!r}; there are {known}")
    if (executed := read_published(notebook)) is None:
        raise ValueError(f"{notebook} was never executed here: uaftc book does that")
    defaults = parameters_of(executed)
    given = check_given(notebook, parameters_from(list(words)), defaults, choices.allowed(notebook))
    choices.check_together(notebook, defaults | given)
    out = out or Path(f"out_{notebook}.ipynb")
    if not out.parent.is_dir():
        raise ValueError(f"the folder of --out {out} does not exist")
    check_file(out)
    with needs("running a chapter"):
        import papermill

    try:
        papermill.execute_notebook(CHECKOUT / "book" / f"{notebook}.ipynb", out, given, **kernel_options())
    except papermill.PapermillExecutionError as error:
        where = f"{notebook}, cell [{error.exec_count}]"
        raise ValueError(f"{where}: {error.ename}: {error.evalue} (see {out})") from None
    click.echo(f"executed with {given or 'its own parameters'}: {out}")


@app.command()
@click.option("--forget", is_flag=True, help="Drop the keys first: execute every notebook.")
@click.option("--again", multiple=True, metavar="CHAPTER", help="Execute this one, and keep its outputs. Repeatable.")
@click.option("--strict", is_flag=True, help="Build all pages anew; fail if one shows an older run.")
def book(forget: bool, again: tuple[str, ...], strict: bool) -> None:
    """Bring the executed notebooks up to date, build the pages, say where to look."""
    with needs("making the book"):
        from uaftc_book.publish import publish

    publish(forget, strict, again)


@app.command()
@click.option("--data-home", type=FOLDER, help="As of `uaftc data`.")
def transformer(data_home: Path | None) -> None:
    """Train the book's own transformer, once, or say where it is and what it is.

    It tells masked words of those IMDB reviews that no split of the book holds.
    """
    from uaftc_book.transformers.masked_language_model import own_transformer

    folder = own_transformer(data_home)
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    sizes, held, alone = about["sizes"], about["held out"], about["unigram"]
    click.echo(f"{folder}: {sizes['layers']} layers of {sizes['dimension']}, {about['parameters']:,} parameters")
    click.echo(
        f"made of {about['words']:,} words of {about['reviews']['unused']:,} reviews that no split holds, "
        f"{sizes['steps']:,} steps of {sizes['read']:,} pieces, in {about['seconds'] / 60:.0f} minutes"
    )
    click.echo(
        f"masked pieces of {held['reviews']} of these reviews, kept out of training: "
        f"{100 * held['right']:.1f} % told rightly, loss {held['loss']:.2f} nats; "
        f"by frequency alone {100 * alone['right']:.1f} %, {alone['loss']:.2f} nats"
    )
