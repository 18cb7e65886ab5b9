"""Sentences written out, with what a model reads in them: the guess at a gap, and two uses in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle
from numpy.typing import ArrayLike

from ..text import normalise
from .charts import BACKWARD, FORWARD
from .cloud import Cloud, Glosses, Points
from .sheet import (
    CJK,
    CLOSING,
    COLOURS,
    GREY,
    INK,
    Picture,
    canvas,
    halo,
    heading,
    message,
    picture,
    short,
    text_width,
    words,
    wrap,
    write,
)

WIDE, EDGE = 11.6, 0.35  # of the page, in inches
SIZE, LINE = 18, 0.46  # of the sentence: points, inches a line

# ---------------------------------------------------------------- tokens back into writing


def written(tokens: Sequence[str], sentence: str = "") -> list[str]:
    """Each token as it is written, with the blank before it: as in ``sentence``, if these are its tokens (capitals come
    back), otherwise by rule: no blank beside Chinese characters, before closing punctuation and clitics."""
    pieces, place, read = [], 0, ""
    for token in tokens:
        start, wanted = place, normalise(token).lower()
        while place < len(sentence) and len(read) < len(wanted):
            read = (read + normalise(sentence[place]).lower()).lstrip()
            place += 1
        if not read.startswith(wanted):
            break
        read = read[len(wanted) :]  # something is left where one character stands for several tokens: … for ...
        pieces.append(sentence[start:place])
    if len(pieces) < len(tokens):
        pieces = _by_rule(tokens)
    return [short(piece, 40) for piece in pieces]


def _by_rule(tokens: Sequence[str]) -> list[str]:
    pieces, before, quoted = [], "", False
    for token in tokens:
        beside = before[-1:] + token[:1]
        glued = not before or before in "([{“‘-/$" or token in "-/" or bool(CLOSING.match(token)) or token[:1] in "'’"
        glued = glued or bool(re.search(f"[{CJK}]", beside)) or (quoted and '"' in (token, before)) or before == '"' == token
        quoted ^= token == '"'
        pieces.append(token if glued else f" {token}")
        before = token
    return pieces


def quote(tokens: Sequence[str], position: int, window: int = 3) -> str:
    """A use in its nearest words, "…on the [bank] of the river": short enough for a label."""
    begin, end = max(0, position - window), min(len(tokens), position + window + 1)
    shown = written([f"[{token}]" if i == position else token for i, token in enumerate(tokens)][begin:end])
    return ("…" if begin else "") + "".join(shown).strip() + ("…" if end < len(tokens) else "")


def _check(tokens: Sequence[str], position: int) -> None:
    if not 0 <= position < len(tokens):
        raise IndexError(f"position {position} is not in a sentence of {len(tokens)} tokens")


# ---------------------------------------------------------------- the guess at a gap


def expectation_bars(
    tokens: Sequence[str],
    position: int,
    forward: Sequence[tuple[str, float]],
    backward: Sequence[tuple[str, float]],
    *,
    top: int = 8,
    sentence: str = "",
) -> Picture:
    """What each direction expects in a gap: the sentence with the gap, below it on the left what follows from the words
    before it, on the right what follows from the words behind it.

    ``forward`` and ``backward`` are (word, probability), best first, as ``Elmo.guess`` gives them. The word that stood there
    is marked where it was guessed. ``IndexError`` if there is no such position.
    """
    _check(tokens, position)
    pieces = written(tokens, sentence)
    hidden, pieces[position] = pieces[position].strip(), " ______ "
    widths = [text_width(piece, SIZE) for piece in pieces]
    lines = wrap(pieces, widths, WIDE - 2 * EDGE)
    rows = min(top, max(len(forward), len(backward), 1))
    figure = picture(WIDE, LINE * len(lines) + 0.38 * rows + 1.3)
    sheet = canvas(figure)
    y = figure.get_size_inches()[1] - 0.45
    for line in lines:
        x = EDGE
        for number in line:
            colour = FORWARD if number < position else BACKWARD if number > position else INK
            piece = pieces[number] if number != line[0] else pieces[number].lstrip()
            write(sheet, x, y, piece, size=SIZE, color=colour)
            x += text_width(piece, SIZE)
        y -= LINE
    best = max([chance for _, chance in [*forward[:top], *backward[:top]]], default=0) or 1.0
    before = words(zh="→ 前向：只读左边", en="→ forward: reads the left side only")
    behind = words(zh="← 后向：只读右边", en="← backward: reads the right side only")
    for left, guesses, colour, name in ((EDGE, forward, FORWARD, before), (WIDE / 2 + 0.1, backward, BACKWARD, behind)):
        write(sheet, left, y - 0.15, name, size=15, color=colour)
        room = max([text_width(short(word, 16), 15) for word, _ in guesses[:top]], default=0) + 0.15
        for row, (word, chance) in enumerate(guesses[:top]):
            at, meant = y - 0.5 - row * 0.38, word == tokens[position]
            long = max(0.02, (4.4 - room) * chance / best)
            sheet.add_patch(Rectangle((left + room, at - 0.13), long, 0.26, color=colour, alpha=1 if meant else 0.5))
            look = {"path_effects": halo(INK)} if meant else {}
            write(sheet, left + room - 0.08, at - 0.06, short(word, 16), size=15, ha="right", **look)
            told = f"{chance:.1%} ✓" if meant else f"{chance:.1%}"
            write(sheet, left + room + long + 0.07, at - 0.06, told, size=13, color=INK if meant else GREY)
    write(sheet, EDGE, 0.2, words(zh=f"原词：{hidden}", en=f"the word that stood there: {hidden}"), size=13.5, color=GREY)
    listed = ["; ".join(f"{word} {chance:.1%}" for word, chance in guesses[:top]) for guesses in (forward, backward)]
    return figure.tell("".join(pieces), f"{before}: {listed[0]}. {behind}: {listed[1]}.")


# ---------------------------------------------------------------- two uses in one sentence


class TwoUses(NamedTuple):
    """A sentence that uses a word in two senses, and what a probe reads at both places.

    ``contextual`` (2, n_senses): probabilities read from the contextual vectors; ``average`` (2, n_senses) or (n_senses,):
    read from the average of the sentence's static vectors. ``meant``: the sense of each use. ``sentence`` restores capitals.
    """

    tokens: Sequence[str]
    positions: Sequence[int]
    meant: Sequence[str]
    contextual: ArrayLike
    average: ArrayLike
    sentence: str = ""


BAR, BAND, PAD = 2.6, 0.98, 0.05  # width of the bars, height they need above a line, room around a use: inches


def two_uses(
    sentences: TwoUses | Sequence[TwoUses], senses: Sequence[str], *, glosses: Glosses | None = None, title: str = ""
) -> Picture:
    """Two uses in one sentence: above each use what is read there from the contextual vector and from the sentence average,
    as one bar shared out among the senses. A bag of words sees the same words at both places, so its bars are alike; only a
    vector that knows the order can tell the uses apart. ``senses`` names the columns of the probabilities.

    Raises ``ValueError`` when probabilities do not fit the senses, ``IndexError`` for a position outside its sentence.
    """
    stack = [_Laid(item, senses) for item in ([sentences] if isinstance(sentences, TwoUses) else sentences)]
    if not stack:
        return message(title, words(zh="没有含两种词义的句子。", en="There is no sentence with two senses."))
    cloud = Cloud.of([], [], glosses or {sense: sense for sense in senses})
    colours = {sense: COLOURS[(cloud.order.index(sense) if sense in cloud.order else i) % 7] for i, sense in enumerate(senses)}
    right = np.concatenate([laid.right for laid in stack])
    n, (elmo, bag) = len(right), right.sum(axis=0)
    zh = f"词的底色：它在这里的词义。全句平均在两处看到的词相同，读数也相同。判对：ELMo {elmo}/{n}，全句平均 {bag}/{n}。"
    en = f"Right: ELMo {elmo} of {n}, average {bag} of {n}."
    told = words(zh=zh, en=f"A word's colour: the sense meant. The average sees the same words at both places. {en}")
    figure = picture(WIDE, sum(laid.height for laid in stack) + 1.25)
    sheet = canvas(figure)
    heading(sheet, title, [("■ " + cloud.gloss(sense), colour) for sense, colour in colours.items()], left=EDGE)
    y = float(figure.get_size_inches()[1]) - 0.7
    for laid in stack:
        laid.draw(sheet, y, colours)
        y -= laid.height
    write(sheet, EDGE, 0.25, told, size=13.5, color=GREY)
    return figure.tell(title, *(laid.alt(cloud) for laid in stack), told)


class _Laid:
    """A sentence laid out: which token stands on which line, what was read at its two uses."""

    def __init__(self, item: TwoUses, senses: Sequence[str]) -> None:
        for position in item.positions:
            _check(item.tokens, position)
        contextual, average = np.asarray(item.contextual, float), np.asarray(item.average, float)
        average = np.stack([average, average]) if average.ndim == 1 else average
        shape = (2, len(senses))
        if contextual.shape != shape or average.shape != shape:
            raise ValueError(f"two uses need probabilities {shape}, got {contextual.shape} and {average.shape}")
        if not (np.isfinite(contextual).all() and np.isfinite(average).all()):
            raise ValueError(f"probabilities of {item.tokens} are not finite")
        if len(item.positions) != 2 or len(item.meant) != 2 or not set(item.meant) <= set(senses):
            wanted = f"two positions and two of the senses {list(senses)}"
            raise ValueError(f"{wanted} are needed, got {item.positions} and {item.meant}")
        self.item, self.senses = item, list(senses)
        self.chances: Points = np.stack([contextual, average], axis=1)  # (2 uses, contextual and average, n_senses)
        self.pieces = written(item.tokens, item.sentence)
        self.widths = [text_width(piece, SIZE) + (2 * PAD if i in item.positions else 0) for i, piece in enumerate(self.pieces)]
        self.lines = wrap(self.pieces, self.widths, WIDE - 2 * EDGE)
        bands = sum(any(position in line for position in item.positions) for line in self.lines)
        self.height = len(self.lines) * LINE + bands * BAND + 0.3
        meant = np.array([self.senses.index(sense) for sense in item.meant])
        self.right = self.chances.argmax(axis=2) == meant[:, None]  # (2 uses, contextual and average)

    def draw(self, sheet: Axes, y: float, colours: Mapping[str, str]) -> None:
        """From height ``y`` down; a line that holds a use has a band with its bars above it."""
        for line in self.lines:
            y -= LINE + (BAND if any(position in line for position in self.item.positions) else 0)
            x, places = EDGE, {}
            for number in line:
                piece = self.pieces[number] if number != line[0] else self.pieces[number].lstrip()
                blank, wide = text_width(piece[: len(piece) - len(piece.lstrip())], SIZE), text_width(piece.lstrip(), SIZE)
                if number in self.item.positions:
                    use = list(self.item.positions).index(number)
                    x += blank + PAD
                    back = colours[self.item.meant[use]]
                    box = FancyBboxPatch((x, y + 0.02), wide, 0.32, boxstyle="round,pad=0.03", facecolor=back, edgecolor="none")
                    sheet.add_patch(box)
                    write(sheet, x, y + 0.1, piece.lstrip(), size=SIZE, color=_on(back))
                    places[x + wide / 2] = use
                    x += wide + PAD
                else:
                    write(sheet, x, y + 0.1, piece, size=SIZE)
                    x += blank + wide
            for place, centre in zip(sorted(places), _apart(sorted(places)), strict=True):
                self._bars(sheet, centre, place, y + LINE, places[place], colours)

    def _bars(self, sheet: Axes, centre: float, place: float, y: float, use: int, colours: Mapping[str, str]) -> None:
        """Two bars above a use: the contextual vector's reading and the average's; ✓ where the sense meant comes first."""
        start = min(max(place, centre - BAR / 2 + 0.1), centre + BAR / 2 - 0.1)
        sheet.plot([start, place], [y + 0.12, y - 0.06], color=colours[self.item.meant[use]], lw=2.2, solid_capstyle="round")
        for row, name in enumerate(("ELMo", words(zh="全句平均", en="average"))):
            left, bottom, ink = centre - BAR / 2, y + 0.16 + (1 - row) * 0.35, GREY if row else INK
            write(sheet, left - 0.1, bottom + 0.08, name, size=13, ha="right", color=ink)
            for colour, share in zip(colours.values(), self.chances[use, row], strict=True):
                sheet.add_patch(Rectangle((left, bottom), BAR * share, 0.28, facecolor=colour, edgecolor="white", lw=1.2))
                if share >= 0.17:
                    middle, ink_on = left + BAR * share / 2, _on(colour)
                    write(sheet, middle, bottom + 0.08, f"{share:.0%}", size=12.5, ha="center", color=ink_on)
                left += BAR * share
            write(sheet, centre + BAR / 2 + 0.07, bottom + 0.08, "✓" if self.right[use, row] else "✗", size=14, color=ink)

    def alt(self, cloud: Cloud) -> str:
        read = []
        for position, meant, (contextual, average) in zip(self.item.positions, self.item.meant, self.chances, strict=True):
            column = self.senses.index(meant)
            shares = f"ELMo {contextual[column]:.0%}, " + words(zh="全句平均", en="average") + f" {average[column]:.0%}"
            read.append(f"{self.item.tokens[position]} ({cloud.gloss(meant)}): {shares}")
        return f"{''.join(self.pieces)} [{'; '.join(read)}]"


def _on(colour: str) -> str:
    """Ink that can be read on a colour."""
    return INK if colour in (COLOURS[4], COLOURS[5]) else "white"


def _apart(places: Sequence[float]) -> list[float]:
    """Centres of the bars of a line: above their uses, but on the page and clear of one another."""
    name, mark = 1.2, 0.3
    low, high, need = EDGE + name + BAR / 2, WIDE - EDGE - mark - BAR / 2, BAR + name + mark
    found = [min(max(place, low), high) for place in places]
    if len(found) == 2 and found[1] - found[0] < need:
        middle = min(max(sum(found) / 2, low + need / 2), high - need / 2)
        found = [middle - need / 2, middle + need / 2]
    return found
