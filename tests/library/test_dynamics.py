"""The closed forms against autograd, on random corpora with repeated tokens and one-word instances."""

import copy

import pytest
import torch
from cases import KINDS, RECURRENT, cases, few, model_and_corpus, quick
from hypothesis import example, given
from hypothesis import strategies as st

from uaftc_book.chapters.attention_order import discrete_drift
from uaftc_book.equations import relative_error
from uaftc_book.inner_products import vector_laws
from uaftc_book.random_models import Case
from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, dynamics, fit
from uaftc_lib.models import SeparateTables, StructuredClassifier
from uaftc_lib.settings import BY_TYPE

every_kind = pytest.mark.parametrize("kind", KINDS)
binary_and_several = pytest.mark.parametrize("several", [False, True], ids=["binary", "several"])


def autograd(model, corpus):
    parameters = dict(model.named_parameters())
    found = torch.autograd.grad(model.loss(corpus), list(parameters.values()))
    return dict(zip(parameters, found))


def parameters_of(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def along_flow(model, corpus, quantity):
    """d/dτ of quantity(model) under gradient flow: forward-mode autograd along −∂ℓ."""
    names = [name for name, _ in model.named_parameters()]

    def of_parameters(P):
        probe = copy.copy(model)
        probe._parameters = {name: P[name] for name in names}
        return quantity(probe)

    downhill = {name: -g for name, g in autograd(model, corpus).items()}
    return torch.func.jvp(of_parameters, (parameters_of(model),), (downhill,))[1]


def sgd_step(model, corpus, rate):
    stepped, found = copy.deepcopy(model), autograd(model, corpus)
    with torch.no_grad():
        for name, gradient in found.items():
            stepped.get_parameter(name).sub_(rate * gradient)
    return stepped


def dataset_of(corpus, types):
    return Dataset("random", Vocabulary([str(i) for i in range(types - 3)]), corpus.classes, corpus)


@every_kind
@binary_and_several
@given(case=cases())
@quick
def test_gradients_equal_autograd(kind, several, case):
    model, corpus = model_and_corpus(case, kind, several)
    closed = dynamics.gradients(model, corpus)
    for name, gradient in autograd(model, corpus).items():
        assert closed[name].shape == gradient.shape
        assert relative_error(closed[name], gradient) < 1e-12, name


@every_kind
@binary_and_several
@given(case=cases())
@quick
def test_terms_sum_to_the_derivative_of_the_scores(kind, several, case):
    model, corpus = model_and_corpus(case, kind, several)
    attention, polarity = along_flow(model, corpus, lambda probe: probe.score(probe.embedding)[:2])
    assert relative_error(dynamics.polarity_update(model, corpus).total, polarity) < 1e-12
    assert relative_error(dynamics.attention_update(model, corpus).total, attention) < 1e-12


@pytest.mark.parametrize("kind", BY_TYPE)
@given(case=cases(), exponent=st.floats(-3, 0))
@example(case=Case(3, 1.0, 5, 5, 3, 531, 1.25), exponent=-3.0)
@quick
def test_terms_sum_for_small_lambda_relative_to_their_size(kind, case, exponent):
    model, corpus = model_and_corpus(case, kind, False)
    model.lam = 10**exponent
    attention, polarity = along_flow(model, corpus, lambda probe: probe.score(probe.embedding)[:2])
    for terms, derivative in (
        (dynamics.polarity_update(model, corpus), polarity),
        (dynamics.attention_update(model, corpus), attention),
    ):
        # At small λ the weights themselves carry the rounding of a = h·V/λ, magnified by max|a|. And where one word has
        # all the weight, s_j − s is that of two equal numbers; it moves a by 1/λ², once for each of its two gradients.
        scores = model.token_scores()
        magnification = 1 + float(scores.attention.abs().max())
        size = sum(term.abs().max() for term in terms if term is not None) + 1e-300
        rounded = 1e-15 * float(scores.polarity.abs().max()) / model.lam**2
        assert float((terms.total - derivative).abs().max()) < 1e-13 * magnification * size + rounded


@pytest.mark.parametrize("kind", [*KINDS, *RECURRENT])
@binary_and_several
@given(case=cases(), rate=st.floats(1e-3, 3))
@few
def test_conserved_matrices_drift_by_their_value_at_the_gradients(kind, several, case, rate):
    model, corpus = model_and_corpus(case, kind, several)
    before, after = dynamics.conserved(model), dynamics.conserved(sgd_step(model, corpus, rate))
    drift = discrete_drift(model, corpus, rate)
    for name in before:
        expected = drift.get(name, torch.zeros_like(before[name]))
        assert float((after[name] - before[name] - expected).abs().max()) < 1e-11, name
    assert several == ("Σ_k W_k" in before)


@every_kind
def test_a_matrix_that_is_not_conserved_is_caught(kind):
    model, corpus = model_and_corpus(Case(), kind, False)
    moved = along_flow(model, corpus, lambda probe: probe.embedding.T @ probe.embedding)
    assert float(moved.abs().max()) > 1e-3


@pytest.mark.parametrize("kind", [*KINDS, *RECURRENT])
@binary_and_several
@given(case=cases())
@few
def test_laws_of_V_and_W(kind, several, case):
    model, corpus = model_and_corpus(case, kind, several)
    laws = vector_laws(model, corpus)
    quantities = {
        "V·W": lambda probe: probe.V @ probe.W,
        "‖V‖²": lambda probe: probe.V @ probe.V,
        "‖W‖²": lambda probe: probe.W.square().sum(0),
    }
    if kind in ("AD", "separate"):  # keys and values are different vectors
        del quantities["V·W"]
    assert set(laws) == set(quantities)
    for name, quantity in quantities.items():
        assert float((laws[name] - along_flow(model, corpus, quantity)).abs().max()) < 1e-12 * model.lam, name


@pytest.mark.parametrize("kind", ["DP", "DP-A"])
@given(case=cases())
@quick
def test_band_ends_where_the_terms_balance(kind, case):
    model, corpus = model_and_corpus(case, kind, False)
    band = dynamics.admissible_band(model, corpus)
    V, W = (model.V @ model.M, model.M.T @ model.W) if kind == "DP-A" else (model.V, model.W)
    cosine = torch.nn.functional.cosine_similarity(V, W, dim=0)
    # A type that occurs in instances of its own alone never leads them: its band is empty.
    present = torch.unique(corpus.tokens)
    present = present[band.lower[present] > 0]
    assert torch.allclose(band.upper[present] / band.lower[present], 1 / cosine**2)
    polarity, attention = (dynamics.polarity_update(model, corpus), dynamics.attention_update(model, corpus))
    # |A|/|B| = lower/λ and |D|/|E| = λ/upper.
    assert torch.allclose((polarity.A / polarity.B).abs()[present], band.lower[present] / model.lam)
    assert torch.allclose((attention.D / attention.E).abs()[present], model.lam / band.upper[present])


@given(case=cases())
@few
def test_the_distance_of_the_band_is_a_mean_for_words_of_one_class_only(case):
    model, corpus = model_and_corpus(case, "DP", False)
    out, (pi, rho) = model(corpus), dynamics.token_sums(model, corpus)
    y = corpus.signs
    strength = (torch.sigmoid(-y * out.polarity)[corpus.instance_of] * out.weights).detach()
    distance = (out.token_polarity - out.polarity[corpus.instance_of]).detach()
    seen = y[corpus.instance_of]
    for e in torch.unique(corpus.tokens):
        own = corpus.tokens == e
        mean = (strength[own] * distance[own]).sum() / strength[own].sum()
        of_one_class = bool((seen[own] == seen[own][0]).all())
        assert bool(torch.isclose(rho[e] / pi[e], mean, rtol=1e-9, atol=1e-12)) or not of_one_class


@given(case=cases())
@quick
def test_two_tables_have_neither_A_nor_D(case):
    model, corpus = model_and_corpus(case, "separate", False)
    assert not dynamics.polarity_update(model, corpus).A.any()
    assert not dynamics.attention_update(model, corpus).D.any()
    out = model(corpus)
    keys, values = model.keys[corpus.tokens], model.values[corpus.tokens]
    assert torch.allclose(out.scores, keys @ model.V / model.lam)
    assert torch.allclose(out.token_polarity, values @ model.W)


def test_separate_tables_train_and_refuse_an_encoder():
    model, corpus = model_and_corpus(Case(), "separate", False)
    before = float(model.loss(corpus).detach())
    config = TrainingConfig(batch_size=None, epochs=30, learning_rate=0.1, dropout=0.2)
    fit(model, dataset_of(corpus, 12), config)
    assert float(model.loss(corpus).detach()) < 0.8 * before
    with pytest.raises(ValueError, match="encoder"):
        type(model)(12, encoder="affine")


def test_nothing_is_types_by_types():
    """A types × types matrix would need 80 GB here."""
    types = 100_000
    model = Case(dimension=4).model("DP").to(torch.float32)
    model.embedding = torch.nn.Parameter(torch.zeros(types, 4))
    corpus = Corpus.from_lists([[0, types - 1], [5]], [1, 0])
    assert dynamics.polarity_update(model, corpus).total.shape == (types,)
    assert dynamics.attention_update(model, corpus).total.dtype == torch.float32
    assert dynamics.gradients(model, corpus)["embedding"].shape == (types, 4)


def test_wrong_arguments_say_what_to_do():
    model, corpus = model_and_corpus(Case(), "DP", False)
    with pytest.raises(ValueError, match="binary DP and DP-A"):
        dynamics.admissible_band(*model_and_corpus(Case(), "AD", False))
    structured = StructuredClassifier(Case().types, dimension=6, encoder="lstm", hidden=4)
    with pytest.raises(ValueError, match="one attention distribution"):
        vector_laws(structured, corpus)
    model.encoder = "lstm"
    with pytest.raises(ValueError, match="autograd"):
        dynamics.token_sums(model, corpus)


class Doubled(AttentionClassifier):
    """Scores that the closed forms do not know."""

    def score(self, embeddings, offsets=None):
        a, s, h = super().score(embeddings, offsets)
        return 2 * a, s, h


class DoubledTables(SeparateTables):
    score = Doubled.score


ON_CORPORA = {
    "token_sums": dynamics.token_sums,
    "gradients": dynamics.gradients,
    "polarity_update": dynamics.polarity_update,
    "attention_update": dynamics.attention_update,
    "admissible_band": dynamics.admissible_band,
    "vector_laws": vector_laws,
    "discrete_drift": lambda model, corpus: discrete_drift(model, corpus, 0.1),
}


@pytest.mark.parametrize("make", [Doubled, DoubledTables])
@pytest.mark.parametrize("name", [*ON_CORPORA, "conserved"])
def test_a_model_that_computes_something_else_is_refused(name, make):
    """How else it can depart is in test_fast.py."""
    model, corpus = make(Case().types, dimension=6), Case().corpus(2)
    calls = ON_CORPORA | {"conserved": lambda model, corpus: dynamics.conserved(model)}
    with pytest.raises(ValueError, match=f"{make.__name__} may compute something else"):
        calls[name](model, corpus)


@pytest.mark.parametrize("law", [dynamics.conserved, lambda model: vector_laws(model, Case().corpus(2))])
def test_a_recurrent_model_that_computes_something_else_is_refused(law):
    with pytest.raises(ValueError, match="Doubled may compute something else"):
        law(Doubled(Case().types, dimension=6, encoder="lstm", hidden=3))


@pytest.mark.parametrize("name", ON_CORPORA)
def test_a_corpus_that_does_not_fit_is_refused(name):
    """In the words of ``model.check``: without it, some ids are read past the table, others fail as an index."""
    model = model_and_corpus(Case(), "DP", False)[0]
    few_types = AttentionClassifier(3, dimension=6)
    for which, corpus, words in (
        (model, Case().corpus(3), "the model has 2 classes, the corpus 3"),
        (few_types, Case().corpus(2), "the corpus holds token id .*, the model has 3 token types"),
    ):
        with pytest.raises(ValueError, match=words):
            ON_CORPORA[name](which, corpus)
