"""The fast path gives the numbers of autograd: same batches, same masks, equal up to rounding."""

import sys
from functools import cache

import pytest
import torch

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, fit
from uaftc_lib.fast import FusedTrainer, TypewiseTrainer, obstacle, trainers
from uaftc_lib.models import classifier
from uaftc_lib.settings import BY_TYPE
from uaftc_lib.training import AutogradTrainer, batches_of

TYPES = 40
FUSED = BY_TYPE | {f"{name}, 3 classes": of | {"classes": 3} for name, of in BY_TYPE.items()}
MODELS = FUSED | {"DP, softmax of two": {"loss": "softmax"}}  # from three classes but a number: is not compiled for it


def random_corpus(classes=2, instances=50, seed=0):
    draws = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 12, (instances,), generator=draws).tolist()
    tokens = [(TYPES * torch.rand(n, generator=draws) ** 2).long().tolist() for n in lengths]
    labels = torch.randint(classes, (instances,), generator=draws).tolist()
    return Corpus.from_lists(tokens, labels, classes)


def trained(trainer, options, config, steps, dtype=torch.float64, dimension=20, batches=None):
    """The parameters after some epochs of one batch each, and the losses of those epochs."""
    corpus = random_corpus(options.get("classes", 2))
    model = AttentionClassifier(
        TYPES, **{"dimension": dimension, "lam": 10.0, "weight_range": 0.5, "dtype": dtype, **options}
    )
    running = trainer(model, corpus, config)
    order = torch.Generator().manual_seed(1)
    losses = [running.epoch(batches_of(len(corpus), config.batch_size, order)) for _ in range(steps)]
    return dict(model.named_parameters()), losses


@cache
def reference_of(name, lam, optimizer, batch_size, epochs):
    """What autograd gives under all terms, once for all that are compared with it."""
    config = TrainingConfig(optimizer=optimizer, batch_size=batch_size, **ALL_TERMS)
    return trained(AutogradTrainer, {**MODELS[name], "lam": lam}, config, epochs)


@torch.no_grad()
def difference(fast, reference):
    """The largest difference of any parameter, relative to its largest element."""
    return max(float((fast[name] - reference[name]).abs().max() / reference[name].abs().max()) for name in reference)


def fast_trainers(name):
    return [FusedTrainer, TypewiseTrainer] if name in FUSED else [TypewiseTrainer]


CASES = [(name, trainer) for name in MODELS for trainer in fast_trainers(name)]
ALL_TERMS = {"penalty": 0.01, "weight_decay": 0.02, "learning_rate_decay": 0.1, "learning_rates": {"V": 0.005}}


@pytest.mark.parametrize("name, trainer", CASES)
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
@pytest.mark.parametrize("lam", [1.0, 10.0, 100.0])
def test_one_step_equals_autograd(name, trainer, optimizer, lam):
    config = TrainingConfig(optimizer=optimizer, batch_size=None, **ALL_TERMS)
    options = {**MODELS[name], "lam": lam}
    fast, fast_losses = trained(trainer, options, config, 1)
    reference, losses = reference_of(name, lam, optimizer, None, 1)
    assert difference(fast, reference) < 1e-12
    assert fast_losses == pytest.approx(losses, rel=1e-13)


@pytest.mark.parametrize("name, trainer", CASES)
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
@pytest.mark.parametrize("lam, batch_size", [(10.0, None), (100.0, 5)])
def test_hundred_steps_equal_autograd(name, trainer, optimizer, lam, batch_size):
    config = TrainingConfig(optimizer=optimizer, batch_size=batch_size, **ALL_TERMS)
    options, epochs = {**MODELS[name], "lam": lam}, 100 if batch_size is None else 10
    fast, fast_losses = trained(trainer, options, config, epochs)
    reference, losses = reference_of(name, lam, optimizer, batch_size, epochs)
    assert difference(fast, reference) < 1e-9
    assert fast_losses == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dropout, dimension", [(0.5, 20), (0.3, 64), (0.5, 100)])
def test_dropout_equals_autograd_under_the_same_masks(name, dropout, dimension):
    config = TrainingConfig(batch_size=7, dropout=dropout, **ALL_TERMS)
    fast, fast_losses = trained(FusedTrainer, MODELS[name], config, 10, dimension=dimension)
    reference, losses = trained(AutogradTrainer, MODELS[name], config, 10, dimension=dimension)
    assert difference(fast, reference) < 1e-9
    assert fast_losses == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize("name", BY_TYPE)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_float32_is_near_autograd(name, dropout):
    config = TrainingConfig(batch_size=7, dropout=dropout)
    fast, _ = trained(FusedTrainer, MODELS[name], config, 5, torch.float32)
    reference, _ = trained(AutogradTrainer, MODELS[name], config, 5, torch.float32)
    assert difference(fast, reference) < 1e-4


@pytest.mark.parametrize("name, trainer", CASES)
@pytest.mark.parametrize("lam", [1e-3, 1e-6])
def test_scores_far_apart_within_a_batch(name, trainer, lam):
    """Below λ = 1 one step is compared relative to the size of its summands: 1/λ for the gradients by scores."""
    config = TrainingConfig(optimizer="sgd", learning_rate=lam, batch_size=None)
    options = {**MODELS[name], "lam": lam}
    fast, fast_losses = trained(trainer, options, config, 1)
    reference, losses = trained(AutogradTrainer, options, config, 1)
    assert difference(fast, reference) < 1e-9
    assert fast_losses == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize("flushes", [False, True])
def test_how_denormals_are_taken_stays(flushes):
    if not torch.set_flush_denormal(flushes):
        pytest.skip("this processor cannot")
    try:
        trained(FusedTrainer, {}, TrainingConfig(batch_size=None), 1)
        assert (sys.float_info.min / 2 == 0.0) == flushes
    finally:
        torch.set_flush_denormal(False)


def small_dataset():
    vocabulary = Vocabulary([f"word{i}" for i in range(TYPES - 3)])
    parts = {split: random_corpus(seed=seed) for seed, split in enumerate(("train", "dev", "test"))}
    return Dataset("small", vocabulary, ("negative", "positive"), **parts)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_fit_is_the_same_by_every_method(dropout):
    runs, models = {}, {}
    for method in ("auto", "fast", "autograd"):
        models[method] = AttentionClassifier(TYPES, dimension=20, dtype=torch.float64)
        config = TrainingConfig(batch_size=7, epochs=4, dropout=dropout, method=method)
        runs[method] = fit(models[method], small_dataset(), config)
    reference = dict(models["autograd"].named_parameters())
    for method in ("auto", "fast"):
        assert difference(dict(models[method].named_parameters()), reference) < 1e-10
        assert runs[method].best_epoch == runs["autograd"].best_epoch
        difference_of_rows = runs[method].history - runs["autograd"].history
        assert difference_of_rows.abs().max().max() < 1e-10
    assert torch.equal(models["auto"].embedding, models["fast"].embedding)


HOOKS = ("forward", "forward_pre", "full_backward", "full_backward_pre")


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda model: model.embedding.requires_grad_(False), "embedding"),
        (lambda model: model.embedding.register_hook(lambda gradient: gradient.clamp(-1, 1)), "hook"),
        (lambda model: setattr(model, "W", model.V), "two parameters of this AttentionClassifier are one"),
        *((lambda model, kind=kind: getattr(model, f"register_{kind}_hook")(print), "hook") for kind in HOOKS),
    ],
)
def test_a_model_that_is_frozen_hooked_or_tied_is_not_trained_as_DP(change, reason):
    model = AttentionClassifier(TYPES, dimension=20)
    assert obstacle(model, TrainingConfig()) is None
    change(model)
    assert reason in obstacle(model, TrainingConfig())


def test_fast_says_why_not():
    with pytest.raises(ValueError, match="would not be exact.*adam"):
        fit(AttentionClassifier(TYPES, dimension=20), small_dataset(), TrainingConfig(method="fast", optimizer="adam"))


def halved(method):
    """A model's own method under another λ."""

    def call(model, *given, **options):
        lam, model.lam = model.lam, model.lam / 2
        try:
            return getattr(AttentionClassifier, method)(model, *given, **options)
        finally:
            model.lam = lam

    return call


def subclass(method):
    return type("Halved", (AttentionClassifier,), {method: halved(method)})(TYPES, dimension=20, dtype=torch.float64)


def replaced(method):
    model = AttentionClassifier(TYPES, dimension=20, dtype=torch.float64)
    setattr(model, method, lambda *given, **options: halved(method)(model, *given, **options))
    return model


@pytest.mark.parametrize("method", ["encode", "score", "attend", "forward", "loss", "penalty"])
@pytest.mark.parametrize(
    "make, reason",
    [(subclass, "Halved may compute something else than AttentionClassifier"), (replaced, "is replaced")],
)
def test_a_model_that_computes_something_else_is_not_trained_as_DP(make, method, reason):
    results = {}
    for way in ("auto", "autograd"):
        model = make(method)
        fit(model, small_dataset(), TrainingConfig(batch_size=7, epochs=2, penalty=0.01, method=way))
        results[way] = dict(model.named_parameters())
    assert difference(results["auto"], results["autograd"]) == 0
    with pytest.raises(ValueError, match=f"would not be exact: .*{reason}"):
        fit(make(method), small_dataset(), TrainingConfig(method="fast"))


@pytest.mark.parametrize("name", BY_TYPE)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_types_that_do_not_occur_cost_nothing_and_change_nothing(name, dropout, monkeypatch):
    corpus = Corpus.from_lists([[2, 30, 2], [30, 7], [31, 2], [7]], [0, 1, 1, 0], 2)
    data = Dataset("rare", Vocabulary([f"w{i}" for i in range(TYPES - 3)]), ("no", "yes"), corpus, corpus)
    states = []
    for few in (0.0, 0.5):
        monkeypatch.setattr(trainers, "FEW", few)
        model = AttentionClassifier(TYPES, 20, seed=0, **BY_TYPE[name])
        before = model.embedding.detach().clone()
        run = fit(model, data, TrainingConfig(epochs=5, batch_size=2, dropout=dropout, learning_rate=0.1), best="loss")
        states.append(model.state_dict() | {"loss": torch.tensor(run.history["loss"])})
        moved = (model.embedding != before).any(1).nonzero().flatten().tolist()
        assert moved == [2, 7, 30, 31]
    assert len(FusedTrainer(model, corpus, TrainingConfig()).parameters.table) == 4
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


@torch.no_grad()
def test_only_types_that_occur_are_scored_where_they_are_few(monkeypatch):
    model = AttentionClassifier(TYPES, 20, dtype=torch.float64)
    corpus = Corpus.from_lists([[2, 30, 2], [7]], [0, 1], 2)
    assert len(model.type_rows(corpus, sparse=False)[0]) == 3
    few = model(corpus)
    monkeypatch.setattr(classifier, "FEW_TOKENS", 1000)
    assert len(model.type_rows(corpus, sparse=False)[0]) == TYPES
    assert all(torch.allclose(one, other, rtol=1e-14) for one, other in zip(few, model(corpus)))
