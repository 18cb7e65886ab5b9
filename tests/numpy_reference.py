"""An independent forward pass, from characters to all layers, in NumPy alone and in double precision.

Written from the description of the published model; imports nothing from elmo_lite or torch. ``weights`` are arrays by the
names of the state dict, ``config`` is plain data: ``filters`` [(width, count), ...], ``n_highway``, ``n_layers``, ``dim``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, NDArray[Any]]

LENGTH = 50
SENTENCE_BEGIN, SENTENCE_END = 256, 257  # pseudo words; everything else is a string
WORD_BEGIN, WORD_END, PADDING = 258, 259, 260


def character_ids(word: str | int) -> list[int]:
    """[begin, at most 48 bytes, end, padding ...], 50 long, with 1 added everywhere."""
    if isinstance(word, int):
        content = [word]
    else:
        content = []
        for character in word:  # whole characters only
            encoded = list(character.encode("utf-8"))
            if len(content) + len(encoded) > LENGTH - 2:
                break
            content += encoded
    ids = [WORD_BEGIN, *content, WORD_END]
    ids += [PADDING] * (LENGTH - len(ids))
    return [i + 1 for i in ids]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def word_vector(word: str | int, weights: Weights, config: Mapping[str, Any]) -> Array:
    """The context-free vector of one word: (dim,)."""
    characters = weights["encoder.characters.weight"][character_ids(word)].astype(np.float64)  # (50, char_dim)
    features = []
    for number, (width, count) in enumerate(config["filters"]):
        kernel = weights[f"encoder.convolutions.{number}.weight"].astype(np.float64)  # (count, char_dim, width)
        bias = weights[f"encoder.convolutions.{number}.bias"].astype(np.float64)
        answers = np.empty((LENGTH - width + 1, count))
        for place in range(LENGTH - width + 1):
            window = characters[place : place + width]  # (width, char_dim)
            answers[place] = np.tensordot(kernel, window.T, axes=([1, 2], [0, 1])) + bias
        features.append(relu(answers).max(axis=0))  # over all places, padding too
    x = np.concatenate(features)
    for number in range(config["n_highway"]):
        name = f"encoder.highways.{number}"
        carry = sigmoid(weights[f"{name}.carry.weight"] @ x + weights[f"{name}.carry.bias"])
        transformed = relu(weights[f"{name}.transform.weight"] @ x + weights[f"{name}.transform.bias"])
        x = carry * x + (1 - carry) * transformed
    return weights["encoder.projection.weight"] @ x + weights["encoder.projection.bias"]


def lstm(name: str, inputs: Array, h: Array, c: Array, weights: Weights) -> tuple[Array, Array, Array]:
    """One layer over one sentence: outputs (length, dim), and h and c at the end. Gates in the order i, f, g, o."""
    w_in, w_back = weights[f"{name}.weight_ih_l0"], weights[f"{name}.weight_hh_l0"]
    bias = weights[f"{name}.bias_ih_l0"].astype(np.float64) + weights[f"{name}.bias_hh_l0"]
    outputs = []
    for x in inputs:
        i, f, g, o = np.split(w_in @ x + w_back @ h + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.array(outputs), h, c


def stack(side: str, inputs: Array, h: Array, c: Array, weights: Weights, n_layers: int) -> tuple[list[Array], Array, Array]:
    """One direction: layers 0 to n_layers, each (length, dim), and the states (n_layers, dim) at the end."""
    layers, after_h, after_c = [inputs], [], []
    for depth in range(n_layers):
        output, end_h, end_c = lstm(f"bilm.{side}_layers.{depth}", layers[-1], h[depth], c[depth], weights)
        layers.append(output + layers[-1] if depth else output)  # residual from the second layer on
        after_h.append(end_h)
        after_c.append(end_c)
    return layers, np.array(after_h), np.array(after_c)


def all_layers(
    sentences: Sequence[Sequence[str]],
    weights: Weights,
    config: Mapping[str, Any],
    state: tuple[Array, Array] | None = None,
) -> tuple[list[Array], tuple[Array, Array]]:
    """Layers of each sentence with its boundaries, (n_layers + 1, n + 2, 2 * dim), and the state (h, c) behind them.

    Each part of the state is (2 directions, n_layers, n_sentences, dim); it is zero when left out. Sentences are computed one
    by one, so nothing can leak between them.
    """
    n_layers, dim = config["n_layers"], config["dim"]
    shape = (2, n_layers, len(sentences), dim)
    before = (np.zeros(shape), np.zeros(shape)) if state is None else state
    after = (np.zeros(shape), np.zeros(shape))
    results = []
    for row, sentence in enumerate(sentences):
        words: list[str | int] = [SENTENCE_BEGIN, *sentence, SENTENCE_END]
        vectors = np.array([word_vector(word, weights, config) for word in words])
        sides = []
        for direction, side in enumerate(("forward", "backward")):
            inputs = vectors if side == "forward" else vectors[::-1]
            h, c = before[0][direction, :, row], before[1][direction, :, row]
            layers, end_h, end_c = stack(side, inputs, h, c, weights, n_layers)
            after[0][direction, :, row], after[1][direction, :, row] = end_h, end_c
            sides.append([layer if side == "forward" else layer[::-1] for layer in layers])
        results.append(np.stack([np.concatenate(pair, axis=1) for pair in zip(*sides, strict=True)]))
    return results, after


def word_chances(hidden: Array, weights: Weights) -> Array:
    """p(word | context) of one hidden state (dim,), with the chance of being kept as a target taken off again."""
    scores = weights["softmax.weight"] @ hidden + weights["softmax.bias"] - np.log(weights["softmax.keep"].astype(np.float64))
    chances = np.exp(scores - scores.max())
    return chances / chances.sum()
