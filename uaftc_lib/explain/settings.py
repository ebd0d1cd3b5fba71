"""How a file of the reader's own is trained on."""

from __future__ import annotations

from dataclasses import dataclass

from uaftc_lib import checks
from uaftc_lib.models import ENCODERS
from uaftc_lib.training import TrainingConfig

LEAST = 0.1  # sure influence of a listed word, as a share of the leading word's
ENOUGH_TEST = 2000  # test instances that suffice for statistics of words


@dataclass(frozen=True)
class Settings:
    """How ``uaftc explain`` trains. epochs None: 30 for small files, down to 5 for a million rows.

    Less learning and more dropout than the paper's: as accurate on its sentences, and far better calibrated.
    """

    lam: float = 10.0
    dimension: int = 100
    encoder: str = "none"
    seeds: int = 5
    epochs: int | None = None
    learning_rate: float = 0.01
    dropout: float = 0.5
    seed: int = 0
    replicates: int = 200

    def __post_init__(self):
        checks.number("the scaling factor lam", self.lam, positive=True)
        checks.one_of("encoder", self.encoder, ENCODERS)
        checks.whole("seed", self.seed)
        checks.number("learning_rate", self.learning_rate, positive=True)
        checks.share("dropout", self.dropout, whole_allowed=False)
        for name in ("dimension", "seeds", "replicates", "epochs"):
            if name != "epochs" or self.epochs is not None:
                checks.whole(name, getattr(self, name), 1)

    def training(self, rows: int, seed: int) -> TrainingConfig:
        """Small files are read more often and in smaller batches, or there would be too few steps."""
        return TrainingConfig(
            learning_rate=self.learning_rate,
            dropout=self.dropout,
            batch_size=max(8, min(100, rows // 100)),
            epochs=self.epochs or max(5, min(30, 2_000_000 // rows)),
            seed=seed,
        )
