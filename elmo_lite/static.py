"""Static word vectors, one point a word: Word2Vec over gensim. All hand back gensim ``KeyedVectors``.

Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors, Word2Vec

from .text import check_sentences


class _LossKeepingWord2Vec(Word2Vec):
    """Adds up the loss in double precision, job by job: gensim's own total is a float32 that stands still past 2**24."""

    job_losses: float = 0.0

    def _do_train_job(self, sentences: Any, alpha: float, inits: Any) -> Any:
        self.running_training_loss = 0.0
        counts = super()._do_train_job(sentences, alpha, inits)
        self.job_losses += float(self.running_training_loss)
        return counts


def word2vec(
    sentences: Iterable[Sequence[str]],
    *,
    vector_size: int = 64,
    window: int = 5,
    epochs: int = 5,
    min_count: int = 2,
    negative: int = 5,
    sample: float = 1e-3,
    alpha: float = 0.025,
    seed: int = 1,
) -> KeyedVectors:
    """Skip-gram with negative sampling; repeats exactly, since it runs on one worker with a seed.

    ``sentences`` are lists of tokens (``TypeError`` for strings, ``ValueError`` for blank tokens). ``alpha`` is the learning
    rate at the start; it falls in a straight line. Sentences are read in the order given: shuffle a text that is sorted. The
    result is a gensim ``KeyedVectors`` (n_words, vector_size), with ``epoch_losses``: the loss of each epoch, in nats a token
    of the text.
    ``ValueError`` says how many words there were when ``min_count`` leaves none.
    """
    text = check_sentences(sentences)
    counts = Counter(token for sentence in text for token in sentence)
    if not any(n >= min_count for n in counts.values()):
        raise ValueError(
            f"no word is left: {counts.total()} tokens of {len(counts)} words, none of them {min_count} times "
            f"(min_count={min_count}); an iterator that was used up counts as empty"
        )
    model = _LossKeepingWord2Vec(
        vector_size=vector_size,
        window=window,
        min_count=min_count,
        negative=negative,
        sample=sample,
        alpha=alpha,
        sg=1,
        workers=1,
        seed=seed,
    )
    model.build_vocab(text)
    losses = []
    rate = np.linspace(model.alpha, model.min_alpha, epochs + 1)
    for epoch in range(epochs):
        model.job_losses = 0.0
        model.train(
            text, total_examples=len(text), epochs=1, compute_loss=True, start_alpha=rate[epoch], end_alpha=rate[epoch + 1]
        )
        losses.append(model.job_losses / counts.total())
    vectors: KeyedVectors = model.wv
    vectors.epoch_losses = losses
    return vectors
