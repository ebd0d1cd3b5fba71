"""Chapter 16: what the vectors and the transformer were made of, and how well they know what they were made for."""

from __future__ import annotations

import json

from uaftc_book.chapters.pretrained.unseen_words import DATASETS
from uaftc_book.transformers.masked_language_model import own_transformer
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.vectors.unused_reviews import own_vectors
from uaftc_lib.vectors.word_vectors import read_vectors


@experiment(jobs_over(dataset=DATASETS), rows=1)
def own_vectors_cover(dataset: str) -> list[dict]:
    """Of what the book's own vectors are made, and how many of a data set's words have one."""
    path, data = own_vectors(), load_dataset(dataset)
    about = json.loads((path.parent / "about.json").read_text(encoding="utf-8"))
    covered = read_vectors(path).aligned(data.vocabulary, data.train)
    made = {name: about[name] for name in ("tokens", "words")} | {"reviews": about["reviews"]["unused"]}
    return [made | {"share of words": covered.words, "share of occurrences": covered.occurrences}]


@experiment(jobs=[{"of": "masked pieces"}], rows=1)
def own_transformer_tells(of: str) -> list[dict]:
    """Of what the book's own transformer is made, and how well it tells the masked pieces of reviews it never read."""
    about = json.loads((own_transformer() / "about.json").read_text(encoding="utf-8"))
    sizes, told, by_frequency = about["sizes"], about["held out"], about["unigram"]
    return [
        {name: sizes[name] for name in ("layers", "dimension", "heads", "steps")}
        | {name: about[name] for name in ("parameters", "vocabulary", "pieces")}
        | {"minutes": about["seconds"] / 60, "right": told["right"], "loss": told["loss"]}
        | {f"{name} by frequency": by_frequency[name] for name in ("right", "loss")}
    ]
