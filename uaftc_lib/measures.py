"""What a trained model shows of the examined tokens: scores, mean weights, how well groups separate."""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets.sst import word_ratings
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.models import AttentionClassifier, sum_by_instance
from uaftc_lib.token_types import association, token_types

Types = dict[str, Int[Tensor, "ids"]]


def examined_types(dataset: Dataset) -> Types:
    """The tokens whose scores are looked at: by γ on real data, all of them, by kind, on synthetic data."""
    if not dataset.name.startswith("synthetic"):
        return token_types(dataset.train, dataset.vocabulary)
    kinds = [word.rsplit("-", 1)[0] for word in dataset.vocabulary.words]
    return {
        name: torch.tensor([i for i, kind in enumerate(kinds) if kind == name])
        for name in ("positive", "negative", "neutral")
    }


def score_frame(
    model: AttentionClassifier, dataset: Dataset, types: Types, corpus: Corpus | None = None
) -> pd.DataFrame:
    """A row for each examined token: word, type, rank (of frequency, from 1), attention, polarity.

    Of K classes there is a "polarity CLASS" for each. Scores are global, or with ``corpus`` local: a recurrent
    encoder's means over the occurrences there.
    """
    scores = model.token_scores(corpus)
    if model.binary:
        columns = {"attention": scores.attention, "polarity": scores.polarity}
    else:
        polarities = zip(dataset.classes, scores.polarity.T)
        columns = {"attention": scores.attention, **{f"polarity {name}": values for name, values in polarities}}
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "word": [dataset.vocabulary.word(i) for i in ids.tolist()],
                    "type": name,
                    "rank": (ids + 1).numpy(),
                    **{column: values[ids].double().cpu().numpy() for column, values in columns.items()},
                }
            )
            for name, ids in types.items()
        ],
        ignore_index=True,
    )


def type_means(model: AttentionClassifier, types: Types) -> dict[str, float]:
    """Mean attention and polarity score of each type: "attention positive", "polarity positive", ..."""
    scores = model.token_scores()
    return {
        f"{what} {name}": float(values[ids].double().mean())
        for what, values in (("attention", scores.attention), ("polarity", scores.polarity))
        for name, ids in types.items()
    }


def dot_product(model: AttentionClassifier) -> float:
    """V·W."""
    return float(model.V.detach() @ model.W.detach())


def seen_vectors(model: AttentionClassifier) -> tuple[Float[Tensor, "d"], Float[Tensor, "d"]]:
    """What embeddings see of V and W: MᵀV and MᵀW of DP-A (Eq 64), MᵀV and W of AD (Eq 71), else V and W."""
    V, W = model.V.detach(), model.W.detach()
    if model.M is None:
        return V, W
    M = model.M.detach()
    return M.T @ V, M.T @ W if model.encoder == "affine" else W


def start_perpendicular(model: AttentionClassifier) -> AttentionClassifier:
    """Take from V its part along W, so that training starts at V·W = 0; returns the model."""
    with torch.no_grad():
        model.V -= (model.V @ model.W) / (model.W @ model.W) * model.W
    return model


def separation(data: pd.DataFrame, y: str, high: str, low: str, group: str = "type") -> float:
    """The probability that a random token of type ``high`` has more of ``y`` than one of type ``low`` (AUC).

    Ties count half; 0.5 means that the two types cannot be told apart.
    """
    above, below = (data.loc[data[group] == name, y] for name in (high, low))
    ranks = pd.concat([above, below]).rank().iloc[: len(above)]
    return float((ranks.sum() - len(above) * (len(above) + 1) / 2) / (len(above) * len(below)))


@torch.no_grad()
def mean_weights(model: AttentionClassifier, corpus: Corpus) -> tuple[Float[Tensor, "types"], Int[Tensor, "types"]]:
    """Mean attention weight of each token type over its occurrences, and their number; nan where it is 0."""
    weights, types = model(corpus).weights.double(), len(model.embedding)
    counts = torch.bincount(corpus.tokens, minlength=types)
    return sum_by_instance(weights, corpus.tokens, types) / counts, counts


def weight_frame(model: AttentionClassifier, dataset: Dataset, types: Types, split: str = "test") -> pd.DataFrame:
    """A row for each examined token of a split (Fig 5).

    Columns: word, type, weight (mean over its occurrences), occurrences, expected (the mean of 1/length over
    the same occurrences: the weight it would have if all words weighed the same).
    """
    corpus = dataset.splits[split]
    weights, counts = mean_weights(model, corpus)
    shares = sum_by_instance(1 / corpus.lengths[corpus.instance_of].double(), corpus.tokens, len(weights)) / counts
    frames = []
    for name, ids in types.items():
        ids = ids[counts[ids] > 0]
        frames.append(
            pd.DataFrame(
                {
                    "word": [dataset.vocabulary.word(i) for i in ids.tolist()],
                    "type": name,
                    "weight": weights[ids].numpy(),
                    "occurrences": counts[ids].numpy(),
                    "expected": shares[ids].numpy(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def rated_words(dataset: Dataset) -> pd.DataFrame:
    """The words of SST that occur in training and that people rated by themselves.

    Columns: word, rank, gamma (Eq 28), count (in training), rating (0 to 4, 2 is neutral, a mean).
    """
    gamma = association(dataset.train, dataset.vocabulary)
    counts = torch.bincount(dataset.train.tokens, minlength=len(dataset.vocabulary))
    words = pd.DataFrame(
        {
            "word": dataset.vocabulary.words,
            "rank": range(1, dataset.vocabulary.word_count + 1),
            "gamma": gamma[: dataset.vocabulary.word_count].numpy(),
            "count": counts[: dataset.vocabulary.word_count].numpy(),
        }
    )
    ratings = word_ratings(find_data_home())
    return words[words["count"] > 0].merge(ratings, on="word")


def human_agreement(model: AttentionClassifier, dataset: Dataset, minimum_count: int = 6) -> dict[str, float]:
    """Rank correlations with the human ratings of words: polarity with rating, attention with strength.

    Strength is |rating − 2|. Only words that occur at least ``minimum_count`` times in training count.
    """
    words = rated_words(dataset).query("count >= @minimum_count")
    scores, ids = model.token_scores(), torch.as_tensor(words["rank"].to_numpy() - 1)
    polarity = pd.Series(scores.polarity[ids].cpu().numpy(), index=words.index)
    attention = pd.Series(scores.attention[ids].cpu().numpy(), index=words.index)
    return {
        "polarity and rating": polarity.corr(words["rating"], method="spearman"),
        "attention and strength": attention.corr((words["rating"] - 2).abs(), method="spearman"),
    }
