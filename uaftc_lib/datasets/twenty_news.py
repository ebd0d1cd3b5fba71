"""20 Newsgroups: two groups on sport (20News I), three on different subjects (20News II)."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pooch

import uaftc_lib
from uaftc_lib import checks
from uaftc_lib.datasets import register
from uaftc_lib.datasets.cache import from_texts, prepared, tokenizer
from uaftc_lib.datasets.download import DataUnavailable

# A pickle, whose opening runs whatever code it names. scikit-learn makes it on each machine, of an archive whose digest
# it knows, with that machine's paths in it; this one was made with relative paths.
ARCHIVE = "20news-bydate_py3.pkz"
SHA256 = "a7f1eb5bc436ed1d6358d9666350b3eaf0ac62b5718b82f59d69e98f78f10bee"
SOURCE = "scikit-learn: fetch_20newsgroups"
SPORTS = ("rec.sport.baseball", "rec.sport.hockey")
SUBJECTS = ("rec.motorcycles", "sci.med", "talk.politics.guns")
# The paper's class counts of 20News II in each split, in the order of SUBJECTS.
COUNTS = {"train": (794, 790, 716), "dev": (91, 70, 79), "test": (84, 100, 90)}
SEED = 13478
RULES = 1
PICTURE = re.compile(r"^begin \d{3} \S+$", re.MULTILINE)


def posts(data_home: Path, groups: tuple[str, ...]) -> dict[str, list[str]]:
    """The posts of each group without headers, footers, quotations; posts that are empty then are dropped.

    All twenty groups are read in scikit-learn's default (shuffled) order before the groups are picked: with
    it the split of 20News I gives the published numbers of positive, negative and neutral tokens exactly.

    Raises
    ------
    ValueError
        If the archive is not the one that is known: opening another may run any code.
    DataUnavailable
        If it is not there and cannot be downloaded.
    """
    from sklearn.datasets import fetch_20newsgroups  # imports slowly, and only preparation needs it

    kept = Path(data_home) / ARCHIVE
    if kept.exists() and (found := pooch.file_hash(kept)) != SHA256:
        raise ValueError(
            f"{kept} is not opened: its sha256 is {found}, and a pickle that is not known may run any code. Delete it, "
            "and the posts will be downloaded"
        )
    with TemporaryDirectory() as empty:
        home = data_home if kept.exists() else empty  # what is made there is opened once, and not kept
        try:
            bunch = fetch_20newsgroups(
                data_home=home, subset="all", remove=("headers", "footers", "quotes"), random_state=42
            )
        except OSError as error:
            raise DataUnavailable(
                f"20 Newsgroups is not in {data_home} and could not be downloaded ({error}): set UAFTC_DATA to a "
                "folder where it is prepared"
            ) from error
    chosen: dict[str, list[str]] = {group: [] for group in groups}
    for post, target in zip(bunch.data, bunch.target):
        group = bunch.target_names[target]
        if group in chosen and post.strip():
            chosen[group].append(post)
    return chosen


def tokens(posts: list[str]) -> list[list[str]]:
    """Lower-cased tokens; punctuation is set apart before spaCy's tokenizer sees the text."""
    tokenize = tokenizer()
    spaced = (re.sub(r"\s+", " ", re.sub(r"(\W)+", r" \1 ", post)).strip() for post in posts)
    return [tokenize(text) for text in spaced]


def prepare_sports(data_home: Path) -> uaftc_lib.Dataset:
    """20News I: stratified, a fifth for the test, a fifth of the rest for dev."""
    from sklearn.model_selection import train_test_split  # as above

    by_group = posts(data_home, SPORTS)
    texts = tokens([post for group in SPORTS for post in by_group[group]])
    labels = [k for k, group in enumerate(SPORTS) for _ in by_group[group]]
    rest, test, rest_labels, test_labels = train_test_split(
        texts, labels, test_size=0.2, random_state=SEED, stratify=labels
    )
    train, dev, train_labels, dev_labels = train_test_split(
        rest, rest_labels, test_size=0.2, random_state=SEED, stratify=rest_labels
    )
    splits = {"train": (train, train_labels), "dev": (dev, dev_labels), "test": (test, test_labels)}
    return from_texts("20news-1", splits, SPORTS, {"source": SOURCE, "rules": RULES, "split_seed": SEED})


def prepare_subjects(data_home: Path, split_seed: int = SEED) -> uaftc_lib.Dataset:
    """20News II: the paper's class counts, filled in an order drawn here; its own split is not known.

    One post is more than the paper has: the one that holds a picture as uuencoded text is left out.
    """
    by_group = posts(data_home, SUBJECTS)
    splits: dict[str, tuple[list, list]] = {split: ([], []) for split in COUNTS}
    order = np.random.default_rng(split_seed)
    for k, group in enumerate(SUBJECTS):
        texts = tokens([post for post in by_group[group] if not PICTURE.search(post)])
        shuffled = iter(order.permutation(len(texts)))
        for split, counts in COUNTS.items():
            for _ in range(counts[k]):
                splits[split][0].append(texts[next(shuffled)])
                splits[split][1].append(k)
    return from_texts("20news-2", splits, SUBJECTS, {"source": SOURCE, "rules": RULES, "split_seed": split_seed})


@register("20news-1")
def load_sports(data_home: Path) -> uaftc_lib.Dataset:
    """20News I: baseball (0) against hockey (1)."""
    return prepared(data_home, "20news-1", RULES, lambda: prepare_sports(data_home))


@register("20news-2")
def load_subjects(data_home: Path, split_seed: int = SEED) -> uaftc_lib.Dataset:
    """20News II: motorcycles, medicine, guns; a split of its own with the paper's class counts.

    Another ``split_seed`` draws another split, which is not kept on disk.
    """
    if checks.whole("split_seed", split_seed, 0) != SEED:
        return prepare_subjects(data_home, split_seed)
    return prepared(data_home, "20news-2", RULES, lambda: prepare_subjects(data_home))
