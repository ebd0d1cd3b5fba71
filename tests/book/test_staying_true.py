"""Strengths by their rule, what is held beside what, and what tying guarantees."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from test_neighbours_trained import TYPES, texts

from uaftc_book import choices, paragraphs, rules
from uaftc_book.cases import Tables
from uaftc_book.chapters import staying_true
from uaftc_book.neighbours import measured
from uaftc_book.neighbours.measured import all_measures
from uaftc_book.neighbours.settings import WORD_LEVEL
from uaftc_book.neighbours.word_level import KINDS, WordLevelClassifier, by_others
from uaftc_book.neighbours.yardsticks import left_out
from uaftc_lib import Corpus


def sized(scale, seed):
    """A classifier whose states, keys and values are larger, so that its weights are not all alike."""
    model = WordLevelClassifier(TYPES, seed=seed)
    with torch.no_grad():
        for parameter in (model.embedding, model.V, model.W):
            parameter.mul_(scale)
    return model


@pytest.mark.parametrize("scale", [1.0, 5.0, 20.0])
def test_what_the_others_do_stays_within_its_bound(scale):
    corpus = texts(12, 3)
    corpus = corpus[corpus.lengths > 1]
    for seed in range(3):
        model = sized(scale, seed)
        found, left = by_others(model, corpus), left_out(model, corpus, most=100)
        assert found.beyond.numpy() == pytest.approx(abs(left.whole - left.own), abs=1e-5 * scale**2)
        assert (found.beyond <= found.bound).all() and float(found.beyond.max()) > 0


def test_states_that_are_their_words_leave_the_others_nothing_to_do(monkeypatch):
    model = sized(5.0, 1)
    monkeypatch.setattr(WordLevelClassifier, "states", lambda _, embeddings, offsets=None: embeddings)
    found = by_others(model, texts(5, 4))
    assert float(found.bound.max()) == 0 and float(found.beyond.max()) < 1e-6


@pytest.mark.parametrize("given", [{"pools": "residual"}, {"keys": "dot"}])
def test_the_bound_is_asked_of_states_and_tanh_alone(given):
    with pytest.raises(ValueError, match="pooled states"):
        by_others(WordLevelClassifier(TYPES, **given), texts(3, 4))
    with pytest.raises(ValueError, match="two words"):
        by_others(WordLevelClassifier(TYPES), Corpus.from_lists([[0]], [1]))


def test_without_the_dear_the_rest_is_the_same():
    model, corpus = sized(5.0, 2), texts(8, 5)
    whole, part = all_measures(model, corpus), all_measures(model, corpus, dear=False)
    assert set(part) < set(whole) and not any("integrated" in name or "removed" in name for name in part)
    assert part == pytest.approx({name: whole[name] for name in part}, nan_ok=True)


def test_every_job_is_there_once_and_its_kind_can_be_trained():
    made = pd.DataFrame(staying_true.objective_jobs())
    assert not made.duplicated().any()
    assert set(made.kind) <= KINDS.keys() == staying_true.NAMES.keys()
    for kind, rows in made.groupby("kind"):
        assert ((rows.strength > 0) == (KINDS[kind][1] is not None)).all()
    searched = made[(made.dataset == "sst") & (made.kind == "tied") & (made.seed == 0)]
    assert set(searched.strength) >= set(WORD_LEVEL.tried["tied"])


def test_the_page_takes_every_kind_and_knows_which_has_a_strength():
    assert {*choices.allowed("09_staying_true")["kind"], "base"} == KINDS.keys()
    assert {kind for kind, (_, objective) in KINDS.items() if objective is None} == {*choices.WITHOUT_STRENGTH, "base"}


def test_the_strengths_are_those_of_the_rule():
    for dataset in WORD_LEVEL.searched:
        ruled = {kind: staying_true.by_rule(dataset, kind) for kind in WORD_LEVEL.tried}
        assert ruled == WORD_LEVEL.chosen.get(dataset, {})


def test_the_rule_takes_the_largest_strength_within_the_price(monkeypatch):
    reached = {("base", 0.0): 0.9, ("tied", 0.1): 0.95, ("tied", 1.0): 0.8901, ("tied", 10.0): 0.8899}
    rows = [
        {"kind": k, "strength": s, "seed": i, "AUC on dev": v + i / 50 - 0.01}
        for (k, s), v in reached.items()
        for i in range(2)
    ]
    rows.append({"kind": "tied", "strength": 10.0, "seed": 2, "AUC on dev": 5.0})  # not of the search
    monkeypatch.setattr(staying_true, "stored", lambda *_, **__: pd.DataFrame(rows))
    assert staying_true.by_rule("sst", "tied") == 1.0


def made_up():
    """Tables in which τ of the base is a line in the logarithm of its spread, and an objective lies 0.1 above."""

    def row(seed, spread, above=0.0, **of):
        return of | {"seed": seed, measured.SPREAD: spread, measured.LOO: 2 + np.log(spread) / 10 + above}

    base = {"dataset": "sst", "kind": "base", "layers": 1, "strength": 0.0}
    kept = [row(s, 1.0, **base) for s in range(10)]
    kept += [row(s, 1.0 + s / 10, 0.1, **(base | {"kind": "residual"})) for s in range(10)]
    lams = [row(s, 1 / lam, lam=lam) for lam in WORD_LEVEL.lams for s in range(10)]
    return Tables({"word_level": pd.DataFrame(kept), "word_level_lams": pd.DataFrame(lams)})


def test_at_the_same_spread_only_what_is_beyond_it_is_left():
    tables = made_up()
    rows = partial(staying_true.seeds_of_variant, tables=tables)
    assert staying_true.beyond_spread(rows("h + e"), tables).to_numpy() == pytest.approx(0.1)
    assert staying_true.beyond_spread(rows(staying_true.BASE), tables).to_numpy() == pytest.approx(0.0)
    few = Tables(
        {name: tables(name)[lambda of: of.seed != 3] for name in ("word_level_lams",)}
        | {"word_level": tables("word_level")}
    )
    assert 3 not in staying_true.beyond_spread(rows("h + e"), few)


def test_paragraphs_tell_means_with_intervals_and_few_runs_one_by_one():
    assert paragraphs.over_seeds([0.1, 0.2]) == "10% and 20%"
    assert paragraphs.over_seeds([-0.1, -0.1, -0.1], ".1f") == "−0.1 [−0.1, −0.1]"
    assert paragraphs.points([0.01] * 3) == "+1.0 [+1.0, +1.0]"
    many, few = (rules.Interval(1.0, 0.5, 1.5, n) for n in (rules.LEAST_SEEDS, rules.LEAST_SEEDS - 1))
    assert paragraphs.verdict(many) == "holds" and paragraphs.verdict(few) == f"undecided: {few.n} seeds"
