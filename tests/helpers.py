"""Small models, toy texts and fresh processes for the tests."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import elmo_lite as el
from elmo_lite.softmax import Vocabulary

ROOT = Path(el.__file__).resolve().parent.parent
WORDS = ["the", "bank", "river", "money", "a", ",", "苹果", "手机", "我", "。"]
SMALL: dict[str, Any] = {
    "dim": 12,
    "char_dim": 6,
    "filters": ((1, 5), (2, 7), (3, 6), (6, 4)),
    "n_highway": 2,
    "dropout": 0.5,
}


def random_model(lang: str = "zh", seed: int = 0, vocabulary: bool = True, **config: Any) -> el.Elmo:
    """A small model with random weights everywhere, also where training would start from zero or one."""
    words = Vocabulary(WORDS, list(range(len(WORDS), 0, -1))) if vocabulary else None
    chance = torch.Generator().manual_seed(seed)
    keep = 0.2 + 0.8 * torch.rand(len(WORDS), generator=chance) if vocabulary else None
    model = el.Elmo(el.ElmoConfig(**{"lang": lang, "keep": ("苹果",), **SMALL, **config}), words, keep)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=chance))
    return model.eval()


def toy_text(n_sentences: int = 300, seed: int = 0) -> list[list[str]]:
    """Sentences of two topics that never share a word: the words of a topic keep company, those of different ones do not."""
    chance = random.Random(seed)
    topics = [[f"fruit{i}" for i in range(10)], [f"phone{i}" for i in range(10)]]
    return [chance.choices(topics[n % 2], k=chance.randint(4, 9)) for n in range(n_sentences)]


def uniform_text(n_words: int, n_sentences: int, seed: int = 0) -> list[list[str]]:
    """Every token is drawn from ``n_words`` words with equal chances, whatever stands around it: nothing can be learned."""
    chance = random.Random(seed)
    words = [f"w{i:02d}" for i in range(n_words)]
    return [chance.choices(words, k=chance.randint(2, 14)) for _ in range(n_sentences)]


def fresh_process(code: str, *arguments: str, **environment: str) -> str:
    """Run ``code`` in a new Python process and return what it prints."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
