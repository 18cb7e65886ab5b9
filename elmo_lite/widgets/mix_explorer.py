"""Layer weights under your fingers: sliders for the weights and gamma, and the uses of a word as this mix draws them.

The sentences are embedded once, when the explorer is made. After that a picture is a sum of a few hundred points, so no
LSTM runs while you drag, and the axes keep still (``senses.joint_basis``).
"""

from __future__ import annotations

import base64
import functools
import html
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold

from .. import corpora, figures, senses
from ..elmo import Elmo
from ..language import LANGUAGES, say
from ..scalar_mix import mix

Array = senses.Array
Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]
FRAME = (8.6, 5.2)  # of the picture, in inches
NOTHING = senses.Estimate(np.nan, np.nan, np.nan)

# ---------------------------------------------------------------- what is shown, without a browser


def mix_picture(layer_points: Array, weights: Sequence[float], gamma: float = 1.0) -> Array:
    """Where a mix is drawn: (n_layers, n, 2) -> (n, 2), gamma * sum_j weights[j] * layer_points[j].

    The weights are applied exactly as given, so (0, 1, 0) is layer 1 and (0, 0, 0) puts every use in the origin.
    ``ValueError`` when the number of weights is not the number of layers.
    """
    return mix(layer_points, weights, gamma)


def describe_mix(weights: Sequence[float], gamma: float = 1.0) -> str:
    """The mix in words: the formula as it is applied, and each layer's share of it."""
    if gamma == 0 or not any(weights):
        zero = say(zh="权重全为 0", en="All weights are 0") if gamma else say(zh="γ 为 0", en="γ is 0")
        origin = say(
            zh="：所有用例都画在原点，什么也分不开。", en=": every use is drawn at the origin, none can be told apart."
        )
        return zero + origin
    formula = f"{gamma:.2f} × ({' + '.join(f'{weight:.2f} × {layer_name(j)}' for j, weight in enumerate(weights))})"
    shares = " / ".join(f"{weight / sum(weights):.0%}" for weight in weights) if sum(weights) else "–"
    return say(zh=f"实际所用：{formula}。各层占比：{shares}。", en=f"Applied as shown: {formula}. Shares: {shares}.")


def layer_name(layer: int) -> str:
    """ "layer 1"."""
    return say(zh=f"第 {layer} 层", en=f"layer {layer}")


def drawn_share(points: Array, labels: NDArray[np.str_], groups: NDArray[np.str_], folds: Folds) -> senses.Estimate:
    """How often the probe of ``senses`` is right that sees only the drawn points (n, 2): mean over senses, cross-validated
    over ``folds``, with a bootstrap interval over groups; NaN without folds or when all points lie on one another."""
    if not folds or np.ptp(points, axis=0).max() < 1e-9:
        return NOTHING
    right = np.zeros(len(labels), bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of nearly identical points: nothing to find is no fault
        for train, test in folds:
            probe = senses.new_probe(2).fit(points[train], labels[train])
            right[test] = probe.predict(points[test]) == labels[test]
    return senses.estimate(right, labels, groups)


@dataclass(frozen=True)
class WordView:
    """All that is needed to draw the mixes of one word: ``points`` (n_layers, n, 2) and a fixed frame."""

    word: str
    uses: Sequence[senses.Example]
    points: Array
    glosses: figures.Glosses

    @classmethod
    def of(cls, word: str, uses: Sequence[senses.Example], layers: Array) -> WordView:
        """Layers (n_layers, n, dim) of the uses of a word; uses that cannot be told apart all come to lie in the origin."""
        try:
            points = senses.joint_basis(layers, senses.forms_of(uses)).layer_points(layers)
        except ValueError:
            points = np.zeros((*layers.shape[:2], 2))
        found = next((corpora.inventory(lang)[word] for lang in LANGUAGES if word in corpora.inventory(lang)), {})
        return cls(word, uses, points, found)

    @property
    def labels(self) -> NDArray[np.str_]:
        return np.array([use.sense for use in self.uses])

    @property
    def groups(self) -> NDArray[np.str_]:
        return np.array([use.group for use in self.uses])

    @property
    def limit(self) -> float:
        """Half the height of a frame that holds each single layer, and so every mix whose weights sum to at most 1."""
        wide, high = np.abs(self.points).max(axis=(0, 1))
        return float(1.15 * max(high, wide / 1.6)) or 1.0

    @functools.cached_property
    def folds(self) -> Folds:
        """The folds of ``senses.probe_right``; none when a sense has fewer than five separate sentences."""
        groups, names = self.groups, np.unique(self.labels)
        if len(names) < 2 or min(len(np.unique(groups[self.labels == name])) for name in names) < 5:
            return []
        return list(StratifiedGroupKFold(5, shuffle=True, random_state=0).split(self.points[0], self.labels, groups))

    @property
    def majority(self) -> float:
        """Share of the most frequent sense."""
        return float(np.unique(self.labels, return_counts=True)[1].max() / len(self.uses))

    def picture(self, weights: Sequence[float], gamma: float) -> figures.Picture:
        """The scatter of a mix, in the fixed frame."""
        points, labels = mix_picture(self.points, weights, gamma), self.labels.tolist()
        return figures.sense_scatter(
            points, labels, title=self.word, glosses=self.glosses, labels="above", limit=self.limit, size=FRAME
        )

    def score(self, weights: Sequence[float]) -> senses.Estimate:
        """``drawn_share`` of a mix; only the layers' shares matter, since the probe scales what it reads. NaN where the points
        differ by no more than rounding."""
        points = mix_picture(self.points, [weight / (sum(weights) or 1) for weight in weights])
        flat = np.ptp(points, axis=0).max() < 1e-5 * self.limit
        return NOTHING if flat else drawn_share(points, self.labels, self.groups, self.folds)


# ---------------------------------------------------------------- the widget


class MixExplorer:
    """Sliders for layer weights and gamma over the scatter of a word's uses. Show it as the last line of a cell.

    ``examples`` are uses of one or several words, such as ``corpora.senses("en")``; the second argument is an ``Elmo``, or
    layers (n_layers, n_examples, dim) that were computed before. The sliders start from ``senses.context_mix``, as the scores
    do. With static ``vectors`` the score of the sentence average, drawn in two dimensions of its own, stands beside the
    mix's. ``live=True`` redraws while a slider moves, otherwise when it is let go. ``ValueError`` without examples or when
    layers don't fit them.
    """

    def __init__(
        self,
        examples: Sequence[senses.Example],
        model_or_layers: Elmo | Array,
        *,
        vectors: KeyedVectors | None = None,
        live: bool = False,
    ) -> None:
        if not len(examples):
            raise ValueError("the explorer needs at least one example")
        layers = (
            senses.use_layers(examples, model_or_layers) if isinstance(model_or_layers, Elmo) else np.asarray(model_or_layers)
        )
        if layers.ndim != 3 or layers.shape[1] != len(examples):
            raise ValueError(f"layers (n_layers, {len(examples)}, dim) are wanted, got {layers.shape}")
        rows: dict[str, list[int]] = {}
        for i, example in enumerate(examples):
            rows.setdefault(getattr(example, "word", example.tokens[example.position]), []).append(i)
        self.views = {word: WordView.of(word, [examples[i] for i in own], layers[:, own]) for word, own in rows.items()}
        self.vectors = vectors
        self._rivals: dict[str, senses.Estimate] = {}
        self._scores: dict[tuple[Any, ...], senses.Estimate] = {}
        self._build(len(layers), live)
        self._redraw()

    def _build(self, n_layers: int, live: bool) -> None:
        """Make the widgets, and have them call back."""
        wide = ipywidgets.Layout(width="380px")
        style = {"description_width": "90px"}
        look = {"step": 0.01, "readout_format": ".2f", "continuous_update": live, "layout": wide, "style": style}
        self.word = ipywidgets.Dropdown(options=list(self.views), description=say(zh="词", en="word"), layout=wide, style=style)
        self.weights = [
            ipywidgets.FloatSlider(value=round(weight, 2), min=0, max=1, description=layer_name(j), **look)
            for j, weight in enumerate(senses.context_mix(n_layers))
        ]
        self.gamma = ipywidgets.FloatSlider(value=1, min=0, max=2, description="γ", **look)
        presets = {layer_name(j): [float(i == j) for i in range(n_layers)] for j in range(n_layers)}
        presets[say(zh="等权", en="equal")] = [round(1 / n_layers, 2)] * n_layers
        presets["LSTM"] = [round(weight, 2) for weight in senses.context_mix(n_layers)]
        self.buttons = [ipywidgets.Button(description=name, layout=ipywidgets.Layout(width="84px")) for name in presets]
        self.image = ipywidgets.Image(format="png", layout=ipywidgets.Layout(width="860px", max_width="100%"))
        self.line = ipywidgets.HTML()
        words = [self.word] if len(self.views) > 1 else []
        controls = ipywidgets.HBox([
            ipywidgets.VBox([*words, *self.weights]),
            ipywidgets.VBox([self.gamma, ipywidgets.HBox(self.buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))]),
        ], layout=ipywidgets.Layout(flex_flow="row wrap"))  # fmt: skip
        self.box = ipywidgets.VBox([controls, self.image, self.line])
        self._setting = False
        for control in (self.word, *self.weights, self.gamma):
            control.observe(self._moved, names="value")
        for button, weights in zip(self.buttons, presets.values(), strict=True):
            button.on_click(functools.partial(self._preset, weights))

    def set(self, weights: Sequence[float], gamma: float = 1.0) -> None:
        """Move the sliders, as a preset does, with one redraw; beyond their ends they stop. ``ValueError`` for another number
        of weights."""
        if len(weights) != len(self.weights):
            raise ValueError(f"{len(self.weights)} layers need {len(self.weights)} weights, got {len(weights)}")
        self._setting = True
        try:
            for slider, value in zip((*self.weights, self.gamma), (*weights, gamma), strict=True):
                slider.value = value
        finally:
            self._setting = False
        self._redraw()

    def _preset(self, weights: Sequence[float], _: Any) -> None:
        self.set(weights)

    def _moved(self, _: Any) -> None:
        if not self._setting:
            self._redraw()

    def _redraw(self) -> None:
        """One new picture into the one image, one new line of text."""
        picture = self.view.picture(*self.mix)
        self.image.value, self.image.tooltip = picture.png(), picture.alt
        self.line.value = "<br>".join(html.escape(line) for line in self._told())

    # ------------------------------------------------------------ reading it

    @property
    def view(self) -> WordView:
        """What is shown: the word chosen."""
        return self.views[self.word.value]

    @property
    def mix(self) -> tuple[list[float], float]:
        """The weights and gamma, as shown and as applied."""
        return [slider.value for slider in self.weights], self.gamma.value

    @property
    def points(self) -> Array:
        """The points now drawn: (n, 2)."""
        return mix_picture(self.view.points, *self.mix)

    def describe(self) -> str:
        """What is shown, as one line of text."""
        return f"{self.view.word}: " + " ".join(self._told())

    def _told(self) -> list[str]:
        weights, gamma = self.mix
        told = [describe_mix(weights, gamma)]
        if gamma and any(weights):
            key = (self.view.word, *(weight / sum(weights) for weight in weights))
            if key not in self._scores:
                self._scores[key] = self.view.score(weights)
            told += [figures.score_words(self._scores[key], self.view.majority), self._rival()]
        return [line for line in told if line]

    def _rival(self) -> str:
        """The score of the sentence average of static vectors, in two dimensions of its own ("" without vectors)."""
        if self.vectors is None or not self.view.folds:
            return ""
        if self.view.word not in self._rivals:
            average = senses.sentence_average(self.view.uses, self.vectors)
            flat = np.ptp(average, axis=0).max() < 1e-9
            points = np.zeros((len(average), 2)) if flat else senses.pca_points(average, senses.forms_of(self.view.uses))
            self._rivals[self.view.word] = drawn_share(points, self.view.labels, self.view.groups, self.view.folds)
        share, low, high = (f"{value:.2f}" for value in self._rivals[self.view.word])
        if share == "nan":
            return ""
        return say(
            zh=f"静态向量的全句平均，同样画成两维：{share}（95% 区间 {low}–{high}）。",
            en=f"The sentence average of static vectors, drawn alike: {share} (95% interval {low} to {high}).",
        )

    def still(self, scores: Sequence[figures.Interval | None] | None = None) -> figures.Picture:
        """A static picture of the same: each layer alone and the mix the sliders start from, for where no kernel runs.
        ``scores`` of the panels (with intervals) replace those computed here."""
        view, n = self.view, len(self.weights)
        mixes = {layer_name(j): [float(i == j) for i in range(n)] for j in range(n)}
        if n > 1:
            mixes[say(zh="LSTM 层等权", en="LSTM layers, equal")] = senses.context_mix(n)
        if scores is None and view.folds:
            scores = [view.score(weights) for weights in mixes.values()]
        return figures.layer_panels(
            np.stack([mix_picture(view.points, weights) for weights in mixes.values()]),
            view.labels.tolist(),
            list(mixes),
            title=view.word,
            glosses=view.glosses,
            scores=scores,
            majority=view.majority if scores is not None else None,
        )

    def close(self) -> None:
        """Take the widget and its parts away."""
        for part in (self.word, *self.weights, self.gamma, *self.buttons, self.image, self.line, self.box):
            part.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        told = say(zh="运行这一格，就能拖动滑块。", en="Run this cell to use the widget.") + " " + self.describe()
        data = dict(self.box._repr_mimebundle_() or {})
        data |= {"text/plain": told, "image/png": base64.b64encode(self.image.value).decode("ascii")}
        return data, {"image/png": {"alt": told}}
