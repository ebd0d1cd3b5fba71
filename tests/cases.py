"""Random settings for property-based tests, random corpora, and the command."""

import torch
from click.testing import CliRunner
from hypothesis import settings
from hypothesis import strategies as st

from uaftc_book.random_models import Case
from uaftc_lib import Corpus, explain
from uaftc_lib.cli import app
from uaftc_lib.models.separate_tables import SeparateTables
from uaftc_lib.settings import BY_TYPE, RECURRENT

quick = settings(max_examples=20, deadline=None)
few = settings(max_examples=6, deadline=None)

KINDS = [*BY_TYPE, "separate"]

# The functions of a model and a corpus that explain it.
EXPLAINED = [explain.contributions, explain.leave_one_out, explain.permutation_test, explain.shapley]
EXPLAINED += [explain.minimal_flip_sets, explain.adversarial_attention, explain.attention_matrix, explain.class_matrix]


def uaftc(*words):
    """What the command answers, in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


def random_corpus(lengths, types, seed=0, classes=2):
    """Instances of these lengths and any label, of words drawn evenly from so many types."""
    draws = torch.Generator().manual_seed(seed)
    instances = [torch.randint(types, (n,), generator=draws).tolist() for n in lengths]
    return Corpus.from_lists(instances, torch.randint(classes, (len(lengths),), generator=draws).tolist(), classes)


def cases(least_lam: float = 1.0, largest_lam: float = 100.0):
    """Cases of random size, λ, number of classes, scale and content."""
    return st.builds(
        Case,
        dimension=st.integers(2, 9),
        lam=st.floats(least_lam, largest_lam),
        types=st.integers(4, 15),
        instances=st.integers(5, 25),
        classes=st.integers(3, 5),
        seed=st.integers(0, 10_000),
        scale=st.floats(0.1, 1.5),
    )


def model_and_corpus(case: Case, kind: str, several: bool):
    """A float64 model of one of KINDS or RECURRENT and its corpus, binary or with several classes."""
    classes = case.classes if several else 2
    if kind in RECURRENT:
        return case.model("DP", classes, encoder=kind, hidden=4), case.corpus(classes)
    if kind != "separate":
        return case.model(kind, classes), case.corpus(classes)
    one = case.model("DP", classes)
    model = SeparateTables(
        case.types,
        dimension=case.dimension,
        lam=case.lam,
        classes=classes,
        embedding_range=case.scale,
        weight_range=case.scale,
        seed=case.seed,
        dtype=one.V.dtype,
    )
    return model, case.corpus(classes)
