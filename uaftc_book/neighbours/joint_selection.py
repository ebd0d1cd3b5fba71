"""V and W trained together while E is held: their flow in the logarithm of time, and the programmes of its limit.

Max-margin token selection, the part on joint training (Tarzanagh, Li, Zhang and Oymak, NeurIPS 2023; at second hand):
W tends to the support vector machine of the chosen words, V to the programme of :mod:`.selection` in which a text
that is no support vector of W asks only for a lead of 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.integrate import solve_ivp

from uaftc_book.neighbours.selection import LARGEST, SPEED, Texts, least_distance

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
    """Gradient flow of V and W at λ = 1 to log τ = ``end``, followed as :func:`.selection.gradient_flow` is.

    Raises
    ------
    RuntimeError
        If the solver gives up.
    """

    def derivative(_: float, state: np.ndarray) -> np.ndarray:
        force = forces(texts, state[:-1], state[-1]).force
        return np.append(force, 1.0) / (1 + np.linalg.norm(force) / SPEED)

    def jacobian(_: float, state: np.ndarray) -> np.ndarray:
        force, slopes = forces(texts, state[:-1], state[-1], derivative=True)
        slowed = 1 / (1 + np.linalg.norm(force) / SPEED)
        of_force = np.column_stack([slopes, force])  # by V and W, and by log τ
        along = force / max(np.linalg.norm(force), 1e-300)
        whole = np.vstack([of_force, np.zeros(len(state))]) * slowed
        return whole - np.outer(np.append(force, 1.0), along @ of_force) * slowed**2 / SPEED

    def left(_: float, state: np.ndarray) -> float:
        return end - state[-1]

    def hope(_: float, state: np.ndarray) -> float:
        V, W = np.split(state[:-1], 2)
        return HOPELESS - state[-1] - largest_log_beta(texts, V, W)

    left.terminal = hope.terminal = True
    start = np.concatenate([V, W, [-5.0]]).astype(float)
    solver = {"method": "BDF", "rtol": precision, "atol": 1e-6, "jac": jacobian, "events": [left, hope]}
    found = solve_ivp(derivative, (0.0, 1e12), start, **solver)
    if not found.success:
        raise RuntimeError(f"the solver stopped at log τ = {found.y[-1, -1]:.1f}: {found.message}")
    return Joint(*np.split(found.y[:-1].T, 2, axis=1), found.y[-1])


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
