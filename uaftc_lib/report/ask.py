"""Ask: five models are kept, and answer about a text that is new.

With logits z_k of the models and the temperature T of :mod:`~uaftc_lib.report.predict`, the answer is the class of the
largest mean logit z̄, its probability softmax(z̄/T), and the spread that of softmax(z_k/T). Contributions and Shapley
values are means over the models, so they sum to z̄.
"""

from __future__ import annotations

import base64
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load, save
from scipy.special import softmax

from uaftc_lib import __version__
from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.explain.flips import class_scores
from uaftc_lib.explain.shapley import shapley
from uaftc_lib.explain.words import class_polarity
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.report.cells import clean, without_residues
from uaftc_lib.report.prepare import Prepared, Words, count_words, with_pairs
from uaftc_lib.report.read import read_table
from uaftc_lib.report.request import SAVED, Columns, Refused
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import PART, Reader, Trained, position_values
from uaftc_lib.report.write import finite, harmless

FORMAT = 1  # of these files
MOST_BYTES = 8_000_000  # of a page, for the scores of all words
MOST_AGAIN = 300  # words of a text that a recurrent model reads again without each of them
EQUAL = 1e-6  # share by which two choices may differ that do the same
MOST_TRIED = 2_000_000  # words in all choices of so many words to be left out


@dataclass(frozen=True)
class Saved:
    """Five models and what they need to read a text.

    Attributes
    ----------
    settings : Settings
    column : str
        Name of the column of texts.
    classes : tuple of str
    vocabulary : Vocabulary
    temperature : float
    verdict : str
        Of the report, on texts that the models had not seen.
    models : tuple of AttentionClassifier
    """

    settings: Settings
    column: str
    classes: tuple[str, ...]
    vocabulary: Vocabulary
    temperature: float
    verdict: str
    models: tuple[AttentionClassifier, ...]


def saved(
    trained: Trained, prepared: Prepared, temperature: float, settings: Settings, text: str, verdict: str
) -> Saved:
    """The models of a report; ``text``: the column of the texts."""
    models = tuple(map(condensed, trained.readers))
    return Saved(settings, text, prepared.classes, prepared.vocabulary, temperature, verdict, models)


@torch.no_grad()
def condensed(reader: Reader) -> AttentionClassifier:
    """A model of the same answers, which knows of each word a = h·V/λ and s = h·W alone, not h.

    Words that the model does not know get the scores of ``<unk>``. A recurrent model needs its embeddings, and stays.
    """
    model = reader.model
    if model.recurrent is not None:
        same = AttentionClassifier(*model.embedding.shape, model.lam, encoder=model.encoder, classes=model.classes)
        same.load_state_dict(model.state_dict())
        same.embedding.copy_(model.embedding[reader.ids])
        return same
    scores = model.token_scores()
    columns = torch.cat([scores.attention[:, None], scores.polarity.reshape(len(scores.attention), -1)], 1)
    same = AttentionClassifier(*columns.shape, lam=1.0, classes=model.classes)
    same.embedding.copy_(columns[reader.ids])
    same.V.copy_(torch.eye(columns.shape[1])[0])
    same.W.copy_(torch.eye(columns.shape[1])[:, 1:].reshape(same.W.shape))
    return same


def contents(model: Saved) -> dict[str, bytes]:
    """The files of a folder: by their names what they hold."""
    first = model.models[0]
    tensors = {f"{k}.{name}": value for k, each in enumerate(model.models) for name, value in each.state_dict().items()}
    about = {
        "format": FORMAT,
        "version": __version__,
        "settings": asdict(model.settings),
        "column": model.column,
        "classes": model.classes,
        "temperature": model.temperature,
        "verdict": model.verdict,
        "model": {"dimension": first.embedding.shape[1], "lam": first.lam, "encoder": first.encoder},
        "words": model.vocabulary.words,
    }
    as_json = json.dumps(about, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
    return dict(zip(SAVED, (save(tensors), as_json)))


@torch.no_grad()
def box(model: Saved) -> tuple[dict | None, str]:
    """What a page needs to answer as :func:`ask` does; or None, and why."""
    settings, first = model.settings, model.models[0]
    if first.recurrent is not None:
        return None, f"the encoder {settings.encoder} reads a word together with all others, which a page cannot do"
    if settings.words.startswith("spacy") or settings.ignore:
        what = "spaCy's words" if settings.words.startswith("spacy") else "what --ignore leaves out"
        return None, f"a page cannot cut a text as this was done ({what})"
    words = model.vocabulary.words
    scores = torch.stack([each.embedding[: len(words) + 1] for each in model.models]).float().numpy()
    if (size := scores.nbytes * 4 / 3 + sum(map(len, words))) > MOST_BYTES:
        return None, f"the scores of {len(words):,} words would make this page {size / 1e6:.0f} MB larger"
    about = {"words": words, "temperature": model.temperature, "pairs": settings.ngrams == 2, "tried": MOST_TRIED}
    about |= {"cut": settings.cutter().in_javascript(), "models": len(scores), "nothing": model.verdict == "nothing"}
    return about | {"scores": base64.b64encode(scores.astype("<f4").tobytes()).decode()}, ""


def load_saved(folder: str | os.PathLike) -> Saved:
    """What ``uaftc explain --save`` has written.

    Raises
    ------
    Refused
        If the folder holds no such model, or one that cannot be read.
    """
    tensors, about = (Path(folder) / name for name in SAVED)
    if not (tensors.is_file() and about.is_file()):
        raise Refused(f"{folder} holds no saved model: uaftc explain --save {folder} writes one")
    try:
        about, tensors = json.loads(about.read_bytes()), load(tensors.read_bytes())
        if about["format"] != FORMAT:
            raise Refused(f"{folder} was saved by uaftc-lib {about['version']} in another format: save it anew")
        vocabulary, models = Vocabulary(about["words"]), []
        for k in range(1 + max(int(name.split(".")[0]) for name in tensors)):
            model = AttentionClassifier(len(vocabulary), classes=len(about["classes"]), **about["model"])
            own = {name.partition(".")[2]: value for name, value in tensors.items() if name.startswith(f"{k}.")}
            model.load_state_dict(own)
            models.append(model.double())
        settings, classes = Settings(**about["settings"]), tuple(about["classes"])
        return Saved(
            settings, about["column"], classes, vocabulary, float(about["temperature"]), about["verdict"], tuple(models)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(f"{folder} holds no model that can be read: {error}") from None


@torch.no_grad()
def ask(model: Saved, texts: Sequence[str], deep: bool = True) -> list[dict]:
    """What five models answer about texts; ``deep``: with Shapley values, and the fewest words that turn the answer.

    Returns
    -------
    list of dict
        For each text: text; class, its calibrated probability, low and high (of the five models), and probabilities of
        all classes, which are None where the text has no word; words, each with word, begin, end, known (whether it
        stood in two texts), attention, contribution to the answer, and shapley; unseen: the words that are not known;
        turned_by: the words, by their places, without which the answer is turned_to, or None; tried: how many words at
        once were left out in vain, or at last.
    """
    cutter, texts = model.settings.cutter(), without_residues(pd.Series(list(map(clean, texts)), dtype=object))[0]
    spans = [cutter.spans(text) for text in texts]
    nothing = dict.fromkeys(("class", "probability", "low", "high", "probabilities", "turned_by", "turned_to"))
    answers = [{"text": text} | nothing | {"words": [], "unseen": [], "tried": 0} for text in texts]
    places = [i for i, each in enumerate(spans) if each]
    for begin in range(0, len(places), PART):
        part = places[begin : begin + PART]
        words = count_words([texts[i] for i in part], cutter)
        if cutter.ngrams == 2:
            words = with_pairs(words, least=1)
        for place, said in zip(part, answers_about(model, words, [spans[i] for i in part], deep)):
            answers[place] |= said
    return answers


def answers_about(model: Saved, words: Words, spans: list[list[tuple[int, int]]], deep: bool) -> Iterator[dict]:
    """:func:`ask` for texts that have words."""
    ids = np.array(model.vocabulary.encode(words.spellings))[words.tokens]
    offsets = torch.from_numpy(np.concatenate([[0], words.lengths.cumsum()]))
    labels, pairs = torch.zeros(len(spans), dtype=torch.long), model.settings.ngrams == 2
    corpus = Corpus(torch.from_numpy(ids), offsets, labels, len(model.classes))
    recurrent = model.models[0].recurrent is not None
    if recurrent and not (deep and words.lengths.max() <= MOST_AGAIN):  # each text is read again without each word
        nan = np.full((len(ids), len(model.classes)), np.nan)
        read = [(out, out.weights.numpy(), nan) for out in (each(corpus) for each in model.models)]
    else:
        read = [position_values(each, corpus) for each in model.models]
    logits = np.stack([class_scores(out.polarity) for out, _, _ in read])
    mean, single = (softmax(z / model.temperature, axis=-1) for z in (logits.mean(0), logits))
    attention, push = np.mean([one for _, one, _ in read], 0), np.mean([one for _, _, one in read], 0)
    for i, (begin, end) in enumerate(pairwise(offsets.tolist())):
        answer, here, one = int(mean[i].argmax()), slice(begin, end), corpus[torch.tensor([i])]
        shares, turned, other, tried = np.full(end - begin, np.nan), None, answer, 0
        if deep and not recurrent:
            shares = np.mean([class_polarity(shapley(each, one)).numpy() for each in model.models], 0)[:, answer]
        if deep and not recurrent and not pairs:
            parts = [(out.scores[here].numpy(), class_scores(out.token_polarity[here])) for out, _, _ in read]
            turned, other, tried = fewest_removed(*map(np.stack, zip(*parts)), answer)
        both = [(a, b) for (a, _), (_, b) in pairwise(spans[i])] if pairs else []
        columns = {
            "word": [words.spellings[token] for token in words.tokens[here].tolist()],
            "begin": [a for a, _ in spans[i] + both],
            "end": [b for _, b in spans[i] + both],
            "known": (ids[here] != model.vocabulary.unk).tolist(),
            "attention": attention[here].tolist(),
            "contribution": push[here, answer].tolist(),
            "shapley": shares.tolist(),
        }
        said = [finite(dict(zip(columns, row))) for row in zip(*columns.values())]
        yield {
            "class": model.classes[answer],
            "probability": float(mean[i, answer]),
            "low": float(single[:, i, answer].min()),
            "high": float(single[:, i, answer].max()),
            "probabilities": dict(zip(model.classes, mean[i].tolist())),
            "words": said,
            "unseen": list(dict.fromkeys(one["word"] for one in said[: len(spans[i])] if not one["known"])),
            "turned_by": turned,
            "turned_to": model.classes[other] if turned else None,
            "tried": tried,
        }


def fewest_removed(
    scores: Float[np.ndarray, "models positions"], polarity: Float[np.ndarray, "models positions classes"], answer: int
) -> tuple[list[int] | None, int, int]:
    """The fewest positions without which another class has the largest mean logit; that class; how many were tried.

    One after the other all choices of one position are tried, of two, and so on, as long as they are not too many. Of
    equally many positions those are taken that turn the answer most, the first ones where several do.
    """
    n = scores.shape[1]
    weights = np.exp(scores - scores.max(1, keepdims=True))
    leads = weights[:, :, None] * (polarity - polarity[:, :, [answer]])  # of the other classes
    for size in range(1, n):
        if n * math.comb(n, size) > MOST_TRIED:
            return None, answer, size - 1
        removed = np.fromiter(chain.from_iterable(combinations(range(n), size)), int).reshape(-1, size)
        kept = np.ones((len(removed), n))
        np.put_along_axis(kept, removed, 0.0, 1)
        rivals = np.mean([(kept @ lead) / (kept @ weight)[:, None] for lead, weight in zip(leads, weights)], 0)
        rivals[:, answer] = -np.inf
        if (most := rivals.max()) > 0:
            first = int((rivals.max(1) >= most * (1 - EQUAL)).argmax())
            return removed[first].tolist(), int(rivals[first].argmax()), size
    return None, answer, n - 1


def text_of(path: Path, encoding: str = "utf-8") -> str:
    """A file, or standard input for "-", as one text.

    Raises
    ------
    Refused
        If it cannot be read, or is in another encoding.
    """
    try:
        return (sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()).decode(encoding)
    except (OSError, LookupError, UnicodeError) as error:
        raise Refused(f"{path} cannot be read as {encoding}: {getattr(error, 'strerror', None) or error}") from None


def lines_of(model: Saved, answer: dict) -> Iterator[str]:
    """An answer for the terminal."""
    if answer["class"] is None:
        yield "there is no word in this text"
        return
    words = answer["words"]
    probability, low, high = (f"{answer[name]:.2f}".replace("1.00", ">0.99") for name in ("probability", "low", "high"))
    yield f"{answer['class']}: probability {probability} ({low} to {high} by the five models)"
    if model.verdict == "nothing":
        yield "take care: on texts they had not seen, these models were no better than chance"
    if not any(word["known"] for word in words):
        yield "take care: none of these words is known, so this answer is a guess"
    if answer["unseen"]:
        yield f"never seen, or in one text only: {', '.join(answer['unseen'])}"
    if answer["turned_by"]:
        removed = ", ".join(repr(words[i]["word"]) for i in answer["turned_by"])
        yield f"without {removed} the answer would be {answer['turned_to']}"
    elif answer["tried"]:
        few = "a single word" if answer["tried"] == 1 else f"up to {answer['tried']} words"
        yield f"no removal of {few if answer['tried'] < len(words) - 1 else 'words'} turns the answer"
    width = max(4, *(len(word["word"]) for word in words))
    yield f"{'word':{width}}  contribution  Shapley value  attention"
    for word in words:
        shown = [f"{'-' if x is None else f'{x:+.3f}':>13}" for x in (word["contribution"], word["shapley"])]
        yield f"{word['word']:{width}} {'  '.join(shown)}  {word['attention']:9.3f}"


def rows_answered(model: Saved, path: Path, column: str, encoding: str, as_json: bool) -> Iterator[str]:
    """The answers about the rows of a file, as CSV or JSON lines."""
    table = read_table(path, Columns(column, None), encoding)
    for reason, dropped in table.dropped.items():
        warnings.warn(f"{dropped:,} rows are left out: {reason}", stacklevel=2)
    answers = ask(model, table.rows["text"].tolist(), deep=False)
    if as_json:
        for row, answer in zip(table.rows["row"].tolist(), answers):
            yield json.dumps({"row": row} | answer, ensure_ascii=False)
        return
    columns = {name: [answer[name] for answer in answers] for name in ("class", "probability", "low", "high")}
    frame = pd.DataFrame({"row": table.rows["row"]} | columns)
    frame["class"] = harmless(frame["class"].fillna(""))
    yield from frame.to_csv(index=False, float_format="%.4f", lineterminator="\n").splitlines()
