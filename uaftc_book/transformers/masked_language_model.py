"""The book's own small transformer, trained to tell masked words of those IMDB reviews that no split of the book holds.

It is of the kind ModernBERT (Warner et al., 2024) in which every layer looks at most half a window to each side, and
where a word stands is told by turning its keys and queries: nothing is learnt about a place, so that a text longer than
any in training is read as these were.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import torch
from filelock import FileLock
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from uaftc_book.transformers.pieces import (
    SPECIAL_PIECES,
    Masked,
    PieceTexts,
    all_rows,
    drawn_rows,
    masked_rows,
    pieces_of,
    trained_tokenizer,
)
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.cache import made_whole, prepared_folder, read_about
from uaftc_lib.extras import needs
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.progress import progress_bar
from uaftc_lib.streams import generator, stream_seed
from uaftc_lib.threads import one_thread
from uaftc_lib.vectors.unused_reviews import Count, cut_reviews, word_hash

NAME, RULES, TOLD = "transformer-imdb", 1, 10


@dataclass(frozen=True)
class Sizes:
    """Of the transformer and of its training.

    ``positions`` is how many pieces it may be given at once, ``window`` how many of them one sees. A step reads
    ``read`` pieces, in rows of one of ``lengths`` in turn, so that short texts are nothing new to it.
    """

    pieces: int = 8192
    dimension: int = 128
    layers: int = 4
    heads: int = 4
    inner: int = 256
    positions: int = 512
    window: int = 128
    lengths: tuple[int, ...] = (128, 128, 128, 32)
    read: int = 1024
    steps: int = 8000
    masked: float = 0.15
    spread: float = 0.06
    learning_rate: float = 2e-3
    warm_up: float = 0.05
    weight_decay: float = 0.01
    held_out: float = 0.01
    seed: int = 0


def own_transformer(data_home: str | os.PathLike | None = None, sizes: Sizes | None = None) -> Path:
    """The folder of the book's own transformer, as the package transformers keeps them; trained when first asked for.

    It reads words as spaCy cuts them, lower-cased. The folder lies in ``prepared``; ``about.json`` in it says from what
    it was made, how, how long that took, and how well it tells masked words of reviews that were kept out of training.
    One that is there is returned as it is, whatever its sizes.

    Raises
    ------
    ImportError
        If transformers is not installed, and the folder is not there yet.
    DataUnavailable
        If IMDB is neither there nor can be downloaded, or spaCy is missing to cut it.
    """
    home = find_data_home(data_home)
    folder = prepared_folder(home, NAME, RULES)
    if folder.exists():
        read_about(folder)  # refuses a damaged one
        return folder
    with needs("training a transformer", ".[transformers,vectors]"):
        import gensim  # noqa: F401
        import transformers  # noqa: F401
    splits, sizes = load_dataset("imdb", home), sizes or Sizes()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if folder.exists():  # another process was quicker
            return folder
        count, begin = Count(), time.perf_counter()
        texts = cut_reviews(home, splits, count)
        about = {"reviews": vars(count), "words": sum(map(len, texts))}
        with made_whole(folder, about) as place:
            about |= train_and_save(texts, sizes, place)
            about["seconds"] = round(time.perf_counter() - begin, 1)
            packages = ("torch", "transformers", "tokenizers", "gensim", "spacy")
            about["versions"] = {name: version(name) for name in packages}
    return folder


@one_thread()
def train_and_save(texts: list[list[str]], sizes: Sizes, folder: Path) -> dict:
    """Tokenizer and transformer, made from texts and written into a folder; what about.json says of both."""
    kept_out = max(1, round(sizes.held_out * len(texts)))
    order = torch.randperm(len(texts), generator=generator(sizes.seed, "data")).tolist()
    held, read = ([texts[i] for i in sorted(part)] for part in (order[:kept_out], order[kept_out:]))
    cutter = trained_tokenizer(read, sizes.pieces, sizes.positions)
    specials = {kind: cutter.convert_tokens_to_ids(piece) for kind, piece in SPECIAL_PIECES.items()}
    model = new_model(sizes, len(cutter), specials)
    seen, kept = pieces_of(cutter, read), pieces_of(cutter, held)
    start_from_vectors(model, seen, sizes)
    curve = train_masked(model, seen, kept, sizes, specials)
    model.save_pretrained(folder)
    cutter.save_pretrained(folder)
    return {
        "pieces": len(seen.pieces) + len(kept.pieces),
        "vocabulary": len(cutter),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "sizes": asdict(sizes),
        "curve": curve,
        "held out": {"reviews": len(held)} | told_of_masked(model, kept, sizes, specials),
        "unigram": told_by_frequency(seen, kept, sizes, specials, len(cutter)),
    }


def new_model(sizes: Sizes, vocabulary: int, specials: dict[str, int]) -> nn.Module:
    """The transformer before training, which does not touch torch's own random numbers."""
    with needs("training a transformer", ".[transformers]"):
        from transformers import ModernBertConfig, ModernBertForMaskedLM
    config = ModernBertConfig(
        vocab_size=vocabulary,
        hidden_size=sizes.dimension,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.inner,
        max_position_embeddings=sizes.positions,
        local_attention=sizes.window,
        initializer_range=sizes.spread,
        layer_types=["sliding_attention"] * sizes.layers,
        **{f"{kind}_token_id": specials[kind] for kind in ("pad", "cls", "sep")},
        bos_token_id=specials["cls"],
        eos_token_id=specials["sep"],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(sizes.seed, "initial values"))
        return ModernBertForMaskedLM(config)


@torch.no_grad()
def start_from_vectors(model: nn.Module, seen: PieceTexts, sizes: Sizes) -> None:
    """Let the embeddings of pieces, which are those that masked ones are told by, begin as their skip-gram vectors.

    What stands beside a piece is learnt by these in two minutes; the transformer alone would spend its time on that.
    """
    with needs("training a transformer", ".[transformers,vectors]"):
        from gensim.models import Word2Vec
    names, cuts = [str(piece) for piece in seen.pieces.tolist()], seen.offsets.tolist()
    texts = [names[begin:end] for begin, end in pairwise(cuts)]
    training = {"sg": 1, "window": 5, "negative": 5, "min_count": 1, "epochs": 2, "seed": sizes.seed, "workers": 1}
    found = Word2Vec(texts, vector_size=sizes.dimension, hashfxn=word_hash, **training).wv
    table = model.get_input_embeddings().weight
    ids = torch.tensor([int(name) for name in found.index_to_key])
    vectors = torch.from_numpy(found.vectors.copy())
    table[ids] = (vectors - vectors.mean(0)) / vectors.std() * sizes.spread


def train_masked(
    model: nn.Module, seen: PieceTexts, kept: PieceTexts, sizes: Sizes, specials: dict[str, int]
) -> list[dict]:
    """Train in place by AdamW, with a warm-up and a linear decay; the loss as it fell, and that of what is kept out."""
    crops, masks = generator(sizes.seed, "order"), generator(sizes.seed, "masked words")
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": sizes.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=sizes.learning_rate, betas=(0.9, 0.98))
    warm = max(1, round(sizes.warm_up * sizes.steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: min((done + 1) / warm, (sizes.steps - done) / max(1, sizes.steps - warm))
    )
    with torch.no_grad():  # what needs no context is known from the start
        model.decoder.bias.copy_(log_shares(seen, model.config.vocab_size))
    model.train()
    curve, total, since = [], 0.0, 0
    every = max(1, math.ceil(sizes.steps / TOLD))
    bar = progress_bar(range(1, sizes.steps + 1), desc="steps", unit="", delay=3, leave=False)
    for step in bar:
        length = sizes.lengths[step % len(sizes.lengths)]
        rows = drawn_rows(seen, max(1, sizes.read // length), length, specials, crops)
        masked = masked_rows(rows, sizes.masked, model.config.vocab_size, specials, masks)
        if not len(masked.answers):
            continue
        loss = functional.cross_entropy(asked_logits(model, masked, rows.there), masked.answers)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total, since = total + float(loss.detach()), since + 1
        if step % every == 0 or step == sizes.steps:
            of_held = told_of_masked(model, kept, sizes, specials)
            curve.append({"step": step, "loss": round(total / since, 4), "held out": of_held["loss"]})
            bar.set_postfix(curve[-1])
            total, since = 0.0, 0
    model.eval()
    return curve


def asked_logits(model: nn.Module, masked: Masked, there: Tensor) -> Float[Tensor, "asked pieces"]:
    """Logits of the pieces that are asked for, and of no others: those of all would take longer than the rest."""
    states = model.model(input_ids=masked.read, attention_mask=there.long()).last_hidden_state
    return model.decoder(model.head(states[masked.asked]))


@torch.no_grad()
def asked_of(kept: PieceTexts, sizes: Sizes, specials: dict[str, int], vocabulary: int) -> list[tuple[Masked, Tensor]]:
    """All texts kept out of training, masked the same way whenever they are asked about, in batches."""
    masks = generator(sizes.seed + 1, "masked words")
    length = max(sizes.lengths)
    rows = all_rows(kept, length, specials)
    masked = masked_rows(rows, sizes.masked, vocabulary, specials, masks)
    parts = [slice(i, i + 64) for i in range(0, len(rows.pieces), 64)]
    answers = rows.pieces
    return [
        (Masked(masked.read[part], masked.asked[part], answers[part][masked.asked[part]]), rows.there[part])
        for part in parts
    ]


@torch.no_grad()
def told_of_masked(model: nn.Module, kept: PieceTexts, sizes: Sizes, specials: dict[str, int]) -> dict:
    """The mean −log p of masked pieces, in nats, and how many of them are told rightly."""
    was_training = model.training
    model.eval()
    total, right, count = 0.0, 0, 0
    for masked, there in asked_of(kept, sizes, specials, model.config.vocab_size):
        logits = asked_logits(model, masked, there)
        total += float(functional.cross_entropy(logits, masked.answers, reduction="sum"))
        right += int((logits.argmax(1) == masked.answers).sum())
        count += len(masked.answers)
    model.train(was_training)
    return {"asked": count, "loss": round(total / max(count, 1), 4), "right": round(right / max(count, 1), 4)}


def log_shares(seen: PieceTexts, vocabulary: int) -> Float[Tensor, "pieces"]:
    """The logarithms of the shares of pieces in some texts; one is added to each count."""
    counts = 1.0 + torch.bincount(seen.pieces, minlength=vocabulary)
    return (counts / counts.sum()).log()


def told_by_frequency(
    seen: PieceTexts, kept: PieceTexts, sizes: Sizes, specials: dict[str, int], vocabulary: int
) -> dict:
    """The same of the shares of pieces in training, whatever stands beside them."""
    shares = log_shares(seen, vocabulary)
    answers = torch.cat([masked.answers for masked, _ in asked_of(kept, sizes, specials, vocabulary)])
    right = (answers == shares.argmax()).double().mean()
    return {"loss": round(float(-shares[answers].mean()), 4), "right": round(float(right), 4)}
