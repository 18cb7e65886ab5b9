"""The learned layer mix: ELMo_k = gamma * sum_j s_j h_kj, with s = softmax(w)  (Peters et al. 2018, equation 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

Layers = TypeVar("Layers", Tensor, np.ndarray)


def mix(layers: Layers, weights: Sequence[float], gamma: float = 1.0) -> Layers:
    """gamma * sum_j weights[j] * layers[j], with exactly the weights given: layers (n_layers, ..., dim) -> (..., dim).

    No softmax is hidden in here: (0, 0, 1) is the top layer, (0, 0, 0) is the zero vector. Raises ``ValueError`` when the
    number of weights is not the number of layers.
    """
    if len(weights) != len(layers):
        raise ValueError(f"{len(layers)} layers need {len(layers)} weights, got {len(weights)}")
    total: Layers = layers[0] * weights[0]
    for weight, layer in zip(weights[1:], layers[1:], strict=True):
        total = total + weight * layer
    mixed: Layers = gamma * total
    return mixed


class ScalarMix(nn.Module):
    """The mix as a task learns it: weights w (n_layers,) start at 0 (equal shares), gamma at 1."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    @property
    def shares(self) -> Tensor:
        """s = softmax(w): what each layer really counts, summing to 1."""
        return torch.softmax(self.weights, dim=0)

    def forward(self, layers: Tensor) -> Tensor:
        """(n_layers, ..., dim) -> (..., dim)."""
        mixed: Tensor = self.gamma * torch.tensordot(self.shares, layers, dims=1)
        return mixed
