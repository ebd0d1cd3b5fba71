"""fit: the optimizers by hand, the protocol, what it leaves alone, what it refuses."""

import math

import pytest
import torch
from cases import random_corpus
from reference import Optimizer, mean_loss

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, fit, load_dataset
from uaftc_lib.checks import NotFinite
from uaftc_lib.fast import FusedTrainer, TypewiseTrainer
from uaftc_lib.settings import BY_TYPE
from uaftc_lib.streams import generator
from uaftc_lib.training import AutogradTrainer, batches_of, dev_loss, draw_dropout

TYPES, D = 12, 4
KINDS = BY_TYPE | {"three classes": {"classes": 3}}
every_kind = pytest.mark.parametrize("kind", KINDS)


def toy(kind="DP", dev=True):
    classes = KINDS[kind].get("classes", 2)

    def part(instances, seed):
        lengths = torch.randint(1, 6, (instances,), generator=torch.Generator().manual_seed(seed + 9)).tolist()
        return random_corpus(lengths, TYPES - 3, seed, classes)

    return Dataset(
        "toy",
        Vocabulary([f"w{i}" for i in range(TYPES - 3)]),
        tuple(str(k) for k in range(classes)),
        train=part(23, 0),
        dev=part(11, 1) if dev else None,
        test=part(13, 2) if dev else None,
    )


def make(kind="DP", lam=2.0, **changed):
    options = {"dtype": torch.float64, "embedding_range": 0.5, "weight_range": 0.5} | changed
    return AttentionClassifier(TYPES, D, lam, **KINDS[kind], **options)


def state(model):
    return {name: values.clone() for name, values in model.state_dict().items()}


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def penalty_by_hand(p, kind):
    V, W = p["V"], p["W"]
    if kind == "DP-A":
        V, W = p["M"].T @ V, p["M"].T @ W
    return sum((V @ column).abs() for column in (W.T if W.dim() == 2 else [W]))


def train_by_hand(model, dataset, config, kind):
    """Parameters after the epochs, and the mean loss of each epoch."""
    p = {name: values.detach().clone() for name, values in model.named_parameters()}
    rates = {name: config.learning_rates.get(name, config.learning_rate) for name in p}
    optimizer = Optimizer(config.optimizer, rates, config.learning_rate_decay)
    order, losses, step = generator(config.seed, "order"), [], 0
    for _ in range(config.epochs):
        total = 0.0
        for indices in batches_of(len(dataset.train), config.batch_size, order):
            batch = dataset.train[indices]
            dropout = draw_dropout(model, batch, config, step) if config.dropout else None
            leaves = {name: values.clone().requires_grad_() for name, values in p.items()}
            loss = mean_loss(leaves, batch, model.lam, model.attention == "additive", dropout)
            objective = loss + config.penalty * penalty_by_hand(leaves, kind)
            gradients = dict(zip(leaves, torch.autograd.grad(objective, list(leaves.values()))))
            if "M" in p:
                gradients["M"] = gradients["M"] + config.weight_decay * p["M"]
            p = optimizer.update(p, gradients)
            total += loss.item() * len(batch)
            step += 1
        losses.append(total / len(dataset.train))
    return p, losses


SETTINGS = {
    "plain": {},
    "decay of the learning rate": {"learning_rate_decay": 0.3},
    "rates by parameter": {"learning_rates": {"V": 0.0, "embedding": 0.05}},
    "dropout": {"dropout": 0.4},
    "penalty": {"penalty": 0.3},
    "weight decay": {"weight_decay": 0.2},
    "full batch": {"batch_size": None},
    "everything": {
        "learning_rate_decay": 0.1,
        "learning_rates": {"W": 0.03},
        "dropout": 0.2,
        "penalty": 0.05,
        "weight_decay": 0.1,
        "batch_size": 5,
    },
}


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd", "adam"])
@pytest.mark.parametrize("setting", SETTINGS)
@every_kind
def test_training_is_the_loop_written_by_hand(kind, setting, optimizer):
    options = {"optimizer": optimizer, "learning_rate": 0.1, "batch_size": 7, "epochs": 3, "seed": 4}
    config = TrainingConfig(**options | SETTINGS[setting], method="autograd")
    dataset, model = toy(kind, dev=False), make(kind)
    expected, losses = train_by_hand(model, dataset, config, kind)
    run = fit(model, dataset, config)
    for name, values in expected.items():
        torch.testing.assert_close(model.state_dict()[name], values, rtol=1e-9, atol=1e-11)
    assert run.history["loss"].tolist() == pytest.approx(losses, rel=1e-9)


@pytest.fixture
def steps_by(monkeypatch):
    """The trainers that took an epoch, by name."""
    seen = []
    for trainer in (AutogradTrainer, FusedTrainer, TypewiseTrainer):

        def epoch(self, batches, trainer=trainer, real=trainer.epoch):
            seen.append(trainer)
            return real(self, batches)

        monkeypatch.setattr(trainer, "epoch", epoch)
    return seen


@pytest.mark.parametrize("method", ["auto", "fast", "autograd"])
@every_kind
def test_the_method_chooses_the_trainer(kind, method, steps_by):
    """Both give the same numbers, so that these could not tell which of them was at work."""
    fit(make(kind), toy(kind), TrainingConfig(epochs=2, method=method))
    assert steps_by == [AutogradTrainer if method == "autograd" else FusedTrainer] * 2


@pytest.mark.parametrize("options, changes", [({"encoder": "lstm", "hidden": 3}, {}), ({}, {"optimizer": "adam"})])
def test_auto_takes_autograd_where_the_fast_path_is_not_exact(options, changes, steps_by):
    fit(AttentionClassifier(TYPES, D, **options), toy(), TrainingConfig(epochs=1, method="auto", **changes))
    assert steps_by == [AutogradTrainer]


def test_batches():
    order = generator(0, "order")
    first, second = batches_of(10, 4, order), batches_of(10, 4, order)
    assert [len(batch) for batch in first] == [4, 4, 2]
    assert sorted(torch.cat(first).tolist()) == list(range(10))
    assert torch.cat(first).tolist() != torch.cat(second).tolist()
    assert [batch.tolist() for batch in batches_of(3, None, order)] == [[0, 1, 2]]


def test_masks_one_for_each_occurrence():
    model = AttentionClassifier(TYPES, 64, dtype=torch.float64)
    batch = Corpus.from_lists([[3, 3], [3]], [0, 1])
    config = TrainingConfig(dropout=0.25)
    dropout = draw_dropout(model, batch, config, 0)
    assert dropout.embedding.shape == (3, 64) and dropout.pooled.shape == (2, 64)
    assert set(dropout.embedding.unique().tolist()) == {0, 1 / 0.75}
    rows = [*dropout.embedding, *dropout.pooled]
    assert all(not torch.equal(a, b) for i, a in enumerate(rows) for b in rows[:i])
    assert torch.equal(draw_dropout(model, batch, config, 0).embedding, dropout.embedding)
    for other in (draw_dropout(model, batch, config, 1),
                  draw_dropout(model, batch, TrainingConfig(dropout=0.25, seed=1), 0)):  # fmt: skip
        assert not torch.equal(other.embedding, dropout.embedding)


@pytest.fixture
def scripted(monkeypatch):
    """``scripted(accuracies)``: the dev accuracies of the epochs to come, whatever the model says."""

    def script(accuracies):
        seen = {}

        def accuracy(model, corpus):
            key = model.V.detach().numpy().tobytes()
            if key not in seen:
                seen[key] = accuracies[len(seen)]
            return seen[key]

        monkeypatch.setattr(AttentionClassifier, "accuracy", accuracy)

    return script


def states_of_epochs(last=None):
    states = []

    def record(epoch, model):
        states.append(state(model))
        if epoch == last:
            raise KeyboardInterrupt
        return {}

    return states, record


@pytest.mark.parametrize("accuracies, best", [([0.5, 0.7, 0.7, 0.6], 2), ([0.9, 0.1], 1), ([0.1, 0.2, 0.3], 3)])
def test_best_dev_epoch_first_of_equals(scripted, accuracies, best):
    scripted(accuracies)
    model, (states, record) = make(), states_of_epochs()
    run = fit(model, toy(), TrainingConfig(epochs=len(accuracies)), record)
    assert run.best_epoch == best
    assert run.dev_accuracy == accuracies[best - 1]
    assert run.history["dev_accuracy"].tolist()[1:] == accuracies
    assert same(state(model), states[best])
    assert not same(states[best], states[best - 1])


@pytest.mark.parametrize(
    "accuracies, epochs, best",
    [
        ([0.5, 0.7, 0.6, 0.7, 0.6, 0.9], 5, 2),
        ([0.5, 0.7, 0.6, 0.7, 0.8, 0.7, 0.7, 0.7, 0.9], 8, 5),
        ([0.5, 0.5003, 0.5006, 0.5009, 0.9], 4, 4),  # better, but by less than a thousandth in all
        ([0.5, 0.5003, 0.5006, 0.5011, 0.5], 5, 4),
    ],
)
def test_training_ends_when_three_epochs_are_no_better(scripted, accuracies, epochs, best):
    scripted(accuracies)
    run = fit(make(), toy(), TrainingConfig(epochs=len(accuracies)), patience=3)
    assert run.history["dev_accuracy"].tolist() == accuracies[:epochs] and run.best_epoch == best


def test_the_epoch_is_chosen_by_loss_only_when_asked():
    """By default the first of equally accurate epochs."""
    others = torch.randint(2, 40, (200, 6), generator=torch.Generator().manual_seed(0)).tolist()
    texts, labels = [[i % 2, *others[i]] for i in range(200)], [i % 2 for i in range(200)]
    corpora = [Corpus.from_lists(texts[rows], labels[rows]) for rows in (slice(120), slice(120, 200))]
    dataset = Dataset("made", Vocabulary([f"word{i}" for i in range(40)]), ("0", "1"), *corpora)
    runs, losses = {}, []
    for best in ("accuracy", "loss"):
        model = AttentionClassifier(len(dataset.vocabulary), 8, seed=0)

        def record(epoch, model):
            return {"dev_loss": dev_loss(model, dataset.dev)}

        runs[best] = fit(model, dataset, TrainingConfig(epochs=12, learning_rate=0.3), record, best=best)
        losses.append(dev_loss(model, dataset.dev))
    history = runs["accuracy"].history.set_index("epoch").loc[1:]
    first = history["dev_accuracy"].idxmax()
    assert runs["accuracy"].best_epoch == first
    assert runs["loss"].best_epoch == history["dev_loss"].idxmin() != first
    assert losses == [pytest.approx(history["dev_loss"][first]), pytest.approx(history["dev_loss"].min())]
    with pytest.raises(ValueError, match="best must be one of accuracy, loss"):
        fit(model, dataset, best="last")


def test_accuracies_are_those_of_the_model_that_is_left():
    dataset, model = toy(), make()
    run = fit(model, dataset, TrainingConfig(epochs=6, learning_rate=0.3, batch_size=4))
    assert run.dev_accuracy == model.accuracy(dataset.dev) == run.history["dev_accuracy"].max()
    assert run.test_accuracy == model.accuracy(dataset.test)
    assert 0 < run.test_accuracy < 1 and run.history["epoch"].tolist() == [1, 2, 3, 4, 5, 6]


def test_without_dev_the_last_epoch():
    model, (states, record) = make(), states_of_epochs()
    run = fit(model, toy(dev=False), TrainingConfig(epochs=3), record)
    assert run.best_epoch == 3 and run.history["loss"][1:].between(0.3, 1.2).all()
    assert math.isnan(run.dev_accuracy) and math.isnan(run.test_accuracy)
    assert same(state(model), states[3])
    assert run.history["dev_accuracy"].isna().all()


def test_record_adds_columns_from_epoch_0():
    dataset, seen = toy(), []

    def record(epoch, model):
        seen.append(epoch)
        return {"norm": float(model.W.detach().norm()), "loss_now": float(model.loss(dataset.train).detach())}

    model = make()
    start = float(model.W.detach().norm())
    history = fit(model, dataset, TrainingConfig(epochs=2, batch_size=None), record).history
    assert seen == [0, 1, 2]
    assert set(history) == {"epoch", "loss", "dev_accuracy", "norm", "loss_now"}
    assert history["epoch"].tolist() == [0, 1, 2]
    assert history["norm"][0] == start
    assert history["norm"].nunique() == 3
    assert math.isnan(history["loss"][0]) and math.isnan(history["dev_accuracy"][0])
    # One full batch: the loss of an epoch is the one before its only step.
    assert history["loss"].tolist()[1:] == pytest.approx(history["loss_now"].tolist()[:-1], rel=1e-12)


def test_no_epochs_leave_the_model_as_it_was():
    dataset, model = toy(), make()
    before = state(model)
    run = fit(model, dataset, TrainingConfig(epochs=0))
    assert same(state(model), before)
    assert (run.best_epoch, len(run.history), run.config.epochs) == (0, 0, 0)
    assert run.dev_accuracy == model.accuracy(dataset.dev)
    assert list(run.history) == ["epoch", "loss", "dev_accuracy"]


@pytest.mark.parametrize("accuracies, best", [([0.5, 0.8, 0.6], 2), ([0.1, 0.2, 0.3], 3)])
def test_interrupt_leaves_the_best_epoch_so_far(scripted, accuracies, best):
    scripted(accuracies)
    model, (states, record) = make().eval(), states_of_epochs(last=3)
    with pytest.raises(KeyboardInterrupt):
        fit(model, toy(), TrainingConfig(epochs=10), record)
    assert same(state(model), states[best])
    assert not model.training


@pytest.mark.parametrize("method", ["fast", "autograd"])
@pytest.mark.parametrize("best", ["accuracy", "loss"])
def test_training_that_diverges_says_so(method, best):
    words = r"diverged in epoch [12]: its loss is nan.* smaller learning rate \(now 1e\+30\), or a larger lam"
    with pytest.raises(NotFinite, match=words):
        fit(make(), toy(), TrainingConfig("sgd", 1e30, batch_size=4, epochs=3, method=method), best=best)


@pytest.mark.parametrize("dev", [True, False])
def test_a_parameter_that_is_not_finite_ends_training_at_the_best_epoch_before(monkeypatch, dev):
    model, values = make(), iter([1.0, math.nan])

    def epoch(*_):
        model.embedding.data[0, 0] = next(values)
        return 0.5

    monkeypatch.setattr(FusedTrainer, "epoch", epoch)
    with pytest.raises(NotFinite, match="in epoch 2: its loss is 0.5, and embedding hold numbers"):
        fit(model, toy(dev=dev), TrainingConfig(epochs=2))
    assert model.embedding[0, 0] == 1 if dev else model.embedding[0, 0].isnan()


def test_the_best_epoch_has_its_lam(scripted):
    scripted([0.5, 0.8, 0.6])
    model = make()
    run = fit(model, toy(), TrainingConfig(epochs=3), lambda epoch, model: setattr(model, "lam", 2.0 + epoch) or {})
    assert run.best_epoch == 2 and model.lam == 3.0, "the state is taken before ``record`` is called"


def test_gradients_are_taken_where_a_caller_has_switched_them_off():
    model, config = make(), TrainingConfig(epochs=1, method="autograd")
    before = model.W.clone()
    with torch.no_grad():
        fit(model, toy(), config)
    assert not torch.equal(model.W, before)


@pytest.mark.usefixtures("global_generators_untouched")
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@every_kind
def test_same_seed_same_bytes(kind, dropout):
    def train(seed, model_seed=0):
        model = make(kind, seed=model_seed, dtype=torch.float32)
        run = fit(model, toy(kind), TrainingConfig(epochs=3, batch_size=6, dropout=dropout, seed=seed))
        return [values.numpy().tobytes() for values in state(model).values()], run.history.to_csv()

    assert train(0) == train(0)
    assert train(1) != train(0)
    assert train(0, model_seed=1) != train(0)


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd", "adam"])
@pytest.mark.parametrize("kind", BY_TYPE)
def test_flipped_labels_and_W_train_to_the_flipped_model(kind, optimizer):
    """Bit by bit, with everything that the protocol offers."""
    config = TrainingConfig(optimizer, epochs=4, batch_size=5, dropout=0.3, penalty=0.01, weight_decay=0.01)
    dataset, model, flipped = toy(kind), make(kind), make(kind)
    flipped.load_state_dict(state(model) | {"W": -model.W.detach()})
    mirror = Dataset("mirror", dataset.vocabulary, dataset.classes, **{
        split: Corpus(c.tokens, c.offsets, 1 - c.labels) for split, c in dataset.splits.items()
    })  # fmt: skip
    run, other = fit(model, dataset, config), fit(flipped, mirror, config)
    for name, values in state(model).items():
        assert torch.equal(flipped.state_dict()[name], -values if name == "W" else values)
    assert run.history.equals(other.history)


@pytest.mark.parametrize("lam", [1e-6, 1e-3, 1.0, 1e4, 1e12])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@every_kind
def test_no_lam_gives_nan_while_training_in_float32(kind, optimizer, lam):
    model = make(kind, lam, dtype=torch.float32)
    run = fit(model, toy(kind), TrainingConfig(optimizer, epochs=5, batch_size=4, dropout=0.2, penalty=1e-3))
    assert all(values.isfinite().all() for values in state(model).values())
    assert run.history["loss"].map(math.isfinite).all()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"optimizer": "rmsprop"}, "optimizer must be one of adagrad, sgd, adam, got 'rmsprop'"),
        ({"method": "quick"}, "method must be one of auto, fast, autograd, got 'quick'"),
        ({"learning_rate": -0.1}, "learning_rate must be a finite number at least 0, got -0.1"),
        ({"learning_rate": math.nan}, "learning_rate must be a finite number"),
        ({"learning_rate": "0.1"}, "learning_rate must be a finite number at least 0, got '0.1'"),
        ({"learning_rate_decay": -1}, "learning_rate_decay must be a finite number"),
        ({"learning_rates": {"V": -1}}, "the learning rate of V must be a finite number"),
        ({"penalty": math.inf}, "penalty must be a finite number"),
        ({"weight_decay": -1e-3}, "weight_decay must be a finite number"),
        ({"batch_size": 0}, "batch_size .* must be a whole number, at least 1, got 0"),
        ({"batch_size": 100.0}, "batch_size .* got 100.0"),
        ({"epochs": -1}, "epochs must be a whole number, at least 0, got -1"),
        ({"epochs": 1.5}, "epochs must be a whole number"),
        ({"epochs": True}, "epochs must be a whole number, at least 0, got True"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"dropout": -0.1}, r"dropout must lie in \[0, 1\)"),
        ({"dropout": math.nan}, r"dropout must lie in \[0, 1\)"),
        ({"seed": -1}, "seed must be a whole number, at least 0, got -1"),
        ({"seed": None}, "seed must be a whole number, at least 0, got None"),
    ],
)
def test_impossible_configurations_are_refused(untyped, options, words):
    with pytest.raises(ValueError, match=words):
        TrainingConfig(**options)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: fit(make(), toy().train), "fit trains on a Dataset, got Corpus.*wrap it"),
        (lambda: fit(make(), toy(), TrainingConfig(learning_rates={"v": 1})), "names v; the parameters are emb"),
        (lambda: fit(make(), toy("three classes")), "model has 2 classes, the corpus 3"),
        (lambda: fit(AttentionClassifier(5, D), toy()), "the model has 5 token types"),
        (lambda: fit(make(), toy(), record=lambda epoch, model: None), "record must return a dict.*got None"),
        (lambda: fit(make(), toy(), record=lambda epoch, model: {"loss": 1}), "column 'loss'"),
    ],
)
def test_what_does_not_fit_together_is_refused(untyped, call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.data("sst")
def test_sst_accuracies_at_lam_10():
    """DP, no dropout, the defaults of TrainingConfig: three seeds, each of model and order."""
    sst = load_dataset("sst")
    for seed in range(3):
        model = AttentionClassifier(len(sst.vocabulary), lam=10, seed=seed)
        run = fit(model, sst, TrainingConfig(seed=seed))
        assert 0.80 <= run.test_accuracy <= 0.835
        assert 0.78 <= run.dev_accuracy <= 0.835
