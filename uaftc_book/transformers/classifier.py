"""The head of Section 3 on the states of a transformer."""

from __future__ import annotations

import os

import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_book.transformers.folder import read_transformer
from uaftc_book.transformers.states import WordStates
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.models import AttentionClassifier, Dropout, Output
from uaftc_lib.settings import ModelSettings


class TransformerClassifier(AttentionClassifier):
    """a = h·V/λ, α = softmax, s = h·W (Eq 1 to 7), where h_j is a transformer's state of word j in its text.

    A word's state is the mean of the states of its pieces; the special pieces around a text are read, and not pooled.
    Nothing is cut off: what is longer than the transformer can read goes through it in consecutive windows. It drops
    nothing at random, in training too, so that a text has one state; nothing is ever fetched from a network. Of a
    transformer that reads from the left alone (GPT-2) a state knows the words before it.

    ``embedding`` is no parameter: its rows are the numbers of the types, which is all that the transformer is told.

    Parameters
    ----------
    folder : path or WordStates
        As transformers' ``save_pretrained`` of a model and of its tokenizer leaves it
        (:func:`uaftc_book.transformers.masked_language_model.own_transformer`). Or ``recurrent`` of another of these
        classifiers whose transformer is frozen: the two share it, and the states that are kept.
    vocabulary : Vocabulary
        Whose ids the texts hold: the transformer reads the spellings.
    lam, classes, loss, weight_range, seed, dtype, device
        As in :class:`AttentionClassifier`.
    frozen : bool
        Whether the transformer keeps its weights; the states of a text are then computed once and kept.
    longest : int, optional
        Pieces that are read at once; as many as the transformer has positions for.
    most_kept : int
        Bytes of states that are kept at most.

    Raises
    ------
    ValueError
        For an impossible size, or a folder that cannot be used; the message says why.
    ImportError
        If transformers is not installed.
    """

    def __init__(
        self,
        folder: str | os.PathLike | WordStates,
        vocabulary: Vocabulary,
        lam: float = ModelSettings.lam,
        classes: int = 2,
        frozen: bool = True,
        loss: str = "auto",
        weight_range: float = ModelSettings.weight_range,
        longest: int | None = None,
        most_kept: int = 2**31,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ):
        checks.whole("most_kept", most_kept)
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"dtype must be torch.float32 or torch.float64, got {dtype}: others cannot number the types"
            )
        if not isinstance(vocabulary, Vocabulary):
            raise ValueError(f"a transformer reads spellings: give a Vocabulary, got {type(vocabulary).__name__}")
        if isinstance(folder, WordStates):
            read = folder.shared_by(vocabulary, frozen)
        else:
            read = WordStates(read_transformer(folder, longest, dtype), vocabulary, frozen, most_kept)
        given = {"classes": classes, "loss": loss, "weight_range": weight_range}
        super().__init__(len(vocabulary), read.size, lam, **given, seed=seed, dtype=dtype, device=device)
        del self.embedding
        self.register_buffer("embedding", torch.arange(len(vocabulary)).unsqueeze(1).to(self.V))
        self.encoder, self.recurrent = "transformer", read.to(self.V.device)
        self.train(self.training)

    def encode(
        self, embeddings: Float[Tensor, "tokens 1"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """States of types in the texts that ``offsets`` cut them into; without these each is a text by itself.

        Raises
        ------
        ValueError
            For numbers that name no types: a transformer has no embedding of a word that could be changed.
        """
        types = embeddings[:, 0].long().clamp(0, len(self.embedding) - 1)
        if embeddings.requires_grad or not torch.equal(self.embedding[types], embeddings):
            raise ValueError("a transformer reads types, the rows of `embedding`: it has no vector of a word to change")
        if offsets is None:
            offsets = torch.arange(len(embeddings) + 1, device=embeddings.device)
        return self.recurrent(types, offsets)

    def attend(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        """As any classifier's; of ``dropout`` the masks of the pooled vector apply: there is no embedding to drop."""
        if dropout is not None:
            dropout = dropout._replace(embedding=torch.ones_like(self.embedding[corpus.tokens]))
        return super().attend(corpus, dropout)

    def rates(self, encoder: float) -> dict[str, float]:
        """``learning_rates`` of :class:`uaftc_lib.TrainingConfig` that give all weights of the transformer this one."""
        return {name: encoder for name, _ in self.named_parameters() if name.startswith("recurrent.")}
