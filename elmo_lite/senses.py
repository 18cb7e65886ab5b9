"""How well vectors separate the senses of a word: probes, nearest neighbours, baselines, and the basis of the picture.

Every figure is a mean over senses (macro), so that a rare sense counts as much as a frequent one, and comes with a 95 %
bootstrap interval over groups (a two-sense sentence is one group; cross-validation never parts it either).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import silhouette_samples
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .elmo import Elmo
from .language import say
from .scalar_mix import mix

Array = NDArray[np.floating[Any]]


def context_mix(n_layers: int) -> list[float]:
    """The weights used where none are given: equal shares of the LSTM layers, nothing of layer 0.

    Layer 0 is the same for every use of a spelling; it tells "apple" from "apples", never one use from another.
    ``n_layers`` counts layer 0; with no layer above it, layer 0 is all there is.
    """
    return [0.0] + [1 / (n_layers - 1)] * (n_layers - 1) if n_layers > 1 else [1.0]


class Example(Protocol):
    """One use of a word, such as ``corpora.Use``."""

    @property
    def tokens(self) -> list[str]: ...
    @property
    def position(self) -> int: ...
    @property
    def sense(self) -> str: ...
    @property
    def group(self) -> str: ...


Embedder: TypeAlias = Elmo | KeyedVectors | Callable[[Sequence[Any]], Array]


class Estimate(NamedTuple):
    """A figure with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Score:
    """How one kind of vector separates senses. ``right`` says of each example whether the probe had it right."""

    name: str
    probe: Estimate
    nearest: Estimate
    silhouette: Estimate
    drawn: Estimate
    right: NDArray[np.bool_]


# ---------------------------------------------------------------- vectors of uses


def use_layers(examples: Sequence[Example], model: Elmo) -> Array:
    """All layers at the marked places: (n_layers + 1, n_examples, dim)."""
    layers = model.embed([example.tokens for example in examples])
    return np.stack([one[:, example.position] for one, example in zip(layers, examples, strict=True)], axis=1)


def static_points(examples: Sequence[Example], vectors: KeyedVectors) -> Array:
    """The word's static vector, the same for every use: (n_examples, dim); zeros for an unknown word."""
    return np.stack([_average([example.tokens[example.position]], vectors) for example in examples])


def sentence_average(examples: Sequence[Example], vectors: KeyedVectors, window: int | None = None) -> Array:
    """Mean static vector of the sentence without the use itself, or of ``window`` tokens to each side: (n_examples, dim)."""
    rows = []
    for example in examples:
        begin = 0 if window is None else max(0, example.position - window)
        end = None if window is None else example.position + window + 1
        around = (
            example.tokens[begin : example.position] + example.tokens[example.position + 1 :][: None if end is None else window]
        )
        rows.append(_average(around, vectors))
    return np.stack(rows)


def _average(tokens: Sequence[str], vectors: KeyedVectors) -> Array:
    known = [vectors[token] for token in tokens if token in vectors.key_to_index]
    return np.mean(known, axis=0) if known else np.zeros(vectors.vector_size, np.float32)


def vectors_of(examples: Sequence[Example], embedder: Embedder, weights: Sequence[float] | None = None) -> Array:
    """One vector a use, (n_examples, dim): an Elmo's layer mix (``context_mix`` if ``weights`` is None), a word's static
    vector, or whatever a callable gives for the examples."""
    if isinstance(embedder, Elmo):
        layers = use_layers(examples, embedder)
        return mix(layers, context_mix(len(layers)) if weights is None else weights)
    if isinstance(embedder, KeyedVectors):
        return static_points(examples, embedder)
    return np.asarray(embedder(examples))


# ---------------------------------------------------------------- the picture


@dataclass(frozen=True)
class Basis:
    """One PCA basis V for all layers, each layer centred by its own mean, so that the picture is linear in the weights:
    points = gamma * sum_j s_j (h_j - mean_j) V.  ``means`` (n_layers, dim), ``directions`` V (dim, 2)."""

    means: Array
    directions: Array

    def layer_points(self, layers: Array) -> Array:
        """(n_layers, n, dim) -> (n_layers, n, 2): what each layer alone would draw."""
        return (layers - self.means[:, None]) @ self.directions

    def points(self, layers: Array, weights: Sequence[float], gamma: float = 1.0) -> Array:
        """(n_layers, n, dim) -> (n, 2): where the mix of the layers is drawn."""
        return mix(self.layer_points(layers), weights, gamma)


def forms_of(examples: Sequence[Example]) -> list[str]:
    """How each use is spelled: "apple", "apples"."""
    return [example.tokens[example.position] for example in examples]


def joint_basis(layers: Array, forms: Sequence[str] | None = None) -> Basis:
    """Fit the basis on (n_layers, n, dim): on all layers above layer 0, which knows no context.

    With ``forms``, the spelling of each use, the directions are those of the differences within a spelling: else one of two
    axes goes to "apple" against "apples". (Points are drawn as they are; where no two uses are spelled alike, or none
    differ, ``forms`` change nothing.) Signs are fixed (the largest entry of each direction is positive), so that the same
    vectors always give the same picture. ``ValueError`` with fewer than 2 different points to draw.
    """
    too_few = "a picture needs at least 2 different points"
    if layers.shape[1] < 2:
        raise ValueError(too_few)
    means = layers.mean(axis=1)
    fitted = (layers - means[:, None])[min(1, len(layers) - 1) :]  # layer 0 only if it is all there is
    if forms is not None:
        within = fitted.copy()
        for form in set(forms):
            alike = np.array([other == form for other in forms])
            within[:, alike] -= within[:, alike].mean(axis=1, keepdims=True)
        fitted = within if np.ptp(within, axis=1).max() > 1e-6 else fitted
    _, strength, directions = np.linalg.svd(fitted.reshape(-1, layers.shape[2]), full_matrices=False)
    if len(strength) < 2 or strength[0] < 1e-9:
        raise ValueError(too_few)
    v = directions[:2].T
    return Basis(means, v * np.sign(v[np.abs(v).argmax(axis=0), [0, 1]]))


def pca_points(vectors: Array, forms: Sequence[str] | None = None) -> Array:
    """The first two principal coordinates of (n, dim): (n, 2). ``forms`` as in ``joint_basis``."""
    layers = vectors[None]
    return joint_basis(layers, forms).points(layers, [1.0])


# ---------------------------------------------------------------- the scores


def score(
    examples: Sequence[Example],
    embedder: Embedder,
    *,
    weights: Sequence[float] | None = None,
    name: str = "ELMo",
    folds: int = 5,
    resamples: int = 1000,
    seed: int = 0,
) -> Score:
    """Score vectors of the uses of one word by what can be read off them.

    * probe: accuracy of logistic regression, cross-validated by group;
    * nearest: accuracy of the nearest neighbour by cosine, outside the use's own group;
    * silhouette: mean silhouette of the senses (cosine), from -1 to 1;
    * drawn: accuracy of the same probe on nothing but the two drawn PCA coordinates.

    Raises ``ValueError`` with fewer than two senses, or fewer groups of a sense than ``folds``.
    """
    senses, groups = _labels(examples, folds)
    if isinstance(embedder, Elmo):
        layers = use_layers(examples, embedder)
        shares = context_mix(len(layers)) if weights is None else weights
        vectors, points = mix(layers, shares), joint_basis(layers, forms_of(examples)).points(layers, shares)
    else:
        vectors = vectors_of(examples, embedder)
        flat = np.ptp(vectors, axis=0).max() < 1e-9
        points = np.zeros((len(vectors), 2)) if flat else pca_points(vectors, forms_of(examples))
    right = probe_right(vectors, senses, groups, folds, seed)
    chance = np.random.default_rng(seed)
    bootstrap = _resamples(groups, resamples, chance)
    return Score(
        name,
        _macro(right, senses, bootstrap),
        _macro(_nearest_right(vectors, senses, groups), senses, bootstrap),
        _macro(_silhouette(vectors, senses), senses, bootstrap),
        _macro(probe_right(points, senses, groups, folds, seed), senses, bootstrap),
        right,
    )


def estimate(
    values: NDArray[Any], senses: NDArray[np.str_], groups: NDArray[np.str_], resamples: int = 1000, seed: int = 0
) -> Estimate:
    """Mean over senses of each sense's mean of ``values`` (n,), with its bootstrap interval over groups."""
    return _macro(values, senses, _resamples(groups, resamples, np.random.default_rng(seed)))


def majority(examples: Sequence[Example], resamples: int = 1000, seed: int = 0) -> Estimate:
    """Plain accuracy of always answering the most frequent sense."""
    senses, groups = _labels(examples, 2)
    names, counts = np.unique(senses, return_counts=True)
    right = senses == names[counts.argmax()]
    samples = [right[rows].mean() for rows in _resamples(groups, resamples, np.random.default_rng(seed))]
    return Estimate(float(right.mean()), *map(float, np.percentile(samples, [2.5, 97.5])))


def compare(
    examples: Sequence[Example], model: Elmo, vectors: KeyedVectors, *, weights: Sequence[float] | None = None, window: int = 4
) -> list[Score]:
    """An Elmo's mix and single layers beside the static baselines, all under the same probe."""
    n = model.config.n_layers + 1
    rows = [score(examples, model, weights=weights, name=say(zh="ELMo 混合", en="ELMo mix"))]
    for layer in range(n):
        name = say(zh=f"ELMo 第 {layer} 层", en=f"ELMo layer {layer}")
        rows.append(score(examples, model, weights=[float(layer == j) for j in range(n)], name=name))
    rivals: dict[str, Embedder] = {
        say(zh="静态：词自身的向量", en="static: the word's vector"): vectors,
        say(zh="静态：全句平均", en="static: sentence average"): lambda e: sentence_average(e, vectors),
        say(zh=f"静态：左右各 {window} 词平均", en=f"static: {window} words each side"): lambda e: sentence_average(
            e, vectors, window
        ),
    }
    rows += [score(examples, rival, name=name) for name, rival in rivals.items()]
    return rows


def table(examples_by_word: Mapping[str, Sequence[Example]], model: Elmo, vectors: KeyedVectors) -> str:
    """A Markdown table, a row a word: the mix and its rivals by probe, drawn dimensions, neighbours, two-sense sentences."""
    head = ["word", "majority", "ELMo probe", "sentence average", "window average", "ELMo drawn", "ELMo 1-NN",
            "two-sense: ELMo", "average", "difference"]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for word, examples in examples_by_word.items():
        rows = compare(examples, model, vectors)
        mixed, average, window = rows[0], rows[-2], rows[-1]
        both = sorted(i for pair in pairs(examples) for i in pair)
        ahead = paired_difference(examples, mixed, average, [i in both for i in range(len(examples))])
        cells = [word, f"{majority(examples).value:.2f}", mixed.probe, average.probe, window.probe, mixed.drawn, mixed.nearest,
                 f"{mixed.right[both].mean():.2f}", f"{average.right[both].mean():.2f}", ahead]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def paired_difference(
    examples: Sequence[Example],
    first: Score,
    second: Score,
    rows: Sequence[bool] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """By how much the first probe is right more often than the second, on the same uses (those where ``rows`` is true)."""
    chosen = np.ones(len(examples), bool) if rows is None else np.asarray(rows, bool)
    groups = np.array([example.group for example in examples])[chosen]
    difference = first.right[chosen].astype(float) - second.right[chosen].astype(float)
    samples = [difference[r].mean() for r in _resamples(groups, resamples, np.random.default_rng(seed))]
    return Estimate(float(difference.mean()), *map(float, np.percentile(samples, [2.5, 97.5])))


def _labels(examples: Sequence[Example], folds: int) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    senses = np.array([example.sense for example in examples])
    groups = np.array([example.group for example in examples])
    names = np.unique(senses)
    if len(names) < 2:
        raise ValueError(f"scoring needs uses of at least two senses, got {len(examples)} uses of {', '.join(names) or 'none'}")
    for name in names:
        if (n := len(np.unique(groups[senses == name]))) < folds:
            raise ValueError(f"sense {str(name)!r} has {n} separate sentences; {folds}-fold cross-validation needs {folds}")
    return senses, groups


def probe_right(
    vectors: Array, senses: NDArray[np.str_], groups: NDArray[np.str_], folds: int = 5, seed: int = 0
) -> NDArray[np.bool_]:
    """Is each use's sense read off rightly by logistic regression trained on the other folds? (n,)"""
    names, chances = probe_chances(vectors, senses, groups, folds, seed)
    result: NDArray[np.bool_] = names[chances.argmax(axis=1)] == senses
    return result


def probe_chances(
    vectors: Array,
    senses: Sequence[str] | NDArray[np.str_],
    groups: Sequence[str] | NDArray[np.str_],
    folds: int = 5,
    seed: int = 0,
) -> tuple[NDArray[np.str_], Array]:
    """The senses, and for each use how likely the probe trained on the other folds holds each sense: (n, n_senses)."""
    senses, groups = np.asarray(senses), np.asarray(groups)
    names = np.unique(senses)
    chances = np.zeros((len(senses), len(names)))
    for train, test in StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(vectors, senses, groups):
        chances[test] = new_probe(vectors.shape[1]).fit(vectors[train], senses[train]).predict_proba(vectors[test])
    return names, chances


def pairs(examples: Sequence[Example]) -> list[tuple[int, int]]:
    """Rows of the two uses of each two-sense sentence, the earlier use first."""
    rows: dict[str, list[int]] = {}
    for i, example in enumerate(examples):
        rows.setdefault(example.group, []).append(i)
    found = [sorted(pair, key=lambda i: examples[i].position) for pair in rows.values() if len(pair) == 2]
    return [(first, second) for first, second in found]


def new_probe(dim: int) -> Any:
    """The one linear probe of the suite: standardised inputs, logistic regression with balanced classes.

    The penalty grows with the number of dimensions ``dim``, so that 2 coordinates and 128 are held back alike.
    """
    return make_pipeline(StandardScaler(), LogisticRegression(C=2 / dim, class_weight="balanced", max_iter=2000))


def _nearest_right(vectors: Array, senses: NDArray[np.str_], groups: NDArray[np.str_]) -> NDArray[np.bool_]:
    similar = _cosine(vectors)
    similar[groups[:, None] == groups[None, :]] = -np.inf
    result: NDArray[np.bool_] = senses[similar.argmax(axis=1)] == senses
    return result


def _silhouette(vectors: Array, senses: NDArray[np.str_]) -> Array:
    distance = np.clip(1 - _cosine(vectors), 0, None)
    np.fill_diagonal(distance, 0)
    return np.asarray(silhouette_samples(distance, senses, metric="precomputed"))


def _cosine(vectors: Array) -> Array:
    """Cosine of centred vectors, all against all: (n, n). Centring takes off what all uses of the word share."""
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9)
    similar: Array = unit @ unit.T
    return similar


def _resamples(groups: NDArray[np.str_], count: int, chance: np.random.Generator) -> list[NDArray[np.intp]]:
    """Rows of ``count`` bootstrap samples that draw whole groups."""
    names, inverse = np.unique(groups, return_inverse=True)
    members = [np.flatnonzero(inverse == i) for i in range(len(names))]
    return [np.concatenate([members[i] for i in chance.integers(len(names), size=len(names))]) for _ in range(count)]


def _macro(values: NDArray[Any], senses: NDArray[np.str_], samples: Sequence[NDArray[np.intp]]) -> Estimate:
    """Mean over senses of the mean within a sense, with its interval."""
    names, labels = np.unique(senses, return_inverse=True)
    values = values.astype(float)

    def mean(rows: NDArray[np.intp]) -> float:
        total = np.bincount(labels[rows], values[rows], len(names))
        count = np.bincount(labels[rows], minlength=len(names))
        return float((total[count > 0] / count[count > 0]).mean())

    spread = np.percentile([mean(rows) for rows in samples], [2.5, 97.5])
    return Estimate(mean(np.arange(len(values))), float(spread[0]), float(spread[1]))
