"""π, ρ, the closed-form gradients, the terms A to F of the score updates, and the laws they imply."""

from uaftc_lib.dynamics.laws import Band, admissible_band, conserved, invariants
from uaftc_lib.dynamics.terms import (
    AttentionUpdate,
    PolarityUpdate,
    TokenSums,
    attention_update,
    gradients,
    kind,
    polarity_update,
    sums_of_scores,
    token_sums,
)

__all__ = [
    "AttentionUpdate",
    "Band",
    "PolarityUpdate",
    "TokenSums",
    "admissible_band",
    "attention_update",
    "conserved",
    "gradients",
    "invariants",
    "kind",
    "polarity_update",
    "sums_of_scores",
    "token_sums",
]
