"""Why attention agrees with an effect: how far it spreads within a text, beside what else makes the effect.

The effect of a word is its attention times an effect per attention: log effect_j = log α_j + log c_j. If within a text
the two logarithms are about normal, with deviations sd_α, sd_c and correlation κ, then Kendall's τ of attention and
effect is

    τ = (2/π) arcsin r,   r = (sd_α + κ sd_c) / √(sd_α² + 2κ sd_α sd_c + sd_c²),

(2/π) arctan(sd_α/sd_c) if κ = 0. As log α_j is a_j less a constant, sd_α is the spread of scores, which λ divides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from uaftc_lib.corpus import Corpus


class Spread(NamedTuple):
    """Within a text, as a median over texts: deviations of log α and of log effect/α, their correlation, τ foretold."""

    attention: float
    per_attention: float
    correlation: float
    tau: float


def spread(alpha: Float[np.ndarray, "positions"], effect: Float[np.ndarray, "positions"], corpus: Corpus) -> Spread:
    """Of attention and the size of an effect; words without either, and unread ones (nan), are passed over.

    τ is foretold of each text of three such words or more, and averaged.
    """
    text = corpus.instance_of.numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = pd.DataFrame({"alpha": np.log(alpha), "rest": np.log(abs(effect)) - np.log(alpha)})
    logs = logs[np.isfinite(logs).all(axis=1)]
    grouped = logs.groupby(text[logs.index])
    centred = logs - grouped.transform("mean")
    centred = centred.assign(product=centred.alpha * centred.rest, alpha=centred.alpha**2, rest=centred.rest**2)
    sums = centred.groupby(text[logs.index]).sum()[grouped.size() > 2]
    size = grouped.size()[grouped.size() > 2]
    of_alpha, of_rest = (np.sqrt(sums[name] / (size - 1)) for name in ("alpha", "rest"))
    both = np.sqrt(sums.alpha + 2 * sums["product"] + sums.rest)
    rho = (sums.alpha + sums["product"]) / (np.sqrt(sums.alpha) * both)
    correlation = sums["product"] / np.sqrt(sums.alpha * sums.rest)
    medians = (float(one.median()) for one in (of_alpha, of_rest, correlation))
    return Spread(*medians, float((2 / np.pi * np.arcsin(rho.clip(-1, 1))).mean()))
