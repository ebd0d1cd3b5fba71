"""Deleting a word, the word that leads a text, parts of speech, pairs of words: each against plain counting."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book.chapters import words_and_classes as page
from uaftc_book.chapters.geometry import SIGNS, pair_terms
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types

TEXTS, LABELS = [[0, 1, 2], [1, 1, 3], [2], [3, 0, 3, 4]], [1, 0, 1, 0]


@pytest.fixture(scope="module")
def model():
    made = AttentionClassifier(7, dimension=5, lam=1.0, seed=3, embedding_range=1.0, weight_range=1.0)
    return made.double()


def test_a_deleted_word_changes_a_text_as_the_model_says_of_the_rest(model):
    corpus = Corpus.from_lists(TEXTS, LABELS, class_count=2)
    found = page.effects(model, corpus)
    for word in range(5):
        sizes, rises = [], []
        for text, label in zip(TEXTS, LABELS):
            rest = [w for w in text if w != word]
            if word not in text:
                continue
            if not rest:  # nothing is left that could be asked: counted as no change
                sizes, rises = [*sizes, 0.0], [*rises, 0.0]
                continue
            both = Corpus.from_lists([text, rest], [label, label], class_count=2)
            with torch.no_grad():
                s = model(both).polarity.double()
            loss = torch.nn.functional.softplus(-(2 * label - 1) * s)
            sizes, rises = [*sizes, float(abs(s[0] - s[1]))], [*rises, float(loss[1] - loss[0])]
        assert found.texts[word] == len(sizes)
        assert found.size[word] == pytest.approx(np.mean(sizes), abs=1e-12)
        assert found.loss[word] == pytest.approx(np.mean(rises), abs=1e-12)
    assert found.texts[5] == 0 and found.size[5].isnan()


def test_who_leads_a_text_is_counted_where_there_is_a_choice(model):
    corpus, polar = Corpus.from_lists(TEXTS, LABELS, class_count=2), torch.tensor([1, 2])
    with torch.no_grad():
        heavy = [text[int(model(Corpus.from_lists([text], [1], class_count=2)).weights.argmax())] for text in TEXTS]
    asked = [t for t, text in enumerate(TEXTS) if 0 < sum(w in (1, 2) for w in text) < len(text)]
    assert asked == [0, 1]
    assert page.polar_heaviest(model, corpus, polar) == pytest.approx(
        {"polar leads": np.mean([heavy[t] in (1, 2) for t in asked]), "polar share": 2 / 3}
    )


@pytest.fixture
def wordnet(tmp_path):
    """Four lists in the form of WordNet's files: a licence that begins with blanks, then a word a line."""
    words = {
        "noun": "film n 1\ngood n 1",
        "verb": "carry v 1\nmake v 1",
        "adj": "good a 1\nnice a 1",
        "adv": "very r 1",
    }
    irregular = {"noun": "mice mouse", "verb": "made make", "adj": "better good", "adv": ""}
    for name in words:
        (tmp_path / f"index.{name}").write_text(f"  1 a licence\n{words[name]}\n")
        (tmp_path / f"{name}.exc").write_text(f"{irregular[name]}\n")
    return tmp_path


def test_words_are_looked_up_in_their_base_form(wordnet):
    lists = page.word_lists(wordnet)
    describing, other = dict.fromkeys(("nice", "nicer", "very", "better"), page.DESCRIBING), page.NOUN_OR_VERB
    classes = {"good": page.BOTH} | describing | dict.fromkeys(("films", "carries", "making", "made", "mice"), other)
    classes |= dict.fromkeys(("the", "s"), page.UNLISTED)
    assert {word: page.word_class(word, lists) for word in classes} == classes


def test_without_wordnet_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv(page.WORDNET, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="install Debian's wordnet-base"):
        page.word_lists()


def test_words_are_held_against_others_of_their_frequency():
    counts = np.array([100.0, 10, 11, 90, 9, 900])
    assert page.of_same_frequency([0, 1], counts, most=2) == [[3, 5], [2, 4]]


def test_shares_count_ambiguous_words_on_neither_side():
    made = [("adjective or adverb", 30, 20), ("noun or verb", 30, 60), ("ambiguous", 30, 20), ("unlisted", 10, 0)]
    rows = pd.DataFrame([{"seed": 0, "class": name, "words": n, "matched": m} for name, n, m in made])
    assert page.describing(rows)[0] == pytest.approx(30 / 60 - 20 / 80)
    assert page.describing(rows, (page.DESCRIBING, page.BOTH))[0] == pytest.approx(60 / 90 - 40 / 100)


def test_A_and_B_of_pairs_are_the_gradient_of_one_word_along_another():
    data = synthetic("synthetic-1", class_sizes=(60, 60), neutral_types=20)
    types = examined_types(data)
    model = AttentionClassifier(len(data.vocabulary), dimension=6, lam=2.0, seed=1, weight_range=1.0).double()
    found = pair_terms(model, data.train, types)
    slope, e = dynamics.gradients(model, data.train)["embedding"], model.embedding.detach()
    for one, sign in SIGNS.items():
        for other, their in SIGNS.items():
            moved = float(-(slope[types[one]] @ e[types[other]].T).mean())
            assert found[f"A {sign}{their}"] + found[f"B {sign}{their}"] == pytest.approx(moved, rel=1e-9)
