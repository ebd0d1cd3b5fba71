"""Which word of each text a context vector comes to choose while E and W are held, and the quadratic programme of that.

Max-margin token selection (Tarzanagh, Li, Zhang and Oymak, NeurIPS 2023; the conditions at second hand). A
*choice* names one word type o of each text. Its vector of greatest margin is V = argmin ½|V|² with
(e_o − e_w)·V ≥ 1 for every other type w of the text; a type that stands in a text several times counts once. With
γ_w = y s_w, a choice is *locally optimal* if every word whose constraint is tight has a smaller γ than the chosen one.
The theorem is local: V must begin in a cone about the direction of such a choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.integrate import solve_ivp
from scipy.optimize import nnls
from scipy.special import expit

from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier

FARTHEST = 1e6  # |V| in units of 1/(mean length of e_o − e_w): beyond it a programme counts as having no solution
AT_ONCE = 200  # constraints that join the working set in a round
TIGHT = 1e-6  # slack of a constraint that counts as tight
SPEED = 1e5  # |dV| of a unit of the curve that a flow is followed along, at most
LARGEST = 300.0  # the logarithm of what is still a number
REST = 1e-3  # |dV/d(log τ)| below which V rests


class Texts(NamedTuple):
    """The types of each text, once each, text by text: the rows that all here is computed over.

    text, type, log_count: "rows"; first: the first row of each text, "texts"; y: "texts"; E, s: of all types.
    """

    text: Int[np.ndarray, "rows"]
    type: Int[np.ndarray, "rows"]
    log_count: Float[np.ndarray, "rows"]
    first: Int[np.ndarray, "texts"]
    y: Float[np.ndarray, "texts"]
    E: Float[np.ndarray, "types d"]
    s: Float[np.ndarray, "types"]

    @property
    def gamma(self) -> Float[np.ndarray, "rows"]:
        """γ = y s of every row."""
        return self.y[self.text] * self.s[self.type]

    def best(self, values: Float[np.ndarray, "rows"]) -> Int[np.ndarray, "texts"]:
        """The row of the largest value of each text, the first of equals."""
        order = np.lexsort((-np.arange(len(values)), values, self.text))
        return order[np.append(self.first[1:], len(values)) - 1]


class Margin(NamedTuple):
    """The solution of a choice's programme, and what certifies it.

    V: "d", nan where there is none; multipliers: of the constraints, "rows" (0 of chosen rows);
    slack: (e_o − e_w)·V − 1, "rows" (inf of chosen rows); error: the greatest violation
    of the conditions of Karush, Kuhn and Tucker.
    """

    V: Float[np.ndarray, "d"]
    multipliers: Float[np.ndarray, "rows"]
    slack: Float[np.ndarray, "rows"]
    error: float

    @property
    def feasible(self) -> bool:
        return bool(np.isfinite(self.V).all())


class Path(NamedTuple):
    """A flow of V: V at each step of the solver, "steps d", the logarithms of time, and whether it came to rest."""

    V: Float[np.ndarray, "steps d"]
    log_times: Float[np.ndarray, "steps"]
    rests: bool


def texts_of(model: AttentionClassifier, corpus: Corpus) -> Texts:
    """What is held while V moves: the model's embeddings and polarity scores, and who stands in which text.

    Raises
    ------
    ValueError
        If the model has an encoder or more than two classes, or corpus and model do not fit.
    """
    model.check(corpus)
    if model.encoder != "none" or model.attention != "dot" or not model.binary:
        raise ValueError(f"a context vector selects words in a binary model DP, not in {model.extra_repr()}")
    E = model.embedding.detach().double().numpy()
    pairs, counts = np.unique(corpus.instance_of.numpy() * len(E) + corpus.tokens.numpy(), return_counts=True)
    text, kind = np.divmod(pairs, len(E))
    first = np.searchsorted(text, np.arange(len(corpus)))
    s = E @ model.W.detach().double().numpy()
    return Texts(text, kind, np.log(counts), first, corpus.signs.double().numpy(), E, s)


def least_distance(
    G: Float[np.ndarray, "constraints d"], least: Float[np.ndarray, "constraints"] | float = 1.0
) -> tuple[Float[np.ndarray, "d"], Float[np.ndarray, "constraints"]]:
    """argmin ½|V|² with G V ≥ ``least`` and its multipliers, by non-negative least squares (Lawson and Hanson's LDP).

    nan where no V is found within :data:`FARTHEST`.
    """
    scale = np.linalg.norm(G, axis=1).mean() or 1.0
    least = np.broadcast_to(least, len(G))
    A = np.vstack([G.T / scale, least])
    u, residual = nnls(A, np.append(np.zeros(G.shape[1]), 1.0), maxiter=50 * A.shape[1])
    rest = 1 - u @ least
    if residual < 1 / FARTHEST or rest <= 0:
        return np.full(G.shape[1], np.nan), np.full(len(G), np.nan)
    mu = u / rest / scale**2
    return G.T @ mu, mu


def max_margin(
    texts: Texts, chosen: Int[np.ndarray, "texts"], without: Bool[np.ndarray, "rows"] | None = None
) -> Margin:
    """The programme of a choice, given as one row of each text; ``without``: rows that ask for nothing.

    Constraints join a working set as they are violated, so that the solver sees few of them at a time.

    Raises
    ------
    ValueError
        If a chosen row does not belong to its text.
    """
    if len(chosen) != len(texts.y) or (texts.text[chosen] != np.arange(len(texts.y))).any():
        raise ValueError("a choice is one row of each text, in the order of the texts")
    others = np.ones(len(texts.text), bool)
    others[chosen] = False
    if without is not None:
        others &= ~without
    rows = np.flatnonzero(others)
    G = texts.E[texts.type[chosen[texts.text[rows]]]] - texts.E[texts.type[rows]]
    V, mu, working = np.zeros(texts.E.shape[1]), np.zeros(len(rows)), np.zeros(0, int)
    while len(rows):
        slack = G @ V - 1
        slack[working] = np.inf
        new = np.argsort(slack)[:AT_ONCE]
        new = new[slack[new] < -1e-9]
        if not len(new):
            break
        working = np.append(working, new)
        V, found = least_distance(G[working])
        if not np.isfinite(V).all():
            break
        mu = np.zeros(len(rows))
        mu[working] = found
        working = working[(found > 0) | (G[working] @ V < 1 + 1e-3)]
    slack, multipliers = np.full(len(texts.text), np.inf), np.zeros(len(texts.text))
    slack[rows], multipliers[rows] = G @ V - 1, mu
    if not len(rows) or not np.isfinite(V).all():
        return Margin(V, multipliers, slack, 0.0 if np.isfinite(V).all() else np.inf)
    size = max(np.linalg.norm(V), 1e-300)
    stationary = np.linalg.norm(V - G.T @ mu) / size
    error = max(0.0, -slack[rows].min(), np.abs(mu * slack[rows]).max() / max(mu.max(), 1e-300), stationary)
    return Margin(V, multipliers, slack, float(error))


def tight_and_better(texts: Texts, chosen: Int[np.ndarray, "texts"], margin: Margin) -> Bool[np.ndarray, "rows"]:
    """The words whose constraint is tight though their γ is not smaller than that of the chosen word.

    The choice is locally optimal if there are none.
    """
    gamma = texts.gamma
    tight = (margin.slack < TIGHT) | (margin.multipliers > 0)
    return tight & (gamma >= gamma[chosen][texts.text])


class Pull(NamedTuple):
    """What V feels at λ = 1, row by row; α and the pull yβ α (s_w − s) are divided by exp(``shift``), lest they vanish.

    Both are 0 in the row of each text with most attention, "top", from which ``difference`` = e_w − e_top is reckoned.
    """

    alpha: Float[np.ndarray, "rows"]
    pull: Float[np.ndarray, "rows"]
    beta: Float[np.ndarray, "texts"]
    difference: Float[np.ndarray, "rows d"]
    shift: float


def pulls(texts: Texts, V: Float[np.ndarray, "d"]) -> Pull:
    """The parts of −∂L/∂V and of its derivative, exact where α has long been rounded to 1.

    Σ_w ρ(w) = 0 holds text by text, so that the pull of the word with most attention is minus that of the others; their
    weights are kept as logarithms.
    """
    a = (texts.E @ V)[texts.type] + texts.log_count
    log_alpha = a - np.logaddexp.reduceat(a, texts.first)[texts.text]
    top = texts.best(a)
    s = texts.s[texts.type]
    above = s - s[top][texts.text]
    total = np.add.reduceat(np.exp(log_alpha) * above, texts.first)
    beta = expit(-texts.y * (total + s[top]))
    log_alpha[top] = -np.inf
    shift = log_alpha.max()
    alpha = np.exp(log_alpha - shift) if np.isfinite(shift) else np.zeros(len(log_alpha))
    pull = alpha * (above - total[texts.text]) * (texts.y * beta)[texts.text]
    return Pull(alpha, pull, beta, texts.E[texts.type] - texts.E[texts.type[top]][texts.text], shift)


def slope(texts: Texts, V: Float[np.ndarray, "d"]) -> tuple[Float[np.ndarray, "d"], float]:
    """−∂L/∂V at λ = 1 (Eq 23), divided by the exponential of the number that stands beside it."""
    now = pulls(texts, V)
    return now.pull @ now.difference / len(texts.y), now.shift


def curvature(texts: Texts, V: Float[np.ndarray, "d"]) -> tuple[Float[np.ndarray, "d d"], float]:
    """The derivative of :func:`slope` by V, "d d", divided in the same way."""
    now = pulls(texts, V)
    mean, pulled = (np.add.reduceat(of[:, None] * now.difference, texts.first) for of in (now.alpha, now.pull))
    # With h = Σ α (s_w − s) e_w: pulled is yβh. All but the first sum is of second order in what top does not have.
    beside = pulled.T @ mean
    own = pulled.T @ (((1 - now.beta) / np.maximum(now.beta, 1e-300))[:, None] * pulled)
    first = now.difference.T @ (now.pull[:, None] * now.difference)
    return (first - np.exp(now.shift) * (beside + beside.T + own)) / len(texts.y), now.shift


def followed(
    force_of: Callable[[np.ndarray, float], np.ndarray],
    slopes_of: Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]],
    stops: Callable[[float, np.ndarray], float],
    start: Float[np.ndarray, "_"],
    end: float,
    **solver: float,
) -> tuple[Float[np.ndarray, "steps _"], Float[np.ndarray, "steps"], bool]:
    """The flow dx/d(log τ) = force from log τ = −5 to ``end``: x and log τ at each step; whether ``stops`` ended it.

    Where the loss has no least value along its way |x| grows as log τ, so that descent with steps of any length would
    take an exponential time. The force, −τ ∂L/∂x, stays of order one, but for jumps; so x and log τ are both followed
    along a curve of bounded speed, by an implicit method. ``slopes_of``: the force and its derivative by x;
    ``stops``: an event of the solver, of a state whose last number is log τ.

    Raises
    ------
    RuntimeError
        If the solver gives up.
    """

    def slowed(force: np.ndarray) -> float:
        return 1 / (1 + np.linalg.norm(force) / SPEED)

    def derivative(_: float, state: np.ndarray) -> np.ndarray:
        force = force_of(state[:-1], state[-1])
        return np.append(force, 1.0) * slowed(force)

    def jacobian(_: float, state: np.ndarray) -> np.ndarray:
        force, slopes = slopes_of(state[:-1], state[-1])
        of_force = np.column_stack([slopes, force])  # by x, and by log τ
        along = force / max(np.linalg.norm(force), 1e-300)
        whole = np.vstack([of_force, np.zeros(len(state))]) * slowed(force)
        return whole - np.outer(np.append(force, 1.0), along @ of_force) * slowed(force) ** 2 / SPEED

    def left(_: float, state: np.ndarray) -> float:
        return end - state[-1]

    left.terminal = stops.terminal = True
    start = np.append(start, -5.0).astype(float)
    found = solve_ivp(derivative, (0.0, 1e12), start, "BDF", jac=jacobian, events=[left, stops], **solver)
    if not found.success:
        raise RuntimeError(f"the solver stopped at log τ = {found.y[-1, -1]:.1f}: {found.message}")
    return found.y[:-1].T, found.y[-1], bool(len(found.t_events[1]))


def gradient_flow(texts: Texts, V: Float[np.ndarray, "d"], end: float = 1000.0) -> Path:
    """Gradient flow of V alone at λ = 1, dV/dτ = −∂L/∂V, to log τ = ``end`` (:func:`followed`).

    The force jumps where V leaves a choice that is not locally optimal. It stops early where V has come to rest:
    |dV/d(log τ)| below :data:`REST`.
    """

    def force(V: np.ndarray, log_time: float) -> np.ndarray:
        direction, shift = slope(texts, V)
        return direction * np.exp(min(shift + log_time, LARGEST))

    def slopes(V: np.ndarray, log_time: float) -> tuple[np.ndarray, np.ndarray]:
        slopes, shift = curvature(texts, V)
        return force(V, log_time), slopes * np.exp(min(shift + log_time, LARGEST))

    def moving(_: float, state: np.ndarray) -> float:
        return 1.0 if state[-1] < 5 else float(np.linalg.norm(force(state[:-1], state[-1]))) - REST

    return Path(*followed(force, slopes, moving, V, end, rtol=1e-4, atol=1e-4))


def margin_reached(texts: Texts, chosen: Int[np.ndarray, "texts"], margin: Margin, V: Float[np.ndarray, "d"]) -> float:
    """The least lead that a direction gives a chosen word, over the greatest that any gives: 1 for the programme's.

    A cosine near 1 does not ask for it where |V^mm| is large: then a lead of 1 is a small part of V.
    """
    leads = (texts.E @ V)[texts.type[chosen]][texts.text] - (texts.E @ V)[texts.type]
    return float(leads[np.isfinite(margin.slack)].min() * np.linalg.norm(margin.V) / np.linalg.norm(V))


def largest_weight(texts: Texts, V: Float[np.ndarray, "d"]) -> Float[np.ndarray, "texts"]:
    """Of each text the weight of the type with most, all its occurrences together."""
    a = (texts.E @ V)[texts.type] + texts.log_count
    return np.exp(np.maximum.reduceat(a, texts.first) - np.logaddexp.reduceat(a, texts.first))


def chosen_by(texts: Texts, V: Float[np.ndarray, "d"]) -> Int[np.ndarray, "texts"]:
    """The row of each text that V gives the largest score."""
    return texts.best((texts.E @ V)[texts.type])


def cosine(one: Float[np.ndarray, "d"], other: Float[np.ndarray, "d"]) -> float:
    """cos of two vectors; nan if one of them is not finite or zero."""
    size = np.linalg.norm(one) * np.linalg.norm(other)
    return float(one @ other / size) if size and np.isfinite(size) else float("nan")


# ---
# V and W trained together while E is held: their flow in the logarithm of time, and the programmes of its limit.
#
# Max-margin token selection, the part on joint training (Tarzanagh, Li, Zhang and Oymak, NeurIPS 2023; at second
# hand): W tends to the support vector machine of the chosen words, V to the programme above in which a
# text that is no support vector of W asks only for a lead of 0.


SUPPORT = 1e-6  # slack of a text that counts as a support vector
TIED = 1e-4  # of the margin: votes that lie nearer are one
HOPELESS = np.log(1e9)  # log τβ of a text that no W gets right: with more of it sums lose their digits


class Joint(NamedTuple):
    """A flow of V and W: both at each step of the solver, "steps d", and the logarithms of time.

    It ends early where texts contradict one another, so that the loss has a least value above zero.
    """

    V: Float[np.ndarray, "steps d"]
    W: Float[np.ndarray, "steps d"]
    log_times: Float[np.ndarray, "steps"]


class Forces(NamedTuple):
    """τ times the slopes at λ = 1, "2d": −τ ∂L/∂(V, W), and if asked for their derivative by (V, W), "2d 2d"."""

    force: Float[np.ndarray, "_"]
    derivative: Float[np.ndarray, "_ _"] | None


def forces(texts: Texts, state: Float[np.ndarray, "_"], log_time: float, derivative: bool = False) -> Forces:
    """The slopes of V and W times τ, from logarithms of β and α, so that neither is rounded to nothing (Eq 14, 23)."""
    V, W = np.split(state, 2)
    (a, s), m = (texts.E @ np.column_stack([V, W]))[texts.type].T, len(texts.y)
    a = a + texts.log_count
    top = texts.best(a)
    log_alpha = a - np.logaddexp.reduceat(a, texts.first)[texts.text]
    alpha = np.exp(log_alpha)
    above, apart = s - s[top][texts.text], texts.E[texts.type] - texts.E[texts.type[top]][texts.text]
    lead = np.add.reduceat(alpha * above, texts.first)  # s^(t) minus s of the word with most attention
    moved = np.add.reduceat(alpha[:, None] * apart, texts.first)
    said = texts.y * (s[top] + lead)
    r = texts.y * np.exp(np.minimum(log_time - np.logaddexp(0, said), LARGEST)) / m
    h = texts.E[texts.type[top]] + moved
    centred, over = apart - moved[texts.text], above - lead[texts.text]
    c = np.add.reduceat((alpha * over)[:, None] * centred, texts.first)
    force = np.concatenate([r @ c, r @ h])
    if not derivative:
        return Forces(force, None)
    both = np.hstack([c, h])
    beta = np.exp(-np.logaddexp(0, said))
    whole = -both.T @ ((r * texts.y * (1 - beta))[:, None] * both)
    weight, d = alpha * r[texts.text], len(V)
    spread = centred.T @ (weight[:, None] * centred)
    whole[:d, :d] += centred.T @ ((weight * over)[:, None] * centred)
    whole[:d, d:] += spread
    whole[d:, :d] += spread
    return Forces(force, whole)


def largest_log_beta(texts: Texts, V: Float[np.ndarray, "d"], W: Float[np.ndarray, "d"]) -> float:
    """log β of the text on which the model is most wrong."""
    a, s = (texts.E @ np.column_stack([V, W]))[texts.type].T
    a = a + texts.log_count
    alpha = np.exp(a - np.logaddexp.reduceat(a, texts.first)[texts.text])
    return float((-np.logaddexp(0, texts.y * np.add.reduceat(alpha * s, texts.first))).max())


def joint_flow(
    texts: Texts, V: Float[np.ndarray, "d"], W: Float[np.ndarray, "d"], end: float = 1e5, precision: float = 1e-9
) -> Joint:
    """Gradient flow of V and W at λ = 1 to log τ = ``end`` (:func:`followed`)."""

    def hope(_: float, state: np.ndarray) -> float:
        return HOPELESS - state[-1] - largest_log_beta(texts, *np.split(state[:-1], 2))

    path, log_times, _ = followed(
        lambda state, log_time: forces(texts, state, log_time).force,
        lambda state, log_time: forces(texts, state, log_time, derivative=True),
        hope,
        np.concatenate([V, W]),
        end,
        rtol=precision,
        atol=1e-6,
    )
    return Joint(*np.split(path, 2, axis=1), log_times)


def support_machine(
    texts: Texts, chosen: Int[np.ndarray, "texts"]
) -> tuple[Float[np.ndarray, "d"], Bool[np.ndarray, "texts"]]:
    """argmin ½|W|² with y e_o·W ≥ 1 for the chosen word of each text, and which texts have a tight constraint."""
    G = texts.y[:, None] * texts.E[texts.type[chosen]]
    W = least_distance(G)[0]
    return W, G @ W < 1 + SUPPORT


def relaxed_margin(
    texts: Texts,
    chosen: Int[np.ndarray, "texts"],
    supporting: Bool[np.ndarray, "texts"],
    half: Bool[np.ndarray, "rows"] | None = None,
) -> Float[np.ndarray, "d"]:
    """argmin ½|V|² with (e_o − e_w)·V ≥ 1 in supporting texts and ≥ 0 in the others; nan where there is none.

    Rows in ``half`` ask for ½ instead of 1 (ours, see :func:`against`).
    """
    rows = np.setdiff1d(np.arange(len(texts.text)), chosen)
    G = texts.E[texts.type[chosen[texts.text[rows]]]] - texts.E[texts.type[rows]]
    least = supporting[texts.text[rows]].astype(float)
    if half is not None:
        least = np.where(half[rows], least / 2, least)
    return least_distance(G, least)[0]


def against(
    texts: Texts, chosen: Int[np.ndarray, "texts"], W: Float[np.ndarray, "d"], supporting: Bool[np.ndarray, "texts"]
) -> tuple[Bool[np.ndarray, "rows"], Bool[np.ndarray, "rows"]]:
    """Of supporting texts the other words that vote as much as the chosen one, by W, and those that vote more.

    A word that is behind is pushed down by a force that grows as log τ, since votes do: its text's lead grows as
    2 log log τ. One that votes as much is pushed by a force that does not grow: log log τ (ours).
    """
    gamma = texts.y[texts.text] * (texts.E @ W)[texts.type]
    more = gamma - gamma[chosen][texts.text]
    among = supporting[texts.text].copy()
    among[chosen] = False
    return among & (abs(more) <= TIED), among & (more > TIED)
