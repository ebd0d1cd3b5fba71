"""The ledger of the affine and the additive model."""

import copy

import pytest
import torch

from uaftc_book.chapters.variants import RATES, RUNS, seen_cosine, train_to_loss, variant_model
from uaftc_book.small_data import small_config, small_data
from uaftc_lib.dynamics.ledger import ATTENTION, LedgerTrainer
from uaftc_lib.training import fit

DATA = small_data(class_sizes=(100, 100))


def recorded_run(variant, penalty, rate=None, epochs=20):
    """A float64 model, the trainer's ledger, and how its attention scores moved."""
    model = variant_model(DATA, variant, dimension=12, seed=3).double()
    rate = rate or RATES[variant]
    config = small_config(learning_rate=rate, penalty=penalty, epochs=epochs, seed=1, method="autograd")
    trainers, before = [], model.token_scores().attention
    reference = copy.deepcopy(model)
    fit(model, DATA, config, trainer=lambda *arguments: trainers.append(LedgerTrainer(*arguments)) or trainers[0])
    fit(reference, DATA, config)
    return model, reference, trainers[0].ledger().terms(ATTENTION), model.token_scores().attention - before


@pytest.mark.parametrize("variant,penalty", RUNS)
def test_steps_are_those_of_fit_and_the_ledger_closes(variant, penalty):
    model, reference, ledger, moved = recorded_run(variant, penalty)
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter, reference.get_parameter(name), rtol=1e-9, atol=1e-11), name
    assert float((sum(ledger.values()) - moved).abs().max()) < 1e-12
    assert ("attention_penalty" in ledger) == bool(penalty)
    assert ("attention_M_pi" in ledger, "attention_M_rho" in ledger) == (variant == "DP-A", variant != "DP")


@pytest.mark.parametrize("variant", RATES)
def test_what_the_terms_leave_is_of_second_order(variant, monkeypatch):
    """Half the step for twice as long: half the remainder. With a term forgotten it stays."""

    def remainder(rate, epochs):
        return recorded_run(variant, 0.0, rate, epochs)[2]["attention_remainder"].abs().sum()

    assert 1.8 < remainder(0.1, 10) / remainder(0.05, 20) < 2.2
    complete = LedgerTrainer.causes

    def without_E(self, found):
        of_heads, of_rows = complete(self, found)
        return of_heads, of_rows | {"A": 0 * of_rows["A"]}

    monkeypatch.setattr(LedgerTrainer, "causes", without_E)
    assert 0.9 < remainder(0.1, 10) / remainder(0.05, 20) < 1.1


def test_training_stops_at_the_loss_or_says_that_it_cannot():
    model = variant_model(DATA, "DP-A", dimension=12)
    trainer = LedgerTrainer(model, DATA.train, small_config(learning_rate=2.0))
    epochs, loss = train_to_loss(trainer, 0.2)
    assert loss <= 0.2 and epochs > 1
    again = LedgerTrainer(variant_model(DATA, "DP-A", dimension=12), DATA.train, small_config(learning_rate=2.0))
    with pytest.raises(RuntimeError, match="epochs end at a loss"):
        train_to_loss(again, 0.2, epochs - 1)


def test_the_cosine_is_that_of_the_vectors_which_embeddings_see():
    for variant, sides in (("DP", (0, 0)), ("DP-A", (1, 1)), ("AD", (1, 0))):
        model = variant_model(DATA, variant, dimension=12)
        V, W = (model.M.T @ x if side else x for x, side in zip((model.V, model.W), sides))
        assert abs(seen_cosine(model) - float((V @ W / V.norm() / W.norm()).detach())) < 1e-6
