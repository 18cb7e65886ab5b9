"""Training: warm start from static vectors, the joint objective of both directions, and the loop around them.

Objective (Peters et al. 2018, section 3.1): the mean of the forward and the backward cross entropy; characters and
softmax are shared by both directions, the LSTM stacks are not. Every random choice of a step follows from (seed, step)
alone, so a run that was interrupted and resumed makes the same choices as one that was not.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import random
import signal
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from gensim.models import KeyedVectors
from torch import Tensor
from tqdm.auto import tqdm

from . import corpora, static
from .characters import encode_words
from .elmo import Elmo, ElmoConfig, Sentence, Spelling, load
from .language import check_language, say
from .softmax import UNKNOWN, Vocabulary, draw_negatives
from .text import check_sentences, normalise


@dataclasses.dataclass(frozen=True)
class TrainConfig(ElmoConfig):
    """The class-room configuration: the model's sizes (``ElmoConfig``) and how it is trained; every field can be changed.

    ``keep`` left empty stands for ``corpora.keep_words(lang)``. ``target_keep`` is the t of sqrt(t / frequency), the chance
    that a target is kept (None keeps all). ``learning_rate`` is the highest one; None is 1e-3 after a warm start, whose
    picture a higher one blurs, and 1e-2 from scratch, where that gives the lower perplexity. ``warm_steps`` bounds the fit of
    the character CNN to the static vectors; ``damping`` is the a of a / (a + frequency) by which frequent words are learned
    more softly and drawn less often (None: all alike).
    """

    epochs: int = 4
    batch_tokens: int = 1024
    max_length: int = 60
    learning_rate: float | None = None
    clip_norm: float = 5.0
    min_count: int = 2
    max_words: int = 30_000
    negatives: int = 1024
    target_keep: float | None = 3e-4
    held_out: float = 0.02
    warm_start: bool = True
    warm_steps: int = 2400
    warm_batch: int = 256
    warm_rate: float = 6e-3
    damping: float | None = 3e-4
    tune_characters: bool = False
    seed: int = 1

    @property
    def peak_rate(self) -> float:
        """The highest learning rate of the language model."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 1e-3 if self.warm_start else 1e-2

    def model_config(self) -> ElmoConfig:
        """The part that describes the model."""
        shared = {field.name: getattr(self, field.name) for field in dataclasses.fields(ElmoConfig)}
        return ElmoConfig(**(shared | {"keep": self.keep or corpora.keep_words(self.lang)}))


CLASSROOM_WORD2VEC: dict[str, Any] = {
    "vector_size": 64,
    "epochs": 4,
    "min_count": 3,
    "window": 8,
    "sample": 1e-4,
    "alpha": 0.05,
}


def classroom(lang: str, **changes: Any) -> tuple[Elmo, KeyedVectors]:
    """Train what a class trains: Word2Vec on all background text, then the tiny ELMo on the class-room text.

    ``changes`` are fields of ``TrainConfig``, such as ``warm_start=False``. Returns the model and the static vectors.
    """
    text = corpora.classroom(lang)
    vectors = static.word2vec(text.background, **CLASSROOM_WORD2VEC)
    return train(text.sentences, TrainConfig(lang=lang, **changes), vectors=vectors), vectors


# ---------------------------------------------------------------- the warm start


def standardised(vectors: KeyedVectors) -> Tensor:
    """The vectors centred and brought to one length, sqrt(dim), so that a rare word speaks as loud as a frequent one.

    (n_words, dim) with entries of about unit variance.
    """
    table = torch.from_numpy(np.array(vectors.vectors))
    return F.normalize(table - table.mean(0), dim=1) * math.sqrt(table.shape[1])


def start_softmax(model: Elmo, vectors: KeyedVectors) -> None:
    """Start the softmax weights from the static vectors (x 0.3) and its bias from the words' log frequencies."""
    assert model.softmax is not None and model.vocabulary is not None
    table = standardised(vectors)
    known = [(i, vectors.key_to_index[w]) for i, w in enumerate(model.vocabulary.words) if w in vectors.key_to_index]
    counts = torch.tensor(model.vocabulary.counts, dtype=torch.float32)
    with torch.no_grad():
        model.softmax.weight.mul_(0.3)
        if known:
            model.softmax.weight[[i for i, _ in known]] = 0.3 * table[[j for _, j in known]]
        model.softmax.bias.copy_((counts / counts.mean() * model.softmax.keep).log())


def start_bilm(model: Elmo, remember: float = 0.8, share: float = 0.25) -> None:
    """Start every LSTM as a running average of what it reads: c_t = ``remember`` * c_(t-1) + tanh(``share`` * x_t) / 2.

    The forget gates stand at ``remember``, the other gates half open, the candidate is the input itself; a tenth of the
    random start stays, so that no two units are alike. With static vectors below, the states are sentence averages that
    know near words from far ones, and the language model goes on from there.
    """
    dim = model.config.dim
    with torch.no_grad():
        for lstm in (*model.bilm.forward_layers, *model.bilm.backward_layers):  # rows: input, forget, candidate, output
            lstm.weight_ih_l0.mul_(0.1)
            lstm.weight_hh_l0.mul_(0.1)
            lstm.weight_ih_l0[2 * dim : 3 * dim] += share * torch.eye(dim)
            lstm.bias_ih_l0.zero_()
            lstm.bias_hh_l0.zero_()
            lstm.bias_ih_l0[dim : 2 * dim] = math.log(remember / (1 - remember))


class EncoderFit:
    """Teaches the character CNN to spell out static vectors: mean squared error, words drawn by their damped count.

    The count is that in ``text``, which the language model will read, plus ``ELSEWHERE`` of that in the static vectors' own
    text: other words are met too, only less often. Damping is a / (a + frequency), smooth inverse frequency (Arora et al.
    2017): "the" says little, however often. It scales the vector of a word and the chance that the word is drawn.
    """

    ELSEWHERE = 0.05

    def __init__(self, vectors: KeyedVectors, text: Iterable[Sequence[str]], config: TrainConfig) -> None:
        self.config = config
        counts = torch.tensor([vectors.get_vecattr(word, "count") for word in vectors.index_to_key], dtype=torch.float64)
        damping = torch.ones_like(counts)
        if config.damping is not None:
            damping = config.damping / (config.damping + counts / counts.sum())
        self.target = standardised(vectors) * damping.float()[:, None]
        self.ids = encode_words(vectors.index_to_key)
        read = Counter(word for sentence in text for word in sentence)
        reads = torch.tensor([read[word] for word in vectors.index_to_key], dtype=torch.float64)
        self.chance = (reads + self.ELSEWHERE * counts) * damping
        chosen = torch.Generator().manual_seed(config.seed)
        self.judged = torch.multinomial(self.chance, 2000, replacement=True, generator=chosen)

    def loss(self, model: Elmo) -> Tensor:
        """Squared error of one random batch of words."""
        drawn = torch.multinomial(self.chance, self.config.warm_batch, replacement=True)
        return F.mse_loss(model.encoder(self.ids[drawn]), self.target[drawn])

    @torch.no_grad()
    def missed(self, model: Elmo) -> float:
        """Share of the vectors' variance that the CNN misses, words weighted as they are drawn (1 is nothing learned)."""
        target = self.target[self.judged]
        return (F.mse_loss(model.encoder(self.ids[self.judged]), target) / target.var(0, correction=0).mean()).item()


# ---------------------------------------------------------------- the objective


def targets_of(model: Elmo, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    """Word ids to predict from each place of ``Elmo.forward``: forward and backward, each (batch, longest + 2).

    Place 0 is the sentence's beginning. The forward state at place p predicts the word at p + 1, the backward state the word at
    p - 1; ``UNKNOWN`` stands where nothing is to be predicted or the word is not in the vocabulary.
    """
    assert model.vocabulary is not None
    longest = max(map(len, sentences)) + 2
    ahead = torch.full((len(sentences), longest), UNKNOWN)
    behind = torch.full((len(sentences), longest), UNKNOWN)
    for row, sentence in enumerate(sentences):
        ids = torch.tensor([model.vocabulary.id(word) for word in sentence])
        ahead[row, : len(sentence)] = ids
        behind[row, 2 : len(sentence) + 2] = ids
    return ahead, behind


def directions(model: Elmo, layers: Tensor, sentences: Sequence[Sequence[str]]) -> list[tuple[Tensor, Tensor]]:
    """For each direction the top-layer states (n, dim) that have a known word to predict, and these words (n,)."""
    found = []
    for hidden, target in zip(layers[-1].chunk(2, dim=-1), targets_of(model, sentences), strict=True):
        known = target != UNKNOWN
        found.append((hidden[known], target[known]))
    return found


def joint_loss(
    model: Elmo, sentences: Sequence[Sequence[str]], config: TrainConfig, apart: Tensor, spelling: Spelling | None = None
) -> Tensor:
    """Half the forward plus half the backward cross entropy of a batch; the two are written into ``apart`` (2,)."""
    assert model.softmax is not None and model.vocabulary is not None
    layers, _, _ = model(sentences, spelling)
    negatives = draw_negatives(config.negatives, len(model.vocabulary))
    losses = []
    for hidden, target in directions(model, layers, sentences):
        # frequent words are targets less often, as in Word2Vec
        chosen = torch.rand(len(target)) < model.softmax.keep[target]
        hidden = F.dropout(hidden[chosen], config.dropout, model.training)
        losses.append(model.softmax.training_loss(hidden, target[chosen], negatives) if chosen.any() else hidden.sum())
    apart.copy_(torch.stack(losses).detach())
    return 0.5 * (losses[0] + losses[1])


@torch.no_grad()
def evaluate(model: Elmo, sentences: Sequence[Sequence[str]], batch_size: int = 32) -> dict[str, float]:
    """Perplexity of each direction over all known words of the text, and the share of words not known.

    The full softmax, corrected for kept targets: total loss / total words, so the batch size does not matter.
    """
    assert model.softmax is not None
    was_training = model.training
    model.eval()
    total, count = [0.0, 0.0], 0
    words = sum(map(len, sentences))
    ordered = sorted(sentences, key=len)
    for begin in range(0, len(ordered), batch_size):
        batch = ordered[begin : begin + batch_size]
        layers, _, _ = model(batch)
        for i, (hidden, target) in enumerate(directions(model, layers, batch)):
            for part in range(0, len(target), 512):
                total[i] += model.softmax.full_loss(hidden[part : part + 512], target[part : part + 512]).item()
        count += len(target)
    model.train(was_training)
    if not count:
        return {"forward": math.nan, "backward": math.nan, "unknown": 1.0 if words else math.nan}
    return {"forward": math.exp(total[0] / count), "backward": math.exp(total[1] / count), "unknown": 1 - count / words}


# ---------------------------------------------------------------- the loop


def train(
    sentences: Iterable[Sequence[str]],
    config: TrainConfig | None = None,
    *,
    resume: Elmo | str | Path | None = None,
    vectors: KeyedVectors | None = None,
    watch: Sequence[Sentence] = (),
    on_epoch: Callable[[Elmo], Any] | None = None,
    progress: bool = True,
) -> Elmo:
    """Train an ELMo on tokenised sentences; returns the model, ready to embed, with ``history`` (one entry an epoch).

    ``vectors`` are the static vectors of the warm start (Word2Vec is trained on the same sentences when left out).
    ``watch`` names sentences whose layers are kept after each epoch: ``model.snapshots[epoch]``, epoch 0 being the start.
    Interrupting (Ctrl-C, the stop button) returns the model as it stands; ``resume`` takes it, or the folder it was saved in,
    and goes on, with the same sentences and config, to the same end as without the interruption. A loss that is not finite
    stops training with a warning; the model keeps its last good state. Raises ``TypeError`` or ``ValueError`` for text that
    cannot be trained on (see ``check_sentences``), and for a ``resume`` that belongs to other text or another config.
    """
    config = config or TrainConfig()
    check_language(config.lang)
    sentences = _as_in_use(check_sentences(sentences), config)
    text = [part for sentence in sentences for part in _cut(sentence, config.max_length)]
    if len(text) < 2:
        raise ValueError(f"training needs at least 2 sentences that are not empty, got {len(text)}")
    fingerprint = zlib.crc32("\n".join(" ".join(sentence) for sentence in text).encode("utf-8"))
    held_out, text = _hold_out(text, config)
    with torch.random.fork_rng(devices=[]), _Interruption() as interruption, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "only the first 48 bytes")  # web addresses in a corpus are no news to a learner
        if resume is None:
            torch.manual_seed(config.seed)
            vocabulary = Vocabulary.build(text, config.min_count, config.max_words)
            model = Elmo(config.model_config(), vocabulary, vocabulary.keep_probability(config.target_keep))
            model.record = {"config": json.loads(json.dumps(dataclasses.asdict(config))), "text": fingerprint, "missed": []}
        else:
            model = resume if isinstance(resume, Elmo) else load(resume)
            _check_same(model, config, fingerprint)
        run = _Run(model, config, text, held_out, model.prepare(watch), on_epoch, interruption, progress)
        run.warm_up(vectors)
        run.learn()
    return model.eval()


class _Run:
    """One call of ``train``: optimiser and step, kept in ``model.training_state`` so that training can be resumed."""

    def __init__(
        self,
        model: Elmo,
        config: TrainConfig,
        text: list[list[str]],
        held_out: list[list[str]],
        watch: list[list[str]],
        on_epoch: Callable[[Elmo], Any] | None,
        interruption: _Interruption,
        progress: bool,
    ) -> None:
        self.model, self.config, self.text, self.held_out, self.watch = model, config, text, held_out, watch
        self.on_epoch, self.interruption, self.progress = on_epoch, interruption, progress
        self.stopped = self.broken = False
        state = model.training_state
        self.step = int(state.get("step", 0))
        self.learning = bool(state["learning"]) if state else not config.warm_start
        self.optimiser = self._optimiser(state)
        model.train()

    def warm_up(self, vectors: KeyedVectors | None) -> None:
        """Fit the character CNN to static vectors, start the softmax from them and the LSTMs as running averages."""
        if self.learning:
            return
        config, model = self.config, self.model
        if vectors is None:
            vectors = static.word2vec(self.text, vector_size=config.dim, min_count=config.min_count, seed=config.seed)
        if vectors.vector_size != config.dim:
            raise ValueError(f"the static vectors are {vectors.vector_size} wide, the model {config.dim}")
        fit = EncoderFit(vectors, self.text, config)
        if not model.training_state:  # not yet begun
            start_softmax(model, vectors)
            start_bilm(model)
        self._keep_good()
        name = say(zh="热启动：字符 CNN 学拼静态向量", en="warm start: characters learn to spell vectors")
        with tqdm(total=config.warm_steps, initial=self.step, desc=name, mininterval=0.5, disable=not self.progress) as bar:
            while self.step < config.warm_steps:
                if not self._update(lambda: fit.loss(model), one_cycle(self.step, config.warm_steps, config.warm_rate)):
                    break
                bar.update()
                if self.step % 250 == 0 or self.step == config.warm_steps:
                    model.record["missed"].append([self.step, fit.missed(model)])
                    bar.set_postfix_str(say(zh="未学到", en="missed") + f" {model.record['missed'][-1][1]:.0%}")
        if not self.stopped:
            self.learning, self.step, self.optimiser = True, 0, self._optimiser({})
        if not self.broken:
            self._remember()

    def learn(self) -> None:
        """The language model's epochs."""
        config, model = self.config, self.model
        if self.stopped:
            return
        self._keep_good()
        if not model.history:
            self._end_epoch(0, None, 0.0)
        plan = [len(batches(self.text, config, epoch)) for epoch in range(config.epochs)]
        # After a warm start the characters stay as fitted (unless told otherwise): words are spelled once, without gradient.
        frozen = config.warm_start and not config.tune_characters
        with torch.no_grad():
            spelling = model.spell(self.text) if frozen else None
        with tqdm(total=sum(plan), initial=self.step, mininterval=0.5, disable=not self.progress) as bar:
            for epoch, size in enumerate(plan):
                first, began = sum(plan[:epoch]), time.perf_counter()
                if self.stopped or self.step >= first + size:
                    continue
                bar.set_description(say(zh=f"第 {epoch + 1}/{config.epochs} 轮", en=f"epoch {epoch + 1} of {config.epochs}"))
                sums = model.training_state.get("sums", torch.zeros(2, dtype=torch.float64)).clone()
                for batch in batches(self.text, config, epoch)[self.step - first :]:
                    apart = torch.zeros(2, dtype=torch.float64)
                    loss = functools.partial(joint_loss, model, batch, config, apart, spelling)
                    if not self._update(loss, one_cycle(self.step, sum(plan), config.peak_rate)):
                        break
                    sums += apart
                    bar.update()
                if self.broken:
                    return
                finished = self.step == first + size
                self._remember(None if finished else sums)
                if finished:
                    self._end_epoch(epoch + 1, (sums / size).tolist(), time.perf_counter() - began)

    def _update(self, loss_of: Callable[[], Tensor], rate: float) -> bool:
        """One step of the optimiser; False, with nothing changed, when asked to stop or when the loss is not finite."""
        if self.interruption.requested:
            self.stopped = True
            told = f"stopped after step {self.step}; the model is usable, resume= goes on from here"
            print(say(zh=f"已在第 {self.step} 步停下；模型可用，可用 resume= 继续。", en=told))
            return False
        torch.manual_seed(self.config.seed * 1_000_003 + self.step)  # all chance of this step
        self.optimiser.zero_grad(set_to_none=True)
        loss = loss_of()
        if loss.isfinite():
            loss.backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        if not (loss.isfinite() and norm.isfinite()):
            told = f"the loss of step {self.step} is not finite; training stops, the model goes back to its last good state"
            self._go_back()
            warnings.warn(told, stacklevel=4)
            return False
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.step += 1
        return True

    def _keep_good(self) -> None:
        """Note a state to go back to: the weights, and what resuming from here needs."""
        self._remember(self.model.training_state.get("sums"))
        self.good = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}, self.model.training_state

    def _go_back(self) -> None:
        """The last good state again, after a loss that was not finite."""
        self.stopped = self.broken = True
        weights, self.model.training_state = self.good
        self.model.load_state_dict(weights)

    def _end_epoch(self, epoch: int, losses: list[float] | None, seconds: float) -> None:
        """Write the epoch's line of ``history``, keep the watched sentences' layers, and tell the caller."""
        model = self.model
        entry: dict[str, Any] = {"epoch": epoch, "step": self.step, "seconds": round(seconds, 1)}
        if losses:
            entry["sampled_loss"] = {"forward": losses[0], "backward": losses[1]}
        entry["training"] = evaluate(model, self.text[: len(self.held_out)])
        entry["held_out"] = evaluate(model, self.held_out)
        model.history.append(entry)
        self._keep_good()
        if self.watch:
            model.snapshots.append(model.embed(self.watch))
        if self.progress:
            tqdm.write(describe(entry))
        if self.on_epoch is not None:
            try:
                self.on_epoch(model)
            except KeyboardInterrupt:
                self.interruption.requested = True

    def _optimiser(self, state: dict[str, Tensor]) -> torch.optim.Optimizer:
        named = dict(self.model.named_parameters())
        optimiser = torch.optim.Adam(named.values(), lr=self.config.peak_rate, fused=True)
        for name, parameter in named.items():
            if f"mean/{name}" in state:
                optimiser.state[parameter] = {
                    "step": state[f"steps/{name}"].clone(),
                    "exp_avg": state[f"mean/{name}"].clone(),
                    "exp_avg_sq": state[f"square/{name}"].clone(),
                }
        return optimiser

    def _remember(self, sums: Tensor | None = None) -> None:
        """Put what resuming needs beside the weights."""
        state = {"step": torch.tensor(self.step), "learning": torch.tensor(self.learning)}
        if sums is not None:
            state["sums"] = sums
        for name, parameter in self.model.named_parameters():
            if moments := self.optimiser.state.get(parameter):
                state |= {f"steps/{name}": moments["step"].clone(), f"mean/{name}": moments["exp_avg"].clone(),
                          f"square/{name}": moments["exp_avg_sq"].clone()}  # fmt: skip
        self.model.training_state = state


class _Interruption:
    """While active, Ctrl-C and the stop button ask for a stop after the current step; a second time they stop at once."""

    def __enter__(self) -> _Interruption:
        self.requested = False
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, *_: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


def batches(sentences: Sequence[Sequence[str]], config: TrainConfig, epoch: int) -> list[list[Sequence[str]]]:
    """One epoch's batches: sentences of like length together, about ``batch_tokens`` tokens each, in an order of its own."""
    chance = random.Random(f"{config.seed} {epoch}")
    order = sorted(sentences, key=lambda sentence: len(sentence) + 3 * chance.random())
    found: list[list[Sequence[str]]] = [[]]
    for sentence in order:
        if found[-1] and (len(found[-1]) + 1) * len(sentence) > config.batch_tokens:
            found.append([])
        found[-1].append(sentence)
    chance.shuffle(found)
    return found


def one_cycle(step: int, total: int, peak: float) -> float:
    """Learning rate of a step: up in a straight line for the first 15 %, then down along a cosine (Smith 2018)."""
    rise = max(1, round(0.15 * total))
    if step < rise:
        return peak * (step + 1) / rise
    return peak * max(0.02, 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, total - rise))))


def describe(entry: dict[str, Any]) -> str:
    """One epoch in a line: perplexity of both directions on training and held-out text, and the share of unknown words."""
    train, held = (f"→ {entry[t]['forward']:.0f} ← {entry[t]['backward']:.0f}" for t in ("training", "held_out"))
    epoch, unknown, seconds = entry["epoch"], entry["held_out"]["unknown"], entry["seconds"]
    return say(
        zh=f"第 {epoch} 轮：困惑度 训练 {train}，留出 {held}；未登录词 {unknown:.1%}；{seconds:.0f} 秒",
        en=f"epoch {epoch}: perplexity training {train}, held out {held}; unknown words {unknown:.1%}; {seconds:.0f} s",
    )


def _as_in_use(sentences: list[list[str]], config: TrainConfig) -> list[list[str]]:
    """Tokens normalised and in the case in which the model will meet them later."""
    form = {token: normalise(token) for sentence in sentences for token in sentence}
    if config.model_config().lower:
        form = {token: plain.lower() for token, plain in form.items()}
    return [[form[token] for token in sentence] for sentence in sentences]


def _cut(sentence: list[str], longest: int) -> list[list[str]]:
    """A sentence in stretches of at most ``longest`` tokens; nothing is lost."""
    return [sentence[i : i + longest] for i in range(0, len(sentence), longest)]


def _hold_out(text: list[list[str]], config: TrainConfig) -> tuple[list[list[str]], list[list[str]]]:
    """Held-out and training sentences in a random order; no sentence is in both, however often the text repeats it.

    (Only a text that is one sentence over and over holds out what it trains on.)
    """
    chance = random.Random(config.seed)
    different = [list(sentence) for sentence in dict.fromkeys(map(tuple, text))]
    chance.shuffle(different)
    held_out = different[: min(max(1, round(len(different) * config.held_out)), 500)]
    away = set(map(tuple, held_out))
    kept = [sentence for sentence in text if tuple(sentence) not in away] or list(text)
    chance.shuffle(kept)
    return held_out, kept


def _check_same(model: Elmo, config: TrainConfig, fingerprint: int) -> None:
    """Resuming is only meaningful with the same config and text."""
    before = model.record.get("config")
    if not model.training_state or before is None:
        raise ValueError("this model holds no training state to resume; it was saved without it, or not trained here")
    now = json.loads(json.dumps(dataclasses.asdict(config)))
    if changed := [name for name in now if now[name] != before.get(name)]:
        raise ValueError(
            "resume wants the same config; changed: " + ", ".join(f"{n} {before.get(n)} -> {now[n]}" for n in changed)
        )
    if model.record["text"] != fingerprint:
        raise ValueError("resume wants the sentences the training began with; these are others")
