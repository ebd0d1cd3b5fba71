"""The paper's panels of scores and weights (Figs 2 to 5, S13 to S28): what is in print, what our seeds give.

``published("figures")`` lists them: data set, model, λ, which scores, of which tokens, the table with the
published values and the printed order of the means ("a b > c": a and b, in either order, above c). The experiment
``figure_scores`` measures the same for several seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.locations import published
from uaftc_lib.models import AttentionClassifier, sum_by_instance
from uaftc_lib.scores import Types, auc_of, score_frame

QUANTILES = {"min": 0.0, "p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}
MOST = 0.5  # of the seeds: print is one run, and from here on its order is the usual one
NAMES = {
    **{"Pos": "positive", "Neg": "negative", "Neutral": "neutral"},
    **{"Motor": "rec.motorcycles", "Med": "sci.med", "Guns": "talk.politics.guns"},
}


def panels() -> pd.DataFrame:
    """A row for each panel: figure, dataset, model, lam, scores, type (whose tokens; "": all), values, order."""
    listed = published("figures")
    return listed.fillna({"type": "", "values": ""})


def cited_panel(figure: str) -> str:
    """A panel as it is cited: "S13top" -> "Fig S13, top"."""
    for end, word in (("top", ", top"), ("bot", ", bottom")):
        figure = figure.removesuffix(end) + word if figure.endswith(end) else figure
    return f"Fig {figure}"


def in_print(figure: str) -> pd.DataFrame | None:
    """The published values of a panel, a row a type, under the names of :data:`QUANTILES`; None without any.

    Of the figures read by eye, only the ends or the quartiles are known.

    Raises
    ------
    ValueError
        If the paper has no such panel of scores or weights.
    """
    listed = panels().set_index("figure")
    if figure not in listed.index:
        raise ValueError(f"no panel {figure!r}; there are {', '.join(listed.index)}")
    table = listed["values"][figure]
    if not table:
        return None
    renamed = {"token_type": "type", "group": "type", "low": "min", "high": "max", "q1": "p25", "q3": "p75"}
    rows = published(table).rename(columns=renamed).query("figure == @figure")
    types = rows["type"].str.removesuffix(" score")
    return rows.assign(type=types.replace(NAMES)).reset_index(drop=True)


def in_order(order: str, means: Mapping[str, float]) -> bool:
    """Whether means stand in an order such as "negative positive > neutral"."""
    tiers = [[means[name] for name in tier.split()] for tier in order.split(" > ")]
    return all(min(above) > max(below) for above, below in zip(tiers, tiers[1:]))


@torch.no_grad()
def tilt(model: AttentionClassifier) -> float:
    """V·W, or of DP-A and AD the product of the vectors that embeddings see; K classes: nan."""
    if not model.binary:
        return float("nan")
    V, W = model.seen_vectors()
    return float(V @ W)


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


def scores_of(model: AttentionClassifier, dataset: Dataset, types: Types) -> Iterator[tuple[str, pd.DataFrame]]:
    """Name and frame (type, value) of all scores of the examined tokens.

    "attention", "polarity" (K classes: "polarity CLASS"); with a recurrent encoder also their local means
    over the training occurrences; of DP the mean "weight" on the test set, and "times equal share", the same
    over the mean of 1/length.
    """
    recurrent = model.recurrent is not None
    for prefix, corpus in (("", None), ("local ", dataset.train))[: 1 + recurrent]:
        frame = score_frame(model, dataset, types, corpus)
        for name in frame.columns[frame.columns.str.startswith(("attention", "polarity"))]:
            yield prefix + name, frame[["type", name]].rename(columns={name: "value"})
    if not recurrent and model.M is None:
        weights = weight_frame(model, dataset, types)
        yield "weight", weights.assign(value=weights["weight"])
        yield "times equal share", weights.assign(value=weights["weight"] / weights["expected"])


def score_rows(model: AttentionClassifier, dataset: Dataset, types: Types) -> list[dict]:
    """A row for each kind of scores and each type: mean, quantiles, and how well it separates.

    "over neutral": the probability that one of its tokens has more than a neutral one. "own highest" (K
    classes): the share of its tokens whose largest polarity score is that of their own class.
    """
    rows = []
    for scores, frame in scores_of(model, dataset, types):
        for name, values in frame.groupby("type", sort=False)["value"]:
            quantiles = {key: values.quantile(q) for key, q in QUANTILES.items()}
            row = {"scores": scores, "type": name, "words": len(values), "mean": values.mean(), **quantiles}
            rows.append(row | {"over neutral": auc_of(frame, "value", name, "neutral")})
    if not model.binary:
        highest = model.token_scores().polarity.argmax(1)
        own = {c: float((highest[types[c]] == k).double().mean()) for k, c in enumerate(dataset.classes)}
        for row in rows:
            row["own highest"] = own.get(row["type"])
    return rows


def seeds_of_panel(panel: Mapping, stored: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``figure_scores`` that belong to a panel; "type" is what the panel tells apart."""
    same = (stored[["dataset", "model", "lam"]] == [panel[key] for key in ("dataset", "model", "lam")]).all(axis=1)
    if not panel["type"]:
        return stored[same & (stored["scores"] == panel["scores"])]
    rows = stored[same & (stored["type"] == panel["type"]) & stored["scores"].str.startswith(panel["scores"] + " ")]
    return rows.assign(type=rows["scores"].str.removeprefix(panel["scores"] + " "))


def compare(stored: pd.DataFrame) -> pd.DataFrame:
    """A row a panel: seeds, in how many the means stand as printed, and a verdict.

    "mirrored": in how many the order holds with positive and negative exchanged. "off": the largest distance
    of a printed median from the mean of ours, in printed middle halves (p75 − p25). Verdict: "reproduced"
    where the printed order of the means holds in at least :data:`MOST` of the seeds, "in some seeds" where
    it holds less often, "differs" where never, "not made" without seeds.
    """
    rows = []
    for panel in panels().to_dict("records"):
        ours, known = seeds_of_panel(panel, stored), in_print(panel["figure"])
        means = ours.pivot(index="seed", columns="type", values="mean")
        hold = [in_order(panel["order"], row) for row in means.to_dict("index").values()]
        exchanged = means.rename(columns={"positive": "negative", "negative": "positive"})
        mirrored = [in_order(panel["order"], row) for row in exchanged.to_dict("index").values()]
        off = float("nan")
        if len(ours) and known is not None and "median" in known:
            known, middle = known.set_index("type"), ours.groupby("type")["median"].mean()
            off = ((middle - known["median"]).abs() / (known["p75"] - known["p25"])).max()
        share = sum(hold) / len(hold) if hold else float("nan")
        verdict = "reproduced" if share >= MOST else "in some seeds" if share else "differs"
        rows.append(panel | {"seeds": len(hold), "as printed": sum(hold), "mirrored": sum(mirrored),
                             "off": off, "verdict": verdict if hold else "not made"})  # fmt: skip
    return pd.DataFrame(rows)
