"""A training step of DP-L beside the textbook: torch's bidirectional LSTM over packed sequences."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from uaftc_lib import AttentionClassifier, Corpus


class Textbook(nn.Module):
    """Embedding, packed bidirectional LSTM, masked dot-product attention, as it is usually written."""

    def __init__(self, types: int, dimension: int = 100, hidden: int = 50, lam: float = 10.0):
        super().__init__()
        self.embedding = nn.Embedding(types, dimension)
        self.lstm = nn.LSTM(dimension, hidden, batch_first=True, bidirectional=True)
        self.V = nn.Parameter(torch.randn(2 * hidden))
        self.W = nn.Parameter(torch.randn(2 * hidden) / 10)
        self.lam = lam

    def loss(self, padded: torch.Tensor, lengths: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(padded), lengths, batch_first=True, enforce_sorted=False
        )
        h, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores = h @ self.V / self.lam
        real = torch.arange(h.shape[1]) < lengths.unsqueeze(1)
        weights = scores.masked_fill(~real, -torch.inf).softmax(1)
        return functional.softplus(-signs * ((weights.unsqueeze(2) * h).sum(1) @ self.W)).mean()


def documents(instances: int, types: int, seed: int = 0) -> Corpus:
    """Instances as long as IMDB's: 183 tokens in the mean, below 400."""
    draws = torch.Generator().manual_seed(seed)
    lengths = (183 * (0.45 * torch.randn(instances, generator=draws) - 0.1).exp()).long().clamp(10, 399)
    tokens = torch.randint(types, (int(lengths.sum()),), generator=draws)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return Corpus(tokens, offsets, torch.arange(instances) % 2)


def median_seconds(step: Callable[[], None], repeats: int) -> float:
    step()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def measure(instances: int = 100, types: int = 63_307, repeats: int = 5) -> dict[str, float]:
    """Seconds of one step (forward, backward, Adagrad) on one batch: ours, the textbook's, and their ratio.

    Both run with the number of threads that torch is set to.
    """
    corpus = documents(instances, types)
    model = AttentionClassifier(types, encoder="lstm")
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)

    def ours():
        optimizer.zero_grad()
        model.loss(corpus, sparse=True).backward()
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            optimizer.step()

    textbook = Textbook(types)
    their_optimizer = torch.optim.Adagrad(textbook.parameters(), lr=0.02)
    padded = nn.utils.rnn.pad_sequence(corpus.tokens.split(corpus.lengths.tolist()), batch_first=True)
    signs = 2.0 * corpus.labels - 1

    def theirs():
        their_optimizer.zero_grad()
        textbook.loss(padded, corpus.lengths, signs).backward()
        their_optimizer.step()

    seconds, packed = median_seconds(ours, repeats), median_seconds(theirs, repeats)
    return {"ours": seconds, "packed": packed, "ratio": packed / seconds, "tokens": len(corpus.tokens)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print({name: round(value, 4) for name, value in measure().items()})
