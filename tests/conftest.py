"""Settings of all tests, and what several of them use."""

import os

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)  # small models: threads cost more than they bring, and sums depend on their order

settings.register_profile("local", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def untyped(monkeypatch):
    """Switches the tests' type checks off, so that a wrong type reaches the library's own checks."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def global_generators_untouched():
    """Fails the test if it moved a generator that belongs to everybody."""

    def states():
        kind, keys, *rest = np.random.get_state()
        return torch.get_rng_state().tolist(), kind, keys.tolist(), rest

    before = states()
    yield
    assert states() == before
