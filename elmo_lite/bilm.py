"""The two-directional language model's body: two LSTM stacks that never see each other.

The forward stack reads a sentence from its first word, the backward stack from its own last word (not from the padding
behind it). Neither may see the word it has to predict, which is why this is not ``nn.LSTM(bidirectional=True)``: there the
second layer reads both directions of the first. Source: Peters et al. 2018, section 3.1 and 3.4.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class State(NamedTuple):
    """What the LSTMs remember after a batch: output and cell, each (2 directions, n_layers, batch, dim)."""

    output: Tensor
    cell: Tensor


class BiLM(nn.Module):
    """Word vectors (batch, length, dim) -> all layers (n_layers + 1, batch, length, 2 * dim).

    Layer 0 is the word vector twice; the others hold [forward; backward]. From the second LSTM layer on, a layer's input
    is added to its output (residual connection).
    """

    def __init__(self, dim: int, n_layers: int, dropout: float) -> None:
        super().__init__()
        self.forward_layers = nn.ModuleList(nn.LSTM(dim, dim, batch_first=True) for _ in range(n_layers))
        self.backward_layers = nn.ModuleList(nn.LSTM(dim, dim, batch_first=True) for _ in range(n_layers))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, words: Tensor, lengths: Tensor, state: State | None = None, return_state: bool = False
    ) -> tuple[Tensor, State | None]:
        """``lengths`` (batch,) counts the real words of each sentence. ``state`` is zero when left out."""
        n_layers, batch, dim = len(self.forward_layers), len(words), words.shape[2]
        if state is None:
            zero = words.new_zeros(2, n_layers, batch, dim)
            state = State(zero, zero)
        ahead, state_ahead = self._run(self.forward_layers, words, lengths, (state.output[0], state.cell[0]), return_state)
        backwards = reverse(words, lengths)
        behind, state_behind = self._run(
            self.backward_layers, backwards, lengths, (state.output[1], state.cell[1]), return_state
        )
        layers = [torch.cat([a, reverse(b, lengths)], dim=2) for a, b in zip(ahead, behind, strict=True)]
        after = State(*(torch.stack(pair) for pair in zip(state_ahead, state_behind, strict=True)))
        return torch.stack(layers), after if return_state else None

    def _run(
        self, stack: nn.ModuleList, x: Tensor, lengths: Tensor, state: tuple[Tensor, Tensor], exact_state: bool
    ) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
        """One direction: the outputs of layer 0 to n_layers, each (batch, length, dim), and (output, cell) at the end."""
        outputs, ends = [x], []
        for depth, lstm in enumerate(stack):
            start = (state[0][depth : depth + 1].contiguous(), state[1][depth : depth + 1].contiguous())
            x = self.dropout(outputs[-1])
            if exact_state:  # packing stops each sentence at its own end; without it, padding is read but never used
                packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
                packed, end = lstm(packed, start)
                y, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
            else:
                y, end = lstm(x, start)
            outputs.append(y if depth == 0 else y + outputs[-1])
            ends.append(end)
        return outputs, (torch.cat([h for h, _ in ends]), torch.cat([c for _, c in ends]))


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Turn each sentence of (batch, length, ...) round within its own length; padding stays where it is."""
    place = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
    mirrored = lengths[:, None] - 1 - place
    place = torch.where(mirrored >= 0, mirrored, place)
    return x.gather(1, place[:, :, None].expand_as(x))
