"""Training: nothing is learned from noise, much from rules; stop and go on without a trace; bad input is named."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gensim.models import KeyedVectors
from helpers import WORDS, random_model, toy_text, uniform_text

import elmo_lite as el
from elmo_lite.bilm import BiLM
from elmo_lite.softmax import Softmax
from elmo_lite.static import word2vec
from elmo_lite.token_encoder import TokenEncoder
from elmo_lite.training import EncoderFit, batches, describe, one_cycle, standardised, start_bilm


def tiny(**fields: Any) -> el.TrainConfig:
    """A configuration that trains in a second."""
    small: dict[str, Any] = {
        "dim": 8, "char_dim": 4, "filters": ((1, 6), (2, 8)), "epochs": 2, "batch_tokens": 160, "negatives": 8, "min_count": 1,
        "warm_steps": 30, "warm_batch": 32, "held_out": 0.1, "learning_rate": 5e-3,
    }  # fmt: skip
    known = {field.name for field in dataclasses.fields(el.TrainConfig)}
    return el.TrainConfig(**{name: value for name, value in {**small, **fields}.items() if name in known})


def train(sentences: Any, config: el.TrainConfig | None = None, **options: Any) -> el.Elmo:
    return el.train(sentences, tiny() if config is None else config, **{"progress": False, **options})


def weights(model: el.Elmo) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def history(model: el.Elmo) -> list[dict[str, Any]]:
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in model.history]


def assert_same_run(one: el.Elmo, other: el.Elmo) -> None:
    for name, tensor in weights(other).items():
        torch.testing.assert_close(one.state_dict()[name], tensor, atol=1e-6, rtol=0, msg=lambda text, n=name: f"{n}: {text}")
    assert len(one.history) == len(other.history)
    for first, second in zip(history(one), history(other), strict=True):
        assert first.keys() == second.keys()
        for field in first:
            assert first[field] == pytest.approx(second[field], rel=1e-6, nan_ok=True), field


# ---------------------------------------------------------------- what can be learned, and what cannot


@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize("negatives", [8, 100])
def test_L1_uniform_random_tokens_cannot_be_predicted(warm_start: bool, negatives: int) -> None:
    n_words = 40
    text = uniform_text(n_words, 900)
    model = train(text, tiny(warm_start=warm_start, negatives=negatives, batch_tokens=400, target_keep=0.01))
    fresh = uniform_text(n_words, 300, seed=9)  # text nobody has seen, beside the held-out part
    for figures in (model.history[-1]["held_out"], el.evaluate(model, fresh)):
        for side in ("forward", "backward"):
            assert 0.9 * n_words <= figures[side] <= 1.1 * n_words
        assert figures["unknown"] == 0


@pytest.mark.parametrize("warm_start", [True, False])
def test_rules_are_learned_in_both_directions(warm_start: bool) -> None:
    """A word follows from the one before: all but the first can be known. Without order the perplexity would be 12."""
    chance = random.Random(0)
    sentences = [[f"n{(start + 5 * i) % 12}" for i in range(12)] for start in (chance.randrange(12) for _ in range(250))]
    rules = tiny(
        warm_start=warm_start,
        tune_characters=True,
        epochs=10,  # LSTMs that start as averages come to order later than random ones (5 epochs)
        dim=16,
        learning_rate=3e-2,
        negatives=6,
        dropout=0.0,
        target_keep=None,
    )
    model = train(sentences, rules)
    first, last = model.history[0]["held_out"], model.history[-1]["held_out"]
    for side in ("forward", "backward"):
        assert last[side] < 3 < 6 < first[side]  # the best possible is 12 ** (1 / 12) = 1.23
    assert last["forward"] >= 1.15
    best = model.guess(["n0", "n5", "n10", "x", "n8"], 3)
    assert best.forward[0][0] == best.backward[0][0] == "n3"


def test_learning_lowers_the_loss_epoch_by_epoch() -> None:
    model = train(toy_text(1200), tiny(epochs=3, target_keep=None, learning_rate=2e-2))
    held_out = [entry["held_out"]["forward"] for entry in model.history]
    assert held_out[:3] == sorted(held_out[:3], reverse=True)
    assert 10 < held_out[-1] < 13  # two topics of ten words each: 20 without context, 11 with the best


# ---------------------------------------------------------------- perplexity


def unigram_model(chances: list[float], keep: list[float] | None = None) -> el.Elmo:
    """A model that knows how often words come and nothing else."""
    model = random_model(vocabulary=True)
    assert model.softmax is not None
    with torch.no_grad():
        model.softmax.weight.zero_()
        model.softmax.keep.copy_(torch.tensor(keep or [1.0] * len(chances)))
        model.softmax.bias.copy_(torch.tensor(chances).log() + model.softmax.keep.log())
    return model


@pytest.mark.parametrize("keep", [None, [0.1, 0.2, 0.5, *[1.0] * 7]])
def test_evaluate_gives_a_known_perplexity(keep: list[float] | None) -> None:
    chances = [0.3, 0.2, 0.1, 0.1, 0.1, 0.04, 0.04, 0.04, 0.04, 0.04]
    model = unigram_model(chances, keep)
    text = [["the", "bank", "the", "unheard"], ["我"], [], ["苹果", "苹果", "。"]]
    of = dict(zip(WORDS, chances, strict=True))
    losses = [-math.log(of[word]) for sentence in text for word in sentence if word != "unheard"]
    found = el.evaluate(model, text)
    assert found["forward"] == pytest.approx(math.exp(sum(losses) / 7), rel=1e-4)
    assert found["backward"] == pytest.approx(found["forward"], rel=1e-5)
    assert found["unknown"] == pytest.approx(1 / 8)


def test_L3_perplexity_does_not_depend_on_the_batch_size() -> None:
    model = random_model()
    chance = random.Random(3)
    text = [chance.choices([*WORDS, "unheard"], k=chance.randint(1, 25)) for _ in range(45)]
    found = [el.evaluate(model, text, batch_size=size) for size in (1, 4, 32)]
    for one in found[1:]:
        for side in ("forward", "backward", "unknown"):
            assert one[side] == pytest.approx(found[0][side], rel=1e-4)
    assert found[0]["forward"] != found[0]["backward"]
    # total loss / total words, and not a mean of means
    apart = [el.evaluate(model, [sentence]) for sentence in text]
    sizes = [sum(word != "unheard" for word in sentence) for sentence in text]
    total = sum(n * math.log(one["forward"]) for n, one in zip(sizes, apart, strict=True) if n)
    assert found[0]["forward"] == pytest.approx(math.exp(total / sum(sizes)), rel=1e-4)


def test_evaluate_without_known_words() -> None:
    model = random_model()
    assert math.isnan(el.evaluate(model, [])["forward"])
    assert el.evaluate(model, [["x", "y"]])["unknown"] == 1
    assert not model.training


# ---------------------------------------------------------------- repeatable


def test_same_seed_same_vectors() -> None:
    text = toy_text(80)
    torch.manual_seed(1)
    one = train(text)
    torch.manual_seed(2)
    random.seed(3)
    before = torch.get_rng_state()
    other = train(text)
    assert torch.equal(torch.get_rng_state(), before)  # other people's chance is left alone
    for name, tensor in weights(one).items():
        assert torch.equal(tensor, other.state_dict()[name]), name
    assert history(one) == history(other)
    np.testing.assert_array_equal(one.embed(["fruit1 phone2"])[0], other.embed(["fruit1 phone2"])[0])
    third = train(text, tiny(seed=2))
    assert np.abs(third.embed(["fruit1"])[0] - one.embed(["fruit1"])[0]).max() > 1e-3


def test_training_does_not_change_the_text() -> None:
    text = toy_text(40)
    kept = copy.deepcopy(text)
    train(text)
    assert text == kept


# ---------------------------------------------------------------- stop and go on


TEXT = toy_text(120, seed=4)
WATCH = [["fruit1", "fruit2"], ["phone3"]]


Straight = tuple[el.TrainConfig, el.Elmo, int, list[int]]


def count_calls(monkeypatch: pytest.MonkeyPatch, at: int | None = None) -> list[int]:
    """Count the calls of token encoder and LSTMs, one of which every step and evaluation uses; press Ctrl-C at one of them."""
    calls = [0]

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **keywords: Any) -> Any:
            calls[0] += 1
            if calls[0] == at:
                signal.raise_signal(signal.SIGINT)
            return real(*arguments, **keywords)

        return counting

    for room in (TokenEncoder, BiLM):
        monkeypatch.setattr(room, "forward", watched(room.forward))
    return calls


@pytest.fixture(scope="module", params=["warm", "tuned", "scratch"])
def straight(request: pytest.FixtureRequest) -> Straight:
    """A run without interruption, how many calls it took, and after how many each epoch ended."""
    config = tiny(warm_start=request.param != "scratch", tune_characters=request.param == "tuned", epochs=3)
    ends: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        calls = count_calls(patch)
        model = train(TEXT, config, watch=WATCH, on_epoch=lambda _: ends.append(calls[0]))
    return config, model, calls[0], ends


def resume(model: el.Elmo, config: el.TrainConfig, folder: Path | None, **options: Any) -> el.Elmo:
    """Go on from the object, or from the folder it was saved in."""
    if folder is None:
        return train(TEXT, config, resume=model, **options)
    model.save(folder)
    return train(TEXT, config, resume=folder, **options)


@pytest.mark.parametrize("saved", [False, True], ids=["object", "folder"])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.45, 0.7, 0.9])
def test_L13_interrupted_and_resumed_is_as_uninterrupted(
    straight: Straight, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, share: float, saved: bool
) -> None:
    """Ctrl-C anywhere: in the warm start, in the middle of an epoch, in an evaluation."""
    config, whole, total, _ = straight
    with monkeypatch.context() as patch:
        calls = count_calls(patch, at=1 + int(share * total))
        model = train(TEXT, config, watch=WATCH)
    assert not model.training
    if share < 0.8:
        assert calls[0] < total and len(model.history) < len(whole.history)
    assert np.isfinite(model.embed(["fruit1 phone2"])[0]).all()  # usable at once
    model.guess("fruit1 phone2", 0)
    assert_same_run(resume(model, config, tmp_path / "m" if saved else None), whole)


def test_L13_interrupted_in_the_middle_of_every_part(
    straight: Straight, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several interruptions of one run, each in another part, each from the folder the last one left."""
    config, whole, _, ends = straight
    model, offset = None, 0
    middles = [(a + b) // 2 for a, b in itertools.pairwise(ends)]
    if config.warm_start:
        middles.insert(0, ends[0] // 3)
    for number, place in enumerate(middles):
        with monkeypatch.context() as patch:
            calls = count_calls(patch, at=max(1, place - offset))
            source = None if model is None else tmp_path / f"m{number - 1}"
            model = train(TEXT, config, resume=source, watch=WATCH)
            offset += calls[0]
        assert len(model.history) < len(whole.history)
        model.save(tmp_path / f"m{number}")
    assert_same_run(train(TEXT, config, resume=tmp_path / f"m{len(middles) - 1}"), whole)


@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_L13_stop_from_on_epoch(straight: Straight, tmp_path: Path, epoch: int) -> None:
    config, whole, _, _ = straight

    def stop(model: el.Elmo) -> None:
        if len(model.history) == epoch + 1:
            raise KeyboardInterrupt

    model = train(TEXT, config, on_epoch=stop)
    assert [entry["epoch"] for entry in model.history] == list(range(epoch + 1))
    assert_same_run(resume(model, config, tmp_path / "m"), whole)


def test_interruption_while_word2vec_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stop button before the first step: also then resuming ends where the straight run ends."""
    config = tiny(epochs=1, max_words=15)
    whole = train(TEXT, config)
    from elmo_lite import static

    def interrupted(*arguments: Any, **keywords: Any) -> KeyedVectors:
        vectors = word2vec(*arguments, **keywords)
        signal.raise_signal(signal.SIGINT)
        return vectors

    with monkeypatch.context() as patch:
        patch.setattr(static, "word2vec", interrupted)
        model = train(TEXT, config)
    assert model.history == [] and np.isfinite(model.embed(["fruit1"])[0]).all()
    assert_same_run(train(TEXT, config, resume=model), whole)


def test_interruption_before_the_first_step_with_own_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own vectors need not hold every word: what is started once must not be started twice."""
    config = tiny(epochs=1)
    of_fruit = [sentence for sentence in TEXT if sentence[0].startswith("fruit")]
    vectors = word2vec(of_fruit, vector_size=8, min_count=1)
    whole = train(TEXT, config, vectors=vectors)
    with monkeypatch.context() as patch:
        count_calls(patch, at=1)
        first = train(TEXT, config, vectors=vectors)
    real = el.training.tqdm

    def pressed(*arguments: Any, **keywords: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments, **keywords)

    assert first.history == []
    with monkeypatch.context() as patch:
        patch.setattr(el.training, "tqdm", pressed)
        second = train(TEXT, config, vectors=vectors)  # stopped before any step
    assert second.history == []
    for model in (first, second):
        assert_same_run(train(TEXT, config, resume=model, vectors=vectors), whole)


def test_signal_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    train(TEXT[:20])
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ValueError, match="no word is left"):
        train(TEXT, tiny(min_count=10**6))
    assert signal.getsignal(signal.SIGINT) is before

    def fails(_: el.Elmo) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        train(TEXT[:20], on_epoch=fails)
    assert signal.getsignal(signal.SIGINT) is before


def test_resuming_a_finished_run_changes_nothing(straight: Straight, tmp_path: Path) -> None:
    config, whole, _, _ = straight
    before, told = weights(whole), history(whole)
    whole.save(tmp_path / "m")
    again = train(TEXT, config, resume=tmp_path / "m")
    assert history(again) == told
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in before.items())


def test_tokens_that_no_file_can_hold_are_trained_on_and_saved(tmp_path: Path) -> None:
    model = train([["apple", "\ud83d"], ["bank", "\ud83d", "apple"]] * 10, tiny(warm_start=False, epochs=1))
    assert model.vocabulary is not None and "\ufffd" in model.vocabulary
    model.save(tmp_path / "model")
    again = el.load(tmp_path / "model")
    assert np.array_equal(again.embed([["\ud83d"]])[0], model.embed([["\ufffd"]])[0])


def test_words_to_keep_and_case_are_part_of_the_config() -> None:
    text = [el.tokenize(sentence, keep=("New",), lower=False) for sentence in ["New Apple", "An Apple", "New Bank"] * 5]
    model = train(text, tiny(warm_start=False, epochs=1, lower=False, keep=("New",)))
    assert model.config.keep == ("New",) and model.prepare(["A New Apple"]) == [["A", "New", "Apple"]]
    assert tiny().model_config().keep == el.corpora.keep_words("en")


def test_resume_refuses_other_text_and_config(straight: Straight, tmp_path: Path) -> None:
    config, whole, _, _ = straight
    for other in (TEXT[:-1], TEXT[1:] + TEXT[:1], [*TEXT[:-1], ["fruit1"]]):
        with pytest.raises(ValueError, match="sentences"):
            train(other, config, resume=whole)
    with pytest.raises(ValueError, match=r"epochs 3 -> 4.*seed 1 -> 7"):
        train(TEXT, dataclasses.replace(config, epochs=4, seed=7), resume=whole)
    whole.save(tmp_path / "bare", resumable=False)
    for model in (tmp_path / "bare", random_model()):
        with pytest.raises(ValueError, match="no training state"):
            train(TEXT, config, resume=model)
    with pytest.raises(el.checkpoints.CheckpointError, match="nowhere"):
        train(TEXT, config, resume=tmp_path / "nowhere")


# ---------------------------------------------------------------- a loss that is not finite


def fails_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Let the training loss be nan at one call."""
    calls, real = [0], Softmax.training_loss

    def poisoned(self: Softmax, *arguments: Any) -> torch.Tensor:
        calls[0] += 1
        loss = real(self, *arguments)
        return loss * math.nan if calls[0] == call else loss

    monkeypatch.setattr(Softmax, "training_loss", poisoned)


def assert_usable(model: el.Elmo) -> None:
    assert all(tensor.isfinite().all() for tensor in model.state_dict().values())
    assert np.isfinite(model.embed(["fruit1 phone2"])[0]).all()
    figures = el.evaluate(model, TEXT)
    assert np.isfinite(figures["forward"]) and np.isfinite(figures["backward"])


def test_loss_that_is_not_finite_stops_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    fails_at(monkeypatch, 15)
    with pytest.warns(UserWarning, match="not finite"):
        model = train(TEXT)
    assert len(model.history) < 3 and not model.training
    assert_usable(model)


def test_weights_that_are_not_finite_stop_with_a_warning() -> None:
    """A weight that turns into nan after the first epoch: the model goes back to its last good state."""

    def poison(model: el.Elmo) -> None:
        if len(model.history) == 2:
            with torch.no_grad():
                model.bilm.forward_layers[0].weight_ih_l0[0, 0] = math.nan

    with pytest.warns(UserWarning, match="not finite"):
        model = train(TEXT, on_epoch=poison)
    assert len(model.history) == 2
    assert_usable(model)


@pytest.mark.parametrize("rate", [1e30, 1e39])
def test_huge_learning_rate_stops_with_a_warning(rate: float) -> None:
    """The step that breaks the weights shows only in the loss of the next one: the state before it is the last good one."""
    with pytest.warns(UserWarning, match="not finite"):
        model = train(TEXT, tiny(warm_start=False, learning_rate=rate))
    assert_usable(model)


def test_huge_rate_of_the_warm_start_stops_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="not finite"):
        model = train(TEXT, tiny(warm_rate=1e39))
    assert_usable(model)


# ---------------------------------------------------------------- what is kept


def test_history_and_snapshots(straight: Straight) -> None:
    config, model, _, _ = straight
    assert [entry["epoch"] for entry in model.history] == [0, 1, 2, 3]
    for entry in model.history:
        assert entry["seconds"] >= 0 and isinstance(entry["step"], int)
        for part in ("training", "held_out"):
            assert set(entry[part]) == {"forward", "backward", "unknown"}
            assert all(np.isfinite(value) for value in entry[part].values())
    steps = [entry["step"] for entry in model.history]
    assert steps[0] == 0 and steps == sorted(set(steps))
    assert all(set(entry["sampled_loss"]) == {"forward", "backward"} for entry in model.history[1:])
    assert len(model.snapshots) == 4
    for layers in model.snapshots:
        assert [one.shape for one in layers] == [(3, 2, 16), (3, 1, 16)]
    for one, other in zip(model.snapshots[-1], model.embed(WATCH), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.abs(model.snapshots[0][0] - model.snapshots[-1][0]).max() > 1e-3
    assert model.config.dim == config.dim and model.record["config"]["epochs"] == 3


def test_sampled_loss_of_an_epoch_is_of_that_size() -> None:
    model = train(uniform_text(30, 300), tiny(warm_start=False, target_keep=None, negatives=1000))
    for side in ("forward", "backward"):  # with all words as negatives it is the plain loss: log 30
        assert model.history[-1]["sampled_loss"][side] == pytest.approx(math.log(30), abs=0.15)


def test_progress_says_epoch_perplexity_and_unknown_words(capsys: pytest.CaptureFixture[str]) -> None:
    text = [*toy_text(60), *([f"once{i}", "fruit1"] for i in range(40))]
    before = el.get_language()
    try:
        for language, words in (("en", ("epoch 1", "held out", "unknown words")), ("zh", ("第 1 轮", "留出", "未登录词"))):
            el.set_language(language)
            model = train(text, tiny(min_count=2, epochs=1), progress=True)
            shown = capsys.readouterr()
            assert all(word in shown.out for word in words)
            assert "%|" in shown.err  # the bar
            assert describe(model.history[-1]) in shown.out
        assert model.history[-1]["held_out"]["unknown"] > 0
        train(text, tiny(epochs=1))
        shown = capsys.readouterr()
        assert shown.out == "" and shown.err == ""
    finally:
        el.set_language(before)


def test_warm_start_brings_static_vectors_in() -> None:
    """After the fit the context-free layer keeps topics apart; from scratch it does not know them yet."""
    text = toy_text(600)

    def apart(model: el.Elmo) -> float:
        vectors = np.stack([one[0, 0, : model.config.dim] for one in model.snapshots[0]])
        vectors = vectors - vectors.mean(0)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        similar = unit @ unit.T
        return float((similar[:10, :10].mean() + similar[10:, 10:].mean()) / 2 - similar[:10, 10:].mean())

    watch = [[f"{topic}{i}"] for topic in ("fruit", "phone") for i in range(10)]
    vectors = word2vec(text, vector_size=8, sample=0, min_count=1)
    config = tiny(epochs=1, warm_steps=250, warm_rate=1e-2, filters=((1, 16), (3, 32)))
    model = train(text, config, vectors=vectors, watch=watch)
    missed = model.record["missed"]
    assert missed[-1][1] < 0.5  # the share of the vectors' variance that was not taken in
    assert apart(model) > 1.0


def test_characters_learn_frequent_words_more_softly() -> None:
    """The static vectors times a / (a + frequency); unchanged without damping."""
    vectors = word2vec(toy_text(300), vector_size=12)
    counts = np.array([vectors.get_vecattr(word, "count") for word in vectors.index_to_key])
    damped, plain = (EncoderFit(vectors, [], tiny(damping=a)).target for a in (0.02, None))
    assert torch.equal(plain, standardised(vectors))
    share = damped.norm(dim=1) / plain.norm(dim=1)
    np.testing.assert_allclose(share, 0.02 / (0.02 + counts / counts.sum()), rtol=1e-5)
    assert share[0] < share[-1]  # the most frequent word comes first


def test_characters_are_asked_for_words_by_their_damped_count() -> None:
    vectors = word2vec(toy_text(300), vector_size=12)
    counts = np.array([vectors.get_vecattr(word, "count") for word in vectors.index_to_key])
    rare = vectors.index_to_key[-1]
    text = [[rare, rare], ["unknown", rare]]
    damped, plain = (EncoderFit(vectors, text, tiny(damping=a)).chance.numpy() for a in (0.02, None))
    asked = 0.05 * counts
    asked[-1] += 3  # of the text that the language model will read
    np.testing.assert_allclose(plain, asked)
    np.testing.assert_allclose(damped, asked * 0.02 / (0.02 + counts / counts.sum()))


def test_lstms_start_as_running_averages() -> None:
    """A word leaves its vector in the state of its place, and ``remember`` times as much of it at each place further on."""
    model = train(toy_text(60), tiny(epochs=0))
    for weight in model.bilm.parameters():
        torch.nn.init.zeros_(weight)  # without the random tenth
    start_bilm(model, remember=0.8, share=1e-3)  # so small that no tanh leaves its straight part
    for lstm in (*model.bilm.forward_layers, *model.bilm.backward_layers):
        words = torch.zeros(1, 6, model.config.dim)
        words[0, 1] = torch.linspace(-1, 1, model.config.dim)
        with torch.no_grad():
            states = lstm(words)[0][0]
        expected = [0.0, *(0.25e-3 * 0.8**k for k in range(5))]  # half of it enters the cell, half of the cell is shown
        for state, share in zip(states, expected, strict=True):
            np.testing.assert_allclose(state.numpy(), share * words[0, 1].numpy(), atol=1e-8)


def test_the_running_average_is_the_start_of_training() -> None:
    """Before the first step of the language model the forget gates stand at 0.8; from scratch they do not."""
    for warm_start in (True, False):
        model = train(toy_text(60), tiny(epochs=0, warm_start=warm_start))
        dim = model.config.dim
        for lstm in (*model.bilm.forward_layers, *model.bilm.backward_layers):
            forget = torch.sigmoid(lstm.bias_ih_l0 + lstm.bias_hh_l0)[dim : 2 * dim]
            assert torch.allclose(forget, torch.tensor(0.8), atol=1e-6) is warm_start


@pytest.mark.parametrize("tune", [False, True])
def test_characters_stay_as_fitted_unless_tuned(tune: bool) -> None:
    text = toy_text(200)
    fitted = train(text, tiny(epochs=0, tune_characters=tune)).encoder
    taught = train(text, tiny(epochs=1, tune_characters=tune)).encoder
    before, after = fitted.state_dict(), taught.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before) is not tune
    assert all(parameter.requires_grad for parameter in taught.parameters())


def test_warm_start_vectors_must_fit() -> None:
    vectors = word2vec(TEXT, vector_size=5, min_count=1)
    with pytest.raises(ValueError, match="5 wide, the model 8"):
        train(TEXT, vectors=vectors)


def test_saved_training_goes_on_without_watching(tmp_path: Path) -> None:
    model = train(TEXT, tiny(epochs=1), watch=WATCH)
    model.save(tmp_path / "m", resumable=False)
    small = sum(path.stat().st_size for path in (tmp_path / "m").iterdir())
    model.save(tmp_path / "m")
    assert small < 0.6 * sum(path.stat().st_size for path in (tmp_path / "m").iterdir())
    again = el.load(tmp_path / "m")
    assert history(again) == history(model) and again.record == model.record


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("make", [list, lambda: iter([]), lambda: [[], []]])
def test_V4_empty_corpus(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 2 sentences.* got 0"):
        train(make())


def test_V4_used_up_generator_and_single_sentence() -> None:
    used = (sentence for sentence in TEXT)
    list(used)
    with pytest.raises(ValueError, match="got 0"):
        train(used)
    with pytest.raises(ValueError, match="got 1"):
        train([["a", "b"]])


def test_V4_all_words_below_min_count() -> None:
    with pytest.raises(ValueError, match=r"\d tokens of \d words.*min_count=5"):
        train([["a", "b"], ["c"], ["d", "e"], ["a"]], tiny(min_count=5))


def test_V1_strings_are_refused() -> None:
    with pytest.raises(TypeError, match="the bank of the river"):
        train("the bank of the river")
    with pytest.raises(TypeError, match=r"sentence 1 .*苹果很甜"):
        train([["a", "b"], "苹果很甜"])


@pytest.mark.parametrize("token", ["New York", " ", "", "\u3000", "a\nb", "\u200b", "\ufeff"])
def test_V10_blank_tokens_are_named(token: str) -> None:
    with pytest.raises(ValueError, match="sentence 2") as caught:
        train([["a", "b"], ["c", "d"], ["e", token]] * 5)
    assert repr(token) in str(caught.value)


def test_L12_empty_sentences_are_skipped() -> None:
    """Blank lines, lines of blanks, lines of punctuation in the middle of a file."""
    lines = ["fruit1 fruit2 phone1", "", "   ", "\u3000", "。!?", "fruit3 fruit1", "\n", "…"] * 15
    tokens = [el.tokenize(line) for line in lines]
    assert [] in tokens
    model = train(tokens)
    assert len(model.history) == 3 and "。" in model.vocabulary
    assert_same_run(model, train([sentence for sentence in tokens if sentence]))


@pytest.mark.parametrize("warm_start", [True, False])
def test_corpus_smaller_than_a_batch(warm_start: bool) -> None:
    model = train([["a", "b"], ["b", "a", "c"], ["c"]], tiny(batch_tokens=10_000, warm_start=warm_start))
    assert len(model.history) == 3
    assert np.isfinite(model.embed([["a", "b", "zzz"]])[0]).all()


@pytest.mark.parametrize("warm_start", [True, False])
def test_one_word_corpus(warm_start: bool) -> None:
    model = train([["a", "a"]] * 30, tiny(warm_start=warm_start))
    assert model.vocabulary.words == ["a"] and len(model.history) == 3
    assert model.history[-1]["held_out"]["forward"] == pytest.approx(1)
    assert np.isfinite(model.embed([["a"]])[0]).all()


@pytest.mark.parametrize(
    "odd",
    [
        ["我", "a", "1"],
        ["x" * 500, "国" * 500],
        ["🍎", "👩\u200d🚀", "🇨🇳"],
        ["한국", "Ωmega", "𠮷", "ก้", "עברית"],
        ["\0", "\x1b"],
    ],
    ids=["one character", "500 characters", "emoji", "scripts", "control characters"],
)
@pytest.mark.filterwarnings("ignore:only the first 48 bytes")
def test_odd_words(odd: list[str], tmp_path: Path) -> None:
    sentences = [[word, "b", *odd] for word in odd for _ in range(10)]
    model = train(sentences)
    assert model.history[-1]["held_out"]["unknown"] == 0
    (layers,) = model.embed([odd])
    assert layers.shape == (3, len(odd), 16) and np.isfinite(layers).all()
    model.save(tmp_path / "m")
    assert el.load(tmp_path / "m").vocabulary.words == model.vocabulary.words


def test_long_sentences_are_cut_and_nothing_is_lost() -> None:
    long = [[f"w{i % 50}" for i in range(start, start + 95)] for start in range(20)]
    seen: list[int] = []
    real = el.Elmo.forward

    def watching(self: el.Elmo, sentences: Any, *rest: Any, **named: Any) -> Any:
        seen.extend(map(len, sentences))
        return real(self, sentences, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(el.Elmo, "forward", watching)
        model = train(long, tiny(max_length=20, epochs=1))
    assert not seen or max(seen) <= 20
    counted = sum(model.vocabulary.counts)
    assert 0.85 * 20 * 95 <= counted < 20 * 95  # all but the held-out tenth


@pytest.mark.parametrize(
    ("tokens", "word"), [(["Apple", "The"], "apple"), (["苹果\u200b", "手机"], "苹果"), (["ＡＢＣ", "x"], "abc")]
)
def test_U4_training_normalises_as_use_does(tokens: list[str], word: str) -> None:
    """What the model is asked later is normalised: a vocabulary that is not could never be met."""
    model = train([tokens, [*tokens, *tokens]] * 15)
    assert word in model.vocabulary
    for known in model.vocabulary.words:
        assert model.prepare([[known]]) == [[known]]
    assert el.evaluate(model, model.prepare([tokens]))["unknown"] == 0


def test_case_is_kept_where_asked() -> None:
    if "lower" not in {field.name for field in dataclasses.fields(el.TrainConfig)}:
        pytest.skip("training always puts tokens in lower case")
    assert "Apple" in train([["Apple", "The"]] * 30, tiny(lower=False)).vocabulary


# ---------------------------------------------------------------- the loop's parts


def test_batches_hold_every_sentence_once() -> None:
    config = tiny(batch_tokens=60)
    plans = [batches(TEXT, config, epoch) for epoch in (0, 1)]
    for plan in plans:
        assert Counter(tuple(s) for batch in plan for s in batch) == Counter(map(tuple, TEXT))
        assert all(len(batch) * max(map(len, batch)) <= 60 + 3 * len(batch) or len(batch) == 1 for batch in plan)
    assert plans[0] != plans[1] and batches(TEXT, config, 0) == plans[0]


def test_one_cycle_rises_and_falls() -> None:
    rates = [one_cycle(step, 200, 1.0) for step in range(200)]
    top = int(np.argmax(rates))
    assert max(rates) == pytest.approx(1, rel=0.02) and min(rates) > 0
    assert rates[: top + 1] == sorted(rates[: top + 1]) and rates[top:] == sorted(rates[top:], reverse=True)
    assert 0 < top < 100 and rates[0] < 0.2 and rates[-1] < 0.1
    assert one_cycle(0, 1, 1.0) > 0
