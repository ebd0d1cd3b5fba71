"""What the flow obeys whatever the data: conserved matrices, the growth of V and W, the band of λ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.dynamics.terms import kind, token_sums
from uaftc_lib.models import AttentionClassifier, StructuredClassifier, departure
from uaftc_lib.settings import RECURRENT


class Band(NamedTuple):
    """The λ between which B outweighs A and E outweighs D; see :func:`admissible_band`."""

    lower: Float[Tensor, "cases"]
    upper: Float[Tensor, "cases"]


def family(model: AttentionClassifier) -> str:
    """:func:`uaftc_lib.dynamics.kind`, or "recurrent" for every model with a recurrent encoder.

    Raises
    ------
    ValueError
        As :func:`uaftc_lib.dynamics.kind`, but for recurrent encoders.
    """
    if model.encoder not in RECURRENT:
        return kind(model)
    if reason := departure(model, AttentionClassifier, StructuredClassifier):
        raise ValueError(f"the laws are those of the library's own recurrent models: {reason}; use autograd")
    return "recurrent"


def invariants(which: str, parameters: Mapping[str, Tensor]) -> dict[str, Float[Tensor, "d d"]]:
    """The quadratic forms behind :func:`conserved`, of any set of tensors shaped like the parameters."""
    E, V, W = parameters["embedding"], parameters["V"], parameters["W"]
    if which == "recurrent":
        A = torch.cat([values for name, values in parameters.items() if "weight_ih" in name])
        return {"EᵀE − AᵀA": E.T @ E - A.T @ A}
    VV, WW = torch.outer(V, V), W.reshape(len(V), -1) @ W.reshape(len(V), -1).T
    if which == "DP":
        return {"EᵀE − VVᵀ − WWᵀ": E.T @ E - VV - WW}
    if which == "separate":
        values, keys = E[:, : len(V)], E[:, len(V) :]
        return {"EᵀE − WWᵀ": values.T @ values - WW, "KᵀK − VVᵀ": keys.T @ keys - VV}
    M = parameters["M"]
    if which == "DP-A":
        return {"EᵀE − MᵀM": E.T @ E - M.T @ M, "MMᵀ − VVᵀ − WWᵀ": M @ M.T - VV - WW}
    return {"EᵀE − MᵀM − WWᵀ": E.T @ E - M.T @ M - WW}


@torch.no_grad()
def conserved(model: AttentionClassifier) -> dict[str, Float[Tensor, "..."]]:
    """Matrices that gradient flow leaves unchanged, by formula.

    DP: EᵀE − VVᵀ − WWᵀ. DP-A: EᵀE − MᵀM and MMᵀ − VVᵀ − WWᵀ. AD: EᵀE − MᵀM − WWᵀ (in spite of tanh).
    Two tables: EᵀE − WWᵀ and KᵀK − VVᵀ. Recurrent encoders: EᵀE − AᵀA, where A are the input matrices of all
    gates and both directions, one below the other; V and W read states, and no law of their own ties them to E.
    K classes: W has K columns, and Σ_k W_k is conserved as well.

    Raises
    ------
    ValueError
        For structured attention.
    """
    found = invariants(family(model), {name: parameter.detach() for name, parameter in model.named_parameters()})
    if not model.binary:
        found["Σ_k W_k"] = model.W.detach().sum(1)
    return found


@torch.no_grad()
def admissible_band(model: AttentionClassifier, corpus: Corpus) -> Band:
    """The λ for which A ≪ B and D ≪ E: |V·W|ξ/‖W‖² ≪ λ ≪ ‖V‖²ξ/|V·W| (text after Eq 19 and 27).

    ξ = |ρ(e)/π(e)| of a token type, nan where it does not occur: the mean of s_e − s^(t) over its occurrences, weighted
    by βα, if all of them stand in instances of one class. Otherwise signs cancel in π and ρ: it is no mean then, and as
    large as can be where π(e) is near zero. |A| = |B| and |D| = |E| hold for the type at the two ends all the same.

    Returns
    -------
    Band
        |A| = |B| at ``lower`` and |D| = |E| at ``upper``, at the model's present parameters. Whatever ξ,
        upper/lower = 1/cos²(V, W). DP-A: with V' = MᵀV and W' = MᵀW.

    Raises
    ------
    ValueError
        For more than two classes, for AD and two tables.
    """
    which = kind(model)
    if not model.binary or which not in ("DP", "DP-A"):
        raise ValueError(f"the band is defined for binary DP and DP-A, this model is {which}, {model.W.shape}")
    pi, rho = token_sums(model, corpus)
    distance = (rho / pi).abs()
    V, W = model.seen_vectors()
    overlap = (V @ W).abs()
    return Band(overlap * distance / (W @ W), (V @ V) * distance / overlap)
