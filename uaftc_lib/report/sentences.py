"""Sentences: the texts that a page holds, so that a pressed word shows those in which it stands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int

from uaftc_lib.coloured import LEVELS
from uaftc_lib.corpus import Corpus
from uaftc_lib.report.predict import Predicted, of_words, push_of_positions
from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.train import PART, Trained

PER_WORD = 20  # texts of each word that are wanted first, where not all have room
MOST_BYTES = 8_000_000  # of a page, for its texts
OF_TEXT, OF_WORD = 60, 18  # bytes beside the text itself
SUSPECTS = 50  # suspect labels, the texts of which are wanted before all others
LONGEST = 1000  # words: longer texts are not shown


def sentences(prepared: Prepared, trained: Trained, predicted: Predicted, words: list[str]) -> dict:
    """What the page needs to show the texts of its words, if need be a sample of them.

    Returns
    -------
    dict
        of: the number of all texts. texts: for each [row, label, answer, probability of the answer, rank of a suspect
        label or 0, text, words, pairs]. words: for each five numbers, [characters since the last one, characters, place
        in ``words`` or -1, attention in LEVELS of the largest in the text, push on the answer in hundredths]. pairs:
        for each two numbers, [place in ``words``, push].
    """
    rows = np.flatnonzero((predicted.reader >= 0) & (prepared.whole.lengths.numpy() <= LONGEST))
    place = np.full(len(prepared.vocabulary), -1)
    place[[prepared.vocabulary.id(word) for word in words]] = np.arange(len(words))
    rows = wanted_first(prepared, place, np.random.default_rng(trained.settings["seed"]).permutation(rows))
    rank = predicted.suspect[rows]
    rows = rows[np.argsort((rank == 0) | (rank > SUSPECTS), kind="stable")]
    size = OF_TEXT + OF_WORD * prepared.whole.lengths.numpy()[rows]
    size = size + [len(prepared.texts[row].encode("utf-8", "replace")) for row in rows.tolist()]
    rows = np.sort(rows[size.cumsum() <= MOST_BYTES])
    texts = {}
    for k in range(len(trained.readers)):
        mine = rows[predicted.reader[rows] == k]
        for begin in range(0, len(mine), PART):
            part = mine[begin : begin + PART]
            read = push_of_positions(trained.readers[k], prepared.whole, part, predicted.answer[part])
            for row, one in zip(part.tolist(), by_text(*read)):
                texts[row] = text_of(prepared, predicted, place, row, *one)
    return {"of": len(prepared.texts), "texts": [texts[row] for row in rows.tolist()]}


def wanted_first(
    prepared: Prepared, place: Int[np.ndarray, "types"], rows: Int[np.ndarray, "rows"]
) -> Int[np.ndarray, "rows"]:
    """The rows in another order: one of each word, in the order of the words, then a second one; at last the others."""
    count, pairs = np.zeros(place.max() + 1, np.int64), [np.zeros((3, 0), np.int64)]
    for begin in range(0, len(rows), PART):
        corpus = prepared.whole[torch.from_numpy(rows[begin : begin + PART])]
        word, text = place[corpus.tokens.numpy()], begin + corpus.instance_of.numpy()
        word, text = np.unique(np.stack([word, text])[:, word >= 0], axis=1)
        turn = count[word] + np.arange(len(word)) - np.searchsorted(word, word)
        count += np.bincount(word, minlength=len(count))
        pairs.append(np.stack([turn, word, text])[:, turn < PER_WORD])
    turn, word, text = np.concatenate(pairs, axis=1)
    order = np.concatenate([text[np.lexsort([word, turn])], np.arange(len(rows))])
    return rows[order[np.sort(np.unique(order, return_index=True)[1])]]


def by_text(
    corpus: Corpus, attention: Float[np.ndarray, "positions"], push: Float[np.ndarray, "positions"]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Tokens, attention and push of each text."""
    ends = corpus.offsets[1:-1].tolist()
    return zip(*(np.split(values, ends) for values in (corpus.tokens.numpy(), attention, push)))


def text_of(
    prepared: Prepared,
    predicted: Predicted,
    place: Int[np.ndarray, "types"],
    row: int,
    tokens: Int[np.ndarray, "positions"],
    attention: Float[np.ndarray, "positions"],
    push: Float[np.ndarray, "positions"],
) -> list:
    """One text, as :func:`sentences` describes it."""
    text, answer = prepared.texts[row], int(predicted.answer[row])
    spans = prepared.cutter.spans(text)
    n = len(spans)
    shade = np.round(LEVELS * of_words(attention, n) / (attention.max() or 1)).astype(int)
    hundredths, pairs = (np.round(100 * each).astype(int) for each in (of_words(push, n), push[n:]))
    begins, ends = np.array(spans).T
    gaps = begins - np.concatenate([[0], ends[:-1]])
    words = np.stack([gaps, ends - begins, place[tokens[:n]], shade, hundredths], 1).ravel().tolist()
    pairs = np.stack([place[tokens[n:]], pairs], 1).ravel().tolist()
    probability = round(float(predicted.probability[row, answer]), 3)
    label = int(prepared.whole.labels[row])
    return [int(prepared.rows[row]), label, answer, probability, int(predicted.suspect[row]), text, words, pairs]
