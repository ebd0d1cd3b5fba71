"""Training takes one thread, wherever it is called from, and leaves the others to whoever had them."""

import pytest
import torch

from uaftc_lib import AttentionClassifier, TrainingConfig, fit, load_dataset
from uaftc_lib.lab import parity
from uaftc_lib.threads import one_thread
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


def test_an_error_gives_the_threads_back():
    with pytest.raises(RuntimeError), one_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
