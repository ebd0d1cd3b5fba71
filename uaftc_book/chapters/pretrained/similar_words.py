"""Chapter 16: whether similar words lift each other's scores: what a word loses when words like it are not read.

Twenty words of the lists of Eq 28 are drawn, and the words nearest to them by their vectors are cut out of the training
texts; or, for comparison, as many words that are not like them but as frequent and as strongly associated with the same
class. A text without a telling word says less of its class, and others must say more: both have that in common.
What the first costs beyond the second is what similar words gave. That the comparison can show such a gift is seen of
words that are not read themselves, and have their scores by their vectors alone.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from uaftc_book.chapters.pretrained.initialisations import from_book
from uaftc_book.chapters.pretrained.unseen_words import DATASETS, LEARNING, LEAST, training_counts
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.settings import TrainingConfig
from uaftc_lib.streams import generator
from uaftc_lib.token_lists import association, token_types
from uaftc_lib.training import fit

ASKED, NEAREST = 20, 10  # words that are looked at, and how many of the words nearest to each are not read
FAR = 0.5  # of the words, by the largest cosine with a word that is looked at: those below may stand in
INITIALISATIONS = {  # how the words that are looked at begin and learn, and whether they are read themselves
    "random": ("trained", True),
    "dealt out": ("trained", True),
    "vectors": ("trained", True),
    "frozen": ("frozen", True),
    "vectors, not read": ("trained", False),
    "frozen, not read": ("frozen", False),
}


def asked_words(lists: dict[str, Int[Tensor, "ids"]], usable: Bool[Tensor, "types"], seed: int) -> Int[Tensor, "asked"]:
    """Half positive, half negative words, drawn."""
    draws = generator(seed, "masked words")
    of_kind = (ids[usable[ids]] for ids in (lists["positive"], lists["negative"]))
    return torch.cat([ids[torch.randperm(len(ids), generator=draws)[: ASKED // 2]] for ids in of_kind])


def nearest_words(
    cosines: Float[Tensor, "asked types"], asked: Int[Tensor, "asked"], usable: Bool[Tensor, "types"]
) -> Int[Tensor, "near"]:
    """Of all the words that are asked for, those whose vectors are nearest to theirs; none of these themselves."""
    others = usable.clone()
    others[asked] = False
    return cosines.masked_fill(~others, -torch.inf).topk(NEAREST).indices.unique()


def stand_ins(
    near: Int[Tensor, "near"],
    candidates: Int[Tensor, "candidates"],
    gamma: Float[Tensor, "types"],
    counts: Int[Tensor, "types"],
) -> Int[Tensor, "near"]:
    """For each near word another that is about as frequent and as associated, no two the same.

    Distance: of γ in units of its deviation, and of the logarithm of the count in units of its own.
    """
    known = torch.stack([gamma.double(), counts.double().clamp(min=1).log()], 1)
    known = known / known[torch.cat([near, candidates])].std(0)
    distances, chosen = torch.cdist(known[near], known[candidates]), []
    for row in distances:
        chosen.append(int(row.argmin()))
        distances[:, chosen[-1]] = torch.inf
    return candidates[torch.tensor(chosen)]


def boosted(
    data: Dataset, matrix: Float[Tensor, "types d"] | None, learning: str, lam: float, seed: int
) -> tuple[Float[Tensor, "types"], Float[Tensor, "types"]]:
    """a and s of all types after the last epoch: scores grow, so that runs must be as long as each other."""
    d = {} if matrix is None else {"dimension": matrix.shape[1], "vectors": matrix}
    model = AttentionClassifier(len(data.vocabulary), **d, lam=lam, seed=seed)
    fit(model, data, TrainingConfig(seed=seed, **LEARNING[learning]), progress=False)
    return model.token_scores()


@experiment(jobs_over(lam=(10.0, 1.0, 100.0), dataset=DATASETS, seed=SEEDS), rows=len(INITIALISATIONS))
def similar_words(lam: float, dataset: str, seed: int) -> list[dict]:
    """What words lose when those like them are not read, and when others as telling are not: mean y s and mean a."""
    data = load_dataset(dataset)
    matrix = from_book("vectors", data)
    counts, lists = training_counts(data), token_types(data.train, data.vocabulary)
    usable = ~matrix.isnan().any(1) & (counts >= LEAST)
    asked = asked_words(lists, usable, seed)
    unit = normalize(matrix.nan_to_num())
    cosines = unit[asked] @ unit.T
    near = nearest_words(cosines, asked, usable)
    far = cosines.amax(0)
    candidates = (usable & (far < far[usable].quantile(FAR))).nonzero()[:, 0]
    gamma = association(data.train, data.vocabulary)
    others = stand_ins(near, candidates, gamma, counts)
    cut = {"whole": [], "without like": near, "without others": others}
    sides = torch.isin(asked, lists["positive"]) * 2.0 - 1
    about = {
        "near words": len(near),
        "γ of near, of others": float((gamma[near] - gamma[others]).abs().mean()),
        "occurrences of near": int(counts[near].sum()),
        "occurrences of others": int(counts[others].sum()),
    }
    rows = []
    for initialisation, (learning, is_read) in INITIALISATIONS.items():
        given = from_book(initialisation if initialisation in ("random", "dealt out") else "vectors", data, seed)
        row = {"initialisation": initialisation}
        for name, ids in cut.items():
            gone = torch.isin(data.train.tokens, torch.as_tensor(ids))
            if not is_read:
                gone |= torch.isin(data.train.tokens, asked)
            a, s = boosted(replace(data, train=data.train.without(gone), dev=None), given, learning, lam, seed)
            neutral = a[lists["neutral"]].mean()
            row |= {f"vote {name}": float((sides * s[asked]).mean()), f"lead {name}": float(a[asked].mean() - neutral)}
        rows.append(row | about)
    return rows
