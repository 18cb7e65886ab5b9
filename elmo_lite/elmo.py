"""``Elmo``: the boxes put together. ``embed`` is the one door most people use.

Characters -> token encoder -> two LSTM stacks -> (mix of layers) and (softmax over the vocabulary).
Source: Peters et al. 2018, "Deep contextualized word representations" (NAACL).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import checkpoints
from .bilm import BiLM, State
from .characters import BEGIN, END, Word, encode_words
from .corpora import data_folder
from .language import check_language
from .scalar_mix import mix
from .softmax import Softmax, Vocabulary
from .text import token_lists, tokenize
from .token_encoder import TokenEncoder

Sentence = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class ElmoConfig:
    """Sizes of the model and how it cuts text. ``dim`` is the width of each direction; vectors are 2 * dim wide."""

    lang: str = "en"
    dim: int = 64
    n_layers: int = 2
    char_dim: int = 32
    filters: tuple[tuple[int, int], ...] = ((1, 32), (2, 64), (3, 128), (4, 128), (5, 128))
    n_highway: int = 2
    dropout: float = 0.1
    lower: bool = True
    keep: tuple[str, ...] = ()


class Spelling(NamedTuple):
    """Words encoded from their characters: vectors (n_words, dim), and which row is whose."""

    rows: dict[Word, int]
    vectors: Tensor


class Expectation(NamedTuple):
    """What each direction expects at a place, from its own side only: (word, probability), best first."""

    forward: list[tuple[str, float]]
    backward: list[tuple[str, float]]


class Elmo(nn.Module):
    """A character-based two-directional language model whose layers serve as contextual word vectors."""

    def __init__(self, config: ElmoConfig, vocabulary: Vocabulary | None = None, keep: Tensor | None = None) -> None:
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.encoder = TokenEncoder(config.dim, config.char_dim, config.filters, config.n_highway)
        self.bilm = BiLM(config.dim, config.n_layers, config.dropout)
        self.softmax = Softmax(len(vocabulary), config.dim, keep) if vocabulary else None
        self.history: list[dict[str, Any]] = []  # one entry an epoch, written by training
        self.snapshots: list[list[np.ndarray]] = []  # layers of watched sentences after each epoch
        self.record: dict[str, Any] = {}  # how it was trained: config, text, warm start
        self.training_state: dict[str, Tensor] = {}  # what resuming needs beside the weights

    # ------------------------------------------------------------ the model

    def spell(self, sentences: Iterable[Sequence[Word]]) -> Spelling:
        """Context-free vectors of all words in tokenised sentences, each distinct word encoded once."""
        words = list(dict.fromkeys([BEGIN, END, *(word for sentence in sentences for word in sentence)]))
        chunks = [self.encoder(encode_words(words[i : i + 1024]).to(self.device)) for i in range(0, len(words), 1024)]
        return Spelling({word: i for i, word in enumerate(words)}, torch.cat(chunks))

    def forward(
        self,
        sentences: Sequence[Sequence[str]],
        spelling: Spelling | None = None,
        state: State | None = None,
        return_state: bool = False,
    ) -> tuple[Tensor, Tensor, State | None]:
        """Tokenised sentences -> all layers (n_layers + 1, batch, longest + 2, 2 * dim), lengths (batch,), state.

        The boundaries are still in: place 0 is the sentence's beginning, place length - 1 its end. ``spelling`` may hold the
        words' vectors already.
        """
        row_of, vectors = spelling or self.spell(sentences)
        rows = [[row_of[BEGIN], *(row_of[word] for word in sentence), row_of[END]] for sentence in sentences]
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.tensor([row + [0] * (int(lengths.max()) - len(row)) for row in rows])  # (batch, longest + 2)
        words = F.embedding(ids.to(self.device), vectors)  # (batch, longest + 2, dim)
        layers, state = self.bilm(words, lengths.to(self.device), state, return_state)
        return layers, lengths, state

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def layer_names(self) -> list[str]:
        """ "0: characters", "1: LSTM", "2: LSTM"."""
        return ["0: characters", *(f"{i}: LSTM" for i in range(1, self.config.n_layers + 1))]

    # ------------------------------------------------------------ using it

    def tokenize(self, sentence: str) -> list[str]:
        """Cut a string as this model's training text was cut."""
        return tokenize(sentence, self.config.lang, self.config.keep, self.config.lower)

    def prepare(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        """Strings are tokenised, tokens normalised as in training; bad items raise an error that names them."""
        return token_lists(sentences, self.config.lang, self.config.keep, self.config.lower)

    @torch.no_grad()
    def embed(
        self,
        sentences: Sequence[Sentence],
        *,
        batch_size: int = 32,
        state: State | None = None,
        return_state: bool = False,
    ) -> Any:
        """All layers of each sentence, in input order: a list of float32 arrays (n_layers + 1, n_tokens, 2 * dim).

        Sentences are strings or lists of tokens; a blank one gives (n_layers + 1, 0, 2 * dim). The result depends on the
        sentence alone, not on its companions, their order or ``batch_size``. ``state`` (one row a sentence, zero when left
        out) goes in and, with ``return_state=True``, comes back as second result; nothing is remembered in between.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        tokens = self.prepare(sentences)
        if state is not None and state.output.shape[2] != len(tokens):
            raise ValueError(f"the state has {state.output.shape[2]} rows, there are {len(tokens)} sentences")
        was_training = self.training
        self.eval()
        try:
            return self._embed(tokens, batch_size, state, return_state)
        finally:
            self.train(was_training)

    def _embed(self, tokens: list[list[str]], batch_size: int, state: State | None, return_state: bool) -> Any:
        width, n_layers = self.config.dim, self.config.n_layers
        results = [np.zeros((n_layers + 1, 0, 2 * width), np.float32) for _ in tokens]
        if state is None:
            zero = torch.zeros(2, n_layers, len(tokens), width, device=self.device)
            state = State(zero, zero)
        after = State(state.output.clone(), state.cell.clone())
        spelling = self.spell(tokens)
        by_length = sorted((i for i, sentence in enumerate(tokens) if sentence), key=lambda i: len(tokens[i]))
        for begin in range(0, len(by_length), batch_size):
            chosen = by_length[begin : begin + batch_size]
            start = State(state.output[:, :, chosen], state.cell[:, :, chosen])
            layers, lengths, end = self([tokens[i] for i in chosen], spelling, start, return_state)
            for row, i in enumerate(chosen):
                results[i] = layers[:, row, 1 : int(lengths[row]) - 1].cpu().numpy().copy()
            if end is not None:
                after.output[:, :, chosen], after.cell[:, :, chosen] = end
        return (results, after) if return_state else results

    def mix(self, layers: np.ndarray, weights: Sequence[float], gamma: float = 1.0) -> np.ndarray:
        """gamma * sum_j weights[j] * layers[j]: (n_layers + 1, n, dim) -> (n, dim), with exactly the weights shown."""
        return mix(layers, weights, gamma)

    @torch.no_grad()
    def guess(self, sentence: Sentence, position: int, top: int = 10) -> Expectation:
        """What the forward direction expects at ``position`` (0-based) from its left, and the backward one from its right.

        The word that stands there is not looked at. ``IndexError`` if there is no such position.
        """
        if self.softmax is None or self.vocabulary is None:
            raise ValueError("this model has no output vocabulary, so it cannot guess words")
        tokens = self.prepare([sentence])[0]
        if not 0 <= position < len(tokens):
            raise IndexError(f"position {position} is not in a sentence of {len(tokens)} tokens")
        was_training = self.training
        self.eval()
        layers, _, _ = self([tokens])
        self.train(was_training)
        ahead, behind = layers[-1, 0, position, : self.config.dim], layers[-1, 0, position + 2, self.config.dim :]
        chances = self.softmax.log_probabilities(torch.stack([ahead, behind])).exp()
        return Expectation(*(self._best(row, top) for row in chances))

    def _best(self, chances: Tensor, top: int) -> list[tuple[str, float]]:
        assert self.vocabulary is not None
        best = chances.topk(min(top, len(chances)))
        return [(self.vocabulary.words[i], p) for p, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)]

    # ------------------------------------------------------------ keeping it

    def save(self, folder: str | Path, *, resumable: bool = True, half: bool = False) -> None:
        """Write a checkpoint folder; with ``resumable`` also what training needs to go on, with ``half`` in half precision."""
        tensors = {name: t.half() if half else t for name, t in self.state_dict().items()}
        if resumable:
            tensors |= {f"training/{name}": tensor for name, tensor in self.training_state.items()}
        vocabulary = {"words": self.vocabulary.words, "counts": self.vocabulary.counts} if self.vocabulary else None
        data = {
            "config": dataclasses.asdict(self.config),
            "history": self.history,
            "record": self.record,
            "vocabulary": vocabulary,
        }
        checkpoints.write(folder, tensors, data)


def load(name: str | Path) -> Elmo:
    """A shipped model, "zh" or "en", or one saved in a folder; ready to embed. ``CheckpointError`` if it cannot be read."""
    folder = data_folder() / "pretrained" / name if name in ("zh", "en") else Path(name)
    tensors, data = checkpoints.read(folder)
    try:
        model = Elmo(_config(data["config"]), Vocabulary(**data["vocabulary"]) if data["vocabulary"] else None)
        model.history, model.record = data["history"], data["record"]
        weights = {k: t.float() for k, t in tensors.items() if not k.startswith("training/")}
        model.training_state = {k.removeprefix("training/"): t for k, t in tensors.items() if k.startswith("training/")}
        model.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n")[0]
        raise checkpoints.CheckpointError(f"{folder}: data.json and tensors.safetensors don't fit: {reason}") from error
    return model.eval()


def _config(values: dict[str, Any]) -> ElmoConfig:
    filters = tuple((int(width), int(count)) for width, count in values["filters"])
    keep = tuple(values["keep"])
    if not all(isinstance(word, str) for word in keep):
        raise TypeError(f"keep must hold words, got {keep}")
    return ElmoConfig(**{**values, "filters": filters, "keep": keep, "lang": check_language(values["lang"])})
