"""The pictures of the suite: arrays and plain data in, a ``Picture`` (a matplotlib figure with an alt text) out.

No picture is made through pyplot, so none has to be closed. Chinese labels always draw: the font comes with a package, see
``use_style``. A sense keeps its colour and its marker in every picture; words follow the language of ``set_language``.
Read in this order: ``sheet`` (style, text), ``cloud`` and ``scatter`` (uses as points), ``charts`` (training, scores),
``sentences`` (guesses, two uses in one sentence).
"""

from .charts import ScoreRow, epoch_losses, loss_curves, neighbour_bars, score_bars
from .cloud import Cloud, Glosses, Interval, Points
from .scatter import layer_panels, score_words, sense_scatter, static_vs_uses
from .sentences import TwoUses, expectation_bars, quote, two_uses, written
from .sheet import COLOURS, MARKERS, Picture, chinese_font, drawable, use_style

__all__ = [
    "COLOURS",
    "MARKERS",
    "Cloud",
    "Glosses",
    "Interval",
    "Picture",
    "Points",
    "ScoreRow",
    "TwoUses",
    "chinese_font",
    "drawable",
    "epoch_losses",
    "expectation_bars",
    "layer_panels",
    "loss_curves",
    "neighbour_bars",
    "quote",
    "score_bars",
    "score_words",
    "sense_scatter",
    "static_vs_uses",
    "two_uses",
    "use_style",
    "written",
]
