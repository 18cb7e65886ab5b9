"""Training curves, neighbours and scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from .cloud import Interval
from .sheet import (
    COLOURS,
    GREY,
    INK,
    PALE,
    Picture,
    above,
    axes,
    canvas,
    drawable,
    heading,
    message,
    picture,
    short,
    text_width,
    words,
    write,
)

FORWARD, BACKWARD = COLOURS[0], COLOURS[1]
Series = NDArray[np.float64]

# ---------------------------------------------------------------- training


def loss_curves(history: Sequence[Mapping[str, Any]], *, title: str = "") -> Picture:
    """Perplexity after each epoch, one panel a direction, training beside held-out: the entries of ``Elmo.history``.

    Values that are not finite are left out; an empty history gives a picture that says so.
    """
    epochs = [int(entry["epoch"]) for entry in history]
    values = {
        (text, side): np.array([float(entry.get(text, {}).get(side, math.nan)) for entry in history])
        for side in ("forward", "backward")
        for text in ("training", "held_out")
    }
    finite = np.concatenate([series[np.isfinite(series)] for series in values.values()])
    if not len(finite):
        told = words(zh="还没有训练记录：训练至少要走完一轮。", en="No training to show yet: an epoch has to end first.")
        return message(title, told)
    figure = picture(10.6, 4.9, layout="constrained")
    low, high = float(finite.min()) / 1.13, float(finite.max()) * 1.13
    names = {"forward": words(zh="前向 →", en="forward →"), "backward": words(zh="← 后向", en="← backward")}
    panels = figure.subplots(1, 2, sharey=True)
    for ax, (side, name), colour in zip(panels, names.items(), (FORWARD, BACKWARD), strict=True):
        ax.set(yscale="log", ylim=(low, high), xlabel=words(zh="轮次", en="epoch"))
        ax.set(xlim=(min(epochs) - 0.1, max(*epochs, 1) + 0.1))
        ax.set_title(name, loc="left", color=colour)
        _curves(ax, epochs, values["held_out", side], values["training", side], colour)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low > 5 else (1, 1.5, 2, 3, 4, 5, 6, 8)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.grid(axis="y", color=PALE, lw=0.8)
    panels[0].set_ylabel(words(zh="困惑度（越低越好）", en="perplexity (lower is better)"))
    if title:
        figure.suptitle(drawable(title), x=0.02, ha="left", size=18)
    texts = {"training": words(zh="训练", en="training"), "held_out": words(zh="留出", en="held out")}
    told = "; ".join(f"{names[side]} {texts[text]} {_first_last(series)}" for (text, side), series in values.items())
    return figure.tell(title, words(zh="每轮之后的困惑度：", en="Perplexity after each epoch:"), told)


def _curves(ax: Axes, epochs: Sequence[int], held_out: Series, training: Series, colour: str) -> None:
    """Both curves of a direction, each with its name and last value at its end."""
    ax.plot(epochs, training, "--", color=colour, marker=".", alpha=0.6)
    ax.plot(epochs, held_out, "-", color=colour, marker="o")
    low, high = ax.get_ylim()
    apart = (high / low) ** 0.08  # on a log axis a distance is a ratio
    ends = []
    train, held = words(zh="训练", en="training"), words(zh="留出", en="held out")
    for series, name, alpha in ((training, train, 0.75), (held_out, held, 1)):
        if len(fine := np.flatnonzero(np.isfinite(series))):
            last = float(series[fine[-1]])
            ends.append((last, epochs[fine[-1]], f"{name} {last:,.0f}", alpha))
    heights = sorted(end[0] for end in ends)
    if len(ends) == 2 and heights[1] / heights[0] < apart:
        middle = math.sqrt(heights[0] * heights[1])
        heights = [middle / math.sqrt(apart), middle * math.sqrt(apart)]
    for y, (_, epoch, text, alpha) in zip(heights, sorted(ends), strict=True):
        write(ax, epoch + 0.04 * max(1, *epochs), y, text, color=colour, alpha=alpha, va="center")


def _first_last(series: Series) -> str:
    fine = series[np.isfinite(series)]
    return f"{fine[0]:,.0f} → {fine[-1]:,.0f}" if len(fine) else "–"


def epoch_losses(losses: Sequence[float], *, title: str = "Word2Vec") -> Picture:
    """The loss of each epoch of ``static.word2vec`` (``vectors.epoch_losses``), in nats a token of the text."""
    series = np.asarray(losses, float)
    if not np.isfinite(series).any():
        return message(title, words(zh="还没有训练记录。", en="No training to show yet."))
    figure = picture(7.6, 4.2, layout="constrained")
    ax = figure.subplots()
    epochs = np.arange(1, len(series) + 1)
    ax.plot(epochs, series, "o-", color=COLOURS[2])
    for epoch, value in zip(epochs, series, strict=True):
        if np.isfinite(value) and len(series) <= 10:
            ax.annotate(f"{value:.2f}", (epoch, value), (4, 7), textcoords="offset points", color=COLOURS[2])
    ax.margins(x=0.1, y=0.2)
    ax.set(xlabel=words(zh="轮次", en="epoch"), ylabel=words(zh="每词损失（奈特）", en="loss (nats a token)"))
    ax.set_title(drawable(title), loc="left", parse_math=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="y", color=PALE, lw=0.8)
    told = ", ".join(f"{value:.2f}" for value in series[np.isfinite(series)])
    return figure.tell(f"{title}:", words(zh="每轮的损失", en="loss of each epoch"), told)


# ---------------------------------------------------------------- neighbours and scores


def neighbour_bars(neighbours: Mapping[str, Sequence[tuple[str, float]]], *, title: str = "") -> Picture:
    """Nearest neighbours as small panels of bars: heading -> [(word, similarity), ...], best first."""
    panels = [(name, [(short(w, 18), s) for w, s in rows if math.isfinite(s)]) for name, rows in neighbours.items()]
    if not any(rows for _, rows in panels):
        return message(title, words(zh="没有近邻：这个词不在词表里。", en="No neighbours: the word is not in the vocabulary."))
    columns = min(len(panels), 3)
    bands = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    deep = [0.36 * max(1, *(len(rows) for _, rows in band)) + 0.72 for band in bands]
    wide = 11.2 / columns if columns > 1 else 7.5
    room = max(text_width(word, 14) for _, rows in panels for word, _ in rows) + 0.15
    top = sum(deep) + (0.5 if title else 0)
    figure = picture(wide * columns + 0.3, top + 0.1)
    sheet = canvas(figure)
    heading(sheet, title)
    top -= 0.5 if title else 0
    for number, (name, rows) in enumerate(panels):
        colour, left = COLOURS[number % 6], 0.3 + number % columns * wide
        ceiling = top - sum(deep[: number // columns]) - 0.45
        write(sheet, left, ceiling + 0.15, name, size=17, color=colour)
        if not rows:
            write(sheet, left, ceiling - 0.25, words(zh="（不在词表里）", en="(not in the vocabulary)"), color=GREY)
        for row, (word, similarity) in enumerate(rows):
            y = ceiling - 0.18 - row * 0.36
            long = max(0.02, (wide - room - 0.85) * min(1.0, similarity))
            sheet.add_patch(Rectangle((left + room, y - 0.12), long, 0.24, color=colour, alpha=0.85))
            write(sheet, left + room - 0.08, y - 0.06, word, size=14, ha="right")
            write(sheet, left + room + long + 0.06, y - 0.06, f"{similarity:.2f}", size=12.5, color=GREY)
    return figure.tell(title, "; ".join(f"{name}: " + ", ".join(f"{w} {s:.2f}" for w, s in rows) for name, rows in panels))


class ScoreRow(Protocol):
    """What ``score_bars`` reads of a ``senses.Score``."""

    @property
    def name(self) -> str: ...
    @property
    def probe(self) -> Interval: ...
    @property
    def drawn(self) -> Interval: ...
    @property
    def nearest(self) -> Interval: ...


def score_bars(rows: Sequence[ScoreRow], *, majority: float | None = None, title: str = "") -> Picture:
    """How well each kind of vector separates senses: a dot and its 95 % interval, for the probe on all dimensions, on the two
    drawn ones, and for the nearest neighbour. The dashed line is the answer that needs no vector: the most frequent sense."""
    if not rows:
        return message(title, words(zh="没有可比较的分数。", en="There are no scores to compare."))
    columns = {
        words(zh="探针（全部维度）", en="probe, all dimensions"): [row.probe for row in rows],
        words(zh="探针（图上两维）", en="probe, two drawn ones"): [row.drawn for row in rows],
        words(zh="最近邻", en="nearest neighbour"): [row.nearest for row in rows],
    }
    every = np.array(list(columns.values()), float)  # (3, n_rows, 3)
    low = min([*every[np.isfinite(every)].tolist(), 1.0 if majority is None else majority]) - 0.06
    room = max(text_width(row.name, 14) for row in rows) + 0.45
    deep, wide = 0.52 * len(rows), (11.5 - room) / 3
    figure = picture(11.6, deep + 1.15 + (0.45 if title else 0))
    sheet = canvas(figure)
    heading(sheet, title)
    for number, (name, scores) in enumerate(columns.items()):
        ax = axes(figure, room + number * wide, 0.72, wide - 0.25, deep)
        ax.set(xlim=(low, 1.03), ylim=(deep, 0), yticks=[])
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.1f}"))
        ax.grid(axis="x", color=PALE, lw=0.8)
        ax.set_title(name, loc="left", size=14)
        if majority is not None:
            ax.axvline(majority, color=INK, ls="--", lw=1.4)
        for i, (row, (value, lowest, highest)) in enumerate(zip(rows, scores, strict=True)):
            y, ours = 0.52 * i + 0.32, row.name.startswith("ELMo")
            colour = COLOURS[0] if ours else COLOURS[1]
            if math.isfinite(value):
                ax.plot([lowest, highest], [y, y], color=colour, lw=5, alpha=0.35, solid_capstyle="round")
                ax.plot(value, y, "o" if ours else "^", color=colour, ms=9)
                above(ax, f"{value:.2f}", (value, y), 7, size=12)
    for i, row in enumerate(rows):
        write(sheet, room - 0.15, 0.72 + deep - 0.52 * i - 0.38, row.name, ha="right")
    if majority is not None:
        zh = f"虚线：总猜最常见的词义（{majority:.2f}）。粗线：95% 区间。"
        en = f"Dashed: always answering the most frequent sense ({majority:.2f}). Thick lines: 95% intervals."
        write(sheet, 0.3, 0.14, words(zh=zh, en=en), size=13, color=GREY)
    known = [
        [(name, scores[i][0]) for name, scores in columns.items() if math.isfinite(scores[i][0])] for i in range(len(rows))
    ]
    told = [", ".join(f"{name} {value:.2f}" for name, value in one) for one in known]
    return figure.tell(title, "; ".join(f"{row.name}: {line}" for row, line in zip(rows, told, strict=True)))
