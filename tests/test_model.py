"""The model: agrees with an independent NumPy pass, lets no direction peek, and gives each sentence its own vectors."""

from __future__ import annotations

import dataclasses
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy_reference as reference
import pytest
import torch
from helpers import WORDS, fresh_process, random_model
from hypothesis import given
from hypothesis import strategies as st

import elmo_lite as el
from elmo_lite.bilm import BiLM, State, reverse
from elmo_lite.characters import BEGIN, END, encode_word, encode_words
from elmo_lite.scalar_mix import ScalarMix
from elmo_lite.training import directions

SENTENCES = [
    ["我", "的", "iphone", "是", "苹果", "手机"],
    ["the", "bank", "approved", "the", "loan", "for", "the", "farm", "on", "the", "east", "bank", "."],
    ["苹果"],
    ["a"],
    ["𠮷", "野", "家", "한국", "ωmega", "🍎"],
    ["a" * 46, "b", "超" * 16],
    [f"w{i}" for i in range(33)],
]


def plain(model: el.Elmo) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Weights and config of a model as the reference wants them."""
    return {name: t.numpy() for name, t in model.state_dict().items()}, dataclasses.asdict(model.config)


@pytest.fixture(scope="module")
def model() -> el.Elmo:
    return random_model()


# ---------------------------------------------------------------- the same numbers as an independent program


@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_numpy_reference(seed: int) -> None:
    model = random_model(seed=seed)
    expected, _ = reference.all_layers(SENTENCES, *plain(model))
    found = model.embed(SENTENCES)
    assert [one.shape for one in found] == [(3, len(s), 24) for s in SENTENCES]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other[:, 1:-1], atol=1e-5)


def test_agrees_with_numpy_reference_deep_and_default_filters() -> None:
    filters = el.ElmoConfig().filters
    model = random_model(n_layers=3, n_highway=1, filters=filters, char_dim=5)
    expected, _ = reference.all_layers(SENTENCES[:5], *plain(model))
    for one, other in zip(model.embed(SENTENCES[:5]), expected, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one / scale, other[:, 1:-1] / scale, atol=1e-5)


def test_strings_give_the_vectors_of_their_tokens(model: el.Elmo) -> None:
    text = "我的iPhone是苹果手机，The Bank!"
    tokens = el.tokenize(text, "zh", keep=("苹果",))
    np.testing.assert_array_equal(model.embed([text])[0], model.embed([tokens])[0])


def test_character_ids_agree_with_reference() -> None:
    for word in ["bank", "苹果", "", "<S>", "\0", "🍎", "a" * 48, "a" * 49, "超" * 17, "ab" + "超" * 16]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert encode_word(word) == reference.character_ids(word)
    assert encode_word(BEGIN) == reference.character_ids(reference.SENTENCE_BEGIN)
    assert encode_word(END) == reference.character_ids(reference.SENTENCE_END)
    assert len({tuple(encode_word(w)) for w in (BEGIN, END, "<S>", "</S>", "\0")}) == 5
    assert encode_words([]).shape == (0, 50)


def test_reverse_turns_each_sentence_within_its_length() -> None:
    x = torch.arange(12.0).reshape(2, 6, 1)
    turned = reverse(x, torch.tensor([6, 2]))[:, :, 0]
    assert turned[0].tolist() == [5, 4, 3, 2, 1, 0]
    assert turned[1, :2].tolist() == [7, 6]


# ---------------------------------------------------------------- no direction sees what it has to predict


def test_L1_body_never_peeks() -> None:
    """Whatever the last vector is, forward outputs before it are bit-equal at all layers, and the mirror of it."""
    torch.manual_seed(0)
    body = BiLM(8, 3, 0.0).eval()
    words, lengths = torch.randn(2, 9, 8), torch.tensor([9, 6])
    with torch.no_grad():
        before, _ = body(words, lengths)
        for row, n in enumerate(lengths.tolist()):
            last, first = words.clone(), words.clone()
            last[row, n - 1] = 50 * torch.randn(8)
            first[row, 0] = 50 * torch.randn(8)
            after_last, after_first = body(last, lengths)[0], body(first, lengths)[0]
            assert torch.equal(after_last[:, row, : n - 1, :8], before[:, row, : n - 1, :8])
            assert not torch.equal(after_last[:, row, n - 1, :8], before[:, row, n - 1, :8])
            assert torch.equal(after_first[:, row, 1:n, 8:], before[:, row, 1:n, 8:])
            assert not torch.equal(after_first[:, row, 0, 8:], before[:, row, 0, 8:])
            # and the change does arrive on the other side
            assert not torch.equal(after_last[1:, row, : n - 1, 8:], before[1:, row, : n - 1, 8:])
            assert not torch.equal(after_first[1:, row, 1:n, :8], before[1:, row, 1:n, :8])


def test_L1_last_word_does_not_move_earlier_forward_states(model: el.Elmo) -> None:
    sentence = ["i", "put", "money", "in", "the", "bank"]
    dim = model.config.dim
    before = model.embed([sentence])[0]
    for word in ["rive", "b", "苹"]:  # no longer than the longest word: the same sums in the same order, so bit-equal
        last, first = model.embed([[*sentence[:-1], word]])[0], model.embed([[word, *sentence[1:]]])[0]
        np.testing.assert_array_equal(last[:, :-1, :dim], before[:, :-1, :dim])
        np.testing.assert_array_equal(first[:, 1:, dim:], before[:, 1:, dim:])
        assert np.abs(last[1:, :-1, dim:] - before[1:, :-1, dim:]).max() > 1e-3
        assert np.abs(first[1:, 1:, :dim] - before[1:, 1:, :dim]).max() > 1e-3
    for word in ["a" * 40, "苹果" * 8, "the"]:  # other widths, another number of words: rounding may differ, nothing else
        last, first = model.embed([[*sentence[:-1], word]])[0], model.embed([[word, *sentence[1:]]])[0]
        np.testing.assert_allclose(last[:, :-1, :dim], before[:, :-1, :dim], atol=2e-6)
        np.testing.assert_allclose(first[:, 1:, dim:], before[:, 1:, dim:], atol=2e-6)


def test_L1_states_that_predict_are_those_before_the_word(model: el.Elmo) -> None:
    """The state used to predict a word moves with its own side only, never with the word itself."""
    sentence = ["the", "bank", "river", "money"]
    with torch.no_grad():
        (ahead, ahead_ids), (behind, behind_ids) = directions(model, model([sentence])[0], [sentence])
        assert ahead_ids.tolist() == behind_ids.tolist() == [model.vocabulary.id(w) for w in sentence]
        for place in range(4):
            other = [*sentence[:place], "a", *sentence[place + 1 :]]  # "a" is in the vocabulary too
            (changed, _), (changed_behind, _) = directions(model, model([other])[0], [other])
            assert torch.equal(changed[: place + 1], ahead[: place + 1])
            assert torch.equal(changed_behind[place:], behind[place:])


# ---------------------------------------------------------------- a sentence's vectors are its own


def test_E1_same_sentence_same_vectors(model: el.Elmo, tmp_path: Path) -> None:
    target = "我吃苹果"
    once = model.embed([target])[0]
    model.embed([f"{n} other sentences 苹果" for n in range(20)])
    np.testing.assert_array_equal(model.embed([target])[0], once)
    model.train()  # dropout must be off all the same, and the mode comes back
    again = model.embed([target])[0]
    assert model.training
    model.eval()
    np.testing.assert_array_equal(again, once)
    model.save(tmp_path / "model")
    code = """
import sys, numpy, elmo_lite
model = elmo_lite.load(sys.argv[1])
model.embed(["the river bank", "我"])
numpy.save(sys.argv[2], model.embed(["我吃苹果"])[0])
"""
    fresh_process(code, str(tmp_path / "model"), str(tmp_path / "layers.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "layers.npy"), once, atol=1e-6)


def test_E2_companions_order_and_batch_size_do_not_matter(model: el.Elmo) -> None:
    sentences = [["bank"], *SENTENCES, [f"x{i}" for i in range(40)], ["bank"]]
    alone = [model.embed([sentence])[0] for sentence in sentences]
    for batch_size in (1, 2, 3, 32):
        for one, other in zip(model.embed(sentences, batch_size=batch_size), alone, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    order = list(range(len(sentences)))
    random.Random(1).shuffle(order)
    for i, one in zip(order, model.embed([sentences[i] for i in order], batch_size=4), strict=True):
        np.testing.assert_allclose(one, alone[i], atol=1e-5)


def test_each_distinct_word_is_encoded_once_a_call() -> None:
    model = random_model()
    seen: list[int] = []
    model.encoder.register_forward_hook(lambda module, inputs, output: seen.append(len(inputs[0])))
    model.embed([["a", "b", "a"], ["b", "a"], ["c"] * 30] * 10, batch_size=2)
    assert sum(seen) == 5  # a, b, c and the two boundaries


def test_batch_size_must_be_positive(model: el.Elmo) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        model.embed(["苹果"], batch_size=0)


# ---------------------------------------------------------------- state goes in and comes out


def test_state_carried_over_two_halves(model: el.Elmo) -> None:
    """Two halves with the state carried, sentences of different lengths, one of them blank in the second half."""
    first = [["我", "吃"], ["the", "river", "bank", "is", "steep"], ["a"], ["x", "y", "z"]]
    second = [["苹果", "很", "甜"], ["."], [], ["money", "bank"]]
    weights, config = plain(model)
    expected_first, (h, c) = reference.all_layers(first, weights, config)
    found_first, state = model.embed(first, return_state=True, batch_size=2)
    np.testing.assert_allclose(state.output, h, atol=1e-5)
    np.testing.assert_allclose(state.cell, c, atol=1e-5)
    expected_second, (h2, c2) = reference.all_layers(second, weights, config, (h, c))
    kept = state.output.clone(), state.cell.clone()
    found_second, after = model.embed(second, state=state, return_state=True, batch_size=2)
    assert torch.equal(state.output, kept[0]) and torch.equal(state.cell, kept[1])  # a value: embed does not write to it
    for found, expected in ((found_first, expected_first), (found_second, expected_second)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other[:, 1:-1], atol=1e-5)
    read = [0, 1, 3]
    np.testing.assert_allclose(after.output[:, :, read], h2[:, :, read], atol=1e-5)
    np.testing.assert_allclose(after.cell[:, :, read], c2[:, :, read], atol=1e-5)
    assert torch.equal(after.output[:, :, 2], state.output[:, :, 2])  # nothing was read, nothing is forgotten
    without = model.embed(second)
    assert max(np.abs(a - b).max() for a, b in zip(without, found_second, strict=True) if a.size) > 1e-2


def test_state_none_equals_zeros(model: el.Elmo) -> None:
    zero = torch.zeros(2, 2, len(SENTENCES), model.config.dim)
    with_zeros, without = model.embed(SENTENCES, state=State(zero, zero)), model.embed(SENTENCES)
    with_return, _ = model.embed(SENTENCES, return_state=True)
    for one, other, third in zip(with_zeros, without, with_return, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(third, other, atol=1e-5)


def test_state_needs_one_row_a_sentence(model: el.Elmo) -> None:
    zero = torch.zeros(2, 2, 3, model.config.dim)
    with pytest.raises(ValueError, match=r"3 rows.* 2 sentences"):
        model.embed([["a"], ["b"]], state=State(zero, zero))


# ---------------------------------------------------------------- the mix


def test_E3_mix_applies_the_weights_shown(model: el.Elmo) -> None:
    layers = model.embed(["the bank of the river"])[0]
    for j in range(3):
        one_hot = [float(i == j) for i in range(3)]
        np.testing.assert_array_equal(model.mix(layers, one_hot), layers[j])
    np.testing.assert_array_equal(model.mix(layers, (0, 0, 0)), np.zeros_like(layers[0]))
    np.testing.assert_allclose(model.mix(layers, (5, 5, 0)), 5 * layers[0] + 5 * layers[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(model.mix(layers, (-1, 0, 0)), -layers[0])
    np.testing.assert_allclose(model.mix(layers, (0, 0.5, 1), gamma=2.0), layers[1] + 2 * layers[2], rtol=1e-5, atol=1e-5)
    for wrong in [(1, 0), (1, 0, 0, 0), ()]:
        with pytest.raises(ValueError, match="3 layers need 3 weights"):
            model.mix(layers, wrong)


def test_learned_mix_starts_with_equal_shares_and_says_them() -> None:
    learned = ScalarMix(3)
    layers = torch.randn(3, 4, 5)
    torch.testing.assert_close(learned(layers), layers.mean(dim=0))
    with torch.no_grad():
        learned.weights.copy_(torch.tensor([1.0, 0.0, 0.0]))
        learned.gamma.fill_(2.0)
    torch.testing.assert_close(learned.shares, torch.softmax(torch.tensor([1.0, 0.0, 0.0]), 0))
    expected = 2 * sum(s * layer for s, layer in zip(learned.shares, layers, strict=True))
    torch.testing.assert_close(learned(layers), expected)


# ---------------------------------------------------------------- odd input


def test_E6_empty_and_blank_items_stay_aligned(model: el.Elmo) -> None:
    assert model.embed([]) == []
    for blank in ("", "   ", "\u3000\n", "\u200b", []):
        (only,) = model.embed([blank])
        assert only.shape == (3, 0, 24)
    mixed = model.embed(["苹果", "", "bank"])
    assert [one.shape[1] for one in mixed] == [1, 0, 1]
    np.testing.assert_allclose(mixed[2], model.embed(["bank"])[0], atol=1e-5)
    empty, state = model.embed([], return_state=True)
    assert empty == [] and state.output.shape[2] == 0


def test_E6_blank_tokens_are_named(model: el.Elmo) -> None:
    for token in ("", " ", "\u200b", "\ufeff", "\u3000"):
        with pytest.raises(ValueError, match=r"sentence 1.*token 1"):
            model.embed([["a"], ["苹果", token]])


def test_E7_plain_string_is_refused(model: el.Elmo) -> None:
    with pytest.raises(TypeError, match="苹果很甜"):
        model.embed("苹果很甜")


def test_E7_strings_in_a_list_are_tokenised(model: el.Elmo) -> None:
    assert model.embed(["the river bank"])[0].shape[1] == 3
    assert model.embed(["苹果很甜"])[0].shape[1] == len(el.tokenize("苹果很甜", "zh", ("苹果",))) < 4


@pytest.mark.parametrize("sentence", [["the river bank"], ["我喜欢吃苹果"], ["x", "New York"], ["x", "a\tb"], ["x", "a\nb"]])
def test_E7_sentence_in_one_token_warns(model: el.Elmo, sentence: list[str]) -> None:
    with pytest.warns(UserWarning, match="one token"):
        layers = model.embed([sentence])
    assert layers[0].shape[1] == len(sentence)


@pytest.mark.parametrize("item", [3, None, [1, 2], [["a"]], b"bank", {"a": 1}])
def test_E7_other_types_are_named(model: el.Elmo, item: Any) -> None:
    with pytest.raises(TypeError, match="sentence 1"):
        model.embed([["a"], item])


@pytest.mark.parametrize("word", ["苹果", "a", "。"])
def test_E8_one_word(model: el.Elmo, word: str) -> None:
    assert model.embed([word])[0].shape == (3, 1, 24)


def test_E9_one_character_words_alone() -> None:
    model = random_model(filters=((1, 4), (7, 6)))
    long = ["internationalisation", "x" * 45]
    for sentence in ["我", "a b c", "𠮷"]:
        tokens = model.tokenize(sentence)
        alone = model.embed([sentence])[0]
        beside = model.embed([[*tokens], long])[0]
        np.testing.assert_allclose(alone, beside, atol=1e-5)
        expected, _ = reference.all_layers([tokens], *plain(model))
        np.testing.assert_allclose(alone, expected[0][:, 1:-1], atol=1e-5)


@pytest.mark.parametrize("width", [40, 50])
def test_E9_very_wide_filters(width: int) -> None:
    model = random_model(filters=((1, 4), (width, 6)))
    expected, _ = reference.all_layers([["a", "超" * 16]], *plain(model))
    np.testing.assert_allclose(model.embed([["a", "超" * 16]])[0], expected[0][:, 1:-1], atol=1e-5)


def test_E10_long_words_are_cut_at_a_character(model: el.Elmo) -> None:
    whole = ["中华人民共和国万岁", "中华人民共和国成立"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = (encode_word(word) for word in whole)
    assert first != second
    assert bytes(i - 1 for i in first if i <= 256).decode("utf-8") == whole[0]
    for word in ["a" * 500, "https://a.example/" + "x" * 300, "ab" + "国" * 20]:
        with pytest.warns(UserWarning, match="48 bytes") as caught:
            layers = model.embed([["b", word], ["a", word]])
        assert sum("48 bytes" in str(one.message) for one in caught) == 1
        assert layers[0].shape == (3, 2, 24) and np.isfinite(layers[0]).all()
        with pytest.warns(UserWarning, match="48 bytes"):
            ids = encode_word(word)
        text = bytes(i - 1 for i in ids if i <= 256).decode("utf-8")  # raises where a character is cut
        assert word.startswith(text) and 45 <= len(text.encode("utf-8")) <= 48
        assert len(ids) == 50


def test_E13_layers_are_named_and_differ(model: el.Elmo) -> None:
    assert len(model.layer_names) == 3
    assert len(set(model.layer_names)) == 3
    fruit, phone = model.embed(["我吃苹果", "我用苹果"])
    place = model.tokenize("我吃苹果").index("苹果")
    assert place == model.tokenize("我用苹果").index("苹果")
    np.testing.assert_allclose(fruit[0, place], phone[0, place], atol=1e-6)
    assert all(np.abs(fruit[j, place] - phone[j, place]).max() > 1e-3 for j in (1, 2))
    assert all(np.abs(fruit[i, place] - fruit[j, place]).max() > 1e-3 for i, j in ((0, 1), (1, 2), (0, 2)))
    dim = model.config.dim
    np.testing.assert_array_equal(fruit[0, :, :dim], fruit[0, :, dim:])  # layer 0 is the word vector twice


def test_L2_short_sentence_beside_a_long_one(model: el.Elmo) -> None:
    short, long = ["river", "bank"], ["the", "money"] * 15
    with torch.no_grad():
        alone, beside = model([short])[0], model([short, long])[0]
        torch.testing.assert_close(beside[:, :1, :4], alone, atol=1e-5, rtol=0)
        losses = []
        for layers, sentences in ((alone, [short]), (beside, [short, long])):
            hidden, target = directions(model, layers, sentences)[1]
            losses.append(model.softmax.full_loss(hidden[:2], target[:2]).item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_L10_every_script_has_ids_of_its_own(model: el.Elmo) -> None:
    words = ["Ωmega", "Omega", "𠮷", "吉", "한국", "한굴", "🍎", "🍏", "é", "e", "\0", "\x01", "א", "ก"]
    ids = encode_words(words)
    assert ids.min() >= 1 and ids.max() <= 261
    assert len({tuple(row) for row in ids.tolist()}) == len(words)
    for word, row in zip(words, ids.tolist(), strict=True):
        size = len(word.encode("utf-8"))
        assert all(1 <= i <= 256 for i in row[1 : 1 + size]) and row[1 + size] == 260
        assert set(row[2 + size :]) == {261}
    layers = model.embed([words])[0]
    assert np.isfinite(layers).all()


@given(st.text(max_size=20).filter(lambda text: not any(0xD800 <= ord(c) < 0xE000 for c in text)))
def test_L10_character_ids_of_any_text(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert encode_word(text) == reference.character_ids(text)


# ---------------------------------------------------------------- guess


def chances(expected: list[tuple[str, float]]) -> dict[str, float]:
    return dict(expected)


def test_guess_agrees_with_numpy_reference(model: el.Elmo) -> None:
    sentence = ["the", "bank", "of", "the", "river", "."]
    weights, config = plain(model)
    (layers,), _ = reference.all_layers([sentence], weights, config)
    for position in range(len(sentence)):
        found = model.guess(sentence, position, top=len(WORDS))
        # place 0 is the boundary: the word itself stands at position + 1
        ahead = reference.word_chances(layers[-1, position, : config["dim"]], weights)
        behind = reference.word_chances(layers[-1, position + 2, config["dim"] :], weights)
        for side, expected in ((found.forward, ahead), (found.backward, behind)):
            assert [p for _, p in side] == sorted((p for _, p in side), reverse=True)
            assert sum(p for _, p in side) == pytest.approx(1, abs=1e-5)
            np.testing.assert_allclose([chances(side)[word] for word in WORDS], expected, atol=1e-5)


def test_guess_looks_at_its_own_side_only(model: el.Elmo) -> None:
    sentence = ["the", "bank", "of", "my", "river", "is", "wide"]
    position = 3
    base = model.guess(sentence, position, top=len(WORDS))
    itself = model.guess([*sentence[:3], "us", *sentence[4:]], position, top=len(WORDS))
    assert itself == base  # bit-equal: the word that stands there is not looked at
    right = model.guess([*sentence[:4], "money", "or", "dogs"], position, top=len(WORDS))
    assert right.forward == base.forward and right.backward != base.backward
    left = model.guess(["a", "dark", "in", *sentence[3:]], position, top=len(WORDS))
    assert left.backward == base.backward and left.forward != base.forward


def test_guess_takes_strings_and_a_top(model: el.Elmo) -> None:
    assert model.guess("the bank", 1) == model.guess(["the", "bank"], 1)
    assert len(model.guess("the bank", 1, top=3).forward) == 3
    assert len(model.guess("the bank", 1, top=500).backward) == len(WORDS)
    model.train()
    in_training = model.guess("the bank", 1)
    assert model.training
    model.eval()
    assert in_training == model.guess("the bank", 1)


@pytest.mark.parametrize("position", [-1, 2, 99])
def test_guess_position_out_of_range(model: el.Elmo, position: int) -> None:
    with pytest.raises(IndexError, match=f"position {position} .* 2 tokens"):
        model.guess("the bank", position)


def test_guess_needs_a_vocabulary() -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        random_model(vocabulary=False).guess("the bank", 0)
    assert random_model(vocabulary=False).embed(["the bank"])[0].shape == (3, 2, 24)


def test_reference_imports_neither_elmo_lite_nor_torch() -> None:
    code = "import sys, numpy_reference; print([m for m in sys.modules if m.split('.')[0] in ('torch', 'elmo_lite')])"
    folder = str(Path(reference.__file__).parent)
    assert fresh_process(f"import sys; sys.path.insert(0, {folder!r}); {code}").strip() == "[]"
    assert "numpy_reference" in sys.modules
