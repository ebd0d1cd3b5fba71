"""Vocabulary, Corpus and Dataset."""

from functools import partial

import pytest
import torch
from cases import EXPLAINED
from hypothesis import given
from hypothesis import strategies as st

from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, dynamics, explain, fit
from uaftc_lib.dynamics.flow import integrate
from uaftc_lib.models import StructuredClassifier
from uaftc_lib.settings import BY_TYPE
from uaftc_lib.token_lists import association, class_frequencies, token_types

INSTANCES = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8)


def test_words_by_falling_frequency_then_specials():
    vocabulary = Vocabulary.from_texts([["b", "a", "b"], ["c", "a", "b"]])
    assert vocabulary.words == ("b", "a", "c")
    assert [vocabulary.word(i) for i in range(len(vocabulary))] == ["b", "a", "c", "<unk>", "<eos>", "<pad>"]
    assert (vocabulary.unk, vocabulary.eos, vocabulary.pad) == (3, 4, 5)
    assert (len(vocabulary), vocabulary.word_count) == (6, 3)


def test_words_that_look_like_specials_are_words():
    vocabulary = Vocabulary(["unk", "<unk>", "pad"])
    assert vocabulary.encode(["pad", "<unk>", "unk", "new"]) == [2, 1, 0, vocabulary.unk]
    assert vocabulary.id("<unk>") == 1
    assert vocabulary.id("<pad>") == vocabulary.pad
    assert vocabulary.word(vocabulary.unk) == "<unk>"


def test_unknown_words_become_unk():
    vocabulary = Vocabulary(["a"])
    assert vocabulary.encode(["a", "<eos>", "b"]) == [0, 1, 1]
    assert vocabulary.id("b") == vocabulary.unk
    assert vocabulary.id("<eos>") == vocabulary.eos


def test_from_lists_lays_instances_end_to_end():
    corpus = Corpus.from_lists([[3, 1], [2], [4, 4, 0]], [1, 0, 1])
    assert corpus.tokens.tolist() == [3, 1, 2, 4, 4, 0]
    assert corpus.offsets.tolist() == [0, 2, 3, 6]
    assert corpus.lengths.tolist() == [2, 1, 3]
    assert corpus.instance_of.tolist() == [0, 0, 1, 2, 2, 2]
    assert corpus.signs.tolist() == [1, -1, 1]
    assert corpus.classes == ("0", "1")
    assert len(corpus) == 3


@given(INSTANCES, st.data())
def test_selection_is_the_instances_asked_for(instances, data):
    labels = data.draw(st.lists(st.integers(0, 1), min_size=len(instances), max_size=len(instances)))
    corpus = Corpus.from_lists(instances, labels)
    chosen = data.draw(st.lists(st.integers(-len(instances), len(instances) - 1)))
    part = corpus[chosen]
    again = Corpus.from_lists([instances[i] for i in chosen], [labels[i] for i in chosen])
    assert torch.equal(part.tokens, again.tokens)
    assert torch.equal(part.offsets, again.offsets)
    assert torch.equal(part.labels, again.labels)
    assert part.tokens.dtype == again.tokens.dtype


def test_selection_by_slice_mask_and_integer():
    corpus = Corpus.from_lists([[0], [1, 1], [2, 2, 2]], [0, 1, 0], classes=("no", "yes"))
    assert corpus[1:].tokens.tolist() == [1, 1, 2, 2, 2]
    assert corpus[corpus.labels == 0].tokens.tolist() == [0, 2, 2, 2]
    assert corpus[-1].tokens.tolist() == [2, 2, 2]
    assert corpus[torch.tensor([1])].classes == ("no", "yes")
    assert [each.tokens.tolist() for each in corpus] == [[0], [1, 1], [2, 2, 2]]


def test_positions_can_be_left_out():
    corpus = Corpus.from_lists([[4, 5, 6], [7, 7], [8]], [0, 1, 1])
    left = corpus.without(torch.tensor([False, True, False, True, True, False]))
    assert [one.tokens.tolist() for one in left] == [[4, 6], [8]] and left.labels.tolist() == [0, 1]
    assert corpus.without(torch.ones(6, dtype=torch.bool)).offsets.tolist() == [0]


@pytest.mark.parametrize(
    "chosen, words",
    [
        (7, "no instance 7: the corpus has 3 instances, from 0"),
        (-4, "no instance -4: the corpus has 3 instances"),
        ([0, 3], r"no instance \[0, 3\]: the corpus has 3 instances"),
        (torch.tensor([True, False]), "a mask of 2 does not fit: the corpus has 3 instances"),
    ],
)
def test_instances_that_are_not_there(chosen, words):
    corpus = Corpus.from_lists([[0], [1, 1], [2, 2, 2]], [0, 1, 0])
    with pytest.raises(ValueError, match=words):
        corpus[chosen]


@pytest.mark.parametrize(
    "instances, labels, words",
    [
        ([[1], [], [2]], [0, 1, 1], "instance 1 is empty"),
        ([[1], [2]], [0], "2 instances but 1 labels"),
        ([[1], [-2]], [0, 1], "must not be negative, got -2"),
        ([[1], [2]], [-1, 1], r"between 0 and 1 for 2 classes, got \[-1, 1\]"),
        ([[1], [2]], [0, 2], r"between 0 and 1 for 2 classes, got \[0, 2\]"),
        ([[1.5], [2]], [0, 1], "token ids must be whole numbers"),
        ([["a"], [2]], [0, 1], "token ids must be whole numbers"),
        ([[1], [2]], [0.0, 1.0], "labels must be whole numbers"),
        ([[1], [2]], [True, False], "labels must be whole numbers"),
    ],
)
def test_impossible_instances_are_refused(untyped, instances, labels, words):
    with pytest.raises(ValueError, match=words):
        Corpus.from_lists(instances, labels)


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"tokens": torch.tensor([0.0, 1, 2])}, "tokens must be a one-dimensional tensor of int64 or int32"),
        ({"tokens": torch.tensor([[0, 1, 2]])}, r"got torch.int64 of shape \(1, 3\)"),
        ({"labels": [0, 1]}, "labels must be a one-dimensional tensor .* got list"),
        ({"offsets": torch.tensor([0, 3])}, "2 labels need 3 offsets, got 2"),
        ({"offsets": torch.tensor([0, 1, 2])}, "from 0 to the number of positions, 3, got 0 to 2"),
        ({"offsets": torch.tensor([1, 2, 3])}, "got 1 to 3"),
        ({"offsets": torch.tensor([0, 4, 3])}, "instance 1 has a falling offset"),
        ({"class_count": 1}, "class_count must be a whole number, at least 2, got 1"),
        ({"class_count": 3, "classes": ("a", "b")}, "3 classes need 3 names"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(untyped, changed, words):
    tensors = {"tokens": torch.tensor([0, 1, 2]), "offsets": torch.tensor([0, 1, 3]), "labels": torch.tensor([0, 1])}
    Corpus(**tensors)
    with pytest.raises(ValueError, match=words):
        Corpus(**tensors | changed)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: Vocabulary(["a", "b", "a"]), "'a' was given more than once"),
        (lambda: Vocabulary("ab"), "a text is a list of words, got the string 'ab'"),
        (lambda: Vocabulary.from_texts(["a b"]), "got the string 'a b': split it first"),
        (lambda: Vocabulary(["a"]).encode("a b"), "got the string 'a b'"),
        (lambda: Vocabulary(["a"]).word(4), "token id 4 is not in this vocabulary; ids run from 0 to 3"),
        (lambda: Vocabulary(["a"]).word(-1), "at least 0, got -1"),
        (lambda: Vocabulary(["a"]).word(1.0), "must be a whole number"),
    ],
)
def test_vocabulary_refuses(untyped, call, words):
    with pytest.raises(ValueError, match=words):
        call()


def small(**changed):
    corpus = Corpus.from_lists([[0, 1], [1]], [0, 1])
    return Dataset(**{"name": "toy", "vocabulary": Vocabulary(["a", "b"]), "classes": ("0", "1"),
                      "train": corpus} | changed)  # fmt: skip


def test_dataset_gives_splits_and_texts():
    dataset = small(test=Corpus.from_lists([[1, 2]], [1]))
    assert list(dataset.splits) == ["train", "test"]
    assert dataset.text("train", 0) == ["a", "b"]
    assert dataset.text("test", 0) == ["b", "<unk>"]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: Corpus.from_lists([[0]], [2], class_count=3).signs, "two classes, this corpus has 3"),
        (lambda: small(dev=Corpus.from_lists([], [])), "dev of toy must be a corpus with instances"),
        (lambda: small(train=[[0]]), "train of toy must be a corpus"),
        (lambda: small(test=Corpus.from_lists([[0]], [2], 3)), "its split test has 3"),
        (lambda: small(dev=Corpus.from_lists([[5]], [1])), "dev of toy holds token id 5.*ends at 4"),
        (lambda: small().text("dev", 0), "split must be one of train, got 'dev'"),
        (lambda: small().text("train", 2), "train holds instances 0 to 1, got 2"),
        (lambda: small().text("train", -1), "at least 0, got -1"),
    ],
)
def test_dataset_refuses(untyped, call, words):
    with pytest.raises(ValueError, match=words):
        call()


MODELS = {kind: AttentionClassifier(9, 4, dtype=torch.float64, **given) for kind, given in BY_TYPE.items()}
MODELS["DP-L"] = AttentionClassifier(9, 4, encoder="lstm", hidden=2)
MODELS["structured"] = StructuredClassifier(9, 4, hops=2)
WORDS = Vocabulary([f"w{i}" for i in range(6)])
SCORES = torch.zeros(9)
METHODS = ["forward", "loss", "predict", "accuracy", "token_scores"]
CLOSED = [dynamics.token_sums, dynamics.gradients, dynamics.polarity_update, dynamics.attention_update]
EMPTY = {f"{kind}.{name}": getattr(model, name) for kind, model in MODELS.items() for name in METHODS}
for kinds, functions in (
    (["DP", "DP-L", "structured"], EXPLAINED),
    (BY_TYPE, CLOSED),
    (["DP", "DP-A"], [dynamics.admissible_band]),
):
    EMPTY |= {f"{each.__name__} of {kind}": partial(each, MODELS[kind]) for kind in kinds for each in functions}
EMPTY |= {
    "penalty": MODELS["structured"].penalty,
    "sums_of_scores": partial(dynamics.sums_of_scores, SCORES, SCORES),
    "jensen_shannon": partial(explain.jensen_shannon, SCORES[:0], SCORES[:0]),
    "token_types": lambda corpus: token_types(corpus, WORDS),
    "association": lambda corpus: association(corpus, WORDS),
    "class_frequencies": lambda corpus: class_frequencies(corpus, WORDS),
    "integrate": lambda corpus: integrate(MODELS["DP"], corpus, [0, 1]),
    "fit": lambda corpus: fit(MODELS["DP"], Dataset("none", WORDS, ("0", "1"), corpus)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_is_computed_from_an_empty_corpus(name):
    with pytest.raises(ValueError, match="the corpus holds no instance|must be a corpus with instances"):
        EMPTY[name](Corpus.from_lists([[1, 2]], [1])[[]])
