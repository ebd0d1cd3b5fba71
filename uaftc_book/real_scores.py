"""What is measured of the scores of real words: how well kinds of words part by them, what people say of the words."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from scipy.stats import spearmanr

from uaftc_book.panels import tilt, weight_frame
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets.sst import LEAF, trees
from uaftc_lib.experiments.registry import stored
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, auc_of, follow, score_frame, type_means
from uaftc_lib.token_lists import association
from uaftc_lib.training import Run

PAIRS_OF_KINDS = (("positive", "neutral"), ("negative", "neutral"), ("negative", "positive"))


def aucs_of_types(scores: pd.DataFrame) -> dict[str, float]:
    """How well attention tells each two of the three kinds of words apart."""
    return {f"AUC {high} over {low}": auc_of(scores, "attention", high, low) for high, low in PAIRS_OF_KINDS}


def score_measures(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """Means of scores, how well kinds of words separate by them, V·W; of DP the median weight in the test set."""
    scores = score_frame(model, dataset, types)
    row = type_means(model, types) | {"V·W": tilt(model)} | aucs_of_types(scores)
    row["AUC polarity"] = auc_of(scores, "polarity", "positive", "negative")
    if model.recurrent is None and model.M is None:
        weights = weight_frame(model, dataset, types)
        medians = weights.groupby("type")["weight"].median()
        row |= {f"weight {name}": medians.get(name) for name in types}
    return row | {f"{name} words": len(ids) for name, ids in types.items()}


def outspoken() -> pd.DataFrame:
    """Frequent words of SST on no list whose vote is, with every seed, stronger than that of a listed word on average.

    A row a word, by falling mean: the least, greatest and mean polarity over the stored seeds.
    """
    where = {"dataset": "sst", "model": "DP", "lam": 10.0, "labels": "real", "lists": "training", "moment": "kept"}
    listed, words = stored("null_controls", **where), stored("frequent_words", list="none")
    votes = words.groupby("word", sort=False)["polarity"].agg(["min", "max", "mean"])
    loud = (votes["min"] > listed["polarity positive"].mean()) | (votes["max"] < listed["polarity negative"].mean())
    return votes[loud].sort_values("mean", ascending=False)


def word_ratings(data_home: Path) -> pd.DataFrame:
    """What people said of single words of SST: columns word (lower case), rating (0 to 4, mean), trees (count)."""
    rated = [
        (word.lower(), int(rating))
        for lines in trees(data_home).values()
        for line in lines
        for rating, word in LEAF.findall(line)
    ]
    return (
        pd.DataFrame(rated, columns=["word", "rating"])
        .groupby("word")["rating"]
        .agg(rating="mean", trees="size")
        .reset_index()
    )


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
    return {
        "polarity and rating": spearmanr(scores.polarity[ids].cpu(), words["rating"]).statistic,
        "attention and strength": spearmanr(scores.attention[ids].cpu(), (words["rating"] - 2).abs()).statistic,
    }


def score_row(model: AttentionClassifier, run: Run, scores: pd.DataFrame, types: dict) -> dict[str, float]:
    """Type means, V·W, AUC of types, mean training loss of the first five epochs and accuracies."""
    return (
        follow(model, types)
        | aucs_of_types(scores)
        | {"early loss": run.history["loss"].iloc[:5].mean()}
        | {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    )
