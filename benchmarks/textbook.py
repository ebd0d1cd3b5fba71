"""The peer: DP in PyTorch as it is usually written, with padded batches and dense Adagrad."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from uaftc_lib import Corpus


class Textbook(nn.Module):
    """Dot-product attention over the embeddings of a padded batch (Eq 1 to 5)."""

    def __init__(self, types: int, dimension: int = 100, lam: float = 10.0, dropout: float = 0.0):
        super().__init__()
        self.embedding = nn.Embedding(types, dimension)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.V = nn.Parameter(torch.randn(dimension))
        self.W = nn.Parameter(0.2 * torch.rand(dimension) - 0.1)
        self.dropout = nn.Dropout(dropout)
        self.lam = lam

    def forward(self, padded: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        h = self.dropout(self.embedding(padded))
        real = torch.arange(padded.shape[1], device=padded.device) < lengths.unsqueeze(1)
        weights = (h @ self.V / self.lam).masked_fill(~real, -torch.inf).softmax(1)
        return self.dropout((weights.unsqueeze(2) * h).sum(1)) @ self.W


class TextbookTrainer:
    """The usual loop: shuffle, pad, forward, backward, step."""

    def __init__(
        self,
        types: int,
        corpus: Corpus,
        dimension: int = 100,
        dropout: float = 0.0,
        batch_size: int = 100,
        device: str = "cpu",
    ):
        torch.manual_seed(0)
        self.model = Textbook(types, dimension, dropout=dropout).to(device)
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=0.02)
        self.corpus, self.documents = corpus, corpus.tokens.split(corpus.lengths.tolist())
        self.batch_size, self.device = batch_size, device

    def polarity(self, documents: Sequence[torch.Tensor]) -> torch.Tensor:
        padded = nn.utils.rnn.pad_sequence(list(documents), batch_first=True)
        lengths = torch.tensor([len(document) for document in documents])
        return self.model(padded.to(self.device), lengths.to(self.device))

    def train(self, batches: int | None = None) -> None:
        """An epoch, or its first batches."""
        self.model.train()
        for indices in torch.randperm(len(self.documents)).split(self.batch_size)[:batches]:
            polarity = self.polarity([self.documents[i] for i in indices.tolist()])
            signs = (2.0 * self.corpus.labels[indices] - 1).to(self.device)
            loss = functional.softplus(-signs * polarity).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def accuracy(self, corpus: Corpus) -> float:
        self.model.eval()
        documents, size = corpus.tokens.split(corpus.lengths.tolist()), self.batch_size
        parts = [self.polarity(documents[begin : begin + size]) for begin in range(0, len(documents), size)]
        return float(((torch.cat(parts).cpu() > 0).long() == corpus.labels).double().mean())
