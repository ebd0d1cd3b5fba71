"""Recurrent encoders (DP-L): states of every token, read from both sides.

On a CPU torch's packed sequences are slow. Instances of similar length are padded together instead, and the
second direction is a second network that reads each instance backwards within its own length. The
states are those of torch's bidirectional network over packed sequences.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from uaftc_lib.settings import RECURRENT
from uaftc_lib.threads import exact_on

NETWORKS = dict(zip(RECURRENT, (nn.LSTM, nn.GRU)))
BUDGET = 2**12  # padded tokens that are encoded together
FULLNESS = 0.75  # an instance joins a bucket unless it is shorter than this share of the bucket's longest
PART = 2**18  # tokens that are evaluated together


def buckets(lengths: Int[Tensor, "instances"]) -> list[Int[Tensor, "some"]]:
    """Instances by falling length, cut so that no bucket pads much or holds more than ``BUDGET`` tokens.

    An instance longer than the budget is a bucket of its own.
    """
    ordered, order = lengths.sort(descending=True, stable=True)
    sizes, longest = [], 0
    for length in ordered.tolist():
        if not sizes or length < FULLNESS * longest or (sizes[-1] + 1) * longest > BUDGET:
            sizes.append(0)
            longest = length
        sizes[-1] += 1
    return list(order.split(sizes))


def consecutive_parts(lengths: Int[Tensor, "instances"], most: int | None = None) -> list[slice]:
    """Slices of consecutive instances; each holds about ``most`` or ``PART`` tokens, or one instance that is longer."""
    part = (lengths.cumsum(0) - lengths) // (most or PART)
    cuts = [0, *(part.diff().nonzero().squeeze(1) + 1).tolist(), len(part)]
    return [slice(begin, end) for begin, end in zip(cuts, cuts[1:])]


class Recurrent(nn.Module):
    """A bidirectional LSTM or GRU. Weights start orthogonal, biases at zero.

    Parameters
    ----------
    kind : {"lstm", "gru"}
    dimension : int
        Of the embeddings.
    hidden : int
        Units per direction: a state has twice as many elements.
    draws : torch.Generator
        Initial values are drawn in float64 on the CPU, so that every dtype and device starts from the same.
    """

    def __init__(
        self,
        kind: str,
        dimension: int,
        hidden: int,
        draws: torch.Generator,
        dtype: torch.dtype,
        device: str | torch.device,
    ):
        super().__init__()
        # By way of "meta", as torch's own start would draw from its global generator.
        self.onward, self.backward_ = (
            NETWORKS[kind](dimension, hidden, dtype=dtype, device="meta").to_empty(device=device) for _ in range(2)
        )
        with torch.no_grad():
            for parameter in self.parameters():
                start = torch.zeros(parameter.shape, dtype=torch.float64)
                if start.dim() == 2:
                    nn.init.orthogonal_(start, generator=draws)
                parameter.copy_(start)

    def forward(
        self, embeddings: Float[Tensor, "positions d"], offsets: Int[Tensor, "boundaries"]
    ) -> Float[Tensor, "positions states"]:
        """States of all positions: the first half has read from the left, the second from the right."""
        begins, lengths = offsets[:-1], offsets.diff()
        rows, outputs = offsets.new_empty(2, len(embeddings)), ([], [])
        filled = 0
        for bucket in buckets(lengths):
            length = lengths[bucket]
            step = torch.arange(int(length.max()), device=offsets.device).unsqueeze(1)
            real = (step < length).flatten()
            step = step.minimum(length - 1)  # padding repeats the last token that was read
            ends = begins[bucket] + length - 1
            for side, network, positions in ((0, self.onward, begins[bucket] + step), (1, self.backward_, ends - step)):
                read = positions.flatten()
                padded = embeddings.index_select(0, read).unflatten(0, positions.shape)
                with exact_on(padded.device):
                    outputs[side].append(network(padded)[0].flatten(0, 1))
                rows[side, read[real]] = filled + real.nonzero().squeeze(1)
            filled += len(real)
        return torch.cat([torch.cat(out).index_select(0, row) for out, row in zip(outputs, rows)], dim=1)
