"""How a file of the reader's own is trained on."""

from __future__ import annotations

from dataclasses import dataclass

from uaftc_lib import checks
from uaftc_lib.report.words import Cutter, pattern, way_to_cut
from uaftc_lib.settings import (
    ENCODERS,
    ModelSettings,
    TrainingConfig,
    above_0,
    at_least_1,
    below_1,
    check_fields,
    reworded,
    setting,
)


def one_or_two(name: str, value: object) -> int:
    """1 or 2.

    Raises
    ------
    ValueError
        For anything else.
    """
    if checks.whole(name, value, least=1) > 2:
        raise ValueError(f"{name} is {value}: single words are 1, and pairs of neighbouring ones as well 2")
    return value


@dataclass(frozen=True)
class Settings:
    """How ``uaftc explain`` trains: until three epochs in a row are no better, and for ``epochs`` at most.

    Less learning and more dropout than the paper's: as accurate on its sentences, and far better calibrated.
    """

    lam: float = reworded(ModelSettings, "lam", 10.0, above_0)
    dimension: int = reworded(ModelSettings, "dimension", 100, at_least_1)
    encoder: str = setting("none", "What reads the words first.", choices=ENCODERS)
    epochs: int = setting(500, "At most; training ends when three in a row are no better.", at_least_1)
    learning_rate: float = reworded(TrainingConfig, "learning_rate", 0.01, above_0)
    dropout: float = reworded(TrainingConfig, "dropout", 0.5, below_1)
    seed: int = setting(0, "Of the folds and of the first model.", checks.whole)
    words: str = setting("rule", "How texts are cut: rule, spaces, characters, spacy, spacy:LANGUAGE.", way_to_cut)
    ignore: str | None = setting(None, "A pattern (regular expression): what it matches is no word.", pattern)
    without: str | None = setting(None, "Words, parted by commas, that are left out of every text.")
    ngrams: int = setting(1, "2: pairs of neighbouring words count as words, too.", one_or_two)
    label_sep: str | None = setting(None, "What parts several labels in a cell, e.g. '|'; needs --against-rest.")
    against_rest: str | None = setting(None, "A label that is one class; all rows without it are the other.")
    vectors: str | None = setting(None, "File of word vectors that the embeddings start from.")

    def __post_init__(self):
        check_fields(self)
        if self.ngrams == 2 and self.encoder != "none":
            raise ValueError(f"ngrams 2 needs encoder none: {self.encoder} reads words in their order already")

    def cutter(self) -> Cutter:
        """What cuts texts into words."""
        return Cutter(self.words, self.ignore, self.without.split(",") if self.without else (), self.ngrams)

    def training(self, rows: int, seed: int) -> TrainingConfig:
        """Small files are read more often and in smaller batches, or there would be too few steps."""
        return TrainingConfig(
            learning_rate=self.learning_rate,
            dropout=self.dropout,
            batch_size=max(8, min(100, rows // 100)),
            epochs=self.epochs,
            seed=seed,
        )
