"""The Stanford Sentiment Treebank (Socher et al., 2013), sentence level, two classes."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import uaftc_lib
from uaftc_lib.datasets import register
from uaftc_lib.datasets.cache import from_texts, prepared, tokenizer
from uaftc_lib.datasets.download import fetch

ARCHIVE = "trainDevTestTrees_PTB.zip"
URL = f"https://nlp.stanford.edu/sentiment/{ARCHIVE}"
SHA256 = "5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc"
CLASSES = ("negative", "positive")
RULES = 1
LEAF = re.compile(r"\((\d) ([^() ]+)\)")


def trees(data_home: Path) -> dict[str, list[str]]:
    """The bracketed trees of each split, as they are in the archive."""
    with zipfile.ZipFile(fetch(URL, data_home, SHA256)) as archive:
        return {
            split: archive.read(f"trees/{split}.txt").decode("utf-8").splitlines() for split in ("train", "dev", "test")
        }


def cleaned_sentence(tree: str) -> str:
    """The words of a tree as one string, cleaned as Jain & Wallace (2019) did."""
    text = " ".join(word for _, word in LEAF.findall(tree))
    text = text.replace("-LRB-", "").replace("-RRB-", " ")
    return re.sub(r"\s+", " ", re.sub(r"\W", " ", text)).strip()


def prepare_sst(data_home: Path) -> uaftc_lib.Dataset:
    """The official splits without the neutral sentences, by spaCy's blank English tokenizer."""
    tokenize = tokenizer()
    texts = {}
    for split, lines in trees(data_home).items():
        kept = [line for line in lines if line.startswith("(") and line[1] != "2"]
        words = [tokenize(cleaned_sentence(line)) for line in kept]
        texts[split] = (words, [int(int(line[1]) >= 3) for line in kept])
    return from_texts("sst", texts, CLASSES, {"source": URL, "sha256": SHA256, "rules": RULES})


@register("sst")
def load_sst(data_home: Path) -> uaftc_lib.Dataset:
    """SST with the official splits; neutral sentences (root label 2) are dropped, positive is 3 or 4."""
    return prepared(data_home, "sst", RULES, lambda: prepare_sst(data_home))
