"""The classifier against plain loops in float64, and its symmetries and limits."""

import math
from functools import partial

import pytest
import torch
from cases import EXPLAINED, random_corpus
from hypothesis import given
from hypothesis import strategies as st
from reference import by_instance, mean_loss

from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.models import MODELS, Dropout, model_arguments
from uaftc_lib.settings import BY_TYPE

TYPES, D = 9, 5
KINDS = BY_TYPE | {
    "two columns": {"loss": "softmax"},
    "three classes": {"classes": 3},
    "three classes, affine": {"classes": 3, "encoder": "affine"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_model = pytest.mark.parametrize("kind", [*BY_TYPE, "three classes"])

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def make(kind, lam=0.3, **changed):
    """A model with scores large enough that the weights differ much."""
    options = {"embedding_range": 1.0, "weight_range": 1.0, "dtype": torch.float64} | changed
    return AttentionClassifier(TYPES, D, lam, **KINDS[kind], **options)


def corpus_for(kind, lengths=(4, 1, 6, 3, 3), seed=0):
    return random_corpus(lengths, TYPES, seed, KINDS[kind].get("classes", 2))


def written_out(model, corpus):
    """The arguments of the functions of reference.py."""
    return dict(model.named_parameters()), corpus, model.lam, model.attention == "additive"


def by_hand(model, corpus, dropout=None):
    """Polarity of every instance; scores, weights and token polarity, end to end: one instance after the other."""
    *by_position, polarity = zip(*by_instance(*written_out(model, corpus), dropout))
    return torch.stack(polarity), *map(torch.cat, by_position)


def close(x, y, tolerance=1e-12):
    torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance)


@every_kind
@given(lengths=LENGTHS, seed=st.integers(0, 1000), lam=st.floats(0.1, 1000))
def test_forward_and_loss_are_eq_1_to_7_and_74(kind, lengths, seed, lam):
    """Of each instance alone: whatever else is in the corpus, and in whatever order, changes nothing."""
    model, corpus = make(kind, lam), corpus_for(kind, lengths, seed)
    for part, expected in zip(model(corpus), by_hand(model, corpus)):
        close(part, expected)
    close(model.loss(corpus), mean_loss(*written_out(model, corpus)))


@pytest.mark.parametrize("options", [{}, {"encoder": "lstm", "hidden": 4}])
def test_sparse_gradient_holds_only_types_that_occur(options):
    model = AttentionClassifier(TYPES, D, **options)
    model.loss(Corpus.from_lists([[3, 3, 7]], [1]), sparse=True).backward()
    gradient = model.embedding.grad
    assert gradient.is_sparse
    assert sorted(gradient.coalesce().indices()[0].tolist()) == [3, 7]


@every_model
def test_dropout_masks_belong_to_occurrences(kind):
    """One type twice in an instance, with two masks: two different scores, as plain loops have it."""
    model = make(kind)
    corpus = Corpus.from_lists([[2, 2, 5], [2]], [1, 0], KINDS[kind].get("classes", 2))
    draws = torch.Generator().manual_seed(0)
    dropout = Dropout(
        embedding=torch.randint(2, (4, D), generator=draws).double() / 0.5,
        pooled=torch.randint(2, (2, D), generator=draws).double() / 0.5,
    )
    out = model(corpus, dropout)
    for part, expected in zip(out, by_hand(model, corpus, dropout)):
        close(part, expected)
    assert out.scores[0] != out.scores[1]


@every_model
def test_train_mode_alone_drops_nothing(kind):
    model, corpus = make(kind), corpus_for(kind)
    assert torch.equal(model.train()(corpus).polarity, model.eval()(corpus).polarity)


def test_penalty_is_the_dot_product_of_what_scores_and_what_classifies():
    for kind in ("DP", "AD", "three classes"):
        model = make(kind)
        close(model.penalty(), sum(abs(model.V @ column) for column in model.W.reshape(D, -1).T))
    model = make("DP-A")
    close(model.penalty(), ((model.M.T @ model.W) @ (model.M.T @ model.V)).abs())


@every_model
def test_token_scores_global_and_local(kind):
    model, corpus = make(kind), corpus_for(kind)
    everywhere = model.token_scores()
    for w in range(TYPES):
        alone = model(Corpus.from_lists([[w]], [0], corpus.class_count))
        close(everywhere.attention[w], alone.scores[0])
        close(everywhere.polarity[w], alone.polarity[0])
    local, occurs = model.token_scores(corpus), torch.zeros(TYPES, dtype=torch.bool)
    occurs[corpus.tokens] = True
    assert 0 < occurs.sum() < TYPES
    close(local.attention[occurs], everywhere.attention[occurs])
    close(local.polarity[occurs], everywhere.polarity[occurs])
    assert local.attention[~occurs].isnan().all() and local.polarity[~occurs].isnan().all()
    assert not local.attention.requires_grad


@every_model
def test_prediction_and_accuracy(kind):
    model, corpus = make(kind), corpus_for(kind, lengths=[3] * 40)
    polarity = by_hand(model, corpus)[0]
    expected = [int(s.argmax()) if s.dim() else int(s > 0) for s in polarity]
    assert model.predict(corpus).tolist() == expected
    right = sum(a == b for a, b in zip(expected, corpus.labels.tolist()))
    assert model.accuracy(corpus) == right / 40
    assert 0 < right < 40


@every_model
@given(word=st.integers(0, TYPES - 1), exponent=st.floats(-6, 12), others=LENGTHS)
def test_one_word_gets_weight_one(kind, word, exponent, others):
    """Exactly, whatever λ and whatever else there is, also in float32."""
    model = make(kind, 10.0**exponent, dtype=torch.float32)
    corpus = corpus_for(kind, others)
    lists = [*(one.tokens.tolist() for one in corpus), [word]]
    out = model(Corpus.from_lists(lists, [*corpus.labels.tolist(), 0], corpus.class_count))
    assert out.weights[-1].item() == 1
    assert torch.equal(out.polarity[-1], out.token_polarity[-1])


@every_model
def test_large_lam_is_mean_pooling_with_error_of_order_one_over_lam(kind):
    corpus = corpus_for(kind, lengths=[7] * 30)
    errors = []
    for lam in (1e2, 1e3, 1e4, 1e5):
        out = make(kind, lam)(corpus)
        shape = (30, 7, *out.token_polarity.shape[1:])
        errors.append((out.polarity - out.token_polarity.reshape(shape).mean(1)).abs().max().item())
    orders = [math.log10(coarse / fine) for coarse, fine in zip(errors, errors[1:])]
    assert errors[-1] > 1e-9
    assert orders == pytest.approx([1, 1, 1], abs=0.02)


@every_model
@given(exponent=st.floats(-6, 12), seed=st.integers(0, 20), wide=st.booleans())
def test_no_lam_gives_nan_in_float32(kind, exponent, seed, wide):
    lam, start = 10.0**exponent, 1.0 if wide else 0.1
    model = make(kind, lam, dtype=torch.float32, embedding_range=start, seed=seed)
    corpus = corpus_for(kind, seed=seed)
    out = model(corpus)
    assert all(part.isfinite().all() for part in out)
    assert math.isclose(out.weights.sum().item(), len(corpus), rel_tol=1e-5)
    loss = model.loss(corpus)
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_start_values():
    model = AttentionClassifier(2000, 300, encoder="affine", weight_range=0.3, dtype=torch.float64)
    for values, edge in ((model.embedding, 0.1), (model.W, 0.3), (model.M, 300**-0.5)):
        assert 0.98 * edge < values.abs().max() <= edge
        n = values.numel()
        assert abs(values.mean()) < 5 * edge / math.sqrt(3 * n)
        assert abs(values.std() - edge / math.sqrt(3)) < 0.05 * edge
    assert abs(model.V.std() - 1) < 5 / math.sqrt(600)
    assert model.V.abs().max() > 2


@pytest.mark.usefixtures("global_generators_untouched")
def test_seed_decides_and_dtype_only_rounds():
    first, again, other = (make("DP-A", seed=seed) for seed in (1, 1, 2))
    single = make("DP-A", seed=1, dtype=torch.float32)
    for name, values in first.named_parameters():
        assert torch.equal(values, again.get_parameter(name))
        assert not torch.equal(values, other.get_parameter(name))
        assert torch.equal(values.float(), single.get_parameter(name))


def test_names_of_models():
    assert list(MODELS) == ["DP", "DP-L", "DP-A", "AD", "GRU"]
    assert model_arguments("AD") == {"encoder": "none", "attention": "additive"}
    assert AttentionClassifier(TYPES, D, **model_arguments("DP-A")).encoder == "affine"
    with pytest.raises(ValueError, match="model must be one of DP, DP-L, DP-A, AD, GRU, got 'dp'"):
        model_arguments("dp")


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"lam": 0}, "lam must be a finite number above 0, got 0"),
        ({"lam": -1.0}, "above 0, got -1.0"),
        ({"lam": math.nan}, "above 0, got nan"),
        ({"lam": math.inf}, "above 0, got inf"),
        ({"lam": "10"}, "above 0, got '10'"),
        ({"lam": True}, "above 0, got True"),
        ({"vocabulary_size": 0}, "vocabulary_size must be a whole number, at least 1, got 0"),
        ({"dimension": 2.5}, "dimension must be a whole number, at least 1, got 2.5"),
        ({"dimension": 2.0}, "got 2.0"),
        ({"classes": 1}, "classes must be a whole number, at least 2, got 1"),
        ({"classes": True}, "classes must be a whole number"),
        ({"hidden": 0}, "hidden must be a whole number, at least 1"),
        ({"encoder": "cnn"}, "encoder must be one of none, affine, lstm, gru, got 'cnn'"),
        ({"attention": "dots"}, "attention must be one of dot, additive, got 'dots'"),
        ({"loss": "hinge"}, "loss must be one of auto, logistic, softmax, got 'hinge'"),
        ({"loss": "logistic", "classes": 3}, 'loss="logistic" needs two classes, got 3'),
        ({"encoder": "affine", "attention": "additive"}, "choose one"),
        ({"embedding_range": -0.1}, "embedding_range must be a finite number at least 0, got -0.1"),
        ({"weight_range": math.inf}, "weight_range must be a finite number at least 0, got inf"),
        ({"seed": -3}, "seed must be a whole number, at least 0, got -3"),
        ({"seed": 1.5}, "seed must be a whole number, at least 0, got 1.5"),
        ({"dtype": torch.int64}, "dtype must be torch.float32 or torch.float64, got torch.int64"),
        ({"dtype": torch.float16}, "dtype must be torch.float32 or torch.float64, got torch.float16"),
        ({"dtype": torch.bfloat16}, "got torch.bfloat16"),
        ({"dtype": "float32"}, "dtype must be torch.float32 or torch.float64, got float32"),
        ({"lam": 1e-40}, "lam must lie between 1.18e-38 and 3.4e\\+38 in torch.float32, got 1e-40"),
        ({"lam": 1e39}, "lam must lie between 1.18e-38 and 3.4e\\+38 in torch.float32, got 1e\\+39"),
        ({"lam": 10**400}, "lam must be a finite number above 0, got 1000"),
        ({"seed": 2**63}, "seed must be a whole number, at least 0 and at most 9223372036854775807, got 9223"),
        ({"device": "nosuch"}, "device 'nosuch' cannot be used here"),
    ],
)
def test_impossible_models_are_refused(untyped, changed, words):
    with pytest.raises(ValueError, match=words):
        AttentionClassifier(**{"vocabulary_size": TYPES, "dimension": D} | changed)


@pytest.mark.parametrize("value", [0, -5, math.nan, math.inf, True, "10", 1e-320, 10**400])
def test_lam_is_checked_when_it_is_set(untyped, value):
    model = make("DP")
    model.lam = 2
    with pytest.raises(ValueError, match="lam must"):
        model.lam = value
    assert model.lam == 2.0 and repr(model.lam) == "2.0"


def test_a_model_that_is_rounded_later_is_refused():
    corpus = corpus_for("DP")
    for model in (make("DP").half(), make("DP").bfloat16(), make("DP", 1e-100).float()):
        with pytest.raises(ValueError, match="dtype must be torch.float32 or|lam must lie between"):
            model(corpus)


@pytest.mark.parametrize("encoder", ["none", "lstm"])
def test_a_state_knows_its_lam(encoder):
    """Also within another module, and before a parameter is overwritten."""
    kept, other = (AttentionClassifier(TYPES, D, lam, encoder, seed=seed) for lam, seed in ((2.0, 0), (3.0, 1)))
    with pytest.raises(ValueError, match="saved at lam=2.0, the model has lam=3.0: build it with lam=2.0"):
        torch.nn.ModuleList([other]).load_state_dict(torch.nn.ModuleList([kept]).state_dict())
    assert not torch.equal(kept.V, other.V)
    other.lam = 2.0
    other.load_state_dict(kept.state_dict())
    assert torch.equal(kept.V, other.V)
    with pytest.raises(RuntimeError, match="Missing key.*_extra_state"):
        other.load_state_dict(dict(kept.named_parameters()))


@pytest.mark.parametrize("kind", ["DP", "two columns"])
def test_nothing_is_read_from_what_is_not_a_number(kind):
    model, corpus = make(kind), corpus_for(kind)
    with torch.no_grad():
        model.embedding[int(corpus.tokens[0])] = math.nan
    for call in (model.predict, model.accuracy, *(partial(each, model) for each in EXPLAINED)):
        with pytest.raises(ValueError, match="no finite number for some instances"):
            call(corpus)
    assert model.loss(corpus).isnan(), "training looks for itself"


@pytest.mark.parametrize("call", ["forward", "loss", "predict", "accuracy", "token_scores"])
def test_corpus_must_fit_the_model(untyped, call):
    model = make("DP")
    with pytest.raises(ValueError, match="model has 2 classes, the corpus 3"):
        getattr(model, call)(Corpus.from_lists([[1]], [1], 3))
    with pytest.raises(ValueError, match=r"token id 9, the model has 9 .*len\(dataset.vocabulary\)"):
        getattr(model, call)(Corpus.from_lists([[9]], [1]))
    with pytest.raises(ValueError, match=r"the model reads a Corpus, got list: .*Corpus.from_lists"):
        getattr(model, call)([1, 2])


@pytest.mark.parametrize("arguments", [{}, {"encoder": "lstm"}])
def test_M_is_none_where_there_is_no_M(arguments):
    model = AttentionClassifier(9, dimension=4, **arguments)
    assert model.M is None
    assert "M" not in model.state_dict() and "M" not in dict(model.named_parameters())
    assert AttentionClassifier(9, dimension=4, encoder="affine").M.shape == (4, 4)
