"""How training computes, wherever it is called from: with one thread, on a card exactly; and what it gives back."""

import os
from contextlib import suppress

import pytest
import torch

from uaftc_book.lab import parity
from uaftc_lib import AttentionClassifier, TrainingConfig, fit, load_dataset, training
from uaftc_lib.models import encoders, usable_device
from uaftc_lib.threads import exact_on, one_thread
from uaftc_lib.training import AutogradTrainer

THREADS = 3


@pytest.fixture(autouse=True)
def several():
    """More threads than one, as torch has them by itself on most machines."""
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    yield
    assert torch.get_num_threads() == THREADS
    torch.set_num_threads(before)


@pytest.mark.parametrize("method", ["fast", "autograd"])
def test_fit_takes_one_thread(method):
    dataset = load_dataset("synthetic-1", class_sizes=(20, 20))
    model = AttentionClassifier(len(dataset.vocabulary), dimension=5)
    config = TrainingConfig(epochs=2, batch_size=10, method=method)
    run = fit(model, dataset, config, record=lambda *_: {"threads": torch.get_num_threads()})
    assert run.history.threads.tolist() == [1, 1, 1]


def test_the_lab_takes_one_thread_for_its_steps_and_numbers(monkeypatch):
    seen = []
    for owner, name in ((AutogradTrainer, "epoch"), (AttentionClassifier, "accuracy")):
        method = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, method=method: seen.append(torch.get_num_threads()) or method(*a))
    for moment in parity.train({"instances": 1200, "epochs": 1}):
        assert torch.get_num_threads() == THREADS
        parity.numbers(moment)
    assert seen == [1, 1, 1]


CARD = torch.device("cuda")


def on_a_card():
    """Whether cuDNN may round to TF32, sums have a fixed order, and torch only warns where they cannot."""
    fixed = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.backends.cudnn.rnn.fp32_precision == "tf32", *fixed


def test_a_card_rounds_nothing_and_adds_in_one_order():
    """By the flags of torch, which stand without a card, too; what a caller has asked for before is kept."""
    with pytest.raises(RuntimeError), exact_on(CARD):
        assert on_a_card() == (False, True, True)
        raise RuntimeError
    with exact_on(torch.device("cpu")):
        assert on_a_card() == (True, False, False)
    torch.use_deterministic_algorithms(True)
    with exact_on(CARD):
        assert on_a_card() == (False, True, False)
    assert on_a_card() == (True, True, False)
    torch.use_deterministic_algorithms(False)


def test_training_and_recurrent_networks_compute_so(monkeypatch):
    dataset, seen = load_dataset("synthetic-1", class_sizes=(20, 20)), []
    for module in (training, encoders):
        monkeypatch.setattr(module, "exact_on", lambda device: exact_on(CARD))  # this processor as if it were a card
    model = AttentionClassifier(len(dataset.vocabulary), dimension=5, encoder="lstm", hidden=3)
    model.recurrent.onward.register_forward_hook(lambda *_: seen.append(on_a_card()))
    fit(model, dataset, TrainingConfig(epochs=1), record=lambda *_: seen.append(on_a_card()) or {})
    assert seen[0] == (True, False, False) and {*seen[1:]} == {(False, True, True)}
    seen.clear()
    model(dataset.train)
    assert {*seen} == {(False, True, True)} and on_a_card() == (True, False, False)


def test_cublas_is_given_its_workspace_before_a_card_is_used(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with suppress(ValueError):  # there may be no card
        usable_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_an_error_gives_the_threads_back():
    with pytest.raises(RuntimeError), one_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
