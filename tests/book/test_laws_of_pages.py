"""Laws that pages print and stored tables use, each held where a wrong factor would show."""

import numpy as np
import pytest
import torch

from uaftc_book.chapters.attention_order import class_data, first_push, growing_vectors
from uaftc_book.chapters.interventions import GROWING, take_from_V
from uaftc_book.inner_products import growing_vector
from uaftc_book.neighbours import selection
from uaftc_book.small_data import initial_model, small_data
from uaftc_lib.corpus import Corpus
from uaftc_lib.dynamics import flow
from uaftc_lib.models import AttentionClassifier


def test_v_loses_its_part_along_the_growing_w_and_nothing_else():
    data = small_data()
    model = initial_model(data, weight_range=1.0, dtype=torch.float64)
    grown, before = growing_vector(model, data.train), model.V.detach().clone()
    assert grown.norm() > 1.5, "a length other than one, or a wrong power of it would not show"
    take_from_V(model, GROWING, data.train)
    taken = before - model.V.detach()
    assert float(model.V.detach() @ grown) == pytest.approx(0, abs=1e-12)
    assert abs(float(taken @ grown)) == pytest.approx(float(taken.norm() * grown.norm()))


def test_a_tie_is_not_locally_optimal():
    """Two words of one polarity score, each of which the other could replace."""
    model = AttentionClassifier(2, 2, dtype=torch.float64)
    with torch.no_grad():
        model.embedding.copy_(torch.tensor([[1.0, 1.0], [1.0, -1.0]]))
        model.W.copy_(torch.tensor([1.0, 0.0]))
    texts = selection.texts_of(model, Corpus.from_lists([[0, 1]], [1]))
    chosen = np.array([0])
    assert texts.gamma.tolist() == [1, 1]
    assert selection.tight_and_better(texts, chosen, selection.max_margin(texts, chosen)).tolist() == [False, True]


def test_what_grows_of_two_classes_is_what_grows_of_the_binary_model():
    data, options = small_data(), {"weight_range": 0.1, "dtype": torch.float64}
    two, one = initial_model(data, loss="softmax", **options), initial_model(data, **options)
    one.embedding.data.copy_(two.embedding.data)
    one.W.data.copy_((two.W[:, 1] - two.W[:, 0]).detach() / 2**0.5)
    expected = growing_vector(one, data.train) / 2**0.5
    assert torch.allclose(growing_vectors(two, data.train), torch.stack([-expected, expected], 1))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_near_zero_attention_of_each_class_grows_by_its_product(classes):
    """λ(a_w − a_w(0)) = Σ_k π₀ₖ(w)/σ₁ V₀·[W_k sinh θ + Eᵀπ₀ₖ/σ₁ (cosh θ − 1)]: half the products e^θ, late enough."""
    data, options = class_data(classes, texts=600 * classes), {"weight_range": 1e-3, "embedding_range": 1e-3}
    model = initial_model(data, 1e4, 20, classes=classes, loss="softmax", dtype=torch.float64, **options)
    pi, theta = first_push(data.train, len(data.vocabulary)), 3.0
    sigma = torch.linalg.svdvals(pi)
    assert sigma[classes - 2] > 0.95 * sigma[0] and sigma[-1] < 1e-9 * sigma[0], "classes of one size are alike"
    products, W = (model.V.detach() @ of for of in (growing_vectors(model, data.train), model.W.detach()))
    path = flow.integrate(model, data.train, [0.0, theta * len(data.train) / float(sigma[0])])
    begin, end = (model.lam * point.token_scores().attention.detach() for point in path)
    bracket = W * np.sinh(theta) + (products - W + W.mean()) * (np.cosh(theta) - 1)
    grown, law = (of[1000:-3].reshape(classes, 50).mean(1) for of in (end - begin, pi @ bracket / sigma[0]))
    assert (grown - law).norm() < 0.05 * law.norm()
    assert grown.argsort().tolist() == products.argsort().tolist()
