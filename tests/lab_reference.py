"""What PyTorch finds of the lab, for its pages to hold their own numbers against: `python tests/lab_reference.py`."""

import json
from importlib import resources

import numpy as np
import torch

from uaftc_book.lab import parity

STATES = ({}, {"lam": 100})  # that every page can check
TYPES = parity.NEUTRAL_TYPES + 2 * parity.POLARITY_TYPES


def sums(scores: torch.Tensor, count: int = 8) -> list[float]:
    """Sums of the types' scores with random signs: a page cannot carry a million scores, but eight such sums.

    The mean square of such a sum is the sum of squares, so the difference of two runs' sums estimates the distance
    of all their scores at once.
    """
    values = scores[:TYPES].numpy()
    bits = [parity.draw(parity.stream_key(k, "sign"), np.arange(len(values))) >> 31 for k in range(count)]
    return [float(np.where(one, values, -values).sum()) for one in bits]


def epoch_row(moment: parity.Epoch) -> dict:
    """One epoch as the page is held against it. loss: None before training; the scores: their :func:`sums`."""
    scores = moment.model.token_scores()
    loss = moment.loss if moment.epoch else None
    return {"loss": loss, "attention": sums(scores.attention), "polarity": sums(scores.polarity)}


def reference() -> list[dict]:
    """What PyTorch finds at every epoch of some states."""
    made = []
    for state in STATES:
        rows = [epoch_row(moment) for moment in parity.train(state)]
        made.append({"state": state} | {name: [one[name] for one in rows] for name in rows[0]})
    return made


if __name__ == "__main__":
    torch.set_num_threads(1)
    (resources.files("uaftc_book.lab") / "reference.json").write_text(json.dumps(reference()) + "\n", encoding="utf-8")
