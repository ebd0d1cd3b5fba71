"""The classifier with attention of Section 3, and its variants of Appendices D, E and F."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from uaftc_lib import checks
from uaftc_lib.corpus import Corpus
from uaftc_lib.models.encoders import NETWORKS, Recurrent, consecutive_parts
from uaftc_lib.settings import ATTENTIONS, ENCODERS, LOSSES, ModelSettings, check_fields
from uaftc_lib.streams import generator
from uaftc_lib.threads import exact_on

FEW_TOKENS = 4  # times as many types as tokens, from which only those that occur are scored


class Output(NamedTuple):
    """What the model says of a corpus.

    polarity: s^(t), "instances" (binary) or "instances classes" (Eq 4, 72); scores a_j and weights α_j,
    "positions" (Eq 1, 2); token_polarity: s_j, "positions" or "positions classes" (Eq 7, 81). Structured
    attention has scores, weights and token polarity for each hop, "positions hops ...".
    """

    polarity: Float[Tensor, "instances ..."]
    scores: Float[Tensor, "positions ..."]
    weights: Float[Tensor, "positions ..."]
    token_polarity: Float[Tensor, "positions ..."]


class TokenScores(NamedTuple):
    """Attention and polarity scores of token types: a_e, "types"; s_e, "types" or "types classes"."""

    attention: Float[Tensor, "types ..."]
    polarity: Float[Tensor, "types ..."]


class Dropout(NamedTuple):
    """Masks of one training step, already divided by the probability of keeping an element."""

    embedding: Float[Tensor, "positions d"]
    pooled: Float[Tensor, "instances d"]


def softmax_by_instance(
    scores: Float[Tensor, "positions ..."], instance_of: Int[Tensor, "positions"], instances: int
) -> Float[Tensor, "positions ..."]:
    """α_j = exp(a_j) / Σ_j' exp(a_j'), the sum over the positions of the same instance (Eq 2)."""
    # The largest score of each instance is subtracted first, so that exp cannot overflow at small λ.
    largest = scores.new_full((instances, *scores.shape[1:]), -torch.inf)
    places = instance_of.reshape(-1, *[1] * (scores.dim() - 1)).expand_as(scores)
    largest = largest.scatter_reduce(0, places, scores.detach(), "amax")
    exponentials = (scores - largest[instance_of]).exp()
    return exponentials / sum_by_instance(exponentials, instance_of, instances)[instance_of]


def sum_by_instance(
    values: Float[Tensor, "positions ..."], instance_of: Int[Tensor, "positions"], instances: int
) -> Float[Tensor, "instances ..."]:
    """The sum of the positions of each instance."""
    with exact_on(values.device):
        return values.new_zeros(instances, *values.shape[1:]).index_add(0, instance_of, values)


def usable_device(value: str | torch.device) -> torch.device:
    """A device of this machine, or ValueError."""
    if str(value).startswith("cuda"):  # cuBLAS reads it when it starts; without it the order of its sums may change
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        found = torch.device(value)
        torch.empty(0, device=found).cpu()  # a device that holds no values cannot give them
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(f"device {value!r} cannot be used here ({str(error).splitlines()[0]})") from None
    return found


def check_precision(dtype: torch.dtype, lam: float) -> None:
    """ValueError unless the dtype can train, and λ is one of its normal numbers."""
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype must be torch.float32 or torch.float64, got {dtype}: fewer digits do not train")
    range_ = torch.finfo(dtype)
    if not range_.tiny <= lam <= range_.max:
        raise ValueError(f"lam must lie between {range_.tiny:.3g} and {range_.max:.3g} in {dtype}, got {lam:g}")


class AttentionClassifier(nn.Module):
    """Pools token representations by attention and classifies the pooled vector (Eq 1 to 7).

    Parameters
    ----------
    vocabulary_size : int
        Number of token types, specials included: ``len(dataset.vocabulary)``.
    dimension : int
        d, of embeddings, V and W (V and W of a recurrent encoder: twice ``hidden``).
    lam : float
        The scaling factor λ > 0.
    encoder : {"none", "affine", "lstm", "gru"}
        h_j = e_j (DP), h_j = M e_j (DP-A, Eq 56), or a recurrent encoder (DP-L).
    attention : {"dot", "additive"}
        a = h·V/λ (Eq 1), or a = tanh(M e)·V/λ (AD, Eq 65).
    classes : int
        Two classes: one vector W, logistic loss (Eq 5). More: W is "d classes", softmax (Eq 72 to 74).
    loss : {"auto", "logistic", "softmax"}
        "softmax" gives two classes two columns of W.
    hidden : int
        Units per direction of a recurrent encoder.
    embedding_range, weight_range : float
        E and W start uniform in ± these; V starts standard normal; M uniform in ±1/√d.
    vectors : Float[Tensor, "types d"], optional
        What E starts from instead (:meth:`uaftc_lib.vectors.word_vectors.WordVectors.aligned`); a row of nan keeps its
        usual start. They train like any E; learning rate 0 of "embedding" freezes them.
    seed : int
    dtype : torch.dtype
    device : str or torch.device

    Raises
    ------
    ValueError
        For an unknown choice or an impossible size; the message says what is allowed.
    """

    hops = 1  # attention distributions over an instance

    def __init__(
        self,
        vocabulary_size: int,
        dimension: int = ModelSettings.dimension,
        lam: float = ModelSettings.lam,
        encoder: str = "none",
        attention: str = "dot",
        classes: int = 2,
        loss: str = "auto",
        hidden: int = ModelSettings.hidden,
        embedding_range: float = ModelSettings.embedding_range,
        weight_range: float = ModelSettings.weight_range,
        vectors: Float[Tensor, "types d"] | None = None,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ):
        super().__init__()
        for name, value, allowed in (
            ("encoder", encoder, ENCODERS),
            ("attention", attention, ATTENTIONS),
            ("loss", loss, LOSSES),
        ):
            checks.one_of(name, value, allowed)
        checks.whole("vocabulary_size", vocabulary_size, 1)
        checks.whole("classes", classes, 2)
        numbers = ModelSettings(lam, dimension, hidden, embedding_range, weight_range)
        check_fields(numbers)
        check_precision(dtype, numbers.lam)
        device = usable_device(device)
        if loss == "logistic" and classes != 2:
            raise ValueError(f'loss="logistic" needs two classes, got {classes}: use "softmax" or "auto"')
        if encoder == "affine" and attention != "dot":
            raise ValueError(f'encoder="affine" and attention="{attention}" would both own M: choose one')
        self._lam = numbers.lam
        self.encoder, self.attention, self.classes, self.seed = encoder, attention, classes, seed
        self.binary = classes == 2 and loss != "softmax"

        # Drawn in float64 on the CPU, so that every dtype and device starts from the same numbers.
        draws = generator(seed, "initial values")

        def uniform(scale: float, *shape: int) -> nn.Parameter:
            values = (2 * torch.rand(*shape, generator=draws, dtype=torch.float64) - 1) * scale
            return nn.Parameter(values.to(device, dtype))

        self.embedding = uniform(embedding_range, vocabulary_size, dimension)
        if vectors is not None:
            self.start_from(vectors)
        d = 2 * hidden if encoder in NETWORKS else dimension
        V = torch.randn(d, self.hops, generator=draws, dtype=torch.float64).squeeze(1)
        self.V = nn.Parameter(V.to(device, dtype))
        self.W = uniform(weight_range, *([self.hops * d] if self.binary else [self.hops * d, classes]))
        owns_M = encoder == "affine" or attention != "dot"
        self.register_parameter("M", uniform(1 / math.sqrt(d), d, d) if owns_M else None)
        self.recurrent = None
        if encoder in NETWORKS:
            self.recurrent = Recurrent(encoder, dimension, hidden, draws, dtype, device)

    @property
    def lam(self) -> float:
        """λ; when it is set it is checked as the argument was."""
        return self._lam

    @lam.setter
    def lam(self, value: float) -> None:
        lam = checks.real_number("lam", value, positive=True)
        check_precision(self.V.dtype, lam)
        self._lam = lam

    def get_extra_state(self) -> Float[Tensor, ""]:
        """λ, which stands in ``state_dict`` beside the parameters: under another λ they are another model."""
        return torch.tensor(self.lam, dtype=torch.float64)

    def set_extra_state(self, state: Float[Tensor, ""]) -> None:
        """ValueError unless the parameters were saved under this λ."""
        if float(state) != self.lam:
            raise ValueError(
                f"these parameters were saved at lam={float(state)}, the model has lam={self.lam}: "
                f"build it with lam={float(state)}"
            )

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *rest) -> None:
        if (state := state_dict.get(f"{prefix}_extra_state")) is not None:
            self.set_extra_state(state)  # before a parameter is overwritten
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @torch.no_grad()
    def start_from(self, vectors: Float[Tensor, "types d"]) -> None:
        """Replace the embeddings of those types that have a vector: a row that is not nan throughout.

        Raises
        ------
        ValueError
            If there is not one row for each type with the embeddings' dimension, or a row holds no finite numbers.
        """
        if vectors.shape != self.embedding.shape:
            wanted, found = (" × ".join(map(str, each.shape)) for each in (self.embedding, vectors))
            raise ValueError(
                f"vectors must be types × dimension, {wanted}, got {found}: give dimension={vectors.shape[-1]}"
            )
        there = ~vectors.isnan().all(1)
        rows = vectors[there].to(self.embedding)
        if not rows.isfinite().all():
            raise ValueError("a row of vectors holds numbers that are not finite: all of it must be nan, or nothing")
        self.embedding[there] = rows

    def extra_repr(self) -> str:
        types, d = self.embedding.shape
        return (
            f"types={types}, dimension={d}, lam={self.lam:g}, encoder={self.encoder}, "
            f"attention={self.attention}, classes={self.classes}"
        )

    def encode(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """Representations h of tokens from their embeddings.

        ``offsets`` cut the tokens into instances, which a recurrent encoder reads; without them each token
        is read alone.
        """
        if self.encoder == "affine":
            return embeddings @ self.M.T
        if self.recurrent is None:
            return embeddings
        if offsets is None:
            offsets = torch.arange(len(embeddings) + 1, device=embeddings.device)
        return self.recurrent(embeddings, offsets)

    def score(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens ..."], Float[Tensor, "tokens h"]]:
        """Attention scores, polarity scores and representations h of tokens, as :meth:`encode` has them.

        Training computes the same by types wherever it can: ``train_epoch`` in ``uaftc_lib/fast/kernels/epoch.py``,
        where 1/λ is ``up[0]``, hands it to ``score_types`` (held against this by test_fast.py).
        """
        h = self.encode(embeddings, offsets)
        keys = torch.tanh(h @ self.M.T) if self.attention == "additive" else h
        return keys @ self.V / self.lam, h @ self.W, h

    def forward(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        """Polarity of every instance, and scores, weights and polarity of every position.

        ``dropout`` is drawn by :func:`uaftc_lib.fit`; without it nothing is dropped, whatever the mode.
        ``sparse`` makes the embedding's gradient hold only the rows of types that occur.

        Raises
        ------
        NotFinite
            If the polarity of an instance is not finite, where no gradient is wanted: nothing may be read from it.
        """
        self.check(corpus)
        if self.recurrent is None or dropout is not None or torch.is_grad_enabled():
            out = self.attend(corpus, dropout, sparse)
        else:
            # States take more room than scores do: they exist for one part of the corpus at a time.
            parts = [self.attend(corpus[part]) for part in consecutive_parts(corpus.lengths)]
            out = Output(*(torch.cat(values) for values in zip(*parts)))
        if not torch.is_grad_enabled() and not out.polarity.isfinite().all():
            raise checks.NotFinite(
                "the model's polarity is no finite number for some instances: its parameters are not finite (did "
                "training diverge?), or its scores overflow (take a larger lam, or float64)"
            )
        return out

    def attend(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        """:meth:`forward` for a corpus that fits the model, all of it at once."""
        instance_of, instances = corpus.instance_of, len(corpus)
        if dropout is None and self.recurrent is None:
            # h depends on the type alone: each type is scored once, then gathered.
            rows, where = self.type_rows(corpus, sparse)
            a, s, _ = self.score(rows)
            scores, token_polarity = a[where], s[where]
            weights = softmax_by_instance(scores, instance_of, instances)
            shaped = weights if self.binary else weights.unsqueeze(1)
            polarity = sum_by_instance(shaped * token_polarity, instance_of, instances)
        else:
            rows = functional.embedding(corpus.tokens, self.embedding, sparse=sparse)
            if dropout is not None:
                rows = rows * dropout.embedding
            scores, token_polarity, h = self.score(rows, corpus.offsets)
            weights = softmax_by_instance(scores, instance_of, instances)
            pooled = sum_by_instance(weights.unsqueeze(1) * h, instance_of, instances)
            polarity = (pooled if dropout is None else pooled * dropout.pooled) @ self.W
        return Output(polarity, scores, weights, token_polarity)

    def type_rows(self, corpus: Corpus, sparse: bool) -> tuple[Float[Tensor, "types d"], Int[Tensor, "positions"]]:
        """Embeddings of types, among them all that occur, and which of these each position holds."""
        few = FEW_TOKENS * len(corpus.tokens) < len(self.embedding) and not torch.is_grad_enabled()
        if not (sparse or few):
            return self.embedding, corpus.tokens
        types, where = torch.unique(corpus.tokens, return_inverse=True)
        return functional.embedding(types, self.embedding, sparse=sparse), where

    def loss(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Float[Tensor, ""]:
        """The mean loss over the instances: logistic (Eq 5), or softmax cross-entropy (Eq 74)."""
        return self.loss_of(self(corpus, dropout, sparse).polarity, corpus)

    def loss_of(self, polarity: Float[Tensor, "instances ..."], corpus: Corpus) -> Float[Tensor, ""]:
        """:meth:`loss` where s^(t) is known."""
        if self.binary:
            return functional.softplus(-corpus.signs.to(polarity) * polarity).mean()
        return functional.cross_entropy(polarity, corpus.labels)

    def penalty(self, corpus: Corpus | None = None) -> Float[Tensor, ""]:
        """|V·W|; with an affine encoder |(MᵀW)·(MᵀV)|; K classes: Σ_k |V·W_k|. The corpus plays no part."""
        V, W = self.seen_vectors() if self.encoder == "affine" else (self.V, self.W)
        return (V @ W).abs().sum()

    def seen_vectors(self) -> tuple[Float[Tensor, "d"], Float[Tensor, "d ..."]]:
        """What embeddings see of V and W: MᵀV and MᵀW of DP-A (Eq 64), MᵀV and W of AD (Eq 71), else V and W."""
        if self.M is None:
            return self.V, self.W
        return self.V @ self.M, self.M.T @ self.W if self.encoder == "affine" else self.W

    def token_scores(self, corpus: Corpus | None = None) -> TokenScores:
        """Global scores (each type fed alone), or, with a corpus, the mean over its occurrences (local).

        Local scores of types that do not occur are nan.
        """
        with torch.no_grad():
            if corpus is None:
                a, s, _ = self.score(self.embedding)
                return TokenScores(a, s)
            out = self(corpus)
            types = len(self.embedding)
            counts = torch.bincount(corpus.tokens, minlength=types).to(out.scores)
            sums = [sum_by_instance(x, corpus.tokens, types) for x in (out.scores, out.token_polarity)]
            return TokenScores(*(x / counts.reshape(-1, *[1] * (x.dim() - 1)) for x in sums))

    @torch.no_grad()
    def predict(self, corpus: Corpus) -> Int[Tensor, "instances"]:
        """Class indices: 1 where s > 0 (Section 3), or the class of the largest polarity."""
        polarity = self(corpus).polarity
        return (polarity > 0).long() if self.binary else polarity.argmax(1)

    def accuracy(self, corpus: Corpus) -> float:
        """The fraction of instances that are classified rightly."""
        return float((self.predict(corpus) == corpus.labels).double().mean())

    def check(self, corpus: Corpus) -> None:
        """Raise ValueError if this is no corpus, an empty one, or one that does not fit the model."""
        if not isinstance(corpus, Corpus):
            raise ValueError(
                f"the model reads a Corpus, got {type(corpus).__name__}: give a split of a data set such as "
                "dataset.test, or Corpus.from_lists([[token ids], ...], labels)"
            )
        check_precision(self.V.dtype, self.lam)  # model.half() comes without a word
        corpus.check_filled()
        if corpus.tokens.device != self.V.device:
            raise ValueError(
                f"the corpus is on {corpus.tokens.device}, the model on {self.V.device}: use corpus.to(model.V.device)"
            )
        if corpus.class_count != self.classes:
            raise ValueError(f"the model has {self.classes} classes, the corpus {corpus.class_count}")
        if int(corpus.tokens.max()) >= len(self.embedding):
            raise ValueError(
                f"the corpus holds token id {int(corpus.tokens.max())}, the model has "
                f"{len(self.embedding)} token types: build it with vocabulary_size=len(dataset.vocabulary)"
            )


def departure(model: AttentionClassifier, *known: type) -> str | None:
    """Why the model may compute something else than the ``known`` classes do; None if it is one of them as it is."""
    if type(model) not in known:
        return f"{type(model).__name__} may compute something else than {known[0].__name__} does"
    if replaced := [name for name in vars(model) if callable(getattr(type(model), name, None))]:
        return f"{', '.join(replaced)} of this {type(model).__name__} is replaced"
    if any((model._forward_hooks, model._forward_pre_hooks, model._backward_hooks, model._backward_pre_hooks)):
        return "a hook may change what the model computes"
    if len(list(model.named_parameters(remove_duplicate=False))) != len(list(model.parameters())):
        return f"two parameters of this {type(model).__name__} are one"
    return None
