"""Studies of the terms of Eq 19 and 27, of three classes, of counts: what the paper says of signs and sizes.

Jobs and rows are as in :mod:`uaftc_lib.studies`, which keeps the tables. A run takes a second or two.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pandas as pd
import torch
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.exact_studies import (
    SEEDS,
    ends,
    pair_means,
    small_config,
    small_data,
    start_model,
)
from uaftc_lib.ledger import fit_with_ledger
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.measures import Types, dot_product, examined_types
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.training import fit
from uaftc_lib.variant_studies import three_classes, train_variant

SMALL_NEUTRAL, PAPER_NEUTRAL = 100, 1000


def by_kind(values: Mapping[str, Tensor], types: Types) -> dict[str, float]:
    """Means over the words of each kind, and of their sizes: "π positive", "|π| positive", ..."""
    return {
        f"{what} {kind}": float(those[ids].mean())
        for name, v in values.items()
        for what, those in ((name, v), (f"|{name}|", v.abs()))
        for kind, ids in types.items()
    }


def velocities(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """π, ρ, B, C, C's part from neutral words, E and F of each kind, now (:func:`by_kind`)."""
    sums = dynamics.token_sums(model, dataset.train)
    polarity, attention = (
        dynamics.polarity_update(model, dataset.train),
        dynamics.attention_update(model, dataset.train),
    )
    E, ids = model.embedding.detach(), types["neutral"]
    values = {"π": sums.pi, "ρ": sums.rho, "B": polarity.B, "C": polarity.C, "E": attention.E, "F": attention.F}
    values["C from neutral"] = E @ (E[ids].T @ sums.pi[ids]) / len(dataset.train)
    return by_kind(values, types)


def terms(noise: float, neutral_types: int, lam: float, seed: int) -> list[dict]:
    """A run on Data I (``noise``: Data II): terms summed over the run, where it began, how it ends.

    With the paper's 1,000 neutral words the data have the paper's 12,000 instances, and are passed over 8 times; with
    fewer words they have 1,200, passed over 75 times.

    "A positive": what A has added to the scores of positive words (the ledger), "|A| positive" the mean of its
    sizes. "π positive": the mean over the run, seen about fifteen times. "first F positive": before the first step
    (B, C and E too); "largest |F| positive": the largest at any of these times. "like", "unlike", "with
    neutral": mean inner products of embeddings at the end, "weaker like" the lesser of the two kinds, "start like"
    at the start. "farthest weight": the largest |nα − 1| of any word of any text of n words. "words with A > B/5": of
    the polar words, by what A and B have added to each; "their part of B": of the sum of |B| over all polar words.
    """
    class_size, epochs = (6000, 8) if neutral_types == PAPER_NEUTRAL else (600, 75)
    dataset = synthetic("synthetic-1", noise=noise, class_sizes=(class_size, class_size), neutral_types=neutral_types)
    types = examined_types(dataset)
    model = start_model(dataset, lam, seed=seed, dtype=torch.float64)
    start, watched, products = dot_product(model), [], []

    def watch(epoch: int, m: AttentionClassifier) -> dict:
        if epoch % max(1, epochs // 15) == 0:
            watched.append(velocities(m, dataset, types))
            products.append(grouped(pair_means(m.embedding.detach(), types)))
        return {}

    _, ledgers = fit_with_ledger(model, dataset, small_config(epochs=epochs, seed=seed), watch)
    of, s = pd.DataFrame(watched), model.token_scores().polarity.detach()
    polar = torch.cat((types["positive"], types["negative"]))
    A, B = ledgers[-1].A[polar].abs(), ledgers[-1].B[polar].abs()
    over = A > B / 5
    out = model(dataset.train)
    lengths = dataset.train.lengths[dataset.train.instance_of]
    return [
        {"start V·W": start}
        | ends(model, types)
        | by_kind({name: getattr(ledgers[-1], name) for name in "ABCDEF"}, types)
        | {name: value for name, value in by_kind({"polarity": s}, types).items() if "|" in name}
        | {name: of[name].mean() for name in of if name.strip("|")[0] in "πρ"}
        | {f"first {name}": of[name].iloc[0] for name in of if name.strip("|")[0] in "BCEF" and "from" not in name}
        | {f"largest {name}": of[name].abs().max() for name in of if name[0] == "C" or name.startswith("|F|")}
        | products[-1]
        | {f"start {name}": value for name, value in products[0].items()}
        | {"farthest weight": float((lengths * out.weights.detach() - 1).abs().max())}
        | {"words with A > B/5": float(over.double().mean()), "their part of B": float(B[over].sum() / B.sum())}
    ]


def start_terms(embedding_range: float, weight_range: float, seed: int) -> list[dict]:
    """The terms of Eq 19 and 27 before the first step, at λ = 10, from starting ranges of embeddings and W."""
    dataset = small_data()
    ranges = {"embedding_range": embedding_range, "weight_range": weight_range}
    model = start_model(dataset, seed=seed, dtype=torch.float64, **ranges)
    return [velocities(model, dataset, examined_types(dataset))]


def grouped(products: dict[str, float]) -> dict[str, float]:
    """The means of :func:`uaftc_lib.exact_studies.pair_means` by group; of products with neutral words the largest."""
    like = products["positive–positive"], products["negative–negative"]
    return {
        "like": sum(like) / 2,
        "weaker like": min(like),
        "unlike": products["positive–negative"],
        "with neutral": max(abs(value) for name, value in products.items() if "neutral" in name),
    }


def class_terms(seed: int) -> list[dict]:
    """Three classes of words (Appendix F): scores by kind, inner products of words, and of columns of W."""
    dataset, types = three_classes(seed)
    model = start_model(dataset, classes=3, seed=seed)
    start = model.token_scores().attention.detach().double()
    fit(model, dataset, small_config(seed=seed))
    a, s = (values.double() for values in model.token_scores())
    attention = {f"attention {k}": float(a[ids].mean()) for k, ids in types.items()}
    own = [float((s[types[k]][:, int(k)] - s[types[k]].sum(1).sub(s[types[k]][:, int(k)]) / 2).mean()) for k in "012"]
    products = pair_means(model.embedding.detach().double(), types)
    W = model.W.detach().double()
    norms, others = (W.T @ W).diag(), (W.T @ W).fill_diagonal_(-torch.inf)
    return [
        attention
        | {f"start attention {k}": float(start[ids].mean()) for k, ids in types.items()}
        | {f"own polarity {k}": value for k, value in enumerate(own)}
        | {
            "within": min(products[f"{k}–{k}"] for k in "012"),
            "across": max(products[pair] for pair in ("0–1", "0–2", "1–2")),
            "largest W·W'": float(others.max()),
            "smallest ‖W‖²": float(norms.min()),
        }
    ]


def affine_terms(seed: int) -> list[dict]:
    """The affine model with its penalty: mean inner products of embeddings e and of representations h = Me (Fig S8)."""
    dataset = small_data()
    model, _ = train_variant(dataset, "DP-A", penalty=1e-3, seed=seed)
    e = model.embedding.detach().double()
    vectors = {"e": e, "h": e @ model.M.detach().double().T}
    types = examined_types(dataset)
    return [
        {
            f"{which} {name}": value
            for which, v in vectors.items()
            for name, value in grouped(pair_means(v, types)).items()
        }
    ]


def data_counts(dataset: str) -> list[dict]:
    """Tables 1 and S1: what is counted in a data set, beside what is printed."""
    data = load_dataset(dataset)
    printed, listed = (
        table[table.dataset == PAPER_NAMES[dataset]] for table in map(published, ("table1", "token_types"))
    )
    counts = {
        ("1", f"{split}, {name}"): int((corpus.labels == k).sum())
        for split, corpus in data.splits.items()
        for k, name in enumerate(data.classes)
    }
    tokens, texts = sum(len(c.tokens) for c in data.splits.values()), sum(map(len, data.splits.values()))
    counts |= {("1", "average length"): round(tokens / texts), ("1", "vocabulary"): len(data.vocabulary)}
    counts |= {("S1", name): len(ids) for name, ids in examined_types(data).items()}
    said = {("1", f"{row['split']}, {row['class']}"): row["count"] for _, row in printed.iterrows()}
    said |= {
        ("1", "average length"): printed["average_length"].iloc[0],
        ("1", "vocabulary"): printed["vocabulary"].iloc[0],
    }
    said |= {("S1", row["token_type"]): row["count"] for _, row in listed.iterrows()}
    return [{"table": t, "what": what, "ours": ours, "published": said[t, what]} for (t, what), ours in counts.items()]


TERM_STUDIES = {
    "terms": (
        terms,
        [
            {"noise": noise, "neutral_types": n, "lam": v, "seed": s}
            for (noise, n, v), s in product(
                (
                    *((0.0, SMALL_NEUTRAL, v) for v in (0.01, 0.1, 1.0, 10.0, 100.0, 10000.0)),
                    *((0.0, PAPER_NEUTRAL, v) for v in (0.01, 0.1, 1.0, 10.0, 100.0)),
                    (0.1, SMALL_NEUTRAL, 10.0),
                    (0.1, PAPER_NEUTRAL, 10.0),
                ),
                SEEDS,
            )
        ],
    ),
    "start_terms": (
        start_terms,
        [{"embedding_range": e, "weight_range": w, "seed": s} for e, w, s in product((0.1, 1.0), (0.1, 1.0), SEEDS)],
    ),
    "affine_terms": (affine_terms, [{"seed": s} for s in SEEDS]),
    "data_counts": (data_counts, [{"dataset": name} for name in PAPER_NAMES]),
    "class_terms": (class_terms, [{"seed": s} for s in SEEDS]),
}
