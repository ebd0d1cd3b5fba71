"""States of words in their texts, by a transformer."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from uaftc_book.transformers.folder import Transformer, pieces_of_words, states_of_rows
from uaftc_lib.corpus import Vocabulary
from uaftc_lib.models import sum_by_instance
from uaftc_lib.models.encoders import buckets, consecutive_parts

PART = 2**15  # words whose states are computed together where no gradient is asked for


class WordStates(nn.Module):
    """States of words: of each the mean of the last hidden states of its pieces, since any of them is but a part of it.

    Parameters
    ----------
    transformer : Transformer
    vocabulary : Vocabulary
        Whose ids a text is given in. Specials are the tokenizer's unknown piece.
    frozen : bool
        Whether the transformer stays as it is. Then the states of a text are computed once and kept.
    most_kept : int
        Bytes of states that are kept at most; what goes beyond is computed anew.
    """

    def __init__(self, transformer: Transformer, vocabulary: Vocabulary, frozen: bool, most_kept: int):
        super().__init__()
        self.size = transformer.size
        self.transformer = transformer.model.requires_grad_(not frozen)
        self.before, self.after = transformer.before, transformer.after
        self.padding, self.room = transformer.padding, transformer.room
        self.frozen, self.most_kept, self.words = frozen, most_kept, vocabulary.words
        specials = [[transformer.unknown]] * (len(vocabulary) - vocabulary.word_count)
        pieces = pieces_of_words(transformer, list(vocabulary.words)) + specials
        ends = torch.tensor([0, *map(len, pieces)]).cumsum(0)
        # What the vocabulary says is no weight: it is not stored with them.
        self.register_buffer("pieces", torch.tensor([i for word in pieces for i in word]), persistent=False)
        self.register_buffer("offsets", ends, persistent=False)
        self.forget()

    def shared_by(self, vocabulary: Vocabulary, frozen: bool) -> WordStates:
        """Itself, for another classifier too.

        Raises
        ------
        ValueError
            If one of the two would change the weights, or the ids are those of other words.
        """
        if not (self.frozen and frozen):
            raise ValueError("classifiers that fine-tune a transformer cannot share it: give each the folder")
        if vocabulary.words != self.words:
            raise ValueError("these states are of words of another vocabulary: give the folder")
        return self

    def forget(self) -> None:
        """Keep no states, as when the weights are others."""
        self.kept: dict[bytes, Tensor] = {}
        self.bytes, self.versions, self.digest = 0, None, None

    def __getstate__(self) -> dict:
        """What a copy takes along: not the states."""
        return super().__getstate__() | {"kept": {}, "bytes": 0, "versions": None, "digest": None}

    def train(self, mode: bool = True) -> WordStates:
        """No mode of the transformer drops anything: a text has one state."""
        super().train(mode)
        self.transformer.eval()
        return self

    def forward(
        self, types: Int[Tensor, "positions"], offsets: Int[Tensor, "boundaries"]
    ) -> Float[Tensor, "positions h"]:
        """States of all positions of some texts."""
        if not self.frozen:
            return self.states(types, offsets)
        self.check_weights()
        offsets = offsets.cpu()
        numbers = types.cpu().numpy()
        texts = [numbers[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())]
        found = self.compute({text: t for t, text in enumerate(texts) if text not in self.kept}, types, offsets)
        return torch.cat([self.kept[text] if text in self.kept else found[text] for text in texts])

    @torch.no_grad()
    def compute(
        self, missing: dict[bytes, int], types: Int[Tensor, "positions"], offsets: Int[Tensor, "boundaries"]
    ) -> dict[bytes, Float[Tensor, "words h"]]:
        """Keep the states of the texts that are not there yet; those for which there is no room are given back."""
        found, lengths = {}, offsets.diff()
        wanted, names = torch.tensor(list(missing.values()), dtype=torch.long), list(missing)
        for part in consecutive_parts(lengths[wanted], PART) if missing else ():
            own = lengths[wanted[part]]
            ends = torch.cat([own.new_zeros(1), own.cumsum(0)])
            places = torch.repeat_interleave(offsets[wanted[part]] - ends[:-1], own) + torch.arange(int(ends[-1]))
            states = self.states(types[places.to(types.device)], ends)
            for name, some in zip(names[part], states.split(own.tolist())):
                if self.bytes + some.nbytes <= self.most_kept:
                    self.kept[name] = some.clone()  # else the whole part would stay
                    self.bytes += some.nbytes
                else:
                    found[name] = some
        return found

    def check_weights(self) -> None:
        """Forget the states if the weights are no longer those that they are of."""
        weights = [each.detach() for each in self.transformer.parameters()]
        versions = [(each.data_ptr(), each._version, each.dtype) for each in weights]
        if versions == self.versions:
            return
        found = blake2b()
        for each in weights:  # loaded anew they may well be the same
            found.update(f"{each.dtype} {each.device}".encode())
            found.update(each.cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        if found.digest() != self.digest:
            self.forget()
        self.versions, self.digest = versions, found.digest()

    def states(
        self, types: Int[Tensor, "positions"], offsets: Int[Tensor, "boundaries"]
    ) -> Float[Tensor, "positions h"]:
        """:meth:`forward`, computed. A text that is too long for the transformer is read in consecutive windows."""
        device, counts = types.device, self.offsets.diff()[types]
        word_of = torch.repeat_interleave(counts)
        ends = counts.cumsum(0)
        pieces = self.pieces[
            self.offsets[types][word_of] + torch.arange(len(word_of), device=device) - (ends - counts)[word_of]
        ]
        per_text = torch.cat([ends.new_zeros(1), ends])[offsets.to(device)].diff()
        windows = (per_text + self.room - 1) // self.room
        text_of = torch.repeat_interleave(windows)
        nth = torch.arange(len(text_of), device=device) - (windows.cumsum(0) - windows)[text_of]
        begins = (per_text.cumsum(0) - per_text)[text_of] + nth * self.room
        lengths = (per_text[text_of] - nth * self.room).clamp(max=self.room)
        rows, outputs = word_of.new_empty(len(pieces)), []
        filled = 0
        for bucket in buckets(lengths):
            states, places = self.of_windows(pieces, begins[bucket], lengths[bucket])
            outputs.append(states)
            rows[places] = filled + torch.arange(len(places), device=device)
            filled += len(places)
        states = torch.cat(outputs).index_select(0, rows)
        return sum_by_instance(states, word_of, len(types)) / counts.unsqueeze(1)

    def of_windows(
        self, pieces: Int[Tensor, "all"], begins: Int[Tensor, "windows"], lengths: Int[Tensor, "windows"]
    ) -> tuple[Float[Tensor, "some h"], Int[Tensor, "some"]]:
        """States of the pieces of some windows, and which pieces these are."""
        before, after = (pieces.new_tensor(each) for each in (self.before, self.after))
        step = torch.arange(int(lengths.max()), device=pieces.device)
        inside = step < lengths.unsqueeze(1)
        places = (begins.unsqueeze(1) + step)[inside]
        rows = pieces.new_full((len(begins), len(before) + len(step) + len(after)), self.padding)
        there = torch.zeros_like(rows)
        rows[:, : len(before)], there[:, : len(before)] = before, 1
        body = torch.nn.functional.pad(inside, (len(before), len(after)))
        rows[body], there[body] = pieces[places], 1
        behind = len(before) + lengths.unsqueeze(1) + torch.arange(len(after), device=pieces.device)
        rows.scatter_(1, behind, after.expand(behind.shape))
        there.scatter_(1, behind, 1)
        return states_of_rows(self.transformer, rows, there)[body], places
