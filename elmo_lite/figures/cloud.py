"""Uses of a word as points of a plane: one colour and one marker a sense, labels where they hide nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from ..language import get_language
from .sheet import (
    COLOURS,
    GREY,
    MARKERS,
    PALE,
    SIGNS,
    above,
    chinese_font,
    dots,
    halo,
    inches,
    text_width,
    words,
    write,
)

Points = NDArray[np.float64]
Interval = tuple[float, float, float]  # value, low, high; a ``senses.Estimate`` is one
Glosses = Mapping[str, str | Mapping[str, str]]  # sense -> words to show, or these by language as in ``corpora.inventory``
Label = tuple[str, str, Points]  # text, colour, the points it belongs to


@dataclass(frozen=True)
class Cloud:
    """Uses to be drawn: those with a vector. ``rows`` are their numbers in the data, ``left_out`` counts the others."""

    points: Points
    senses: NDArray[np.str_]
    rows: NDArray[np.intp]
    order: tuple[str, ...]
    glosses: Glosses
    left_out: int

    @classmethod
    def of(cls, points: ArrayLike, senses: Sequence[str], glosses: Glosses | None = None) -> Cloud:
        """Points (n, 2) and n senses. ``ValueError`` for other shapes; points with NaN or infinity are left out."""
        table = np.asarray(points, float)
        table = table.reshape(0, 2) if table.size == 0 else table
        if table.ndim != 2 or table.shape[1] != 2 or len(table) != len(senses):
            raise ValueError(f"points (n, 2) and n senses are wanted, got points {table.shape} and {len(senses)} senses")
        fine = np.isfinite(table).all(axis=1)
        names = np.array(senses, dtype=str)
        order = tuple(dict.fromkeys([*(glosses or {}), *sorted(set(names.tolist()))]))
        return cls(table[fine], names[fine], np.flatnonzero(fine), order, glosses or {}, int((~fine).sum()))

    @property
    def present(self) -> list[str]:
        """The senses that have a point, in the order of their colours."""
        return [sense for sense in self.order if sense in self.senses]

    def colour(self, sense: str) -> str:
        return COLOURS[self.order.index(sense) % len(COLOURS)]

    def marker(self, sense: str) -> str:
        return MARKERS[self.order.index(sense) % len(MARKERS)]

    def gloss(self, sense: str) -> str:
        """The words to show for a sense."""
        shown = self.glosses.get(sense, sense)
        return shown if isinstance(shown, str) else shown[get_language() if chinese_font() else "en"]

    def key(self) -> list[tuple[str, str]]:
        """Label and colour of each sense: "▲ fruit (112)"."""
        return [
            (f"{SIGNS[self.order.index(s) % len(SIGNS)]} {self.gloss(s)} ({(self.senses == s).sum()})", self.colour(s))
            for s in self.present
        ]

    def why_flat(self, scale: float | None = None) -> str:
        """Why there is nothing to see ("" if there is). Seen at a ``scale``, points that differ by rounding are the same."""
        n = len(self.points)
        if n == 0:
            return words(zh="没有可画的用例。", en="There is no use to draw.")
        if n == 1:
            return words(
                zh="只有一个用例：一个点没有方向可投影。再加几个句子就能看到图。",
                en="Only one use: a single point has no directions to project onto. Add a few sentences.",
            )
        least = 1e-4 * scale if scale else 1e-6 * max(1.0, float(np.abs(self.points).max()))
        if np.ptp(self.points, axis=0).max() <= least:
            return words(
                zh=f"{n} 个用例全落在这一个点上：这些向量分不开它们。",
                en=f"All {n} uses lie on this one point: these vectors do not tell them apart.",
            )
        return ""

    def left_out_words(self) -> str:
        if not self.left_out:
            return ""
        n = self.left_out
        return words(zh=f"另有 {n} 个用例没有向量，未画出。", en=f"{n} more without a vector: left out.")

    def labels(self) -> list[Label]:
        """Each sense's label, its colour, and its points."""
        parts = [self.points[self.senses == sense] for sense in self.present]
        return [(text, colour, own) for (text, colour), own in zip(self.key(), parts, strict=True)]

    def alt(self) -> str:
        counts = ", ".join(f"{self.gloss(sense)} {(self.senses == sense).sum()}" for sense in self.present)
        n = len(self.points)
        return words(zh=f"{n} 个用例的散点图（{counts}）。", en=f"scatter plot, number of uses {n} ({counts}).")


# ---------------------------------------------------------------- on the page


def frame(ax: Axes, cloud: Cloud, limit: float | None, extra: Points | None = None) -> None:
    """Equal scales on both axes, the same frame for the same ``limit`` (half the height), no ticks: PCA has no units."""
    width, height = inches(ax)
    ratio = width / height
    centre, half = np.zeros(2), limit or 1.0
    if limit is None:
        shown = cloud.points if extra is None else np.vstack([cloud.points, extra])
        low, high = shown.min(axis=0), shown.max(axis=0)
        centre, reach = (low + high) / 2, (high - low) / 2
        half = max(float(reach[1]), float(reach[0]) / ratio) * 1.12
        half = half if half > 1e-9 else 1.0
    ax.set(xlim=(centre[0] - half * ratio, centre[0] + half * ratio), ylim=(centre[1] - half, centre[1] + half))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(visible=True, color=PALE)


def outside(ax: Axes, points: Points) -> int:
    """How many points are outside the frame."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    return int(((points < [x0, y0]) | (points > [x1, y1])).any(axis=1).sum())


def draw(ax: Axes, cloud: Cloud, pairs: Sequence[tuple[int, int]] = (), small: bool = False) -> None:
    """The points; where many lie on one another, one mark with their number. ``pairs`` of rows are joined by a line."""
    place = {int(row): point for row, point in zip(cloud.rows, cloud.points, strict=True)}
    for i, j in pairs:
        if i in place and j in place:
            ax.plot(*zip(place[i], place[j], strict=True), color=GREY, lw=0.8, alpha=0.4, zorder=1)
    n, step = len(cloud.points), (ax.get_ylim()[1] - ax.get_ylim()[0]) / 400
    _, cell, counts = np.unique(np.round(cloud.points / step), axis=0, return_inverse=True, return_counts=True)
    cell = cell.reshape(-1)
    piled = counts >= max(3, 0.05 * n)
    area = float(np.clip(9000 / max(1, n), 26, 110)) * (0.55 if small else 1)
    for part in range(4):  # senses by turns, so that none lies on top of the others
        for sense in cloud.present:
            chosen = np.flatnonzero((cloud.senses == sense) & ~piled[cell])[part::4]
            look = {"color": cloud.colour(sense), "marker": cloud.marker(sense)}
            dots(ax, cloud.points[chosen], s=area, alpha=0.82, zorder=2, **look)
    for number, pile in enumerate(np.flatnonzero(piled)):
        inside = cell == pile
        here = [sense for sense in cloud.present if ((cloud.senses == sense) & inside).any()]
        middle = cloud.points[inside].mean(axis=0)
        for rank, sense in enumerate(here):  # one inside the other, so that none is hidden
            look = {"color": cloud.colour(sense), "marker": cloud.marker(sense)}
            dots(ax, middle, s=(len(here) - rank) ** 2 * (60 if small else 110), zorder=3, **look)
        lift, up = 8 + 5 * len(here), number % 2 == 0  # by turns above and below: piles may be neighbours
        above(ax, f"× {counts[pile]}", middle, lift if up else -lift, va="baseline" if up else "top", size=12 if small else 14)


Box = tuple[float, float, float, float]  # of a label, in inches: centre, half its width, half its height


def label(ax: Axes, cloud: Cloud, labels: Sequence[Label], taken: list[Box], obstacles: Points | None = None) -> bool:
    """Write labels beside their points and add them to ``taken``; False, with nothing written, if one would hide points."""
    size, crowded = 16, max(4, 0.04 * len(cloud.points))
    busy = cloud.points if obstacles is None else np.vstack([cloud.points, obstacles])
    places = place(ax, busy, labels, size, taken, apart=True)
    if any(hidden > crowded for _, _, hidden in places):
        taken.clear()
        return False
    for (text, colour, _), (x, y, _) in zip(labels, places, strict=True):
        write(ax, x, y, text, size=size, color=colour, ha="center", va="center", zorder=7, path_effects=halo(colour))
    return True


def label_points(ax: Axes, cloud: Cloud, labels: Sequence[Label], taken: list[Box]) -> None:
    """Write words in frames beside single points, with a thin line to the point."""
    for (text, colour, own), (x, y, _) in zip(labels, place(ax, cloud.points, labels, 12.5, taken), strict=True):
        ax.plot([own[0, 0], x], [own[0, 1], y], color=colour, lw=1, zorder=4)
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": colour, "alpha": 0.92}
        write(ax, x, y, text, size=12.5, ha="center", va="center", zorder=8, bbox=box)


def place(
    ax: Axes, busy: Points, labels: Sequence[Label], size: float, taken: list[Box], *, apart: bool = False
) -> list[tuple[float, float, int]]:
    """Where to write labels: near their own points (``apart``: nearer to them than to others'), on as few of the ``busy``
    points as possible, not on labels that have ``taken`` their place. For each its centre in data coordinates and how many
    points it hides; its box is added to ``taken``."""
    wide, high = inches(ax)
    corner = np.array([ax.get_xlim()[0], ax.get_ylim()[0]])
    scale = np.array([wide, high]) / (np.array([ax.get_xlim()[1], ax.get_ylim()[1]]) - corner)  # inches a unit
    busy = (busy - corner) * scale
    middles = [((own - corner) * scale).mean(axis=0) for _, _, own in labels]
    tall, found = size / 72 * 0.75 + 0.05, []
    for (text, _, _), middle in zip(labels, middles, strict=True):
        half = text_width(text, size) / 2 + 0.08
        grid = [(x, y) for x in np.linspace(half, wide - half, 36) for y in np.linspace(tall, high - tall, 28)]
        x, y = np.array(grid).T
        hidden = ((np.abs(busy[:, 0] - x[:, None]) < half) & (np.abs(busy[:, 1] - y[:, None]) < tall)).sum(axis=1)
        near = np.hypot(x - middle[0], y - middle[1])
        cost = near + 0.35 * hidden
        if apart and len(middles) > 1:
            nearest = np.min([np.hypot(x - other[0], y - other[1]) for other in middles if other is not middle], axis=0)
            cost += np.maximum(0, near - nearest)
        for u, v, w, h in taken:
            cost[(np.abs(x - u) < half + w) & (np.abs(y - v) < tall + h)] += 1000
        best = int(np.argmin(cost))
        taken.append((float(x[best]), float(y[best]), half, tall))
        found.append((float(corner[0] + x[best] / scale[0]), float(corner[1] + y[best] / scale[1]), int(hidden[best])))
    return found
