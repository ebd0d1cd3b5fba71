"""How the scores move: π, ρ, the closed-form gradients, and the terms A to F of the score updates.

Everything follows from two sums per token type. With r = yβ (binary, β = σ(−ys)) or r = −p̂ = 1_label − p
(K classes), both −∂ℓ^(t)/∂s^(t), and h the vectors that W reads:

    π(w) = Σ rα  (Eq 16),    ρ(w) = Σ α r·(s_w − s^(t))  (Eq 20),    sums over all occurrences of w,

    −∂ℓ/∂s_w = π(w)/m,    −∂ℓ/∂a_w = ρ(w)/m.

The cost is O(tokens + types·d), times the number of classes; with additive attention O(tokens + types·d²).
τ is the time of gradient flow, dz/dτ = −∂ℓ/∂z (Eq 8); ℓ is the mean loss over the m instances of a corpus.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, SeparateTables, departure, softmax_by_instance, sum_by_instance
from uaftc_lib.settings import BY_TYPE


class TokenSums(NamedTuple):
    """π, "types" (K classes: "types classes", one π for each class), and ρ, always "types"."""

    pi: Float[Tensor, "types ..."]
    rho: Float[Tensor, "types"]


class PolarityUpdate(NamedTuple):
    """The terms of ds_e/dτ, "types" or "types classes"; see :func:`polarity_update`."""

    A: Float[Tensor, "types ..."]
    B: Float[Tensor, "types ..."]
    C: Float[Tensor, "types ..."]
    M_pi: Float[Tensor, "types ..."] | None = None
    M_rho: Float[Tensor, "types ..."] | None = None

    @property
    def total(self) -> Float[Tensor, "types ..."]:
        """ds_e/dτ, the sum of the terms."""
        return sum(term for term in self if term is not None)


class AttentionUpdate(NamedTuple):
    """The terms of da_e/dτ, "types"; see :func:`attention_update`."""

    D: Float[Tensor, "types"]
    E: Float[Tensor, "types"]
    F: Float[Tensor, "types"]
    M_pi: Float[Tensor, "types"] | None = None
    M_rho: Float[Tensor, "types"] | None = None

    @property
    def total(self) -> Float[Tensor, "types"]:
        """da_e/dτ, the sum of the terms."""
        return sum(term for term in self if term is not None)


def kind(model: AttentionClassifier) -> str:
    """Which closed forms apply: "DP", "DP-A", "AD" or "separate" (two tables).

    Raises
    ------
    ValueError
        For a recurrent encoder, whose states belong to occurrences and not to token types, for structured
        attention, and for a model that may compute something else (:func:`uaftc_lib.models.departure`).
    """
    names = {tuple(of.values()): name for name, of in BY_TYPE.items()}
    names["separate", "dot"] = "separate"
    if (model.encoder, model.attention) not in names:
        raise ValueError(
            f"the closed forms are for DP, DP-A and AD, this model has encoder={model.encoder!r} and "
            f"attention={model.attention!r}; use autograd on model.loss(corpus)"
        )
    if reason := departure(model, AttentionClassifier, SeparateTables):
        raise ValueError(f"the closed forms are those of DP, DP-A and AD: {reason}; use autograd on model.loss(corpus)")
    return names[model.encoder, model.attention]


def residual(s: Float[Tensor, "instances columns"], corpus: Corpus) -> Float[Tensor, "instances columns"]:
    """r = −∂ℓ^(t)/∂s^(t): of one column yβ, β = σ(−ys); of one for each class 1_label − p."""
    if s.shape[1] > 1:
        return functional.one_hot(corpus.labels, s.shape[1]) - s.softmax(1)
    y = corpus.signs.to(s).unsqueeze(1)
    return y * torch.sigmoid(-y * s)


def sums_of_scores(
    attention: Float[Tensor, "types"], polarity: Float[Tensor, "types ..."], corpus: Corpus
) -> TokenSums:
    """π and ρ from the scores a_e and s_e alone; s with a column for each class means softmax."""
    return sums_and_polarity(attention, polarity, corpus)[0]


def sums_and_polarity(
    attention: Float[Tensor, "types"], polarity: Float[Tensor, "types ..."], corpus: Corpus
) -> tuple[TokenSums, Float[Tensor, "instances ..."]]:
    """:func:`sums_of_scores`, and s^(t) which comes along for nothing."""
    corpus.check_filled()
    instance_of, instances, types = corpus.instance_of, len(corpus), len(attention)
    alpha = softmax_by_instance(attention[corpus.tokens], instance_of, instances).unsqueeze(1)
    columns = polarity if polarity.ndim == 2 else polarity.unsqueeze(1)
    s_j = columns[corpus.tokens]
    s = sum_by_instance(alpha * s_j, instance_of, instances)
    pull = alpha * residual(s, corpus)[instance_of]
    pi = sum_by_instance(pull, corpus.tokens, types)
    rho = sum_by_instance((pull * (s_j - s[instance_of])).sum(1), corpus.tokens, types)
    if polarity.ndim == 1:
        pi, s = pi.squeeze(1), s.squeeze(1)
    return TokenSums(pi, rho), s


@torch.no_grad()
def token_sums(model: AttentionClassifier, corpus: Corpus) -> TokenSums:
    """π (Eq 16) and ρ (Eq 20) of every token type; 0 for types that do not occur.

    K classes: π(w) = −Σ α p̂, "types classes", and ρ(w) = −Σ α p̂·(s_w − s), "types" (Eq 82, 83).
    Σ_w ρ(w) = 0 always; Σ_w π(w) = Σ_t r^(t).

    Raises
    ------
    ValueError
        If model and corpus do not fit, the corpus is empty, or the model has a recurrent encoder.
    """
    kind(model)
    model.check(corpus)
    a, s, _ = model.score(model.embedding)
    return sums_of_scores(a, s, corpus)


class Parts(NamedTuple):
    """What the closed forms are made of; π, W always with a dimension of classes."""

    kind: str
    m: int
    lam: float
    pi: Tensor  # types K
    rho: Tensor  # types
    E: Tensor  # types d: the table (separate tables: the values)
    H: Tensor  # types d: what W reads
    keys: Tensor  # types d: a = keys·V/λ
    V: Tensor
    W: Tensor  # d K
    V_seen: Tensor  # what embeddings see of V and W (AD: of W alone, V_seen is for small x_e)
    W_seen: Tensor
    M: Tensor | None
    slope: Tensor | None  # types d: diagonal of D_e = diag(1 − tanh² x_e)


def closed_form_parts(model: AttentionClassifier, E: Float[Tensor, "types d"], sums: TokenSums, m: int) -> Parts:
    """The parts for some rows of the table, with the sums of their types over m instances."""
    which, V, W = kind(model), model.V.detach(), model.W.detach().reshape(len(model.V), -1)
    M = model.M.detach() if which in ("DP-A", "AD") else None
    H = keys = E
    slope = None
    if which == "DP-A":
        H = keys = E @ M.T
    elif which == "AD":
        keys = torch.tanh(E @ M.T)
        slope = 1 - keys**2
    elif which == "separate":
        E = H = model.values.detach()
        keys = model.keys.detach()
    V_seen, W_seen = (x.detach().reshape(len(x), -1) for x in model.seen_vectors())
    pi = sums.pi.reshape(len(E), -1)
    return Parts(which, m, model.lam, pi, sums.rho, E, H, keys, V, W, V_seen.squeeze(1), W_seen, M, slope)


def _parts(model: AttentionClassifier, corpus: Corpus) -> Parts:
    return closed_form_parts(model, model.embedding.detach(), token_sums(model, corpus), len(corpus))


def gradients_by_cause(p: Parts) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What π and what ρ make of the gradients of the mean loss: of E those rows', of W a column for each class."""
    by_pi, by_rho = -p.pi / p.m, -p.rho / (p.m * p.lam)
    of_pi = {"W": p.H.T @ by_pi, "embedding": by_pi @ p.W_seen.T}
    of_rho = {"V": p.keys.T @ by_rho, "embedding": torch.outer(by_rho, p.V_seen)}
    if p.kind == "separate":
        columns = p.E.shape[1]
        of_pi["embedding"] = functional.pad(of_pi["embedding"], (0, columns))
        of_rho["embedding"] = functional.pad(of_rho["embedding"], (columns, 0))
    elif p.kind == "AD":
        by_x = by_rho.unsqueeze(1) * p.slope * p.V
        of_rho |= {"embedding": by_x @ p.M, "M": by_x.T @ p.E}
    elif p.kind == "DP-A":
        of_pi["M"] = p.W @ (by_pi.T @ p.E)
        of_rho["M"] = torch.outer(p.V, by_rho @ p.E)
    return of_pi, of_rho


def gradients_of(p: Parts) -> dict[str, Tensor]:
    """The gradients of the mean loss by parameter: of E those rows', of W a column for each class."""
    of_pi, of_rho = gradients_by_cause(p)
    return of_pi | of_rho | {name: of_pi[name] + of_rho[name] for name in of_pi if name in of_rho}


@torch.no_grad()
def gradients(model: AttentionClassifier, corpus: Corpus) -> dict[str, Tensor]:
    """Closed-form gradients of the mean loss, by parameter name.

    DP: Eq 13, 14, 23 (also 37, 41, 42), that is ∂ℓ/∂E = −(πWᵀ + ρVᵀ/λ)/m, ∂ℓ/∂W = −Eᵀπ/m and
    ∂ℓ/∂V = −Eᵀρ/(mλ). DP-A: Eq 59 to 61. AD: Eq 66 to 68 summed over occurrences. K classes: Eq 78 to 80.

    Raises
    ------
    ValueError
        As :func:`token_sums`.
    """
    found = gradients_of(_parts(model, corpus))
    found["W"] = found["W"].reshape(model.W.shape)
    return found


@torch.no_grad()
def polarity_update(model: AttentionClassifier, corpus: Corpus) -> PolarityUpdate:
    """ds_e/dτ by its causes (Eq 19; K classes Eq 82; DP-A Eq 63; AD Eq 69).

    ====== ============================================ =========================================
    term   DP                                           elsewhere
    ====== ============================================ =========================================
    A      ρ(e) V·W / (mλ)                              DP-A: V' = MᵀV and W' = MᵀW for V and W;
                                                        AD: ρ(e) (MᵀD_e V)·W / (mλ); two tables: 0
    B      π(e) ‖W‖² / m                                DP-A: ‖W'‖²; K classes: WᵀW π(e) / m
    C      Σ_w (h_e·h_w) π(w) / m                       DP-A: h = M e, else h = e
    M_pi   none                                         DP-A: ‖W‖² Σ_w (e·e_w) π(w) / m
    M_rho  none                                         DP-A: V·W Σ_w (e·e_w) ρ(w) / (mλ)
    ====== ============================================ =========================================

    A and B come from the movement of e, C from that of W, M_pi and M_rho from that of M.

    Raises
    ------
    ValueError
        As :func:`token_sums`.
    """
    p = _parts(model, corpus)
    by_pi, by_rho = p.pi / p.m, (p.rho / (p.m * p.lam)).unsqueeze(1)
    if p.kind == "AD":
        A = by_rho * (p.slope @ (p.V.unsqueeze(1) * (p.M @ p.W)))
    else:
        A = by_rho * (p.V_seen @ p.W_seen) * (p.kind != "separate")
    terms = [A, by_pi @ (p.W_seen.T @ p.W_seen), p.H @ (p.H.T @ by_pi)]
    if p.kind == "DP-A":
        terms += [p.E @ (p.E.T @ by_pi) @ (p.W.T @ p.W), (p.E @ (p.E.T @ by_rho)) * (p.V @ p.W)]
    return PolarityUpdate(*(term.reshape(len(term), *model.W.shape[1:]) for term in terms))


@torch.no_grad()
def attention_update(model: AttentionClassifier, corpus: Corpus) -> AttentionUpdate:
    """da_e/dτ by its causes (Eq 27; K classes Eq 83; DP-A Eq 64; AD Eq 70, of which Eq 71 is the
    linearisation for small x_e).

    ====== ============================== ====================================================
    term   DP                             elsewhere
    ====== ============================== ====================================================
    D      V·W π(e) / (mλ)                DP-A: V'·W'; AD: (MᵀD_e V)·W; K classes: (WᵀV)·π(e);
                                          two tables: 0
    E      ‖V‖² ρ(e) / (mλ²)              DP-A: ‖V'‖²; AD: ‖MᵀD_e V‖²
    F      Σ_w (k_e·k_w) ρ(w) / (mλ²)     k = e; DP-A: k = M e; AD: k = tanh(M e); two tables: the keys
    M_pi   none                           DP-A: V·W Σ_w (e·e_w) π(w) / (mλ); AD: none, s does not read M
    M_rho  none                           DP-A: ‖V‖² Σ_w (e·e_w) ρ(w) / (mλ²);
                                          AD: Σ_w (e·e_w) (V·D_e D_w V) ρ(w) / (mλ²)
    ====== ============================== ====================================================

    D and E come from the movement of e, F from that of V, M_pi and M_rho from that of M.

    Raises
    ------
    ValueError
        As :func:`token_sums`.
    """
    p = _parts(model, corpus)
    by_pi, by_rho = p.pi / (p.m * p.lam), p.rho / (p.m * p.lam**2)
    F = p.keys @ (p.keys.T @ by_rho)
    if p.kind == "AD":
        at_x = p.slope * p.V
        D = (by_pi * (at_x @ (p.M @ p.W))).sum(1)
        M_rho = (at_x * (p.E @ ((by_rho.unsqueeze(1) * at_x).T @ p.E).T)).sum(1)
        return AttentionUpdate(D, by_rho * (at_x @ p.M).square().sum(1), F, None, M_rho)
    D = by_pi @ (p.W_seen.T @ p.V_seen) * (p.kind != "separate")
    E = by_rho * p.V_seen.square().sum()
    if p.kind != "DP-A":
        return AttentionUpdate(D, E, F)
    M_pi = (p.E @ (p.E.T @ by_pi)) @ (p.W.T @ p.V)
    M_rho = p.E @ (p.E.T @ by_rho) * p.V.square().sum()
    return AttentionUpdate(D, E, F, M_pi, M_rho)
