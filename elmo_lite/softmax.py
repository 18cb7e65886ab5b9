"""The output side: vocabulary, shared softmax weights, full and sampled loss, the correction for kept targets.

Both directions predict words through the same weights (Peters et al. 2018, section 3.1). The vocabulary is sorted by
frequency, as log-uniform sampling needs. Targets are the words of the sentence, as in the paper's objective; unknown
words (id -1) are left out of loss and perplexity, and their share is reported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

UNKNOWN = -1


class Vocabulary:
    """The words that can be predicted, most frequent first, with their counts in the training text."""

    def __init__(self, words: Sequence[str], counts: Sequence[int]) -> None:
        self.words, self.counts = list(words), list(counts)
        self._ids = {word: i for i, word in enumerate(self.words)}
        if not len(self._ids) == len(self.words) == len(self.counts):
            raise ValueError("a vocabulary needs different words and one count for each")

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], min_count: int = 1, max_size: int | None = None) -> Vocabulary:
        """Count words; keep those seen ``min_count`` times. ``ValueError`` says how many words there were if none is left."""
        counter = Counter(word for sentence in sentences for word in sentence)
        kept = [(word, n) for word, n in counter.items() if n >= min_count]
        if not kept:
            raise ValueError(
                f"no word is left: the text has {counter.total()} tokens of {len(counter)} words, "
                f"none of them {min_count} times (min_count={min_count})"
            )
        kept = sorted(kept, key=lambda item: (-item[1], item[0]))[:max_size]
        return cls([word for word, _ in kept], [n for _, n in kept])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def id(self, word: str) -> int:
        """The word's id, or ``UNKNOWN`` (-1)."""
        return self._ids.get(word, UNKNOWN)

    def keep_probability(self, threshold: float | None) -> Tensor:
        """How likely each word is kept as a target: min(1, sqrt(threshold / frequency)), (n_words,).

        The subsampling of frequent words of Word2Vec (Mikolov et al. 2013), here for targets. None keeps every target.
        """
        frequency = torch.tensor(self.counts, dtype=torch.float64) / sum(self.counts)
        if threshold is None:
            return torch.ones(len(self), dtype=torch.float32)
        return (threshold / frequency).sqrt().clamp(max=1.0).float()


class Softmax(nn.Module):
    """Scores hidden states (n, dim) against the words of a vocabulary.

    ``keep`` (n_words,) is the probability with which training kept each word as a target. Training then learns
    p(word) * keep(word), so ``log_probabilities`` takes log keep off again: what it returns is the language model's.
    """

    keep: Tensor

    def __init__(self, n_words: int, dim: int, keep: Tensor | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_words, dim) / math.sqrt(dim))
        self.bias = nn.Parameter(torch.zeros(n_words))
        self.register_buffer("keep", torch.ones(n_words) if keep is None else keep)

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """(n, dim) -> (n, n_words): log p(word | context) over the whole vocabulary."""
        return torch.log_softmax(F.linear(hidden, self.weight, self.bias) - self.keep.log(), dim=1)

    def full_loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Sum of the cross entropies of known targets (n,), in nats, as the language model gives them."""
        chosen = self.log_probabilities(hidden).gather(1, targets[:, None])
        return -chosen.sum()

    def training_loss(self, hidden: Tensor, targets: Tensor, negatives: Tensor | None) -> Tensor:
        """Mean cross entropy of targets (n,) against sampled words (all words when ``negatives`` is None).

        Each score has log Q(word) taken off, Q being how likely the sampler draws the word: then the best scores are
        log p(word) + constant, as with the full softmax (Jean et al. 2015). A target drawn by chance as well stays among the
        negatives: Q is the chance of one draw, so leaving it out would make frequent words look more likely than they are.
        """
        if negatives is None:
            return F.cross_entropy(F.linear(hidden, self.weight, self.bias), targets)
        log_q = log_uniform(torch.cat([targets, negatives]), len(self.bias))
        of_target = (hidden * F.embedding(targets, self.weight)).sum(1) + self.bias[targets] - log_q[: len(targets)]
        shift = self.bias[negatives] - log_q[len(targets) :]
        of_negatives = torch.addmm(shift, hidden, F.embedding(negatives, self.weight).t())  # (n, n_negatives)
        scores = torch.cat([of_target[:, None], of_negatives], dim=1)
        return (scores.logsumexp(1) - scores[:, 0]).mean()


def log_uniform(ids: Tensor, n_words: int) -> Tensor:
    """log Q(id) of the log-uniform (Zipf) distribution: Q(k) = log((k + 2) / (k + 1)) / log(n_words + 1)."""
    return torch.log(torch.log1p(1 / (ids.double() + 1)) / math.log(n_words + 1)).float()


def draw_negatives(count: int, n_words: int, generator: torch.Generator | None = None) -> Tensor | None:
    """``count`` word ids from the log-uniform distribution, with repetition; None if the vocabulary is no larger."""
    if count >= n_words:
        return None
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    return (torch.exp(uniform * math.log(n_words + 1)) - 1).long().clamp(max=n_words - 1)
