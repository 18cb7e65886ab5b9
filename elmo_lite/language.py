"""The language of labels and messages: Chinese ("zh") or English ("en").

Notebooks call ``set_language`` once; figures, widgets and messages ask ``say`` for the words to show.
"""

from __future__ import annotations

from typing import Literal

Language = Literal["zh", "en"]
LANGUAGES: tuple[Language, ...] = ("zh", "en")

_current: Language = "en"


def check_language(language: str) -> Language:
    """Return ``language`` if it is "zh" or "en"; raise ``ValueError`` otherwise."""
    for known in LANGUAGES:
        if language == known:
            return known
    raise ValueError(f"language must be 'zh' or 'en', got {language!r}")


def set_language(language: str) -> None:
    """Choose the language of everything shown from now on: "zh" or "en" (``ValueError`` otherwise)."""
    global _current
    _current = check_language(language)


def get_language() -> Language:
    """The language that ``set_language`` chose last ("en" before the first call)."""
    return _current


def say(*, zh: str, en: str) -> str:
    """Pick the wording of the current language."""
    return zh if _current == "zh" else en
