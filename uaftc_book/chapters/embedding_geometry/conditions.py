"""Equations 48 to 55: which words attract and which repel, each under its condition.

They are corollaries of Eq 44: with the half A + B, "half > B > 0" says "A > 0 and B > 0". A check that compares a
statement with its condition therefore tests Eq 44 once more, and the writing of the condition, but nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from uaftc_book.equations import Inequality, equation
from uaftc_book.random_models import Case, View
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.streams import generator

ROUNDED = 1e-9  # mirror error of what is its mirror image but for rounding
NEARLY = 0.1  # and of what is counted as nearly one


class State(NamedTuple):
    """What Eq 48 to 55 speak of, by the names of a :class:`View`: of any model, without a list of occurrences."""

    E: Tensor
    a_e: Tensor
    s_e: Tensor
    pi: Tensor
    rho: Tensor
    m: int
    grad: dict[str, Tensor]

    @classmethod
    def of(cls, model: AttentionClassifier, corpus: Corpus) -> State:
        sums, scores = dynamics.token_sums(model, corpus), model.token_scores()
        (slope,) = torch.autograd.grad(model.loss(corpus), [model.embedding])
        E, a_e, s_e = (values.detach() for values in (model.embedding, scores.attention, scores.polarity))
        return cls(E, a_e, s_e, sums.pi, sums.rho, len(corpus), {"embedding": slope})


def first_half(view: View | State) -> Tensor:
    """What the movement of e_i alone does to the product e_i·e_k (Eq 44)."""
    return -view.grad["embedding"] @ view.E.T


def pi_s(view: View | State) -> Tensor:
    """π(e_i) s_k, m times B_ik."""
    return torch.outer(view.pi, view.s_e)


def _all_pairs(case: Case) -> View:
    """A random model in which both signs of a, s, π and ρ are common, whatever the λ of the case."""
    view = case.with_(types=20, instances=40, scale=1.0).view()
    with torch.no_grad():
        view.model.V *= case.lam
    return View(view.model, view.corpus)


PAIRS, NEUTRAL = 3, 4


def mirrored(case: Case, attention: float = 1.0, polarity: float = -1.0) -> View:
    """Words in pairs e_+, e_-: types 0 to 2 and their partners 3 to 5; the rest is neutral.

    Every positive instance has a negative partner with the partner words. a and s of e_+ are random numbers
    of either sign; e_- has ``attention`` times that a and ``polarity`` times that s, neutral words a = s = 0;
    V ⟂ W. With (1, −1) exchanging the classes changes nothing: π(e_-) = −π(e_+) and ρ(e_-) = ρ(e_+).
    """
    draws = generator(case.seed, "data")
    lists, labels = [], []
    for _ in range(max(case.instances, 10)):
        few, many = (int(torch.randint(1, most, (1,), generator=draws)) for most in (4, 5))
        neutral = (2 * PAIRS + torch.randint(NEUTRAL, (many,), generator=draws)).tolist()
        polar = torch.randint(PAIRS, (few,), generator=draws)
        lists += [polar.tolist() + neutral, (polar + PAIRS).tolist() + neutral]
        labels += [1, 0]
    model = AttentionClassifier(2 * PAIRS + NEUTRAL, case.dimension, case.lam, seed=case.seed, dtype=torch.float64)
    signs = 2 * torch.randint(2, (2, PAIRS), generator=draws) - 1
    signs[:, 0] = 1  # one word at least is as the paper has it
    a, s = signs * (0.5 + torch.rand(2, PAIRS, generator=draws, dtype=torch.float64))
    with torch.no_grad():
        model.V.zero_()[0] = 1
        model.W.zero_()[1] = 1
        model.embedding[:, :2] = 0
        model.embedding[: 2 * PAIRS, 0] = case.lam * torch.cat([a, attention * a])
        model.embedding[: 2 * PAIRS, 1] = torch.cat([s, polarity * s])
    return View(model, Corpus.from_lists(lists, labels))


class _Part(NamedTuple):
    """−(∂ℓ/∂e_i)ᵀe_k by autograd, and A_ik and B_ik of Eq 44, for some pairs (i, k)."""

    half: Tensor
    A: Tensor
    B: Tensor

    def plus(self, other: _Part) -> _Part:
        return _Part(*(one + two for one, two in zip(self, other)))


def _part(view: View | State, i: Tensor, k: Tensor) -> _Part:
    A, B = torch.outer(view.rho, view.a_e) / view.m, pi_s(view) / view.m
    return _Part(*(table[i][:, k] for table in (first_half(view), A, B)))


def _three(view: View | State, i: Tensor, k: Tensor) -> list[_Part]:
    """What the movement of e_i adds to Ω_ik, what that of e_k adds, and both together."""
    one, other = _part(view, i, k), _Part(*(table.T for table in _part(view, k, i)))
    return [one, other, one.plus(other)]


def _margin(*margins: Tensor) -> Tensor:
    """The smallest of several margins: all of them have to be positive."""
    return torch.stack(torch.broadcast_tensors(*margins)).amin(0)


def _attracts(part: _Part) -> tuple[Tensor, Tensor]:
    """half > B > 0, and the condition for it."""
    return _margin(part.half - part.B, part.B), _margin(part.A, part.B)


def _repels(part: _Part) -> tuple[Tensor, Tensor]:
    """0 > half > B, and the condition for it."""
    return _margin(-part.half, part.half - part.B), _margin(part.A, -part.B - part.A)


def _mirror_error(like: _Part, unlike: _Part) -> Tensor:
    """How far the two B are from opposite, in units of the larger: zero for mirror images."""
    return (like.B + unlike.B).abs() / torch.maximum(like.B.abs(), unlike.B.abs())


def _outweighs(like: _Part, unlike: _Part, tolerance: float = ROUNDED) -> tuple[Tensor, Tensor]:
    """rate to like > B = −B to unlike > −rate to unlike, and the condition for it."""
    # An equality inside a chain: no limit where it holds, a negative margin where it fails.
    same = torch.where(_mirror_error(like, unlike) <= tolerance, torch.inf, -(like.B + unlike.B).abs())
    return _margin(like.half - like.B, same, unlike.half - unlike.B), _margin(like.A, same, unlike.A)


def _claims(number: int, case: Case) -> list[tuple[Tensor, Tensor]]:
    """For pairs of words, in some states: the margin of a statement and that of its condition."""
    found = []
    if number < 54:
        view = _all_pairs(case)
        every = torch.arange(len(view.E))
        found.append((_attracts if number < 51 else _repels)(_three(view, every, every)[(number - 48) % 3]))
        return found
    for attention, polarity in ((1.0, -1.0), (-1.0, -1.0), (1.0, -2.0)):
        view = mirrored(case, attention, polarity)
        plus, minus = torch.arange(PAIRS), torch.arange(PAIRS, 2 * PAIRS)
        star, like, unlike = (plus, plus, minus) if number == 54 else (minus, minus, plus)
        found.append(_outweighs(*(_three(view, star, others)[2] for others in (like, unlike))))
    return found


def _choices(view: View | State, star: Tensor, other: Tensor) -> tuple[_Part, _Part]:
    """For all different e∗ and e₊ of one kind and all e₋ of the other: the like pair and the unlike one."""
    i, k = (star[:, None] != star).nonzero().T
    like, unlike = (_three(view, star, each)[2] for each in (star, other))
    return _Part(*(table[i, k, None] for table in like)), _Part(*(table[i] for table in unlike))


def mirror_errors(view: View | State, good: Tensor, bad: Tensor) -> Tensor:
    """Of all different positive words e∗, e₊ and negative words e₋, then with both kinds exchanged."""
    return torch.cat([_mirror_error(*_choices(view, *kinds)).flatten() for kinds in ((good, bad), (bad, good))])


def census(
    view: View | State, good: Tensor, bad: Tensor, tolerance: float = ROUNDED
) -> dict[int, tuple[Tensor, Tensor, Tensor]]:
    """Eq 48 to 55 for all different positive words e∗, e₊ and negative words e₋ of a model; in Eq 55 e∗ is negative.

    Three margins of each pair (54, 55: of each e∗, e₊, e₋): of the condition; of the statement; and of its
    conclusion, that words attract (48 to 50), that they repel (51 to 53), that attraction outweighs repulsion.
    ``tolerance``: the mirror error up to which the equality in Eq 54 and 55 is taken as met.
    """
    found = {}
    for first, others in ((48, good), (51, bad)):
        different = good[:, None] != others
        for number, part in enumerate(_three(view, good, others), first):
            statement, condition = (_attracts if first == 48 else _repels)(part)
            conclusion = part.half if first == 48 else -part.half
            found[number] = condition[different], statement[different], conclusion[different]
    for number, star, other in ((54, good, bad), (55, bad, good)):
        like, unlike = _choices(view, star, other)
        statement, condition = _outweighs(like, unlike, tolerance)
        found[number] = condition, statement, like.half + unlike.half
    return found


def margins_of(number: int, case: Case) -> tuple[Tensor, Tensor]:
    """Margins of Eq 48 to 55 for the pairs that meet the condition, and for those that do not.

    A pair within rounding of the border belongs to neither.
    """
    margins, conditions = (torch.cat([part.flatten() for part in parts]) for parts in zip(*_claims(number, case)))
    return margins[conditions > 1e-9], margins[conditions < -1e-9]


CONDITIONS = {
    48: "if and only if ρ(e∗)a₊ > 0 and π(e∗)s₊ > 0",
    49: "if and only if ρ(e₊)a∗ > 0 and π(e₊)s∗ > 0",
    50: "if and only if ρ(e∗)a₊ + ρ(e₊)a∗ > 0 and π(e∗)s₊ + π(e₊)s∗ > 0",
    51: "if and only if 0 < ρ(e∗)a₋ < −π(e∗)s₋, that is |A| < |B|",
    52: "if and only if 0 < ρ(e₋)a∗ < −π(e₋)s∗, that is |A| < |B|",
    53: "if and only if 0 < ρ(e∗)a₋ + ρ(e₋)a∗ < −π(e∗)s₋ − π(e₋)s∗",
    54: "if and only if the A of both kinds of pairs are positive in sum and the B opposite: so if e₊ and e₋ have "
    "equal a, opposite s and opposite π (the text before it says opposite attention scores)",
    55: "if and only if the A of both kinds of pairs are positive in sum and the B opposite, now for a negative e∗",
}


def _inequality(number: int, title: str):
    """Registers a statement of B.2: where its condition holds; and where it does not, the pair that comes nearest."""

    @equation(
        number,
        title,
        "conditional",
        printed=lambda case: Inequality(margins_of(number, case)[1].max(), "greatest margin"),
        correction=CONDITIONS[number],
        standing="derived",
    )
    def _(case: Case):
        return Inequality(margins_of(number, case)[0])


_inequality(48, "two positive tokens attract: e∗'s part")


_inequality(49, "two positive tokens attract: e₊'s part")


_inequality(50, "two positive tokens attract")


_inequality(51, "a positive and a negative token repel: e∗'s part")


_inequality(52, "a positive and a negative token repel: e₋'s part")


_inequality(53, "a positive and a negative token repel")


_inequality(54, "attraction outweighs repulsion, positive e∗")


_inequality(55, "attraction outweighs repulsion, negative e∗")
