"""elmo_lite: static and contextual word vectors you can take apart. ``import elmo_lite as el``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import corpora, figures, senses, static, widgets
    from .elmo import Elmo, ElmoConfig, load
    from .language import get_language, set_language
    from .text import normalise, spans, split_sentences, tokenize
    from .training import TrainConfig, evaluate, train

__version__ = "0.1.0"

# Name -> room it lives in. Rooms are opened on first use, so that ``import elmo_lite`` is quick.
_FACE = {
    "set_language": "language", "get_language": "language",
    "normalise": "text", "tokenize": "text", "spans": "text", "split_sentences": "text",
    "Elmo": "elmo", "ElmoConfig": "elmo", "load": "elmo",
    "TrainConfig": "training", "train": "training", "evaluate": "training",
}  # fmt: skip
_ROOMS = ("language", "text", "corpora", "static", "characters", "token_encoder", "bilm", "softmax", "scalar_mix",
          "checkpoints", "elmo", "training", "senses", "figures", "widgets")  # fmt: skip

__all__ = ["__version__", *_FACE, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _FACE:
        return getattr(importlib.import_module(f".{_FACE[name]}", __name__), name)
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
