"""Words as character ids: the 262-symbol UTF-8 byte alphabet of the original ELMo.

A word is ``[begin, up to 48 bytes, end, padding ...]``, 50 ids long; 1 is added to every id so that 0 can mean
"no word here". Bytes cover every script, so no character is ever unknown.
Source: Peters et al. 2018, section 3.1, and the published implementation.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

ALPHABET_SIZE = 262  # 256 bytes, five special symbols, and 0 for "no word here"
WORD_LENGTH = 50
_SENTENCE_BEGIN, _SENTENCE_END, _WORD_BEGIN, _WORD_END, PADDING = (i + 1 for i in range(256, 261))


class _Boundary:
    """A pseudo word that surrounds a sentence. Not a string: the text "<S>" stays ordinary text."""

    def __init__(self, symbol: int) -> None:
        self.symbol = symbol


BEGIN = _Boundary(_SENTENCE_BEGIN)
END = _Boundary(_SENTENCE_END)
Word = str | _Boundary


def encode_word(word: Word) -> list[int]:
    """The 50 ids of one word. Longer than 48 bytes: cut after the last whole character that fits, with a warning."""
    if isinstance(word, _Boundary):
        symbols = [word.symbol]
    else:
        data = word.encode("utf-8", errors="replace")
        if len(data) > WORD_LENGTH - 2:
            warnings.warn(f"only the first 48 bytes of a long word are read: {word[:20]}…", stacklevel=2)
            data = data[: WORD_LENGTH - 2].decode("utf-8", errors="ignore").encode("utf-8")
        symbols = [byte + 1 for byte in data]
    ids = [_WORD_BEGIN, *symbols, _WORD_END]
    return ids + [PADDING] * (WORD_LENGTH - len(ids))


def encode_words(words: Sequence[Word]) -> Tensor:
    """Character ids of words: (n_words, 50), int64."""
    return torch.tensor([encode_word(word) for word in words], dtype=torch.long).reshape(-1, WORD_LENGTH)
