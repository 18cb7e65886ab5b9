"""Character CNN, highway, projection: character ids -> one context-free vector per word.

Source: Peters et al. 2018, section 3.1 (after Kim et al. 2016 and Jozefowicz et al. 2016).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .characters import ALPHABET_SIZE, PADDING


class Highway(nn.Module):
    """y = carry * x + (1 - carry) * relu(W x), with carry = sigmoid(W_c x)  (Srivastava et al. 2015)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.carry = nn.Linear(dim, dim)
        nn.init.constant_(self.carry.bias, 1.0)  # start by carrying the input through

    def forward(self, x: Tensor) -> Tensor:
        carry = torch.sigmoid(self.carry(x))
        return carry * x + (1 - carry) * torch.relu(self.transform(x))


class TokenEncoder(nn.Module):
    """Character ids (n_words, width) -> word vectors (n_words, dim).

    ``filters`` lists (width, how many); each filter keeps its strongest answer over all positions of the word, so the
    features say which character n-grams a word holds.
    """

    def __init__(self, dim: int, char_dim: int, filters: Sequence[tuple[int, int]], n_highway: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(ALPHABET_SIZE, char_dim, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(char_dim, count, width) for width, count in filters)
        n_features = sum(count for _, count in filters)
        self.highways = nn.Sequential(*(Highway(n_features) for _ in range(n_highway)))
        self.projection = nn.Linear(n_features, dim)
        self.widest = max(width for width, _ in filters)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.characters(self.shortest(ids)).transpose(1, 2)  # (n_words, char_dim, width)
        features = [convolution(x).max(dim=2).values for convolution in self.convolutions]
        x = torch.relu(torch.cat(features, dim=1))  # (n_words, n_features); relu after max is max after relu
        vectors: Tensor = self.projection(self.highways(x))  # (n_words, dim)
        return vectors

    def shortest(self, ids: Tensor) -> Tensor:
        """Drop columns that only repeat padding; exact, since one window of pure padding stays for the maximum."""
        longest = int((ids != PADDING).sum(dim=1).max()) if len(ids) else 0
        return ids[:, : longest + self.widest]
