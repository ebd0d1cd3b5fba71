"""Transformers on the command line: a classifier on the states of one, and the book's own."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

import uaftc_lib
from uaftc_book.transformers.described import described
from uaftc_lib import checks
from uaftc_lib.cli.options import PATH
from uaftc_lib.experiments.cells import Cell
from uaftc_lib.settings import TrainingConfig, check_method

if TYPE_CHECKING:
    from uaftc_book.transformers.classifier import TransformerClassifier

FINE_TUNE_RATE = 1e-4
FINE_TUNE = "Train the transformer too, at this learning rate; without a number, 0.0001. --optimizer adam goes with it."


@dataclass(frozen=True)
class OnTransformer:
    """A cell whose classifier pools the states of a transformer; --dimension and --hidden play no part."""

    folder: Path
    fine_tune: float | None
    cell: Cell

    def classifier(self, loaded: uaftc_lib.Dataset, device: str) -> TransformerClassifier:
        """The model before training."""
        from uaftc_book.transformers.classifier import TransformerClassifier

        cell, words, classes = self.cell, loaded.vocabulary, len(loaded.classes)
        given = {"weight_range": cell.weight_range, "seed": cell.seed, "device": device}
        return TransformerClassifier(self.folder, words, cell.lam, classes, frozen=self.fine_tune is None, **given)

    def training(self, classifier: TransformerClassifier) -> TrainingConfig:
        """The cell's, with the learning rate of the transformer's weights."""
        config = self.cell.training()
        if self.fine_tune is None:
            return config
        return replace(config, learning_rates=config.learning_rates | classifier.rates(self.fine_tune))

    @property
    def record(self) -> dict[str, str | float | None]:
        """What a result says of it."""
        return {"folder": str(self.folder), "fine_tune": self.fine_tune}


def asked_for(folder: Path | None, fine_tune: float | None, vectors: Path | None, given: dict) -> OnTransformer | None:
    """What --transformer and --fine-tune ask for; None if nothing.

    Raises
    ------
    ValueError
        If something else says as well what words start from, or that is no folder of a transformer: of this nothing is
        loaded yet, so that a mistake is answered at once.
    """
    if folder is None:
        if fine_tune is not None:
            raise ValueError("--fine-tune goes with --transformer FOLDER, whose weights it trains")
        return None
    if vectors is not None:
        raise ValueError("--transformer and --vectors both say what words start from: give one of them")
    source = click.get_current_context().get_parameter_source
    if typed := [name for name in ("dimension", "hidden") if source(name) is not ParameterSource.DEFAULT]:
        raise ValueError(f"--transformer brings its own sizes: leave out --{typed[0]}")
    cell = Cell(**given)
    if cell.model != "DP":
        raise ValueError(f"--transformer brings its own encoder, under the attention of DP: --model says {cell.model}")
    if fine_tune is not None:
        checks.real_number("--fine-tune, a learning rate,", fine_tune, positive=True)
    check_method(cell.method, "a transformer makes a word's representation depend on its neighbours")
    described(folder)
    return OnTransformer(folder, fine_tune, cell)


def extend(train: click.Command) -> None:
    """Give `uaftc train` the options --transformer and --fine-tune."""
    plain = train.callback

    def extended(transformer: Path | None, fine_tune: float | None, file: Path | None, **given) -> None:
        cell = {name: value for name, value in given.items() if name in Cell.__dataclass_fields__}
        plain(file=file, builder=asked_for(transformer, fine_tune, file, cell), **given)

    train.callback = extended
    train.params += [
        click.Option(
            ["--transformer"], type=PATH, metavar="FOLDER", help="A transformer whose states attention pools."
        ),
        click.Option(
            ["--fine-tune"], type=float, metavar="[RATE]", is_flag=False, flag_value=FINE_TUNE_RATE, help=FINE_TUNE
        ),
    ]


@click.command("transformer")
@click.option("--data-home", type=PATH, help="As of `uaftc data`.")
def own(data_home: Path | None) -> None:
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
