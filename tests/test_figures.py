"""The pictures: they always draw, in both languages, and say what they cannot show."""

from __future__ import annotations

import base64
import logging
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pytest
from helpers import fresh_process
from IPython.core.formatters import DisplayFormatter
from IPython.core.pylabtools import select_figure_formats
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from elmo_lite import corpora, figures, language

GLOSSES = {"fruit": {"en": "fruit", "zh": "水果"}, "company": {"en": "technology company", "zh": "科技公司"}}
SENSES = ["fruit", "company"] * 30
HISTORY: list[dict[str, Any]] = [
    {
        "epoch": e,
        "seconds": 1.0,
        "training": {"forward": p, "backward": 0.8 * p},
        "held_out": {"forward": 1.2 * p, "backward": p},
    }
    for e, p in enumerate((900.0, 400.0, 250.0))
]
TOKENS = ["我", "的", "苹果", "手机", "坏", "了", ",", "苹果", "还", "在", "。"]


class Row(NamedTuple):
    name: str
    probe: figures.Interval
    drawn: figures.Interval
    nearest: figures.Interval


ROWS = [Row("ELMo", (0.9, 0.85, 0.95), (0.8, 0.7, 0.9), (0.7, 0.6, 0.8)), Row("静态", (0.5, 0.4, 0.6), *[(np.nan,) * 3] * 2)]


def points(n: int = 60, seed: int = 0) -> figures.Points:
    chance = np.random.default_rng(seed)
    return chance.normal(size=(n, 2)) + 3 * (np.arange(n) % 2)[:, None]


def use(**changes: Any) -> figures.TwoUses:
    plain = figures.TwoUses(TOKENS, (2, 7), ("company", "fruit"), [[0.2, 0.8], [0.9, 0.1]], [0.6, 0.4])
    return plain._replace(**changes)


def every_picture() -> dict[str, figures.Picture]:
    """One of each kind, with Chinese text in each."""
    layers = np.stack([points() * 0, points(), points(seed=1)])
    kept = {"glosses": GLOSSES, "title": "苹果"}
    return {
        "scatter": figures.sense_scatter(
            points(), SENSES, **kept, score=(0.9, 0.8, 1.0), majority=0.5, pairs=[(0, 1)], texts={3: "…我的[苹果]手机…"}
        ),
        "scatter with star": figures.sense_scatter(points(), SENSES, **kept, static_point=(0, 0), labels="above", limit=9),
        "layers": figures.layer_panels(
            layers, SENSES, ["第 0 层", "1", "2"], **kept, scores=[None, (0.9, 0.8, 1), (0.8, 0.7, 1)]
        ),
        "one to many": figures.static_vs_uses(
            points(), SENSES, word="苹果", glosses=GLOSSES, score=(0.9, 0.8, 1.0), majority=0.5
        ),
        "training": figures.loss_curves(HISTORY, title="苹果"),
        "word2vec": figures.epoch_losses([3.0, 2.5, 2.2], title="苹果"),
        "neighbours": figures.neighbour_bars({"苹果": [("梨", 0.8), ("手机", 0.7)], "bank": [("river", 0.5)]}, title="近邻"),
        "scores": figures.score_bars(ROWS, majority=0.5, title="苹果"),
        "guess": figures.expectation_bars(TOKENS, 2, [("苹果", 0.2), ("手", 0.1)], [("小米", 0.1)]),
        "two uses": figures.two_uses([use(), use(average=[[0.6, 0.4], [0.6, 0.4]])], ["fruit", "company"], **kept),
    }


@pytest.fixture(params=["zh", "en"])
def spoken(request: pytest.FixtureRequest) -> Iterator[str]:
    before = language.get_language()
    language.set_language(request.param)
    yield request.param
    language.set_language(before)


def texts(picture: figures.Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text().strip()]


def test_P1_chinese_draws_without_a_warning(spoken: str, caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        for name, picture in every_picture().items():
            assert picture.png().startswith(b"\x89PNG"), name
            family = {text.get_fontfamily()[0] for text in picture.findobj(Text)}
            assert family == {figures.chinese_font()}, name
    assert not caplog.records


def test_P1_the_glyphs_are_in_the_font() -> None:
    assert figures.chinese_font() == "Noto Sans SC"
    assert figures.drawable("苹果 bank, “银行” ✓✗★●▲") == "苹果 bank, “银行” ✓✗★●▲"


def test_P1_without_a_chinese_font_one_warning_and_english_labels() -> None:
    code = """
import sys, warnings
sys.modules["pylopdf_fonts_zh_cn"] = None
from elmo_lite import figures, language
from elmo_lite.figures import sheet
sheet._SYSTEM_FONTS = ()
language.set_language("zh")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(3):
        picture = figures.sense_scatter(
            [[0, 0], [1, 1]], ["a", "b"], title="苹果", glosses={"a": {"zh": "水果", "en": "fruit"}}
        )
        picture.png()
print([str(w.message) for w in seen])
print(picture.alt)
print([t.get_text() for t in picture.axes[1].texts])
"""
    seen, alt, drawn = fresh_process(code).splitlines()
    assert seen.count("no font with Chinese characters") == 1 and seen.count("pip install") == 1 and "Glyph" not in seen
    assert "fruit 1" in alt and "水果" not in alt
    assert "□□" in drawn


def test_emoji_formulas_and_unseen_scripts_are_drawn_as_they_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = figures.sense_scatter(points(), SENSES, title="🍎 $a_1$ $\\frac$ \u0e41\u0e2d", texts={0: "cost $5 or $6"})
        picture.png()
        figures.neighbour_bars({"$x$": [("$$", 0.5), ("🍐", 0.4)]}).png()
        figures.expectation_bars(["🍎", "$", "^_$"], 1, [("🍎", 0.2)], [("$$", 0.1)]).png()
    assert "□ $a_1$ $\\frac$ □□" in texts(picture)


def test_every_picture_says_what_it_shows(spoken: str) -> None:
    pictures = every_picture()
    for name, picture in pictures.items():
        data, metadata = picture._repr_mimebundle_()
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
        assert metadata == {"image/png": {"alt": picture.alt}} and data["text/plain"] == picture.alt
        assert len(picture.alt) > 20 and "\n" not in picture.alt and " nan" not in picture.alt, name
    gloss = GLOSSES["company"][spoken]
    assert gloss in pictures["scatter"].alt and gloss in pictures["two uses"].alt
    assert ("困惑度" in pictures["training"].alt) == (spoken == "zh")
    assert any(gloss in text for text in texts(pictures["scatter"]))
    joined = "".join(text for picture in pictures.values() for text in texts(picture))
    assert ("两维" in joined) == (spoken == "zh") and ("dimensions" in joined) == (spoken == "en")


def test_a_picture_shows_itself_in_a_notebook_with_its_alt_text() -> None:
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    picture = figures.epoch_losses([2.0, 1.0])
    for _ in ("plain", "inline"):
        data, metadata = shell.display_formatter.format(picture)
        assert {"image/png", "text/plain"} <= set(data)
        assert metadata["image/png"]["alt"] == picture.alt == data["text/plain"]
        select_figure_formats(shell, {"png"}, bbox_inches="tight")  # what %matplotlib inline does


def test_W1_no_picture_is_left_open() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    for _ in range(2):
        for picture in every_picture().values():
            picture.png()
    assert plt.get_fignums() == before


def test_pictures_need_no_torch() -> None:
    code = "import sys; from elmo_lite import figures; print(sorted({'torch', 'matplotlib.pyplot'} & set(sys.modules)))"
    assert fresh_process(code).strip() == "[]"


def test_every_text_and_the_static_vector_are_named_in_a_crowd() -> None:
    crowd = np.random.default_rng(0).uniform(size=(900, 2))
    named = {i: f"use [{i}]" for i in range(6)}
    picture = figures.sense_scatter(crowd, ["a", "b", "c"] * 300, texts=named, static_point=(0.5, 0.5), title="crowd")
    assert {*named.values(), "static vector: this one point", "● a (300)"} <= set(texts(picture))
    assert not overlap(picture) and not outside(picture)


def test_the_style_can_be_set_again_and_again() -> None:
    figures.use_style()
    first = dict(matplotlib.rcParams)
    figures.use_style()
    assert dict(matplotlib.rcParams) == first
    assert matplotlib.rcParams["font.family"] == ["Noto Sans SC", "DejaVu Sans"]


# ---------------------------------------------------------------- scatter


@pytest.mark.parametrize(
    ("places", "told"),
    [([], "There is no use"), ([[1.0, 2.0]], "a single point"), ([[1.0, 2.0]] * 5, "All 5 uses lie on this one point")],
)
def test_P4_none_one_and_identical_points(places: list[list[float]], told: str) -> None:
    picture = figures.sense_scatter(places, SENSES[: len(places)], title="苹果", glosses=GLOSSES, score=(0.5, 0.4, 0.6))
    picture.png()
    assert told in picture.alt and any(told[:20] in text.replace("\n", " ") for text in texts(picture))
    assert np.isfinite(picture.axes[0].get_xlim()).all()
    figures.static_vs_uses(places, SENSES[: len(places)], word="苹果").png()
    figures.layer_panels([places, places], SENSES[: len(places)], ["0", "1"]).png()


def test_P4_identical_points_are_drawn_with_their_number() -> None:
    assert "× 5" in texts(figures.sense_scatter([[1.0, 2.0]] * 5, SENSES[:5]))


def test_P5_rows_without_a_vector_are_left_out_and_counted(spoken: str) -> None:
    places = points()
    places[:4], places[4] = np.nan, np.inf
    picture = figures.sense_scatter(places, SENSES, glosses=GLOSSES, pairs=[(0, 1), (6, 7)], texts={0: "left out", 6: "drawn"})
    told = "5 个用例没有向量" if spoken == "zh" else "5 more without a vector"
    assert told in picture.alt and told in "".join(texts(picture))
    assert "drawn" in texts(picture) and "left out" not in texts(picture)
    drawn = np.vstack([dots.get_offsets() for dots in picture.axes[0].collections])
    assert len(drawn) == 55 and np.isfinite(drawn).all()
    nothing = figures.sense_scatter(np.full((3, 2), np.nan), SENSES[:3])
    assert ("3 个用例没有向量" if spoken == "zh" else "3 more without a vector") in nothing.alt


def test_points_are_drawn_where_they_are_each_sense_with_its_own_marker() -> None:
    places = points()
    ax = figures.sense_scatter(places, SENSES, glosses=GLOSSES).axes[0]
    drawn = np.vstack([dots.get_offsets() for dots in ax.collections])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, places))
    fruit = np.vstack(
        [d.get_offsets() for d in ax.collections if matplotlib.colors.same_color(d.get_facecolor()[:, :3], figures.COLOURS[0])]
    )
    assert sorted(map(tuple, fruit)) == sorted(map(tuple, places[::2]))
    assert len({dots.get_paths()[0].vertices.tobytes() for dots in ax.collections}) == 2
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    box, size = ax.get_position(), ax.get_figure().get_size_inches()
    assert (x1 - x0) / (y1 - y0) == pytest.approx(box.width * size[0] / (box.height * size[1]))


def test_a_sense_keeps_its_colour_when_another_is_missing() -> None:
    only = figures.Cloud.of(points(30), ["company"] * 30, GLOSSES)
    both = figures.Cloud.of(points(), SENSES, GLOSSES)
    assert only.colour("company") == both.colour("company") != both.colour("fruit")


def test_a_fixed_frame_stays_and_tells_what_lies_outside() -> None:
    frames = []
    for scale in (0.1, 1.0, 5.0):
        picture = figures.sense_scatter(points() * scale, SENSES, limit=4.0, labels="above")
        frames.append((picture.axes[0].get_xlim(), picture.axes[0].get_ylim()))
        outside = (np.abs(points() * scale) > [frames[0][0][1], 4.0]).any(axis=1).sum()
        assert (f"{outside} points are outside the frame" in texts(picture)) == (outside > 0)
    assert len(set(frames)) == 1 and frames[0][1] == (-4.0, 4.0)


def test_the_score_stands_underneath_with_its_baseline() -> None:
    words = "A probe that sees only these two dimensions is right 0.90 of the time (95% interval 0.85 to 0.95)"
    picture = figures.sense_scatter(points(), SENSES, score=(0.9, 0.85, 0.95), majority=0.5)
    shown = " ".join(texts(picture)).replace("\n", " ")
    assert words in shown and "always answering the most frequent sense: 0.50." in shown
    assert figures.score_words((0.9, np.nan, np.nan)) == words.split(" (95%")[0] + "."
    assert figures.score_words(None, 0.5) == figures.score_words((np.nan,) * 3, 0.5) == ""


@pytest.mark.parametrize("wrong", [np.zeros((3, 3)), np.zeros((2, 2)), np.zeros(6), np.zeros((3, 1))])
def test_points_of_another_shape_are_refused(wrong: figures.Points) -> None:
    with pytest.raises(ValueError, match=r"points \(n, 2\) and n senses"):
        figures.sense_scatter(wrong, ["a", "b", "c"])


def test_layer_panels_share_their_scale() -> None:
    picture = figures.layer_panels(np.stack([points(), points() * 0.3]), SENSES, ["0", "1"], scores=[(0.9, 0.8, 1.0), None])
    frames = {ax.get_xlim() for ax in picture.axes if ax.get_xlim()[0] < 0}
    assert len(frames) == 1 and "0.90  [0.80, 1.00]" in texts(picture)
    with pytest.raises(ValueError, match="2 panels need as many names"):
        figures.layer_panels(np.zeros((2, 60, 2)), SENSES, ["0"])


def boxes(picture: figures.Picture) -> list[tuple[str, Bbox]]:
    """Each text of a picture with its box in dots."""
    picture.draw_without_rendering()
    written = [*picture.texts, *(text for ax in picture.axes for text in (*ax.texts, ax.title, ax._left_title))]
    return [(text.get_text(), text.get_window_extent()) for text in written if text.get_text().strip()]


def overlap(picture: figures.Picture) -> list[tuple[str, str]]:
    """Pairs of texts of a picture that lie on one another."""
    found = boxes(picture)
    return [(a, b) for i, (a, one) in enumerate(found) for b, two in found[i + 1 :] if one.overlaps(two)]


def outside(picture: figures.Picture) -> list[str]:
    """Texts that are cut at the edge of a picture."""
    width, height = picture.bbox.width + 1, picture.bbox.height + 1
    return [text for text, b in boxes(picture) if b.x0 < -1 or b.y0 < -1 or b.x1 > width or b.y1 > height]


@pytest.mark.parametrize("word", ["苹果", "spring", "seal"])
def test_labels_neither_overlap_nor_are_cut(spoken: str, word: str) -> None:
    lang = "zh" if word in corpora.inventory("zh") else "en"
    glosses = corpora.inventory(lang)[word]
    senses = [use.sense for use in corpora.senses(lang, word)]
    chance = np.random.default_rng(0)
    middle = {sense: chance.normal(size=2) * 2 for sense in glosses}
    places = np.array([middle[sense] for sense in senses]) + chance.normal(size=(len(senses), 2))
    for picture in (
        figures.sense_scatter(places, senses, title=word, glosses=glosses, score=(0.9, 0.8, 1.0), majority=0.5),
        figures.sense_scatter(places, senses, title=word, glosses=glosses, labels="above", note="note " * 40, size=(8, 5)),
        figures.sense_scatter(places, senses, title=word, glosses=glosses, texts={0: "[one] use", 99: "…another [use]…"}),
        figures.layer_panels(np.stack([places] * 4), senses, ["0", "1", "2", "mix"], title=word, glosses=glosses),
    ):
        assert not overlap(picture) and not outside(picture)


# ---------------------------------------------------------------- training, neighbours, scores


def test_training_curves_show_every_value_and_both_directions() -> None:
    picture = figures.loss_curves(HISTORY)
    lines = [line.get_ydata().tolist() for ax in picture.axes for line in ax.lines]
    assert lines == [[900, 400, 250], [1080, 480, 300], [720, 320, 200], [900, 400, 250]]
    assert {ax.get_yscale() for ax in picture.axes} == {"log"}
    assert "forward → training 900 → 250" in picture.alt
    assert not overlap(picture) and not outside(picture)


def test_training_curves_of_little_or_broken_history() -> None:
    assert "epoch has to end" in figures.loss_curves([]).alt
    figures.loss_curves(HISTORY[:1]).png()
    holes = {"forward": float("nan"), "backward": float("nan"), "unknown": 1.0}
    assert "epoch has to end" in figures.loss_curves([{"epoch": 0, "training": holes, "held_out": holes}]).alt
    picture = figures.loss_curves([*HISTORY, {"epoch": 3, "training": holes, "held_out": holes}])
    picture.png()
    assert "forward → held out 1,080 → 300" in picture.alt
    assert "No training" in figures.epoch_losses([]).alt


def test_neighbours_that_are_not_there() -> None:
    assert "not in the vocabulary" in figures.neighbour_bars({"qwxz": []}).alt
    picture = figures.neighbour_bars({"qwxz": [], "bank": [("x" * 60, 0.5), ("y", -0.1), ("z", float("nan"))]})
    assert "(not in the vocabulary)" in texts(picture) and not overlap(picture) and not outside(picture)


def test_score_bars_hold_each_figure() -> None:
    picture = figures.score_bars(ROWS, majority=0.5)
    assert {"0.90", "0.80", "0.70", "ELMo", "静态"} <= set(texts(picture))
    dashed = [line for ax in picture.axes for line in ax.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [0.5] * 3
    assert "no scores" in figures.score_bars([]).alt


# ---------------------------------------------------------------- sentences


def test_tokens_are_written_as_in_the_sentence() -> None:
    for lang in ("zh", "en"):
        for use in corpora.senses(lang):
            assert "".join(figures.written(use.tokens, use.sentence)) == use.sentence.strip()


def test_tokens_are_written_by_rule_without_their_sentence() -> None:
    english = [*["i", "don't", "like", "the", "bank", "'s", "well", "-", "paid", "staff", "(", "or", "its", "river", ")"]]
    assert "".join(figures.written(['"', "hi", ",", '"', "she", "said", "."])) == '"hi," she said.'
    assert "".join(figures.written(english)) == "i don't like the bank's well-paid staff (or its river)"
    assert "".join(figures.written(["我", "的", "iphone", "是", "苹果", "。"])) == "我的iphone是苹果。"
    assert "".join(figures.written(["the", "bank"], "Another text")) == "the bank"
    assert figures.written([]) == []
    assert figures.quote(["on", "the", "east", "bank", "of", "it", "."], 3, 2) == "…the east [bank] of it…"


def test_a_gap_shows_both_sides_and_marks_the_word_that_stood_there() -> None:
    picture = figures.expectation_bars(TOKENS, 2, [("苹果", 0.25), ("手", 0.1)], [("小米", 0.125)])
    shown = texts(picture)
    assert "25.0% ✓" in shown and "12.5%" in shown and "苹果" in shown
    assert "______" in picture.alt and "苹果 25.0%" in picture.alt
    for wrong in (-1, 11):
        with pytest.raises(IndexError, match=f"position {wrong} is not in a sentence of 11 tokens"):
            figures.expectation_bars(TOKENS, wrong, [], [])
    figures.expectation_bars(["a"], 0, [], []).png()


def test_two_uses_bars_are_the_probabilities() -> None:
    picture = figures.two_uses(use(), ["fruit", "company"], glosses=GLOSSES)
    bars = [p.get_width() for p in picture.axes[0].patches if type(p).__name__ == "Rectangle"]
    shares = np.array(bars).reshape(2, 2, 2) / 2.6  # use, contextual and average, sense
    assert np.allclose(shares, [[[0.2, 0.8], [0.6, 0.4]], [[0.9, 0.1], [0.6, 0.4]]])
    assert "Right: ELMo 2 of 2, average 1 of 2." in picture.alt
    assert "苹果 (technology company): ELMo 80%, average 40%" in picture.alt


def test_two_uses_of_every_sentence_fit_the_page(spoken: str) -> None:
    for lang, word in (("zh", "苹果"), ("en", "bank"), ("en", "spring")):
        glosses = corpora.inventory(lang)[word]
        groups: dict[str, list[corpora.Use]] = {}
        for one in corpora.senses(lang, word):
            groups.setdefault(one.group, []).append(one)
        even = np.full((2, len(glosses)), 1 / len(glosses))
        both = [
            figures.TwoUses(a.tokens, (a.position, b.position), (a.sense, b.sense), even, even, a.sentence)
            for a, b in (group for group in groups.values() if len(group) == 2)
        ]
        assert len(both) >= 10
        both = sorted(both, key=lambda item: len(item.sentence))[::-1][:8] + both[:4]  # the longest, and some others
        picture = figures.two_uses(both, list(glosses), glosses=glosses, title=word)
        assert not outside(picture)
        clashes = [pair for pair in overlap(picture) if not any(t.strip() in "，。？！,.?!:;'\"”“" for t in pair)]
        assert not [(a, b) for a, b in clashes if "ELMo" in (a, b) or "%" in a + b]


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"positions": (2, 11)}, IndexError, "position 11"),
        ({"contextual": [[1.0, 0.0]]}, ValueError, "need probabilities"),
        ({"average": [[np.nan, 0.5]] * 2}, ValueError, "not finite"),
        ({"meant": ("river", "fruit")}, ValueError, "two of the senses"),
    ],
)
def test_two_uses_refuse_what_does_not_fit(changes: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        figures.two_uses(use(**changes), ["fruit", "company"])
    assert "no sentence with two senses" in figures.two_uses([], ["fruit", "company"]).alt


def test_long_tokens_and_long_titles_stay_on_the_page() -> None:
    tokens = ["x" * 500, *["word"] * 60, "苹果" * 100]
    long = figures.TwoUses(tokens, (0, 61), ("fruit", "company"), [[0.5, 0.5]] * 2, [0.5, 0.5])
    pictures = [
        figures.two_uses(long, ["fruit", "company"], title="a long title " * 20),
        figures.expectation_bars(tokens, 3, [("y" * 400, 0.2)], [("苹果" * 90, 0.1)]),
        figures.sense_scatter(points(), SENSES, title="苹果" * 60, glosses={"fruit": "a very long gloss " * 3, "company": "x"}),
    ]
    for picture in pictures:
        assert not outside(picture)
