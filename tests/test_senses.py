"""Scores of senses: right on vectors whose answer is known, honest about chance, never split a group."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest
from gensim.models import KeyedVectors
from helpers import random_model

import elmo_lite as el
from elmo_lite import corpora, senses
from elmo_lite.senses import (
    Basis,
    compare,
    context_mix,
    forms_of,
    joint_basis,
    majority,
    paired_difference,
    pca_points,
    probe_right,
    score,
)


class Planted(NamedTuple):
    tokens: list[str]
    position: int
    sense: str
    group: str


def planted(per_sense: int, names: tuple[str, ...] = ("fruit", "company")) -> list[Planted]:
    return [Planted(["apple"], 0, name, f"{name}{i}") for name in names for i in range(per_sense)]


def vectors_with(examples: list[Planted], distance: float, seed: int = 0, dim: int = 10) -> np.ndarray:
    """Noise, moved by ``distance`` along an axis of its own for each sense."""
    names = sorted({example.sense for example in examples})
    noise = np.random.default_rng(seed).normal(size=(len(examples), dim))
    for row, example in zip(noise, examples, strict=True):
        row[names.index(example.sense)] += distance
    return noise


def scored(examples: list[Planted], vectors: np.ndarray, **options: int) -> senses.Score:
    return score(examples, lambda _: vectors, resamples=300, **options)


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize("names", [("fruit", "company"), ("season", "water", "device")])
def test_separable_vectors_score_about_one(names: tuple[str, ...]) -> None:
    examples = planted(30, names)
    result = scored(examples, vectors_with(examples, 12.0))
    for estimate in (result.probe, result.nearest, result.drawn):
        assert estimate.value > 0.98 and estimate.low <= estimate.value <= estimate.high <= 1
    assert result.silhouette.value > 0.6
    assert result.right.dtype == bool and result.right.shape == (len(examples),)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_vectors_score_about_chance(seed: int) -> None:
    examples = planted(80)
    result = scored(examples, vectors_with(examples, 0.0, seed))
    for estimate in (result.probe, result.nearest, result.drawn):
        assert estimate.value == pytest.approx(0.5, abs=0.12)
        assert estimate.low < 0.55 and estimate.high > 0.45
    assert abs(result.silhouette.value) < 0.05


def test_intervals_cover_chance() -> None:
    """A 95 % interval: over many random draws it misses the truth rarely, and it is no wider than it has to be."""
    examples = planted(40)
    estimates = [scored(examples, vectors_with(examples, 0.0, seed)).probe for seed in range(12)]
    assert sum(e.low <= 0.5 <= e.high for e in estimates) >= 9
    assert all(0.1 < e.high - e.low < 0.35 for e in estimates)


def test_more_data_gives_narrower_intervals() -> None:
    widths = []
    for size in (25, 225):
        examples = planted(size)
        estimate = scored(examples, vectors_with(examples, 1.2)).probe
        widths.append(estimate.high - estimate.low)
    assert widths[1] < 0.5 * widths[0]


def test_scores_are_macro_over_senses() -> None:
    """A rare sense counts as much as a frequent one: always answering the frequent one gets one half, not 0.8."""
    examples = [Planted(["apple"], 0, "fruit" if i % 5 else "company", str(i)) for i in range(100)]
    result = scored(examples, np.zeros((100, 4)))
    assert result.probe.value == pytest.approx(0.5, abs=0.08)
    assert result.nearest.value == pytest.approx(0.5, abs=0.03)
    assert result.drawn.value == pytest.approx(0.5, abs=0.08)
    assert majority(examples).value == pytest.approx(0.8)  # plain accuracy, as it says
    interval = majority(examples)
    assert interval.low < 0.8 < interval.high


def test_drawn_reads_nothing_but_two_coordinates() -> None:
    """Senses that differ along the third strongest axis only can be read off the vectors, not off the picture."""
    examples = planted(60)
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(120, 6)) * [30, 20, 0.05, 0.05, 0.05, 0.05]
    vectors[:, 2] += np.where([e.sense == "fruit" for e in examples], 1.0, -1.0)
    result = scored(examples, vectors)
    assert result.probe.value > 0.98
    assert result.drawn.value < 0.7
    np.testing.assert_allclose(np.abs(pca_points(vectors)), np.abs((vectors - vectors.mean(0))[:, :2]), atol=2.5)


def test_same_seed_same_score() -> None:
    examples = planted(30)
    vectors = vectors_with(examples, 1.0)
    one, other = scored(examples, vectors), scored(examples, vectors)
    assert (one.probe, one.nearest, one.silhouette, one.drawn) == (other.probe, other.nearest, other.silhouette, other.drawn)
    np.testing.assert_array_equal(one.right, other.right)


# ---------------------------------------------------------------- groups


def test_groups_are_never_parted() -> None:
    """Every vector is random but stands twice, with the same group: parting groups would let the probe and the neighbour
    look the answer up; without that they can only guess."""
    base = planted(60)
    vectors = vectors_with(base, 0.0, seed=4, dim=400)
    examples = [Planted(e.tokens, 0, e.sense, e.group) for e in base for _ in range(2)]
    doubled = np.repeat(vectors, 2, axis=0)
    together = scored(examples, doubled)
    assert together.probe.value < 0.65 and together.nearest.value < 0.65
    apart = [e._replace(group=str(i)) for i, e in enumerate(examples)]
    parted = scored(apart, doubled)
    assert parted.nearest.value == 1.0 and parted.probe.value > 0.8  # the trap is real


def test_intervals_resample_groups() -> None:
    """Twice the same sentences are no more evidence than once."""
    base = planted(40)
    vectors = vectors_with(base, 1.0)
    once = scored(base, vectors).probe
    twice = scored([e for e in base for _ in range(2)], np.repeat(vectors, 2, axis=0)).probe
    assert twice.high - twice.low > 0.8 * (once.high - once.low)


def two_sense_sentences(n: int = 40) -> list[Planted]:
    """Each sentence uses the word in both senses; which of the two comes first takes turns."""
    chance = np.random.default_rng(0)
    found = []
    for i in range(n):
        words = [f"w{k}" for k in chance.integers(30, size=9)]
        words[2] = words[6] = "bank"
        first, second = ("money", "river") if i % 2 else ("river", "money")
        found += [Planted(words, 2, first, f"g{i}"), Planted(words, 6, second, f"g{i}")]
    return found


def keyed(words: list[str], dim: int = 20, seed: int = 0) -> KeyedVectors:
    vectors = KeyedVectors(dim)
    vectors.add_vectors(words, np.random.default_rng(seed).normal(size=(len(words), dim)).astype(np.float32))
    return vectors


WORDS = keyed(["bank", *(f"w{i}" for i in range(30))])


def test_sentence_average_gets_exactly_half_of_two_sense_sentences() -> None:
    examples = two_sense_sentences()
    result = score(examples, lambda e: senses.sentence_average(e, WORDS), resamples=100)
    assert result.right.sum() == len(examples) / 2
    assert result.right.reshape(-1, 2).sum(axis=1).tolist() == [1] * 40  # one of the two, in every sentence
    assert result.probe.value == 0.5


@pytest.mark.parametrize(("lang", "word"), [("en", "bank"), ("en", "apple"), ("zh", "苹果")])
def test_sentence_average_gets_half_of_our_two_sense_sentences(lang: str, word: str) -> None:
    examples = [use for use in corpora.senses(lang, word) if use.paired]
    vectors = keyed(sorted({token for use in examples for token in use.tokens}))
    same_form = [len({u.tokens[u.position] for u in examples if u.group == use.group}) == 1 for use in examples]
    result = score(examples, lambda e: senses.sentence_average(e, vectors), resamples=50)
    assert sum(same_form) >= 20
    assert result.right[same_form].mean() == 0.5


def test_windows_and_averages() -> None:
    vectors = keyed([*"abcdefg", "bank"])
    tokens = ["a", "b", "zzz", "bank", "c", "d", "e"]
    example = Planted(tokens, 3, "x", "g")

    def mean(words: str) -> np.ndarray:
        return np.mean([vectors[w] for w in words], axis=0)

    np.testing.assert_allclose(senses.sentence_average([example], vectors)[0], mean("abcde"), atol=1e-6)
    np.testing.assert_allclose(senses.sentence_average([example], vectors, 2)[0], mean("bcd"), atol=1e-6)
    np.testing.assert_allclose(senses.sentence_average([example], vectors, 99)[0], mean("abcde"), atol=1e-6)
    first, last = Planted(tokens, 0, "x", "g"), Planted(tokens, 6, "x", "g")
    np.testing.assert_allclose(senses.sentence_average([first], vectors, 1)[0], mean("b"), atol=1e-6)
    np.testing.assert_allclose(senses.sentence_average([last], vectors, 1)[0], mean("d"), atol=1e-6)
    np.testing.assert_allclose(senses.static_points([example], vectors)[0], vectors["bank"])


def test_static_vector_scores_about_chance() -> None:
    examples = [Planted(["the", "bank"], 1, "money" if i % 2 else "river", str(i)) for i in range(60)]
    result = score(examples, WORDS, resamples=100)
    for estimate in (result.probe, result.nearest, result.drawn):
        assert estimate.value == pytest.approx(0.5, abs=0.1)
        assert np.isfinite(estimate).all()
    assert result.silhouette.value == pytest.approx(0, abs=0.05)


# ---------------------------------------------------------------- Elmo, baselines, differences


@pytest.fixture(scope="module")
def model() -> el.Elmo:
    return random_model()


def test_vectors_of_uses_are_those_at_the_place(model: el.Elmo) -> None:
    examples = two_sense_sentences(6)
    layers = senses.use_layers(examples, model)
    assert layers.shape == (3, 12, 24)
    for i, example in enumerate(examples):
        np.testing.assert_allclose(layers[:, i], model.embed([example.tokens])[0][:, example.position], atol=1e-5)
    np.testing.assert_allclose(senses.vectors_of(examples, model), layers[1:].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(senses.vectors_of(examples, model, (0, 0, 1)), layers[2], atol=1e-6)
    np.testing.assert_array_equal(senses.vectors_of(examples, WORDS), senses.static_points(examples, WORDS))
    np.testing.assert_array_equal(senses.vectors_of(examples, lambda e: np.ones((len(e), 2))), np.ones((12, 2)))


def test_compare_shows_the_baselines(model: el.Elmo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senses, "score", functools.partial(score, resamples=50))
    examples = two_sense_sentences(12)
    before = el.get_language()
    try:
        for language, wanted in (
            (
                "en",
                [
                    "ELMo mix",
                    "layer 0",
                    "layer 1",
                    "layer 2",
                    "the word's vector",
                    "sentence average",
                    "3 words each side",
                ],
            ),
            ("zh", ["ELMo 混合", "第 0 层", "第 1 层", "第 2 层", "词自身的向量", "全句平均", "左右各 3 词平均"]),
        ):
            el.set_language(language)
            rows = compare(examples, model, WORDS, window=3)
            assert len(rows) == len(wanted) == len({row.name for row in rows})
            assert all(part in row.name for part, row in zip(wanted, rows, strict=True))
    finally:
        el.set_language(before)
    sentence = rows[-2]
    assert sentence.probe.value == 0.5
    assert "0.50 [" in str(sentence.probe)


def test_table_says_what_the_scores_say(model: el.Elmo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senses, "score", functools.partial(score, resamples=50))
    examples = two_sense_sentences(12)
    head, rule, row = senses.table({"bank": examples}, model, WORDS).splitlines()
    rows = compare(examples, model, WORDS)
    mixed, sentence, window = rows[0], rows[-2], rows[-1]
    ahead = paired_difference(examples, mixed, sentence)
    wanted = ["bank", "0.50", mixed.probe, sentence.probe, window.probe, mixed.drawn, mixed.nearest,
              f"{mixed.right.mean():.2f}", f"{sentence.right.mean():.2f}", ahead]  # fmt: skip
    assert row.strip("| ").split(" | ") == list(map(str, wanted))
    assert head.count("|") == rule.count("|") == row.count("|") == len(wanted) + 1


def test_paired_difference() -> None:
    examples = two_sense_sentences(50)
    chance = np.random.default_rng(0)
    good = scored(examples, vectors_with(examples, 9.0))
    poor = scored(examples, chance.normal(size=(100, 5)))
    difference = paired_difference(examples, good, poor)
    assert difference.value == pytest.approx(good.right.mean() - poor.right.mean())
    assert 0 < difference.low < difference.value < difference.high
    assert paired_difference(examples, good, good) == (0, 0, 0)
    back = paired_difference(examples, poor, good)
    assert back.value == pytest.approx(-difference.value) and back.high < 0
    rows = [i < 20 for i in range(100)]
    part = paired_difference(examples, good, poor, rows)
    assert part.value == pytest.approx(good.right[:20].mean() - poor.right[:20].mean())


# ---------------------------------------------------------------- the picture


def test_joint_basis_is_linear_in_the_weights() -> None:
    layers = np.random.default_rng(0).normal(size=(3, 40, 8)) + np.arange(3)[:, None, None] * 10
    basis = joint_basis(layers)
    assert basis.means.shape == (3, 8) and basis.directions.shape == (8, 2)
    np.testing.assert_allclose(basis.directions.T @ basis.directions, np.eye(2), atol=1e-9)
    each = basis.layer_points(layers)
    np.testing.assert_allclose(each.mean(axis=1), np.zeros((3, 2)), atol=1e-9)  # centred by its own mean
    for weights, gamma in (((1, 0, 0), 1.0), ((0.2, 0.5, 0.3), 2.0), ((-1, 0, 3), 0.5), ((0, 0, 0), 1.0)):
        expected = (
            gamma
            * sum(w * (layer - mean) for w, layer, mean in zip(weights, layers, basis.means, strict=True))
            @ basis.directions
        )
        np.testing.assert_allclose(basis.points(layers, weights, gamma), expected, atol=1e-9)
        np.testing.assert_allclose(gamma * np.tensordot(weights, each, 1), expected, atol=1e-9)


def test_joint_basis_finds_the_strongest_directions() -> None:
    chance = np.random.default_rng(1)
    points = chance.normal(size=(2, 200, 5)) * [0.1, 9, 0.1, 4, 0.1]
    directions = joint_basis(points).directions
    assert np.abs(directions).argmax(axis=0).tolist() == [1, 3]


def test_layer_0_neither_turns_the_basis_nor_enters_the_mix_unasked() -> None:
    """Its spellings would take a direction of the picture that says nothing about context."""
    layers = np.random.default_rng(1).normal(size=(3, 60, 5)) * [0.1, 9, 0.1, 4, 0.1]
    layers[0] *= [900, 1, 1, 1, 1]
    assert np.abs(joint_basis(layers).directions).argmax(axis=0).tolist() == [1, 3]
    assert context_mix(3) == [0, 0.5, 0.5] and context_mix(2) == [0, 1] and context_mix(1) == [1]


def test_a_spelling_does_not_take_an_axis() -> None:
    """Two spellings far apart, two directions of context: with ``forms`` the axes are the context's, drawn as they are."""
    chance = np.random.default_rng(1)
    layers = chance.normal(size=(3, 60, 5)) * [0.1, 9, 0.1, 4, 0.1]
    forms = ["apple", "apples"] * 30
    layers[:, 1::2, 0] += 50
    assert np.abs(joint_basis(layers).directions).argmax(axis=0).tolist() == [0, 1]
    basis = joint_basis(layers, forms)
    assert np.abs(basis.directions).argmax(axis=0).tolist() == [1, 3]
    np.testing.assert_array_equal(basis.means, layers.mean(axis=1))
    one, apart = layers[:1], [str(i) for i in range(60)]
    np.testing.assert_array_equal(pca_points(one[0], apart), pca_points(one[0]))  # no two alike: as if there were no forms
    same = np.repeat([[0.0, 1.0, 2.0], [1.0, 5.0, 2.5]], 4, axis=0)  # two spellings, no context at all
    np.testing.assert_array_equal(pca_points(same, ["a"] * 4 + ["b"] * 4), pca_points(same))
    assert forms_of(planted(3)) == [e.tokens[e.position] for e in planted(3)]


def test_joint_basis_signs_are_stable() -> None:
    layers = np.random.default_rng(0).normal(size=(3, 40, 8)) * np.arange(1, 9)
    basis = joint_basis(layers)
    shuffled = joint_basis(layers[:, np.random.default_rng(2).permutation(40)])
    np.testing.assert_allclose(shuffled.directions, basis.directions, atol=1e-8)
    mirrored = joint_basis(layers * [1, 1, 1, 1, 1, 1, 1, -1])  # the picture does not turn round with its data's sign
    assert (mirrored.directions[np.abs(mirrored.directions).argmax(axis=0), [0, 1]] > 0).all()
    nudged = joint_basis(layers + 1e-9)
    np.testing.assert_allclose(nudged.points(layers, (1, 1, 1)), basis.points(layers, (1, 1, 1)), atol=1e-5)


@pytest.mark.parametrize("layers", [np.ones((3, 1, 4)), np.ones((3, 5, 4)), np.zeros((1, 0, 4))])
def test_E8_P4_too_few_points_are_named(layers: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least 2 different points"):
        joint_basis(layers)


def test_two_points_can_be_drawn() -> None:
    layers = np.random.default_rng(0).normal(size=(3, 2, 6))
    assert isinstance(joint_basis(layers), Basis)
    assert np.isfinite(joint_basis(layers[:1]).points(layers[:1], [1])).all()


# ---------------------------------------------------------------- bad input


def test_one_sense_is_refused() -> None:
    examples = planted(10, ("fruit",))
    for function in (lambda: scored(examples, np.zeros((10, 2))), lambda: majority(examples)):
        with pytest.raises(ValueError, match=r"at least two senses.*10 uses of fruit"):
            function()
    with pytest.raises(ValueError, match="at least two senses"):
        score([], lambda _: np.zeros((0, 2)))


def test_too_few_groups_are_named() -> None:
    examples = planted(10)[:13]  # 10 of fruit, 3 of company
    with pytest.raises(ValueError, match=r"'company' has 3 separate sentences; 5-fold .* needs 5"):
        scored(examples, vectors_with(examples, 1.0))
    scored(examples, vectors_with(examples, 1.0), folds=3)
    same = [e._replace(group="one") if e.sense == "company" else e for e in planted(10)]
    with pytest.raises(ValueError, match="'company' has 1 separate"):
        scored(same, vectors_with(same, 1.0))


def test_probe_is_trained_on_other_folds_only() -> None:
    """Labels drawn at random with many dimensions: a probe that saw its test rows would be right nearly always."""
    chance = np.random.default_rng(0)
    labels = chance.permutation(np.repeat(["a", "b"], 60))
    groups = np.array([str(i) for i in range(120)])
    assert probe_right(chance.normal(size=(120, 300)), labels, groups).mean() < 0.65


def test_wrong_number_of_vectors_is_refused() -> None:
    examples = planted(10)
    with pytest.raises(ValueError):
        scored(examples, np.zeros((7, 3)))


def test_vectors_that_are_not_finite_are_refused() -> None:
    examples = planted(10)
    vectors = vectors_with(examples, 1.0)
    vectors[3, 0] = np.nan
    with pytest.raises(ValueError):
        scored(examples, vectors)
