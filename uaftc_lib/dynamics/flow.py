"""Gradient flow of the whole model.

Time τ is that of dz/dτ = −∂ℓ/∂z (Eq 8); n steps of SGD with learning rate η reach τ = nη up to O(η).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import solve_ivp

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier


def solve(derivative, start: np.ndarray, times, method: str, rtol: float, atol: float) -> np.ndarray:
    """States "times unknowns" of an initial value problem that starts at times[0]."""
    times = np.asarray(times, dtype=float)
    if times.ndim != 1 or len(times) < 2 or (np.diff(times) <= 0).any():
        raise ValueError(f"times must be at least two rising numbers, got {times}")
    found = solve_ivp(derivative, times[[0, -1]], start, method=method, t_eval=times, rtol=rtol, atol=atol)
    if not found.success:
        raise RuntimeError(f"the solver stopped at τ = {found.t[-1] if len(found.t) else times[0]}: {found.message}")
    return found.y.T


@dataclass(frozen=True)
class Trajectory:
    """Models along gradient flow: ``trajectory[i]`` is the model at ``times[i]``."""

    times: Float[np.ndarray, "times"]
    states: Float[np.ndarray, "times unknowns"]
    template: AttentionClassifier

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, i: int) -> AttentionClassifier:
        return _with_parameters(deepcopy(self.template), self.states[i])

    def drift(self) -> dict[str, Float[np.ndarray, "times"]]:
        """Largest absolute change of each conserved matrix since the start."""
        kept = [dynamics.conserved(model) for model in self]
        return {name: np.array([float((now[name] - kept[0][name]).abs().max()) for now in kept]) for name in kept[0]}

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def _with_parameters(model: AttentionClassifier, values: np.ndarray) -> AttentionClassifier:
    torch.nn.utils.vector_to_parameters(torch.tensor(values), model.parameters())
    return model


def integrate(
    model: AttentionClassifier, corpus: Corpus, times, method: str = "DOP853", rtol: float = 1e-10, atol: float = 1e-12
) -> Trajectory:
    """Gradient flow of all parameters (Eq 8), by scipy's solve_ivp on the closed-form right-hand side.

    Parameters
    ----------
    model : AttentionClassifier
        Where the flow starts; it is not changed. It must be float64 and without a recurrent encoder.
    times : rising numbers
        The flow starts at times[0].

    Raises
    ------
    ValueError
        If the model is not float64 or has no closed form, or the times do not rise.
    RuntimeError
        If the solver gives up.
    """
    if model.embedding.dtype != torch.float64:
        raise ValueError(f"gradient flow is solved in float64, this model is {model.embedding.dtype}")
    working = deepcopy(model)
    names = [name for name, _ in working.named_parameters()]

    def derivative(_, values):
        found = dynamics.gradients(_with_parameters(working, values), corpus)
        return -torch.cat([found[name].reshape(-1) for name in names]).numpy()

    start = torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy()
    return Trajectory(
        np.asarray(times, dtype=float), solve(derivative, start, times, method, rtol, atol), deepcopy(model)
    )
