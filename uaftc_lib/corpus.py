"""Words, instances and data sets. Everything else in the library reads these three classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from uaftc_lib.checks import one_of, whole

SPECIALS = ("<unk>", "<eos>", "<pad>")


def words_of(text: Sequence[str]) -> Sequence[str]:
    """The text itself, or ValueError if it is one string, whose items would be letters."""
    if isinstance(text, str):
        raise ValueError(f"a text is a list of words, got the string {text[:40]!r}: split it first")
    return text


def check_integers(name: str, values: object) -> None:
    """ValueError unless the values are a vector of whole numbers."""
    is_tensor = isinstance(values, Tensor)
    if not is_tensor or values.dim() != 1 or values.dtype not in (torch.int64, torch.int32):
        found = f"{values.dtype} of shape {tuple(values.shape)}" if is_tensor else type(values).__name__
        raise ValueError(f"{name} must be a one-dimensional tensor of int64 or int32, got {found}")


def integers(name: str, values: Sequence[int]) -> Int[Tensor, "values"]:
    """The values as a vector of int64, or ValueError if that would change or reject any of them."""
    try:
        vector = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be whole numbers ({error})") from None
    if len(vector) and (vector.is_floating_point() or vector.is_complex() or vector.dtype == torch.bool):
        raise ValueError(f"{name} must be whole numbers, got {vector.dtype}: {vector[:5].tolist()} ...")
    return vector.long()


class Vocabulary:
    """Token types and their ids: words first, in the order given, then ``<unk>``, ``<eos>``, ``<pad>``.

    A word of a text that happens to be spelt like a special is an ordinary word: :meth:`id` looks words up
    first, and the specials' own ids are :attr:`unk`, :attr:`eos` and :attr:`pad`.
    """

    def __init__(self, words: Sequence[str]):
        self._words = tuple(words_of(words))
        self._ids = {word: i for i, word in enumerate(self._words)}
        if len(self._ids) != len(self._words):
            repeated = Counter(self._words).most_common(1)[0][0]
            raise ValueError(f"a vocabulary holds each word once, but {repeated!r} was given more than once")
        self.word_count = len(self._words)
        self.unk, self.eos, self.pad = range(self.word_count, self.word_count + len(SPECIALS))

    @classmethod
    def from_texts(cls, texts: Iterable[Sequence[str]]) -> Vocabulary:
        """Words by falling frequency over all texts; words of equal frequency in order of appearance."""
        counts = Counter(chain.from_iterable(map(words_of, texts)))
        return cls([word for word, _ in counts.most_common()])

    def __len__(self) -> int:
        return self.word_count + len(SPECIALS)

    def __repr__(self) -> str:
        return f"Vocabulary({self.word_count:,} words + {len(SPECIALS)} specials)"

    @property
    def words(self) -> tuple[str, ...]:
        """The words without the specials, in the order of their ids."""
        return self._words

    def word(self, i: int) -> str:
        """The spelling of token type ``i``.

        Raises
        ------
        ValueError
            If ``i`` is not between 0 and ``len(self) - 1``.
        """
        if whole("a token id", i) >= len(self):
            raise ValueError(f"token id {i} is not in this vocabulary; ids run from 0 to {len(self) - 1}")
        return self._words[i] if i < self.word_count else SPECIALS[i - self.word_count]

    def id(self, word: str) -> int:
        """The id of ``word``; the id of ``<unk>`` for a word that the vocabulary does not hold."""
        if word in self._ids:
            return self._ids[word]
        return self.word_count + SPECIALS.index(word) if word in SPECIALS else self.unk

    def encode(self, text: Sequence[str]) -> list[int]:
        """Token ids of a tokenised text; unknown words, however spelt, become ``<unk>``."""
        return [self._ids.get(word, self.unk) for word in words_of(text)]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Instances of token ids, laid end to end without padding, and their labels.

    Attributes
    ----------
    tokens : Int[Tensor, "positions"]
        Token ids of all instances.
    offsets : Int[Tensor, "instances+1"]
        Instance t is ``tokens[offsets[t]:offsets[t + 1]]``.
    labels : Int[Tensor, "instances"]
        Class indices; binary: 0 negative, 1 positive.
    class_count : int
    classes : tuple of str
        The names of the classes; "0", "1", ... where none were given.

    Raises
    ------
    ValueError
        If the tensors do not fit together, an instance is empty, or an id or a label is impossible.
    """

    tokens: Int[Tensor, "positions"]
    offsets: Int[Tensor, "instances_plus_1"]
    labels: Int[Tensor, "instances"]
    class_count: int = 2
    classes: tuple[str, ...] = ()

    def __post_init__(self):
        whole("class_count", self.class_count, least=2)
        if not self.classes:
            object.__setattr__(self, "classes", tuple(str(k) for k in range(self.class_count)))
        if len(self.classes) != self.class_count:
            raise ValueError(f"{self.class_count} classes need {self.class_count} names, got {self.classes}")
        for name in ("tokens", "offsets", "labels"):
            check_integers(name, getattr(self, name))
        if len(self.offsets) != len(self.labels) + 1:
            raise ValueError(f"{len(self.labels)} labels need {len(self.labels) + 1} offsets, got {len(self.offsets)}")
        if int(self.offsets[0]) != 0 or int(self.offsets[-1]) != len(self.tokens):
            raise ValueError(
                f"offsets must run from 0 to the number of positions, {len(self.tokens)}, "
                f"got {int(self.offsets[0])} to {int(self.offsets[-1])}"
            )
        lengths = self.lengths
        if len(lengths) and int(lengths.min()) <= 0:
            t = int((lengths <= 0).nonzero()[0])
            what = "is empty; attention needs at least one token: drop it first"
            raise ValueError(f"instance {t} {what if lengths[t] == 0 else 'has a falling offset'}")
        if len(self.tokens) and int(self.tokens.min()) < 0:
            raise ValueError(f"token ids must not be negative, got {int(self.tokens.min())}")
        if len(self.labels) and not 0 <= int(self.labels.min()) <= int(self.labels.max()) < self.class_count:
            raise ValueError(
                f"labels must lie between 0 and {self.class_count - 1} for {self.class_count} classes, "
                f"got {sorted(set(self.labels.tolist()))[:10]}"
            )

    @classmethod
    def from_lists(
        cls,
        instances: Sequence[Sequence[int]],
        labels: Sequence[int],
        class_count: int = 2,
        classes: tuple[str, ...] = (),
    ) -> Corpus:
        """A corpus from one list of token ids for each instance.

        Raises
        ------
        ValueError
            If an instance is empty (the message names it), an id is no whole number, or labels do not fit.
        """
        if len(instances) != len(labels):
            raise ValueError(f"got {len(instances)} instances but {len(labels)} labels")
        lengths = torch.tensor([0, *map(len, instances)])
        return cls(
            tokens=integers("token ids", [token for instance in instances for token in instance]),
            offsets=lengths.cumsum(0),
            labels=integers("labels", labels),
            class_count=class_count,
            classes=classes,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Corpus]:
        """The instances, each as a corpus of one."""
        return (self[t] for t in range(len(self)))

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} instances, {len(self.tokens):,} tokens, {self.class_count} classes)"

    @property
    def lengths(self) -> Int[Tensor, "instances"]:
        """Number of tokens of each instance."""
        return self.offsets.diff()

    @property
    def instance_of(self) -> Int[Tensor, "positions"]:
        """For each position the index of its instance."""
        return torch.repeat_interleave(self.lengths, output_size=len(self.tokens))

    @property
    def signs(self) -> Float[Tensor, "instances"]:
        """y = ±1 (Eq 5).

        Raises
        ------
        ValueError
            If there are more than two classes.
        """
        if self.class_count != 2:
            raise ValueError(f"signs are defined for two classes, this corpus has {self.class_count}")
        return (2 * self.labels - 1).to(torch.get_default_dtype())

    def __getitem__(self, indices) -> Corpus:
        """Some of the instances, in the order given: indices, a slice, a boolean mask or one integer.

        Raises
        ------
        ValueError
            If there is no such instance, or a mask is not as long as the corpus.
        """
        try:
            chosen = torch.arange(len(self), device=self.tokens.device)[indices].reshape(-1)
        except IndexError:
            if getattr(indices, "dtype", None) == torch.bool:
                found = f"a mask of {len(indices)}"
                raise ValueError(f"{found} does not fit: the corpus has {len(self)} instances") from None
            raise ValueError(f"no instance {indices}: the corpus has {len(self)} instances, from 0") from None
        lengths = self.lengths[chosen]
        ends = lengths.cumsum(0)
        starts = torch.repeat_interleave(self.offsets[chosen] - (ends - lengths), lengths)
        return self._with(
            tokens=self.tokens[starts + torch.arange(len(starts), device=self.tokens.device)],
            offsets=torch.cat([ends.new_zeros(1), ends]),
            labels=self.labels[chosen],
        )

    def check_filled(self) -> None:
        """ValueError if there is no instance: nothing can be averaged over none."""
        if not len(self):
            raise ValueError("the corpus holds no instance: nothing can be computed from it")

    def without(self, dropped: Bool[Tensor, "positions"]) -> Corpus:
        """The instances without some of their positions; one of which nothing is left goes altogether."""
        left = torch.bincount(self.instance_of[~dropped], minlength=len(self))
        offsets = torch.cat([left.new_zeros(1), left[left > 0].cumsum(0)])
        return self._with(tokens=self.tokens[~dropped], offsets=offsets, labels=self.labels[left > 0])

    def to(self, device: str | torch.device) -> Corpus:
        """The same corpus on another device."""
        return self._with(tokens=self.tokens.to(device), offsets=self.offsets.to(device), labels=self.labels.to(device))

    def _with(self, **tensors: Tensor) -> Corpus:
        """A copy with other tensors, not checked again: they come from checked ones, and batches are many."""
        corpus = copy(self)
        corpus.__dict__.update(tensors)
        return corpus


@dataclass(frozen=True, eq=False)
class Dataset:
    """A named task: its splits, vocabulary and classes. Splits that do not exist are None.

    Raises
    ------
    ValueError
        If a split is empty, has other classes, or holds a token id that the vocabulary lacks.
    """

    name: str
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    train: Corpus
    dev: Corpus | None = None
    test: Corpus | None = None
    provenance: dict = field(default_factory=dict)

    def __post_init__(self):
        for split, corpus in self.splits.items():
            if not isinstance(corpus, Corpus) or not len(corpus):
                raise ValueError(f"{split} of {self.name} must be a corpus with instances, got {corpus!r}")
            if corpus.class_count != len(self.classes):
                raise ValueError(
                    f"{self.name} has the classes {', '.join(self.classes)}, "
                    f"but its split {split} has {corpus.class_count}"
                )
            if int(corpus.tokens.max()) >= len(self.vocabulary):
                raise ValueError(
                    f"{split} of {self.name} holds token id {int(corpus.tokens.max())}, but the vocabulary "
                    f"ends at {len(self.vocabulary) - 1}: encode the texts with it"
                )

    @property
    def splits(self) -> dict[str, Corpus]:
        """The splits that exist, by name."""
        named = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: corpus for name, corpus in named.items() if corpus is not None}

    def text(self, split: str, instance: int) -> list[str]:
        """The words of one instance.

        Raises
        ------
        ValueError
            If there is no such split or instance.
        """
        one_of("split", split, self.splits)
        corpus = self.splits[split]
        if whole("instance", instance) >= len(corpus):
            raise ValueError(f"{split} holds instances 0 to {len(corpus) - 1}, got {instance}")
        return [self.vocabulary.word(i) for i in corpus[instance].tokens.tolist()]

    def to(self, device: str | torch.device) -> Dataset:
        """The same data set on another device."""
        return replace(self, **{name: corpus.to(device) for name, corpus in self.splits.items()})
