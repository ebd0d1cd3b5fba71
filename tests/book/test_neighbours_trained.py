"""Trained attacks and diagnostics of other papers, on made-up texts of a few words."""

from dataclasses import replace

import pytest
import torch

from uaftc_book.neighbours import controls, deception, jain_wallace, wiegreffe_pinter
from uaftc_book.neighbours.jain_wallace import KEYS, READS, JainWallaceClassifier, fresh
from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary
from uaftc_lib.explain import adversarial_attention, contributions, jensen_shannon
from uaftc_lib.models import Output, model_arguments, softmax_by_instance, sum_by_instance

TYPES = 12  # words 0 and 1 tell the class "yes", 2 and 3 "no"; the others say nothing


def texts(instances, seed):
    draws = torch.Generator().manual_seed(seed)
    made, labels = [], torch.arange(instances) % 2
    for label in labels.tolist():
        length = int(torch.randint(3, 9, (), generator=draws))
        text = torch.randint(4, TYPES - 3, (length,), generator=draws)
        told = torch.randperm(length, generator=draws)[:2]
        text[told] = torch.randint(2, (2,), generator=draws) + 2 * (1 - label)
        made.append(text.tolist())
    return Corpus.from_lists(made, labels.tolist())


def told_by_words():
    """A data set whose labels four words tell."""
    words = Vocabulary([f"word {i}" for i in range(TYPES - 3)])
    return Dataset("told", words, ("no", "yes"), *(texts(n, n) for n in (320, 80, 120)))


@pytest.fixture(scope="module")
def told():
    return told_by_words()


@pytest.fixture(scope="module")
def base(told):
    """A classifier of plain embeddings that has learnt it."""
    model, best_epoch = jain_wallace.train_classifier(told, "words", "tanh", seed=1, epochs=12)
    assert model.accuracy(told.test) == 1 and 1 <= best_epoch <= 12
    return model


# --- the trainer


def test_fused_steps_are_the_plain_ones(told, monkeypatch):
    plain = torch.optim.Adam

    def trained():
        return list(jain_wallace.train_classifier(told, "bilstm", "tanh", epochs=1)[0].parameters())

    fused = trained()
    monkeypatch.setattr(torch.optim, "Adam", lambda groups, fused, **told: plain(groups, fused=False, **told))
    for one, other in zip(fused, trained()):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_an_objective_takes_the_place_of_the_loss(told):
    """Every model keeps its initialisation under an objective that is always 0, but for the decay of what decays."""
    for model in (JainWallaceClassifier(TYPES, "words", seed=2), AttentionClassifier(TYPES, 5, seed=2)):
        start = {name: value.clone() for name, value in model.named_parameters()}
        nothing = jain_wallace.JainWallaceTrainer(
            model, told.train, 0, lambda model, batch, out: 0 * out.polarity.sum()
        )
        assert nothing.epoch() == 0
        moved = {name for name, value in model.named_parameters() if not torch.equal(value, start[name])}
        assert moved == {"embedding", "W"}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("keys", KEYS)
def test_a_fresh_model_is_of_the_same_kind(reads, keys):
    model = JainWallaceClassifier(TYPES, reads, keys, 3.0, seed=1)
    other = fresh(model, 2)
    assert (other.reads, other.keys, other.lam, other.seed) == (reads, keys, 3.0, 2)
    again = fresh(other, 1)
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), again.parameters()))


@pytest.mark.parametrize("encoder", ["none", "lstm"])
def test_a_fresh_model_of_the_paper_is_of_the_same_kind(encoder):
    model = AttentionClassifier(TYPES, 6, 3.0, encoder, hidden=4, seed=1)
    again = fresh(fresh(model, 2), 1)
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), again.parameters()))
    assert again.lam == 3.0


def test_quality_is_accuracy_f1_and_area_under_the_curve():
    model, corpus = AttentionClassifier(4, 1), Corpus.from_lists([[0], [1], [2], [3]], [1, 0, 0, 1])
    with torch.no_grad():
        model.embedding.copy_(torch.tensor([[1.0], [-1.0], [2.0], [0.5]]))
        model.W.fill_(1.0)
    assert jain_wallace.classifier_quality(model, corpus) == {"accuracy": 0.75, "F1": pytest.approx(0.8), "AUC": 0.5}


# --- the adversary


def test_log_weights_are_finite_where_weights_underflow():
    corpus = Corpus.from_lists([[0, 1, 2], [3]], [0, 1])
    scores = torch.tensor([0.0, -900.0, -1.0, 5.0])
    found = wiegreffe_pinter.log_weights(scores, corpus)
    weights = softmax_by_instance(scores, corpus.instance_of, 2)
    torch.testing.assert_close(found.exp(), weights)
    assert float(weights[1]) == 0 and float(found[1]) == pytest.approx(-900 - torch.tensor(-1.0).exp().log1p().item())


def test_divergence_and_distance_are_those_of_their_definitions():
    corpus = Corpus.from_lists([[0, 1, 2], [3, 4]], [0, 1])
    draws = torch.Generator().manual_seed(0)
    one, two = (torch.randn(5, generator=draws, dtype=torch.float64) for _ in range(2))
    logits = torch.randn(2, 2, generator=draws, dtype=torch.float64)
    outs = [
        Output(logit, scores, softmax_by_instance(scores, corpus.instance_of, 2), scores)
        for logit, scores in zip(logits, (one, two))
    ]
    p, q = (out.weights.split([3, 2]) for out in outs)
    expected = torch.stack([(a * (a / b).log()).sum() for a, b in zip(p, q)])
    torch.testing.assert_close(wiegreffe_pinter.divergence(*outs, corpus), expected)
    first, second = (torch.stack([logit.sigmoid(), 1 - logit.sigmoid()]) for logit in logits)
    torch.testing.assert_close(wiegreffe_pinter.distance(*outs), (first - second).abs().sum(0) / 2)


def test_the_adversary_imitates_and_then_diverges(base, told):
    rows = wiegreffe_pinter.curve(base, told, 5, (0.0, 0.02), epochs=15)
    mild, strong = rows
    assert mild["TVD"] < 0.05 and mild["agreement"] == 1 and mild["accuracy"] == 1
    assert strong["JSD"] > mild["JSD"] + 0.1 and strong["KL"] > mild["KL"]
    assert list(mild) == list(strong) and mild["strength"] == 0.0


def test_the_adversary_starts_elsewhere_and_leaves_the_base_alone(base, told):
    before = [value.clone() for value in base.parameters()]
    with pytest.raises(ValueError, match="start"):
        wiegreffe_pinter.train_adversary(base, told, 0.1, base.seed)
    wiegreffe_pinter.train_adversary(base, told, 0.1, 7, epochs=1)
    assert all(torch.equal(*pair) for pair in zip(before, base.parameters()))


@pytest.mark.parametrize("kind", ["DP", "DP-L", "projection", "bilstm"])
def test_every_kind_of_model_can_have_an_adversary_and_hide(kind, told):
    start = JainWallaceClassifier(TYPES, kind) if kind in READS else None
    start = start or AttentionClassifier(TYPES, 6, 3.0, model_arguments(kind)["encoder"], hidden=4)
    small = Dataset("small", told.vocabulary, told.classes, told.train[:64], told.dev[:20], told.test[:20])
    (row,) = wiegreffe_pinter.curve(start, small, 3, (0.001,), epochs=1)
    assert 0 <= row["TVD"] <= 1 and 0 <= row["JSD"] <= 0.6932 and row["KL"] > 0
    (row,) = deception.deception_rows(start, small, torch.arange(4), 3, (0.1,), epochs=1)
    assert 0 < row["attention"] < 1 and row["best epoch"] == 1


def test_training_stops_where_dev_is_reached_no_better(base, told, monkeypatch):
    """It is left at the first of the best epochs; without dev at the last."""
    reached, model = iter([1.0, 3.0, 3.0, 2.0, 9.0]), JainWallaceClassifier(TYPES, "words")
    steps = []

    def epoch(self):
        steps.append(0)
        self.model.W.data.fill_(len(steps))

    monkeypatch.setattr(jain_wallace.JainWallaceTrainer, "epoch", epoch)
    assert jain_wallace.train_model(model, told, epochs=5, best=lambda *_: next(reached), patience=2) == 2
    assert len(steps) == 4 and set(model.W.tolist()) == {2.0}
    assert jain_wallace.train_model(model, replace(told, dev=None), epochs=5, patience=2) == 5 and len(steps) == 9

    reached = iter([3.0, 2.0, 1.0])
    del steps[:]
    assert jain_wallace.train_model(model, told, epochs=4, best=lambda *_: next(reached), earliest=2) == 2
    assert len(steps) == 4 and set(model.W.tolist()) == {2.0}, "the first epoch is better, and may not be kept"


def test_the_bound_is_the_exact_adversary_at_each_texts_own_tolerance(base, told):
    corpus = told.test[:20]
    tolerances = torch.linspace(0, 0.9, 20)
    found = wiegreffe_pinter.bound(base, corpus, tolerances)
    for t, tolerance in enumerate(tolerances.tolist()):
        expected = adversarial_attention(base, corpus[t], tolerance + wiegreffe_pinter.OUTSIDE).divergence
        torch.testing.assert_close(found[t : t + 1], expected)
    rows = wiegreffe_pinter.ceiling(base, corpus, (0.01, 0.1))
    assert rows[0]["JSD"] <= rows[1]["JSD"] and [row["tolerance"] for row in rows] == [0.01, 0.1]


def test_other_weights_over_the_same_states_keep_to_the_bound_and_the_exact_ones_reach_it(base, told):
    other = controls.with_parts_redrawn(base, 3, ("attention",))
    other.V.data *= 20
    found = wiegreffe_pinter.adversary_measures(base, other, told.test)
    assert found["above"] == 0 and 0.01 < found["JSD"] <= found["JSD bound"]

    exact = wiegreffe_pinter.GuidedClassifier(
        TYPES, lambda corpus: adversarial_attention(base, corpus, 0.3).weights, "words"
    )
    exact.load_state_dict(base.state_dict())
    found = wiegreffe_pinter.adversary_measures(base, exact, told.test)
    assert 0.01 < found["TVD"] < 0.3 and found["above"] == 0
    assert found["JSD"] == pytest.approx(found["JSD bound"], abs=1e-6)

    itself = wiegreffe_pinter.adversary_measures(base, base, told.test)
    assert itself["TVD"] == itself["JSD"] == itself["KL"] == 0 and itself["agreement"] == 1


# --- given weights


@pytest.mark.parametrize("reads", READS)
def test_a_model_guided_by_itself_is_itself(reads, told):
    model = JainWallaceClassifier(TYPES, reads, seed=4)
    same = wiegreffe_pinter.GuidedClassifier(TYPES, wiegreffe_pinter.weights_of(model), reads, seed=4)
    for one, other in zip(model(told.dev)[:1], same(told.dev)[:1]):
        torch.testing.assert_close(one, other)
    out = same(told.dev)
    torch.testing.assert_close(softmax_by_instance(out.scores, told.dev.instance_of, len(told.dev)), out.weights)


def test_uniform_weights_take_the_mean_and_attention_stays_as_initialised(told):
    model = wiegreffe_pinter.GuidedClassifier(TYPES, wiegreffe_pinter.uniform_weights, "bilstm", seed=1)
    start = [value.clone() for value in model.attention_parameters]
    jain_wallace.train_model(model, told, epochs=3)
    assert model.accuracy(told.test) > 0.9
    assert all(torch.equal(*pair) for pair in zip(start, model.attention_parameters))
    out = model(told.test)
    mean = sum_by_instance(out.token_polarity, told.test.instance_of, len(told.test)) / told.test.lengths
    torch.testing.assert_close(out.polarity, mean)


def test_a_guide_that_looks_away_from_the_words_that_tell_spoils_it(told):
    def blind(corpus):
        return softmax_by_instance(-50.0 * (corpus.tokens < 4), corpus.instance_of, len(corpus))

    found = wiegreffe_pinter.guided_rows(
        told, {"uniform": wiegreffe_pinter.uniform_weights, "own": None, "blind": blind}, epochs=4
    )
    scores = {row["weights"]: row["accuracy"] for row in found}
    assert scores["uniform"] > 0.95 and scores["own"] > 0.95 and scores["blind"] < 0.8


# --- deception


def test_the_chosen_words_are_those_that_tell(told):
    assert sorted(deception.impermissible_words(told).tolist()) == [0, 1, 2, 3]


def test_the_penalty_is_that_of_its_definition():
    corpus = Corpus.from_lists([[0, 1, 5], [2, 2], [5, 6]], [0, 1, 1])
    words = torch.tensor([0, 1, 2])
    model = JainWallaceClassifier(TYPES, "words", seed=1).requires_grad_(False)
    out = model(corpus)
    with_penalty, usual = (deception.penalised(corpus, words, s)(model, corpus, out) for s in (0.5, 0.0))
    expected = -0.5 * (1 - out.weights[:2].sum()).log()  # the second text holds nothing else, the third none of them
    torch.testing.assert_close(with_penalty - usual, expected)
    hidden = out._replace(scores=torch.tensor([0.0, 300, -5, 1, 1, 1, 1]))
    assert float(deception.penalised(corpus, words, 1.0)(model, corpus, hidden)) == pytest.approx(305 + float(usual))


def test_contributions_show_hidden_words_where_nothing_else_can_tell_of_them(told):
    start, words = JainWallaceClassifier(TYPES, "words", "dot"), deception.impermissible_words(told)
    honest, hiding = deception.deception_rows(start, told, words, seed=1, strengths=(0.0, 3.0), epochs=20)
    assert hiding["attention"] < hiding["tokens"] / 2 < honest["tokens"] == hiding["tokens"] < honest["attention"]
    assert honest["accuracy"] > 0.95 and hiding["accuracy"] > 0.95
    assert hiding["contributions"] > 0.7 and hiding["kept without states"] == hiding["kept without words"] < 0.7


def test_an_lstm_carries_hidden_words_into_the_states_of_others(told):
    words = deception.impermissible_words(told)
    (row,) = deception.deception_rows(JainWallaceClassifier(TYPES, "bilstm"), told, words, strengths=(1.0,), epochs=12)
    assert row["attention"] < 0.01 and row["contributions"] < 0.01 and row["accuracy"] > 0.95
    assert row["kept without states"] == 1 and row["kept without words"] < 0.7


def test_what_is_shown_adds_up(base, told):
    words = torch.tensor([0, 1, 2, 3])
    corpus = Corpus.from_lists([[0, 5], [0, 1], [5, 6]], [1, 1, 0])
    found = deception.shown(base, corpus, words)
    assert found["texts"] == 1 and found["tokens"] == 0.5
    parts = contributions(base, corpus)[:2].abs()
    assert found["contributions"] == pytest.approx(float(parts[0] / parts.sum()), rel=1e-5)
    assert found["attention"] == pytest.approx(float(base(corpus).weights[0].detach()), rel=1e-5)
    # Without an encoder dropping states and dropping words are the same.
    whole = deception.shown(base, told.test, words)
    assert whole["kept without states"] == whole["kept without words"] < 0.9


def test_the_control_takes_as_many_other_words(base, monkeypatch):
    """One other word for one; all others where there are fewer; nothing of a text without the words."""
    left, without = [], Corpus.without
    monkeypatch.setattr(Corpus, "without", lambda *given: left.append(without(*given)) or left[-1])
    corpus, words = Corpus.from_lists([[0, 5, 6], [1, 0, 7], [5, 6]], [1, 1, 0]), torch.tensor([0, 1])
    assert 0 <= deception.kept_without_others(base, corpus, words, seed=3) <= 1
    (found,) = left
    assert found.tokens.tolist() in ([0, 5, 1, 0], [0, 6, 1, 0]) and found.lengths.tolist() == [2, 2]


# --- variation, controls


def test_variation_is_the_median_over_trainings():
    corpus = Corpus.from_lists([[0, 1], [2, 3, 4, 5, 6]], [0, 1])
    even = torch.tensor([0.5, 0.5, *[0.2] * 5])
    sharp = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    apart = wiegreffe_pinter.median_divergence(even, [even, sharp, sharp], corpus)
    torch.testing.assert_close(apart, jensen_shannon(even.double(), sharp.double(), corpus))
    half = wiegreffe_pinter.median_divergence(even, [even, sharp], corpus)
    torch.testing.assert_close(half, apart / 2)
    rows = wiegreffe_pinter.variation_rows(even, [even, sharp, sharp], corpus)
    assert [(row["largest weight from"], row["texts"]) for row in rows] == [(0.0, 1), (0.25, 1)]
    assert rows[1]["JSD"] == rows[1]["median"] == pytest.approx(float(apart[0]))


def test_permuted_labels_teach_nothing_and_the_data_set_stays(base, told):
    labels = told.train.labels.clone()
    model = controls.trained_on_permuted_labels(base, told, 3, epochs=4)
    assert torch.equal(told.train.labels, labels)
    assert model.accuracy(told.test) < 0.9


def test_a_part_drawn_anew_is_of_that_seed_and_the_others_stay(told):
    model = JainWallaceClassifier(TYPES, "projection", seed=1)
    for parameter in model.parameters():
        parameter.data += 1
    start = dict(fresh(model, 9).named_parameters())
    before = {name: value.clone() for name, value in model.named_parameters()}
    names = {"output": {"W"}, "attention": {"V", "M", "c"}, "encoder": {"P", "b"}, "embedding": {"embedding"}}
    for part, expected in names.items():
        for name, value in controls.with_parts_redrawn(model, 9, (part,)).named_parameters():
            assert torch.equal(value, start[name] if name in expected else before[name])
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())
    recurrent = controls.with_parts_redrawn(JainWallaceClassifier(TYPES, "bilstm", seed=1), 9, ("encoder",))
    fresh_one = JainWallaceClassifier(TYPES, "bilstm", seed=9)
    assert torch.equal(recurrent.recurrent.onward.weight_hh_l0, fresh_one.recurrent.onward.weight_hh_l0)
    with pytest.raises(ValueError, match="part"):
        controls.with_parts_redrawn(model, 9, ("head",))


def test_held_out_words_occur_often_enough_and_never_in_training(told):
    words = controls.drawn_words(told, 0.5, seed=3, fewest=5)
    counts = told.train.tokens.bincount(minlength=TYPES)
    assert len(words) == round(0.5 * int((counts[: told.vocabulary.word_count] >= 5).sum()))
    assert (counts[words] >= 5).all() and words.unique().numel() == len(words)
    assert not controls.drawn_words(told, 0.5, seed=3, fewest=10_000).numel()
    left = controls.without_words(told, words)
    for split in (left.train, left.dev):
        assert not torch.isin(split.tokens, words).any() and (split.lengths > 0).all()
    assert torch.isin(left.test.tokens, words).any() and torch.isin(told.train.tokens, words).any()


def test_models_that_know_nothing_stand_beside_the_trained_one(base, told):
    words = torch.tensor([0, 4])
    rows = {row["kind"]: row for row in controls.rows_of_controls(base, told, told.test, words, seed=5, epochs=8)}
    assert len(rows) == 8 and rows["trained to the last epoch"]["accuracy"] == 1
    trained, again, nothing = (rows[kind] for kind in ("trained", "trained again", "labels permuted"))
    assert trained["accuracy"] == again["accuracy"] == 1 and nothing["accuracy"] < 0.9
    assert all(trained[f"like {one}"] == pytest.approx(1) for one in controls.LIKENED)
    assert again["like contribution"] > 0.3 > abs(nothing["like contribution"])
    assert abs(rows["attention drawn anew"]["like attention"]) < 0.3 < rows["attention drawn anew"]["like contribution"]
    assert rows["output drawn anew"]["like attention"] == pytest.approx(1), "weights do not depend on W"
    assert rows["words held out"]["words' contributions"] < trained["words' contributions"]
    assert {"tau attention, leave-one-out", "words' attention", "AUC"} <= {*trained}
    assert not any("integrated" in name for name in trained)
