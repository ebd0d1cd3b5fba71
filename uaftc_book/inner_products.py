"""Inner products of embeddings, V and W along gradient flow: their matrix, and how those of V and W grow."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.dynamics.laws import family
from uaftc_lib.dynamics.terms import residual
from uaftc_lib.models import AttentionClassifier, softmax_by_instance, sum_by_instance


def saddle_direction(corpus: Corpus, types: int) -> Float[Tensor, "types"]:
    """π₀(w) = ½ Σ_t y n_tw / length_t: π where all attention is equal and all polarity is zero."""
    share = (corpus.signs.double() / (2 * corpus.lengths))[corpus.instance_of]
    return sum_by_instance(share, corpus.tokens, types)


@torch.no_grad()
def growing_vector(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "d"]:
    """W₀ + Eᵀπ₀/‖π₀‖, twice the initial part that grows: W(τ) = W₀ cosh κτ + (Eᵀπ₀/‖π₀‖) sinh κτ, κ = ‖π₀‖/m."""
    direction = saddle_direction(corpus, len(model.embedding)).to(model.W)
    return model.W + model.embedding.T @ direction / direction.norm()


def gram(model: AttentionClassifier) -> Float[Tensor, "rows rows"]:
    """G = XXᵀ of X = [E; V; W], with a row for each type, for V, and for W (K classes: each W_k).

    Raises
    ------
    ValueError
        For models other than DP.
    """
    if dynamics.kind(model) != "DP":
        raise ValueError(f"the Gram matrix closes for DP alone, this model is {dynamics.kind(model)}")
    X = torch.cat([model.embedding, model.V[None], model.W.reshape(len(model.V), -1).T]).detach()
    return X @ X.T


@torch.no_grad()
def vector_laws(model: AttentionClassifier, corpus: Corpus) -> dict[str, Float[Tensor, "..."]]:
    """d(V·W)/dτ, d‖V‖²/dτ and d‖W‖²/dτ from attention statistics of the instances.

    With E, Var and Cov taken under the weights α of an instance and r = yβ:

        d(V·W)/dτ = (1/m) Σ_t r [Var(s)/λ + λ Mean(a)]  DP, DP-A, and DP-L, of states instead of embeddings
        d‖V‖²/dτ  = (2/m) Σ_t r Cov(a, s)               these, AD, and two tables
        d‖W‖²/dτ  = (2/m) Σ_t r s                       these, AD, and two tables

    The first needs keys and values that are the same vectors; it is left out for AD and two tables. K classes: r has
    K entries, V·W and ‖W‖² become vectors (each W_k), Var(s) r becomes Cov(s) r, and Cov(a, s)·r is summed
    over classes.

    Raises
    ------
    ValueError
        For structured attention.
    """
    which = family(model)
    if model.attention == "structured":
        raise ValueError("these laws are for one attention distribution, structured attention has several")
    out = model(corpus)
    instance_of, m = corpus.instance_of, len(corpus)
    alpha = softmax_by_instance(out.scores, instance_of, m).unsqueeze(1)
    s_j = out.token_polarity.reshape(len(alpha), -1)
    s, a = out.polarity.reshape(m, -1), out.scores.unsqueeze(1)
    r = residual(s, corpus)
    mean_a = sum_by_instance(alpha * a, instance_of, m)
    centred = s_j - s[instance_of]
    pulled = alpha * (centred * r[instance_of]).sum(1, keepdim=True)
    growth_VW = (pulled * centred).sum(0) / model.lam + model.lam * (r * mean_a).sum(0)
    one_vector = model.attention == "dot" and which != "separate"
    laws = {
        **({"V·W": growth_VW / m} if one_vector else {}),
        "‖V‖²": 2 * (pulled * (a - mean_a[instance_of])).sum() / m,
        "‖W‖²": 2 * (r * s).sum(0) / m,
    }
    return {name: law.squeeze() for name, law in laws.items()} if model.binary else laws
