"""A transformer as the package transformers keeps it in a folder: read, looked over, and refused in words."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from uaftc_book.transformers.pieces import serial_tokenizers
from uaftc_lib import checks
from uaftc_lib.extras import needs

TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
Tokenizer = Any  # of transformers, which need not be installed
SEED = 0  # of the weights that a folder need not have, and that no state depends on


class Transformer(NamedTuple):
    """A transformer and its tokenizer: ids of the special pieces, and the size of a state.

    ``before`` and ``after`` stand around a text; ``room`` is for so many pieces between them at once.
    """

    model: nn.Module
    tokenizer: Tokenizer
    before: list[int]
    after: list[int]
    padding: int
    unknown: int
    room: int
    size: int


def described(folder: str | os.PathLike) -> dict:
    """The config.json of a transformer's folder, once it is seen that a tokenizer and weights lie beside it.

    Raises
    ------
    ValueError
        If anything of these is not there, or config.json is none.
    """
    folder = Path(folder)
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "is not there"
        raise ValueError(f"{folder} {found}: give a folder that transformers' save_pretrained wrote")
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder} holds no config.json: give a folder that transformers' save_pretrained wrote")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kind = config["model_type"]
    except (ValueError, LookupError, TypeError):
        raise ValueError(f"{folder / 'config.json'} is damaged, or names no model_type") from None
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise ValueError(
            f"{folder} holds a transformer ({kind}) without a tokenizer (none of {', '.join(TOKENIZERS)}): "
            "write it there too, tokenizer.save_pretrained"
        )
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("pytorch_model*.bin")):
        raise ValueError(f"{folder} holds no weights: neither model.safetensors nor pytorch_model.bin is there")
    return config


@contextmanager
def quietly() -> Iterator[None]:
    """Within it transformers neither warns of weights that a head would need, nor shows bars."""
    with needs("reading a transformer", ".[transformers]"):
        from transformers.utils import logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL), logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def read_transformer(
    folder: str | os.PathLike, longest: int | None = None, dtype: torch.dtype = torch.float32
) -> Transformer:
    """A transformer that gives a state to every piece it reads, and its tokenizer, from files alone.

    Parameters
    ----------
    folder : path
    longest : int, optional
        Pieces that are read at once, the special ones included; as many as the transformer has positions for.
    dtype : torch.dtype

    Raises
    ------
    ValueError
        If there is no such folder, something is not in it or damaged, tokenizer and weights do not belong together, or
        the transformer is of a kind that gives pieces no states: the message says which.
    ImportError
        If transformers is not installed.
    """
    kind = described(folder)["model_type"]
    with needs("reading a transformer", ".[transformers]"):
        from transformers import AutoModel, AutoTokenizer
    given = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **given)
    except Exception as error:
        raise ValueError(f"the tokenizer in {folder} cannot be read ({first_line(error)})") from None
    try:
        with quietly(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            model, loading = AutoModel.from_pretrained(folder, dtype=dtype, output_loading_info=True, **given)
    except Exception as error:
        why = "config.json and weights do not belong together" if "mismatched" in str(error) else first_line(error)
        raise ValueError(f"the transformer in {folder} ({kind}) cannot be read ({why})") from None
    # A pooler stands behind the states, and is not asked.
    if missing := sorted(name for name in loading["missing_keys"] if "pooler" not in name):
        raise ValueError(f"the weights in {folder} are not whole: {len(missing)} are missing, such as {missing[0]}")
    if model.config.is_encoder_decoder:
        raise ValueError(
            f"{folder} holds a {type(model).__name__}, which reads one text and writes another: give an encoder, such "
            "as one of the kind BERT"
        )
    return looked_over(model.eval(), tokenizer, Path(folder), longest)


def first_line(error: Exception) -> str:
    """What an error says, short enough for a line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def looked_over(model: nn.Module, tokenizer: Tokenizer, folder: Path, longest: int | None) -> Transformer:
    """A transformer with what must be known of it, after a first text went through it."""
    name = type(model).__name__
    found = tokenizer([["a", "a"]], is_split_into_words=True, return_special_tokens_mask=True)
    ids, special = found["input_ids"][0], found["special_tokens_mask"][0]
    if 0 not in special:
        raise ValueError(f"the tokenizer in {folder} finds no piece in the word 'a': is it empty?")
    first, last = special.index(0), len(special) - special[::-1].index(0)
    try:
        table = model.get_input_embeddings()
    except NotImplementedError:  # of sound, or of pictures
        table = None
    if not isinstance(table, nn.Embedding):
        raise ValueError(f"{folder} holds a {name}, which reads no pieces of words: give an encoder of text")
    if (pieces := max(tokenizer.get_vocab().values()) + 1) > table.num_embeddings:
        raise ValueError(
            f"the tokenizer in {folder} has {pieces:,} pieces, the transformer rows for {table.num_embeddings:,}: "
            "they do not belong together"
        )
    own = getattr(model.config, "pad_token_id", None)
    padding = next(each for each in (own, tokenizer.pad_token_id, 0) if each is not None)
    unknown = next(each for each in (tokenizer.unk_token_id, padding) if each is not None)
    try:
        states = states_of_rows(model, torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long))
        assert states.shape[:2] == (1, len(ids))
    except Exception as error:
        told = "another number of states than pieces" if isinstance(error, AssertionError) else first_line(error)
        raise ValueError(f"{folder} holds a {name}, which gives pieces no states of their own ({told})") from None
    most, around = positions(model, tokenizer), len(ids) - (last - first)
    room = most if longest is None else checks.whole("longest", longest, 1)
    if room > most:
        raise ValueError(f"{folder} holds a {name}, which reads {most:,} pieces at once: longest must not be {room:,}")
    if room <= around:
        raise ValueError(f"longest must be more than the {around} special pieces around a text, got {room}")
    return Transformer(model, tokenizer, ids[:first], ids[last:], padding, unknown, room - around, states.shape[2])


def positions(model: nn.Module, tokenizer: Tokenizer) -> int:
    """How many pieces can be read at once: what the transformer has positions for, and its tokenizer allows."""
    most = getattr(model.config, "max_position_embeddings", None) or 512
    for name, module in model.named_modules():
        # RoBERTa and its kin count places from behind that of padding.
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            most -= module.padding_idx + 1
    return min(most, tokenizer.model_max_length)


def states_of_rows(model: nn.Module, pieces: Tensor, there: Tensor) -> Float[Tensor, "rows length h"]:
    """The last hidden states."""
    return model(input_ids=pieces, attention_mask=there).last_hidden_state


def pieces_of_words(transformer: Transformer, words: list[str]) -> list[list[int]]:
    """The pieces of each word in a text; of one for which the tokenizer has none, the unknown one.

    The space before a word tells tokenizers that keep spaces that it is no ending of another; others drop it.
    A word that is spelt like a special piece is cut like any word.
    """
    how = {"is_split_into_words": True, "add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    with serial_tokenizers():
        cut = transformer.tokenizer([[f" {word}"] for word in words], **how)
    return [ids or [transformer.unknown] for ids in cut["input_ids"]]
