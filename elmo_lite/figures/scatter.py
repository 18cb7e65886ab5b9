"""The pictures of the senses of a word: a scatter of its uses, one panel a layer, one point that becomes many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .cloud import Box, Cloud, Glosses, Interval, draw, frame, label, label_points, outside
from .sheet import (
    GREY,
    INK,
    PALE,
    Picture,
    axes,
    canvas,
    dots,
    heading,
    message,
    paragraph,
    picture,
    words,
    write,
)


def score_words(score: Interval | None, majority: float | None = None) -> str:
    """The score of the drawn dimensions as a sentence that names its baseline; "" without a score."""
    if score is None or not math.isfinite(score[0]):
        return ""
    value, low, high = score
    zh = f"探针只看图上这两维，判对 {value:.2f}"
    en = f"A probe that sees only these two dimensions is right {value:.2f} of the time"
    if math.isfinite(low):
        zh, en = f"{zh}（95% 区间 {low:.2f}–{high:.2f}）", f"{en} (95% interval {low:.2f} to {high:.2f})"
    return words(zh=zh, en=en) + majority_words(majority)


def majority_words(majority: float | None) -> str:
    """The end of a sentence that tells a score: its baseline."""
    if majority is None:
        return words(zh="。", en=".")
    return words(
        zh=f"；总猜最常见的词义，判对 {majority:.2f}。", en=f"; always answering the most frequent sense: {majority:.2f}."
    )


def under(lines: Sequence[str], width: float) -> tuple[str, float]:
    """The lines under a picture, broken to fit, and the height they need, in inches."""
    text = "\n".join(paragraph(line, width, 13.5) for line in lines if line)
    return text, 0.3 + (0.27 * (text.count("\n") + 1) if text else 0)


# ---------------------------------------------------------------- the pictures


def sense_scatter(
    points: ArrayLike,
    senses: Sequence[str],
    *,
    title: str = "",
    glosses: Glosses | None = None,
    static_point: ArrayLike | None = None,
    pairs: Sequence[tuple[int, int]] = (),
    texts: Mapping[int, str] | None = None,
    score: Interval | None = None,
    majority: float | None = None,
    labels: Literal["direct", "above"] = "direct",
    limit: float | None = None,
    note: str = "",
    size: tuple[float, float] = (9.6, 6.4),
) -> Picture:
    """The uses of one word in two PCA dimensions: ``points`` (n, 2), one colour and marker a sense.

    ``static_point`` (2,) is the word's static vector, ``pairs`` of rows are the two uses of one sentence, ``texts`` row ->
    words to write beside a point; ``score`` and ``majority`` (see ``score_words``) and ``note`` stand underneath. ``limit``
    fixes the frame: half its height. ``labels="above"`` keeps the labels in place while points move. No point, one point,
    points that all lie on one another: the picture says so. Rows that are not finite are left out and counted.
    ``ValueError`` when shapes do not fit.
    """
    cloud = Cloud.of(points, senses, glosses)
    why = cloud.why_flat(limit)
    if not len(cloud.points):
        return message(title, f"{why} {cloud.left_out_words()}".strip())
    below, foot = under([score_words(score, majority), note, cloud.left_out_words()], size[0] - 0.7)
    figure = picture(*size)
    ax, sheet = axes(figure, 0.3, foot, size[0] - 0.6, size[1] - foot - 0.62), canvas(figure)
    star = np.full((1, 2), np.nan) if static_point is None else np.asarray(static_point, float).reshape(1, 2)
    starred = bool(np.isfinite(star).all())
    frame(ax, cloud, limit, star if starred else None)
    draw(ax, cloud, pairs)
    if starred:
        dots(ax, star, marker="*", s=520, color="black", lw=1.2, zorder=5)
    taken: list[Box] = []
    direct = labels == "direct" and not why and label(ax, cloud, cloud.labels(), taken)
    heading(sheet, title, [] if direct else cloud.key())
    at = {int(row): i for i, row in enumerate(cloud.rows)}
    single = [
        (text, cloud.colour(str(cloud.senses[at[i]])), cloud.points[[at[i]]]) for i, text in (texts or {}).items() if i in at
    ]
    named = (words(zh="静态向量：只有这一个点", en="static vector: this one point"), INK, star)
    label_points(ax, cloud, [named, *single] if starred else single, taken)
    if why:
        write(sheet, size[0] / 2, foot + 0.4, paragraph(why, size[0] - 1.4, 15), size=15, color=GREY, ha="center", va="bottom")
    else:
        look = {"transform": ax.transAxes, "size": 11, "color": GREY}
        write(ax, 0.99, 0.012, words(zh="第一主成分 →", en="PCA 1 →"), ha="right", va="bottom", **look)
        write(ax, 0.008, 0.98, words(zh="第二主成分 →", en="PCA 2 →"), rotation=90, va="top", **look)
    if limit is not None and (lost := outside(ax, cloud.points)):
        told = words(zh=f"{lost} 个点在画框外", en=f"{lost} points are outside the frame")
        write(ax, 0.99, 0.97, told, transform=ax.transAxes, ha="right", va="top", size=13, color=GREY)
    write(sheet, 0.3, foot - 0.1, below, size=13.5, color=GREY, va="top", linespacing=1.25)
    return figure.tell(f"{title}:" if title else "", cloud.alt(), why, below)


def layer_panels(
    layer_points: ArrayLike,
    senses: Sequence[str],
    names: Sequence[str],
    *,
    title: str = "",
    glosses: Glosses | None = None,
    scores: Sequence[Interval | None] | None = None,
    majority: float | None = None,
    pairs: Sequence[tuple[int, int]] = (),
) -> Picture:
    """Small multiples, one panel a layer (or mix): ``layer_points`` (n_panels, n, 2), all drawn to the same scale.

    ``scores`` has one score of the drawn dimensions a panel. ``ValueError`` when the numbers of panels, names and scores
    differ.
    """
    panels = [Cloud.of(points, senses, glosses) for points in np.asarray(layer_points, float)]
    if len(panels) != len(names) or (scores is not None and len(scores) != len(panels)):
        raise ValueError(f"{len(panels)} panels need as many names and scores, got {len(names)} names")
    if not any(len(cloud.points) for cloud in panels):
        return message(title, words(zh="没有可画的用例。", en="There is no use to draw."))
    limit = 1.2 * max(float(np.abs(cloud.points).max()) for cloud in panels if len(cloud.points)) or 1.0
    told = ""
    if scores is not None:
        told = words(
            zh="数字：探针只看图上两维的判对率",
            en="Numbers: how often a probe is right that sees only the two drawn dimensions",
        )
        told += majority_words(majority)
    below, foot = under([told, panels[0].left_out_words()], 11)
    columns = 4 if len(panels) in (4, 7, 8) else min(len(panels), 3)
    side = (11.6 - 0.35) / columns - 0.25
    deep = min(side, 3.6)
    height = math.ceil(len(panels) / columns) * (deep + 0.6) + foot + 0.6
    figure = picture(11.6, height)
    sheet = canvas(figure)
    heading(sheet, title, panels[0].key())
    for number, (cloud, name) in enumerate(zip(panels, names, strict=True)):
        left, top = 0.3 + number % columns * (side + 0.25), height - 1.15 - number // columns * (deep + 0.6)
        ax = axes(figure, left, top - deep, side, deep)
        frame(ax, cloud, limit)
        draw(ax, cloud, pairs, small=True)
        write(sheet, left, top + 0.12, name, size=15)
        if scores is not None and (score := scores[number]) is not None and math.isfinite(score[0]):
            spread = f"  [{score[1]:.2f}, {score[2]:.2f}]" if math.isfinite(score[1]) else ""
            write(sheet, left + side, top + 0.12, f"{score[0]:.2f}{spread}", size=13.5, ha="right", color=GREY)
        why = paragraph(cloud.why_flat(limit), side - 0.2, 12)
        write(sheet, left + side / 2, top - deep + 0.1, why, size=12, color=GREY, ha="center", va="bottom")
    write(sheet, 0.3, foot - 0.1, below, size=13.5, color=GREY, va="top", linespacing=1.25)
    return figure.tell(title, panels[0].alt(), words(zh="每层一幅：", en="One panel each:"), ", ".join(names) + ".", below)


def static_vs_uses(
    points: ArrayLike,
    senses: Sequence[str],
    *,
    word: str,
    glosses: Glosses | None = None,
    score: Interval | None = None,
    majority: float | None = None,
) -> Picture:
    """One point becomes many: left the word's static vector, the same for every use, right the contextual ``points`` (n, 2)
    with a ray to each from their mean."""
    cloud = Cloud.of(points, senses, glosses)
    if cloud.why_flat():
        return sense_scatter(points, senses, title=word, glosses=glosses)
    n, middle = len(cloud.points), cloud.points.mean(axis=0)
    told = words(zh="右图的 ★ 是这些点的平均。", en="The ★ on the right is the mean of these points.")
    below, foot = under([score_words(score, majority), f"{told} {cloud.left_out_words()}"], 11)
    figure = picture(11.6, 5.4 + foot)
    left, right, sheet = axes(figure, 0.3, foot, 3.3, 4.75), axes(figure, 3.9, foot, 7.4, 4.75), canvas(figure)
    left.set(xlim=(-1, 1), ylim=(-1.4, 1.4), xticks=[], yticks=[])
    left.spines[:].set(visible=True, color=PALE)
    dots(left, (0, 0.32), marker="*", s=1100, color="black")
    write(left, 0, -0.12, word, size=28, ha="center")
    write(left, 0, -0.42, words(zh=f"{n} 个用例，一个点", en=f"{n} uses, one point"), size=15, ha="center", color=GREY)
    frame(right, cloud, None)
    for point, sense in zip(cloud.points, cloud.senses, strict=True):
        right.plot(*zip(middle, point, strict=True), color=cloud.colour(str(sense)), lw=0.8, alpha=0.22, zorder=1)
    draw(right, cloud)
    dots(right, middle, marker="*", s=420, color="black", lw=1, zorder=5)
    rays = np.concatenate([middle + (cloud.points - middle) * share for share in (0.2, 0.4, 0.6, 0.8)])
    direct = label(right, cloud, cloud.labels(), [], rays)
    write(sheet, 0.3, 4.98 + foot, words(zh="静态向量", en="static vector"), size=17)
    write(sheet, 3.9, 4.98 + foot, words(zh="上下文向量", en="contextual vectors"), size=17)
    heading(sheet, "", [] if direct else cloud.key())
    write(sheet, 0.3, foot - 0.1, below, size=13.5, color=GREY, va="top", linespacing=1.25)
    sides = words(zh="左，静态向量是一个点；右，", en="left, one static vector; right, a")
    return figure.tell(f"{word}:", sides, cloud.alt(), below)
