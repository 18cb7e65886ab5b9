"""Explorers to drag and click: each is a thin class over pure functions that are tested without a browser."""

from .mix_explorer import MixExplorer, describe_mix, drawn_share, mix_picture

__all__ = ["MixExplorer", "describe_mix", "drawn_share", "mix_picture"]
