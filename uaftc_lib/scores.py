"""What a trained model shows of the examined tokens: scores, mean weights, how well groups separate."""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.stats import mannwhitneyu
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.token_lists import token_types

Types = dict[str, Int[Tensor, "ids"]]
KINDS = ("positive", "negative", "neutral")


def examined_types(dataset: Dataset) -> Types:
    """The tokens whose scores are looked at: by γ on real data, all of them, by kind, on synthetic data."""
    if not dataset.name.startswith("synthetic"):
        return token_types(dataset.train, dataset.vocabulary)
    kinds = [word.rsplit("-", 1)[0] for word in dataset.vocabulary.words]
    return {name: torch.tensor([i for i, kind in enumerate(kinds) if kind == name]) for name in KINDS}


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
    frames = []
    for name, ids in types.items():
        words = [dataset.vocabulary.word(i) for i in ids.tolist()]
        found = {column: values[ids].double().cpu().numpy() for column, values in columns.items()}
        frames.append(pd.DataFrame({"word": words, "type": name, "rank": (ids + 1).numpy(), **found}))
    return pd.concat(frames, ignore_index=True)


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


def follow(model: AttentionClassifier, types: Types) -> dict[str, float]:
    """What the training curves show: type means, V·W, ‖V‖, ‖W‖."""
    V, W = model.V.detach(), model.W.detach()
    return type_means(model, types) | {"V·W": dot_product(model), "‖V‖": float(V.norm()), "‖W‖": float(W.norm())}


def make_perpendicular(model: AttentionClassifier) -> AttentionClassifier:
    """Take from V its part along W, so that training starts at V·W = 0; returns the model."""
    with torch.no_grad():
        model.V -= (model.V @ model.W) / (model.W @ model.W) * model.W
    return model


def outranks(above: Float[Tensor | pd.Series, "some"], below: Float[Tensor | pd.Series, "others"]) -> float:
    """The probability that one of the first is larger than one of the second (AUC); ties count half."""
    return float(mannwhitneyu(above, below, method="asymptotic").statistic / (len(above) * len(below)))


def auc_of(data: pd.DataFrame, y: str, high: str, low: str, group: str = "type") -> float:
    """The probability that a random token of type ``high`` has more of ``y`` than one of type ``low`` (AUC).

    0.5 means that the two types cannot be told apart.
    """
    return outranks(*(data.loc[data[group] == name, y] for name in (high, low)))
