"""γ and the kinds of tokens, on counts small enough to do by hand."""

import pytest
import torch

from uaftc_lib import Corpus, Vocabulary, token_types
from uaftc_lib.token_lists import association, class_frequencies


def corpus_of(counts, class_count=2):
    """A corpus in which type w occurs counts[w][k] times in instances of class k, several in an instance."""
    instances, labels = [], []
    for k in range(class_count):
        tokens = [w for w, by_class in enumerate(counts) for _ in range(by_class[k])]
        for begin in range(0, len(tokens), 7):
            instances.append(tokens[begin : begin + 7])
            labels.append(k)
    return Corpus.from_lists(instances, labels, class_count), Vocabulary([f"w{w}" for w in range(len(counts))])


def found(counts, **options):
    corpus, vocabulary = corpus_of(counts, len(counts[0]))
    return {name: ids.tolist() for name, ids in token_types(corpus, vocabulary, **options).items()}


def test_frequencies_count_tokens_not_instances():
    corpus = Corpus.from_lists([[0, 0, 1], [0, 2], [2]], [1, 0, 0])
    assert class_frequencies(corpus, Vocabulary(["a", "b", "c"])).tolist() == [
        [1, 2],
        [0, 1],
        [2, 0],
    ] + [[0, 0]] * 3  # fmt: skip


def test_association_is_eq_28():
    gamma = association(*corpus_of([(1, 3), (4, 0), (0, 2), (5, 5)]))
    assert gamma[:4].tolist() == [0.5, -1, 1, 0]
    assert gamma[4:].isnan().all()


# negative and positive count, and the kind; one row on each side of every edge of Eq 28
EDGES = [
    ((0, 6), "positive"),  # γ = 1 belongs to the interval
    ((0, 5), None),  # f⁺ > 5 fails
    ((2, 6), None),  # γ = 0.5 exactly
    ((2, 7), "positive"),
    ((6, 0), "negative"),
    ((5, 0), None),
    ((6, 2), None),
    ((7, 2), "negative"),
    ((1, 1), "neutral"),
    ((9, 11), None),  # γ = 0.1 exactly
    ((10, 12), "neutral"),  # γ = 1/11
    ((12, 10), "neutral"),
    ((40, 44), "neutral"),  # difference 4
    ((40, 45), None),  # difference 5
    ((45, 40), None),
]


@pytest.mark.parametrize("kind", ["positive", "negative", "neutral"])
def test_edges_of_the_intervals(kind):
    types = found([counts for counts, _ in EDGES])
    assert list(types) == ["positive", "negative", "neutral"]
    assert types[kind] == [w for w, (_, expected) in enumerate(EDGES) if expected == kind]


def test_more_classes_by_share():
    counts = [(17, 2, 1), (16, 4, 0), (1, 1, 18), (7, 7, 6), (0, 19, 0), (6, 9, 5)]
    types = found(counts, share=0.8, minimum_count=20)
    assert types == {"0": [0], "1": [], "2": [2], "neutral": [3]}
    assert found(counts, share=0.75, minimum_count=19)["0"] == [0, 1]
    assert set(types["neutral"]) < set(found(counts, excess=1.6)["neutral"])
    assert found(counts, share=0.75, minimum_count=19)["1"] == [4]


def test_ids_are_int64():
    types = token_types(*corpus_of([(0, 6)]))
    assert types["positive"].dtype == torch.int64


@pytest.mark.parametrize(
    "class_count, options, words",
    [
        (2, {"share": 0.5}, "share must lie between 1/2 and 1, got 0.5"),
        (3, {"share": 0.3}, "share must lie between 1/3 and 1, got 0.3"),
        (3, {"share": 1.0}, "share must lie between 1/3 and 1, got 1.0"),
        (3, {"share": float("nan")}, "got nan"),
        (3, {"excess": 0.9}, "excess must be at least 1, an even share, got 0.9"),
        (3, {"minimum_count": -1}, "minimum_count must be a whole number, at least 0, got -1"),
        (3, {"minimum_count": 2.5}, "minimum_count must be a whole number, at least 0, got 2.5"),
    ],
)
def test_impossible_numbers_are_refused(untyped, class_count, options, words):
    with pytest.raises(ValueError, match=words):
        found([[1] * class_count], **options)


def test_vocabulary_must_fit():
    corpus, _ = corpus_of([(1, 1)] * 9)
    with pytest.raises(ValueError, match="token id 8, but the vocabulary ends at 4"):
        token_types(corpus, Vocabulary(["a", "b"]))


def test_association_needs_two_classes():
    with pytest.raises(ValueError, match="two classes, this corpus has 3"):
        association(*corpus_of([(1, 1, 1)], 3))
