"""The paper the pictures are drawn on: style, fonts, text of two scripts, and how a picture shows itself in a notebook."""

from __future__ import annotations

import base64
import functools
import io
import re
import unicodedata
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.patheffects import Normal, Stroke
from matplotlib.text import Text

from ..language import say

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe, Ito: for the colour-blind too
MARKERS = ("o", "^", "s", "D", "v", "P", "*")
SIGNS = ("●", "▲", "■", "◆", "▼", "✚", "★")
INK, GREY, PALE = "#222222", "#666666", "#DDDDDD"

_STYLE: Any = {
    "font.size": 14,
    "axes.titlesize": 15,
    "axes.labelsize": 14,
    "xtick.labelsize": 13,
    "ytick.labelsize": 13,
    "axes.prop_cycle": cycler(color=COLOURS[:6]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 2.2,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}
_SYSTEM_FONTS = ("Noto Sans CJK SC", "Source Han Sans SC", "Microsoft YaHei", "PingFang SC", "SimHei", "WenQuanYi Micro Hei")

# ---------------------------------------------------------------- style and font


@functools.cache
def chinese_font() -> str | None:
    """Register a font with Chinese characters and return its family name; None, after one warning, if there is none."""
    try:
        from pylopdf_fonts_zh_cn import sans_path

        font_manager.fontManager.addfont(str(sans_path()))
        return font_manager.FontProperties(fname=str(sans_path())).get_name()
    except (ImportError, OSError):
        installed = set(font_manager.get_font_names())
        found = next((name for name in _SYSTEM_FONTS if name in installed), None)
    if found is None:
        reason = "no font with Chinese characters: labels are in English, Chinese words are drawn as boxes"
        warnings.warn(f"{reason}; pip install pylopdf-fonts-zh-cn", stacklevel=3)
    return found


def families() -> list[str]:
    """The font families of all text, named one by one: a generic name is looked up only when drawn."""
    return [name for name in (chinese_font(), "DejaVu Sans") if name]


def use_style() -> None:
    """Set matplotlib's defaults for a projector: readable sizes, safe colours, Chinese characters. Every picture calls it;
    call it yourself before plots of your own."""
    matplotlib.rcParams.update(_STYLE)
    matplotlib.rcParams["font.family"] = families()


def words(*, zh: str, en: str) -> str:
    """``say``, but in English where no font has Chinese characters."""
    return say(zh=zh, en=en) if chinese_font() else en


@functools.cache
def _characters() -> frozenset[int]:
    """Code points that our fonts can draw."""
    return frozenset(point for name in families() for point in FT2Font(font_manager.findfont(name)).get_charmap())


def drawable(text: str) -> str:
    """The text with a box for each character that no font has (an emoji), so that nothing warns while drawing."""
    known = _characters()
    unseen = {c: "" if unicodedata.category(c) in ("Mn", "Me", "Cf", "Cc") else "□" for c in set(text) if ord(c) not in known}
    return "".join(unseen.get(c, c) if c != "\n" else c for c in text)


# ---------------------------------------------------------------- a picture


class Picture(Figure):
    """A matplotlib figure with an alt text, which shows itself in a notebook as PNG, with or without pyplot."""

    alt: str = ""

    def png(self) -> bytes:
        """The picture as the bytes of a PNG file, the alt text in its description."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", metadata={"Description": self.alt})
        return buffer.getvalue()

    def tell(self, *parts: str) -> Picture:
        """Set the alt text from its parts and return the picture."""
        self.alt = " ".join(" ".join(parts).split())
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        data = {"image/png": base64.b64encode(self.png()).decode("ascii"), "text/plain": self.alt}
        return data, {"image/png": {"alt": self.alt}}


def picture(width: float, height: float, **layout: Any) -> Picture:
    """An empty picture of a size in inches, 100 dots an inch."""
    use_style()
    return Picture(figsize=(width, height), dpi=100, **layout)


def axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches."""
    w, h = figure.get_size_inches()
    return figure.add_axes((left / w, bottom / h, width / w, height / h))


def canvas(figure: Figure) -> Axes:
    """Invisible axes over the whole figure that count in inches, to write on."""
    w, h = figure.get_size_inches()
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, w), ylim=(0, h), xticks=[], yticks=[])
    ax.axis("off")
    return ax


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of axes."""
    box, figure = ax.get_position(), ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    return float(box.width * width), float(box.height * height)


def message(title: str, reason: str) -> Picture:
    """The friendly picture of nothing: a title and the reason."""
    figure = picture(9, 3.0)
    sheet = canvas(figure)
    heading(sheet, title)
    write(sheet, 4.5, 1.3, paragraph(reason, 8, 15), size=15, color=GREY, ha="center", va="center")
    return figure.tell(f"{title}:" if title else "", reason)


# ---------------------------------------------------------------- text


def write(where: Axes, x: float, y: float, text: str, **look: Any) -> Text:
    """Text as it is: no formulas in it, no missing characters."""
    return where.text(x, y, drawable(text), parse_math=False, **look)


def dots(ax: Axes, points: Any, **look: Any) -> None:
    """Points (n, 2) or (2,) as marks with a white rim."""
    x, y = np.asarray(points, float).reshape(-1, 2).T
    ax.scatter(x, y, **{"edgecolor": "white", "lw": 0.6, **look})


def above(ax: Axes, text: str, point: Any, lift: float, **look: Any) -> None:
    """A short text above a point, ``lift`` in points of print."""
    look = {"ha": "center", "zorder": 6, "path_effects": halo(INK), **look}
    ax.annotate(drawable(text), (point[0], point[1]), (0, lift), textcoords="offset points", parse_math=False, **look)


def halo(colour: str) -> list[Any]:
    """Letters a little bolder, with a white rim."""
    return [Stroke(linewidth=3.5, foreground="white"), Stroke(linewidth=0.5, foreground=colour), Normal()]


def heading(sheet: Axes, title: str, entries: Sequence[tuple[str, str]] = (), left: float = 0.3) -> None:
    """At the top of a sheet the title, and at the right a key: coloured entries (text, colour), made smaller to fit."""
    width, top = sheet.get_xlim()[1], sheet.get_ylim()[1] - 0.42
    size = 18 * min(1.0, (width - 2 * left) / max(0.1, text_width(title, 18)))
    write(sheet, left, top, title, size=size)
    room = width - 2 * left - (text_width(title, size) + 0.3 if title else 0)
    need = sum(text_width(text, 15) + 0.3 for text, _ in entries) - 0.3
    scale = min(1.0, max(0.5, room / need)) if need > 0 else 1.0
    x = width - left - need * scale
    for text, colour in entries:
        write(sheet, x, top, text, size=15 * scale, color=colour, path_effects=halo(colour))
        x += (text_width(text, 15) + 0.3) * scale


@functools.cache
def _renderer() -> Any:
    canvas: Any = FigureCanvasAgg(Figure(figsize=(1, 1), dpi=100))
    return canvas.get_renderer()


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Width of a text in inches."""
    look = font_manager.FontProperties(family=families(), size=size)
    return float(_renderer().get_text_width_height_descent(drawable(text), look, False)[0]) / 100


def short(text: str, most: int) -> str:
    """The text, cut to at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


CJK = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
CLOSING = re.compile(r"""^\s*[,.;:!?%)\]}，。；：！？、）】》”’」』…]""")
_PIECE = re.compile(rf"\s*[{CJK}]|\s*[^\s{CJK}]+")


def wrap(pieces: Sequence[str], widths: Sequence[float], width: float) -> list[list[int]]:
    """Break pieces of text into lines of at most ``width`` and much the same length: the numbers of the pieces on each
    line. No line begins with closing punctuation."""
    lines = _fill(pieces, widths, width)
    for narrower in np.linspace(width, 0.65 * width, 20):
        if len(even := _fill(pieces, widths, float(narrower))) > len(lines):
            break
        lines = even
    return lines


def _fill(pieces: Sequence[str], widths: Sequence[float], width: float) -> list[list[int]]:
    lines: list[list[int]] = [[]]
    used = 0.0
    for number, (piece, wide) in enumerate(zip(pieces, widths, strict=True)):
        if lines[-1] and used + wide > width and not CLOSING.match(piece):
            lines.append([])
            used = 0.0
        lines[-1].append(number)
        used += wide
    return lines


def paragraph(text: str, width: float, size: float) -> str:
    """A text of either script with line breaks put in, for a width in inches."""
    pieces = _PIECE.findall(text)
    lines = wrap(pieces, [text_width(piece, size) for piece in pieces], width)
    return "\n".join("".join(pieces[i] for i in line).strip() for line in lines)
