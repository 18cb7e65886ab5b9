"""The layer-weight explorer: what is shown is what is applied, and it never piles up."""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from gensim.models import KeyedVectors
from helpers import random_model

from elmo_lite import corpora, language, senses
from elmo_lite.scalar_mix import mix
from elmo_lite.widgets import MixExplorer, describe_mix, drawn_share, mix_picture

EQUAL = [0.33, 0.33, 0.33]
START = [0, 0.5, 0.5]


def some_uses() -> list[corpora.Use]:
    """Uses of two words, each in both senses, some of them two in a sentence."""
    return [use for word in ("苹果", "小米") for use in corpora.senses("zh", word, split="dev")]


USES = some_uses()
LAYERS = senses.use_layers(USES, random_model())


@pytest.fixture
def explorer() -> Iterator[MixExplorer]:
    language.set_language("en")
    made = MixExplorer(USES, LAYERS)
    yield made
    made.close()


def observers(explorer: MixExplorer) -> int:
    controls = (explorer.word, *explorer.weights, explorer.gamma)
    clicks = sum(len(button._click_handlers.callbacks) for button in explorer.buttons)
    return clicks + sum(len(calls) for control in controls for calls in control._trait_notifiers["value"].values())


# ---------------------------------------------------------------- the pure part


def test_E3_one_hot_weights_draw_exactly_that_layer() -> None:
    basis = senses.joint_basis(LAYERS)
    points = basis.layer_points(LAYERS)
    for layer in range(3):
        assert np.array_equal(mix_picture(points, np.eye(3)[layer].tolist()), points[layer])
    assert np.array_equal(mix_picture(points, [0, 0, 0]), np.zeros_like(points[0]))
    assert np.array_equal(mix_picture(points, [1, 2, 3], 0), np.zeros_like(points[0]))
    mixed = mix(LAYERS - LAYERS.mean(axis=1, keepdims=True), [0.2, 0.5, 1.0], 1.5) @ basis.directions
    assert np.allclose(mix_picture(points, [0.2, 0.5, 1.0], 1.5), mixed, atol=1e-5)
    with pytest.raises(ValueError, match="3 layers need 3 weights, got 2"):
        mix_picture(points, [1, 0])


def test_E3_the_words_say_what_is_applied() -> None:
    language.set_language("en")
    assert describe_mix([0.5, 0.25, 0.25], 2.0) == (
        "Applied as shown: 2.00 × (0.50 × layer 0 + 0.25 × layer 1 + 0.25 × layer 2). Shares: 50% / 25% / 25%."
    )
    assert "Shares: 0% / 100% / 0%" in describe_mix([0, 0.4, 0])
    assert describe_mix([0, 0, 0]) == "All weights are 0: every use is drawn at the origin, none can be told apart."
    assert describe_mix([1, 0, 0], 0).startswith("γ is 0: every use is drawn at the origin")
    assert "–" in describe_mix([-1, 0, 1])
    language.set_language("zh")
    assert "原点" in describe_mix([0, 0, 0]) and "各层占比：100% / 0%" in describe_mix([1, 0])
    language.set_language("en")


def test_the_live_score_is_the_probe_of_senses(explorer: MixExplorer) -> None:
    view = explorer.views["苹果"]
    groups = np.array([use.group for use in view.uses])
    right = senses.probe_right(view.points[1], view.labels, groups)
    macro = np.mean([right[view.labels == name].mean() for name in np.unique(view.labels)])
    value, low, high = view.score([0, 1, 0])
    assert value == pytest.approx(macro) and low < value < high
    assert view.score([0, 0.5, 0]) == (value, low, high)
    assert np.isnan(view.score([0, 0, 0])).all() and np.isnan(drawn_share(view.points[1], view.labels, groups, [])).all()
    assert view.majority == max(Counter(use.sense for use in view.uses).values()) / len(view.uses)


# ---------------------------------------------------------------- the widget


def test_E3_what_the_sliders_show_is_drawn(explorer: MixExplorer) -> None:
    points = explorer.view.points
    assert explorer.mix == (START, 1.0) and senses.context_mix(3) == START
    assert np.allclose(explorer.points, 0.5 * points[1:].sum(axis=0))
    for layer in range(3):
        explorer.buttons[layer].click()
        assert [slider.value for slider in explorer.weights] == np.eye(3)[layer].tolist()
        assert np.array_equal(explorer.points, points[layer])
        assert f"1.00 × layer {layer}" in explorer.line.value
    explorer.buttons[3].click()
    assert explorer.mix == (EQUAL, 1.0) and np.allclose(explorer.points, 0.33 * points.sum(axis=0))
    explorer.buttons[4].click()
    assert explorer.mix == (START, 1.0)
    explorer.set(EQUAL)
    explorer.gamma.value = 0.5
    assert np.allclose(explorer.points, 0.165 * points.sum(axis=0))
    explorer.set([0, 0, 0])
    assert (
        not explorer.points.any()
        and "All weights are 0" in explorer.line.value
        and "lie on this one point" in explorer.image.tooltip
    )
    explorer.set([5, -1, 0])
    assert explorer.mix[0] == [1, 0, 0] and np.array_equal(explorer.points, points[0])
    with pytest.raises(ValueError, match="3 layers need 3 weights"):
        explorer.set([1, 0])


def test_W1_one_picture_whatever_is_moved_and_run_again() -> None:
    figures_before, made, counts, sizes = plt.get_fignums(), [], set(), set()
    for _ in range(3):
        explorer = MixExplorer(USES[:16], LAYERS[:, :16])
        pictures = {bytes(explorer.image.value)}
        for slider in explorer.weights:
            for step in range(10):
                slider.value = round(0.04 + 0.09 * step, 2)
                pictures.add(bytes(explorer.image.value))
        assert len(pictures) > 20  # the one image was redrawn; layer 0 sees the same word everywhere and moves nothing
        counts.add(observers(explorer))
        sizes.add(sum(isinstance(part, ipywidgets.Image) for part in explorer.box.children))
        made.append(explorer)
    assert plt.get_fignums() == figures_before
    assert len(counts) == 1 and sizes == {1}
    assert len({explorer.box.model_id for explorer in made}) == 3
    for explorer in made:
        explorer.close()


def test_W1_a_preset_draws_once(explorer: MixExplorer) -> None:
    drawn: list[Any] = []
    explorer.image.observe(drawn.append, names="value")
    explorer.buttons[1].click()
    assert len(drawn) == 1


def test_W3_nothing_is_embedded_while_sliders_move(explorer: MixExplorer, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    model = random_model()
    embed = type(model).embed
    monkeypatch.setattr(type(model), "embed", lambda self, *a, **k: calls.append(1) or embed(self, *a, **k))
    live = MixExplorer(USES[:30], model)
    assert len(calls) == 1
    for slider in live.weights:
        slider.value = 0.9
    live.word.value = live.word.options[0]
    assert len(calls) == 1
    assert not any(slider.continuous_update for slider in (*live.weights, live.gamma))
    assert all(slider.continuous_update for slider in MixExplorer(USES[:30], LAYERS[:, :30], live=True).weights)
    explorer.set([0.2, 0.3, 0.4])
    began = time.process_time()
    explorer.weights[0].value = 0.7
    assert time.process_time() - began < 1.0  # about 0.1 s on a quiet machine


def test_W3_axes_keep_still_while_weights_move(explorer: MixExplorer) -> None:
    frames = set()
    for weights in ([1, 0, 0], [0, 0, 1], EQUAL, [0, 0, 0], [1, 1, 1]):
        ax = explorer.view.picture(weights, 1.0).axes[0]
        frames.add((ax.get_xlim(), ax.get_ylim(), tuple(ax.get_position().bounds)))
    assert len(frames) == 1
    (x0, x1), (y0, y1), _ = frames.pop()
    assert (explorer.view.points > [x0, y0]).all() and (explorer.view.points < [x1, y1]).all()


def test_W5_a_saved_notebook_shows_a_picture_and_says_run_this_cell(explorer: MixExplorer) -> None:
    data, metadata = explorer._repr_mimebundle_()
    assert data["text/plain"].startswith("Run this cell to use the widget. 苹果: Applied as shown")
    assert base64.b64decode(data["image/png"]) == explorer.image.value
    assert metadata["image/png"]["alt"] == data["text/plain"]
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.box.model_id
    still = explorer.still()
    assert still.png().startswith(b"\x89PNG") and "layer 0, layer 1, layer 2, LSTM layers, equal" in still.alt
    view = explorer.view
    assert f"always answering the most frequent sense: {view.majority:.2f}" in still.alt
    shown = [text.get_text().replace("\n", " ") for ax in still.axes for text in ax.texts]
    assert "nan" not in " ".join(shown)
    same = f"All {len(view.uses)} uses lie on this one point: these vectors do not tell them apart."
    assert same in shown  # layer 0: always the same word
    language.set_language("zh")
    chinese = MixExplorer(USES, LAYERS)
    assert chinese._repr_mimebundle_()[0]["text/plain"].startswith("运行这一格")
    assert "水果" in chinese.still().alt and "两维" in chinese.describe() and chinese.buttons[3].description == "等权"
    language.set_language("en")


def test_each_word_has_its_own_picture(explorer: MixExplorer) -> None:
    assert explorer.word.options == ("苹果", "小米") and explorer.word in explorer.box.children[0].children[0].children
    first = explorer.image.value
    explorer.word.value = "小米"
    assert explorer.image.value != first and explorer.describe().startswith("小米: ")
    assert len(explorer.points) == sum(use.word == "小米" for use in USES)
    one = [i for i, use in enumerate(USES) if use.word == "苹果"]
    alone = MixExplorer([USES[i] for i in one], LAYERS[:, one])
    assert alone.word not in alone.box.children[0].children[0].children
    explorer.word.value = "苹果"
    assert explorer.image.value == first == alone.image.value


def test_the_rival_stands_beside(explorer: MixExplorer) -> None:
    vectors = KeyedVectors(8)
    names = sorted({token for use in USES for token in use.tokens})
    vectors.add_vectors(names, np.random.default_rng(0).normal(size=(len(names), 8)).astype("f"))
    with_rival = MixExplorer(USES, LAYERS, vectors=vectors)
    average = senses.pca_points(senses.sentence_average(with_rival.view.uses, vectors), senses.forms_of(with_rival.view.uses))
    view = with_rival.view
    share, low, high = drawn_share(average, view.labels, view.groups, view.folds)
    told = f"The sentence average of static vectors, drawn alike: {share:.2f} (95% interval {low:.2f} to {high:.2f})."
    assert told in with_rival.line.value
    assert "sentence average" not in explorer.line.value
    unknown = MixExplorer(USES, LAYERS, vectors=KeyedVectors(8))
    assert "sentence average" not in unknown.line.value


def test_a_model_without_context_draws_its_one_layer() -> None:
    alone = MixExplorer(USES, LAYERS[:1])
    assert "layer 0" in alone.still().alt and "LSTM" not in alone.still().alt


@pytest.mark.parametrize("n", [1, 2, 3])
def test_E8_P4_few_uses_give_a_friendly_picture(n: int) -> None:
    few = MixExplorer(USES[:n], LAYERS[:, :n])
    assert few.view.folds == [] and "probe" not in few.line.value
    assert ("a single point" in few.image.tooltip) == (n == 1)
    few.set([1, 0, 0])
    few.still().png()
    assert np.isfinite(few.points).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one example"):
        MixExplorer([], LAYERS)
    with pytest.raises(ValueError, match=r"layers \(n_layers, 2, dim\) are wanted"):
        MixExplorer(USES[:2], LAYERS)
