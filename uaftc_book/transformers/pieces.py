"""The texts of a masked language model: a tokenizer that cuts words into pieces, and crops of what it cut."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from uaftc_lib.extras import needs

Tokenizer = Any  # transformers' PreTrainedTokenizerFast, which need not be installed
SPECIAL_PIECES = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


@contextmanager
def serial_tokenizers() -> Iterator[None]:
    """Within it the package tokenizers starts no threads of its own: parallelism belongs to processes."""
    name, before = "TOKENIZERS_PARALLELISM", os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ[name] = "false"
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.update({name: before})


def trained_tokenizer(texts: Sequence[Sequence[str]], pieces: int, longest: int) -> Tokenizer:
    """A WordPiece tokenizer of at most so many pieces, of texts that are cut into words already.

    A text that is given as one string is parted at its spaces, so that "n't" stays the word it is for spaCy.
    """
    with needs("training a tokenizer", ".[transformers]"):
        import tokenizers
        from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
        from transformers import PreTrainedTokenizerFast

    names = list(SPECIAL_PIECES.values())
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token=SPECIAL_PIECES["unk"]))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=pieces, special_tokens=names, show_progress=False)
    with serial_tokenizers():
        tokenizer.train_from_iterator(map(" ".join, texts), trainer)
    cls, sep = SPECIAL_PIECES["cls"], SPECIAL_PIECES["sep"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B {sep}",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (cls, sep)],
    )
    specials = {f"{kind}_token": name for kind, name in SPECIAL_PIECES.items()}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **specials)


class PieceTexts(NamedTuple):
    """Texts as pieces, laid end to end: text t is ``pieces[offsets[t]:offsets[t + 1]]``."""

    pieces: Int[Tensor, "positions"]
    offsets: Int[Tensor, "boundaries"]


def pieces_of(tokenizer: Tokenizer, texts: Sequence[Sequence[str]]) -> PieceTexts:
    """The pieces of texts, without special ones; a text of which nothing is left goes."""
    with serial_tokenizers():
        cut = (
            tokenizer(list(texts[i : i + 1000]), is_split_into_words=True, add_special_tokens=False, verbose=False)
            for i in range(0, len(texts), 1000)
        )
        found = [torch.tensor(ids) for part in cut for ids in part["input_ids"] if ids]
    return PieceTexts(torch.cat(found), torch.tensor([0, *map(len, found)]).cumsum(0))


class Rows(NamedTuple):
    """Texts of equal length as a transformer reads them: pieces, and which of them are there."""

    pieces: Int[Tensor, "rows length"]
    there: Bool[Tensor, "rows length"]


def crops_at(
    texts: PieceTexts, begins: Int[Tensor, "rows"], ends: Int[Tensor, "rows"], length: int, specials: dict[str, int]
) -> Rows:
    """What stands from ``begins`` on, not beyond ``ends``, between [CLS] and [SEP]; padded to ``length``."""
    step = torch.arange(length)
    taken = (ends - begins).clamp(max=length - 2).unsqueeze(1)
    rows = texts.pieces[(begins.unsqueeze(1) + step - 1).clamp(0, len(texts.pieces) - 1)]
    rows = rows.masked_fill(step > taken + 1, specials["pad"]).masked_fill(step == taken + 1, specials["sep"])
    return Rows(rows.masked_fill(step == 0, specials["cls"]), step <= taken + 1)


def drawn_rows(texts: PieceTexts, rows: int, length: int, specials: dict[str, int], draws: torch.Generator) -> Rows:
    """Crops of texts, every position as likely as any other to be where one begins.

    One that would run beyond the end of its text begins earlier.
    """
    begins = torch.randint(len(texts.pieces), (rows,), generator=draws)
    text = torch.searchsorted(texts.offsets, begins, right=True) - 1
    first, ends = texts.offsets[text], texts.offsets[text + 1]
    return crops_at(texts, torch.minimum(begins, ends - length + 2).maximum(first), ends, length, specials)


def all_rows(texts: PieceTexts, length: int, specials: dict[str, int]) -> Rows:
    """All of some texts, in consecutive crops."""
    begins, ends = [], []
    for begin, end in zip(texts.offsets[:-1].tolist(), texts.offsets[1:].tolist()):
        for start in range(begin, end, length - 2):
            begins.append(start), ends.append(end)
    return crops_at(texts, torch.tensor(begins), torch.tensor(ends), length, specials)


class Masked(NamedTuple):
    """Rows some of whose pieces are to be told: what is read, where is asked, and what stood there."""

    read: Int[Tensor, "rows length"]
    asked: Bool[Tensor, "rows length"]
    answers: Int[Tensor, "asked"]


def masked_rows(rows: Rows, share: float, vocabulary: int, specials: dict[str, int], draws: torch.Generator) -> Masked:
    """A share of the pieces is asked for: of ten such, eight are masked, one is another piece, one is as it was.

    (Devlin et al., 2019.) Special pieces are never asked for.
    """
    ordinary = rows.there & (rows.pieces != specials["cls"]) & (rows.pieces != specials["sep"])
    asked = ordinary & (torch.rand(rows.pieces.shape, generator=draws) < share)
    kind = torch.rand(rows.pieces.shape, generator=draws)
    others = torch.randint(len(SPECIAL_PIECES), vocabulary, rows.pieces.shape, generator=draws)
    read = torch.where(asked & (kind < 0.8), specials["mask"], rows.pieces)
    read = torch.where(asked & (kind >= 0.9), others, read)
    return Masked(read, asked, rows.pieces[asked])
