"""Static vectors: repeatable, honest about their loss, clear about bad input."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import gensim.models
import numpy as np
import pytest
import regex
from gensim.models import KeyedVectors
from helpers import ROOT, fresh_process, toy_text

from elmo_lite.senses import sentence_average, static_points
from elmo_lite.static import word2vec


@pytest.fixture(scope="module")
def vectors() -> KeyedVectors:
    return word2vec(toy_text(), vector_size=16, epochs=6, sample=0)  # 20 words: all frequent, none to be left out


def test_words_that_keep_company_are_neighbours(vectors: KeyedVectors) -> None:
    assert isinstance(vectors, KeyedVectors)
    assert vectors.vectors.shape == (20, 16) and vectors.vectors.dtype == np.float32
    for word in ("fruit0", "phone3"):
        neighbours = [other for other, _ in vectors.most_similar(word, topn=9)]
        assert all(other[:5] == word[:5] for other in neighbours)


def test_loss_of_each_epoch() -> None:
    losses = word2vec(toy_text(1500), vector_size=16, epochs=6).epoch_losses
    assert len(losses) == 6
    assert np.isfinite(losses).all() and min(losses) > 0
    assert losses[-1] < 0.9 * losses[0]
    assert all(later < 1.02 * earlier for earlier, later in itertools.pairwise(losses))


def test_loss_does_not_depend_on_the_length_of_the_text() -> None:
    """A figure a token: twice the text in one epoch is twice the work, not twice the loss."""
    text = toy_text(400)
    once, twice = (word2vec(text * n, vector_size=8, epochs=1, sample=0).epoch_losses[0] for n in (1, 2))
    assert twice == pytest.approx(once, rel=0.3)


def test_V12_loss_is_exact_past_2_to_24(monkeypatch: pytest.MonkeyPatch) -> None:
    """gensim adds up in float32, which stands still past 2**24; what we report must not."""
    real = gensim.models.Word2Vec._do_train_job
    jobs = 0

    def faked(self: Any, sentences: Any, alpha: float, inits: Any) -> Any:
        nonlocal jobs
        before = np.float32(self.running_training_loss)
        counts = real(self, sentences, alpha, inits)
        jobs += 1
        self.running_training_loss = float(before + np.float32(2**23 + 1))  # as gensim's own total would grow
        return counts

    monkeypatch.setattr(gensim.models.Word2Vec, "_do_train_job", faked)
    text = [["a", "b", "c", "d", "e"]] * 14_000  # 70,000 tokens: several jobs an epoch
    losses = word2vec(text, vector_size=4, epochs=2, min_count=1).epoch_losses
    assert jobs >= 2 * 6
    assert losses[0] == losses[1]
    assert losses[0] * 70_000 == pytest.approx(jobs / 2 * (2**23 + 1), rel=1e-12)


def test_V7_same_seed_same_vectors() -> None:
    text = toy_text(120)
    one, other = word2vec(text, vector_size=8, epochs=2), word2vec(text, vector_size=8, epochs=2)
    assert one.index_to_key == other.index_to_key
    np.testing.assert_array_equal(one.vectors, other.vectors)
    assert one.epoch_losses == other.epoch_losses
    third = word2vec(text, vector_size=8, epochs=2, seed=2)
    assert np.abs(third.vectors - one.vectors).max() > 1e-3


def test_V7_same_vectors_in_fresh_processes() -> None:
    code = """
from elmo_lite.static import word2vec
text = [["苹果", "很", "甜"], ["手机", "很", "贵"], ["the", "bank", "is", "closed"]] * 40
vectors = word2vec(text, vector_size=8, epochs=2)
print(vectors.index_to_key, vectors.vectors.tobytes().hex(), vectors.epoch_losses)
"""
    first, second = fresh_process(code, PYTHONHASHSEED="1"), fresh_process(code, PYTHONHASHSEED="2")
    assert first == second
    assert "苹果" in first


# ---------------------------------------------------------------- bad input


def test_V1_strings_are_refused() -> None:
    with pytest.raises(TypeError, match="the bank of the river"):
        word2vec("the bank of the river")
    with pytest.raises(TypeError, match=r"sentence 0 .*the bank"):
        word2vec(["the bank", "苹果很甜"])


def test_V4_min_count_left_nothing() -> None:
    with pytest.raises(ValueError, match=r"2 tokens of 2 words.*min_count=2"):
        word2vec([["a", "b"]])
    with pytest.raises(ValueError, match=r"0 tokens of 0 words.*used up"):
        word2vec([])
    used = iter([["a", "a"]])
    list(used)
    with pytest.raises(ValueError, match="0 tokens"):
        word2vec(used)
    with pytest.raises(ValueError, match=r"3 tokens of 2 words.*min_count=7"):
        word2vec([["a", "b", "a"]], min_count=7)


def test_one_word_is_enough() -> None:
    vectors = word2vec([["a", "a"], ["a"]], vector_size=4, epochs=2)
    assert vectors.index_to_key == ["a"] and np.isfinite(vectors.vectors).all()
    assert np.isfinite(vectors.epoch_losses).all()


def test_V6_unknown_words_are_named(vectors: KeyedVectors) -> None:
    with pytest.raises(KeyError, match="iPhone"):
        vectors.most_similar("iPhone")
    with pytest.raises(KeyError, match="蘋果"):
        vectors.similarity("fruit0", "蘋果")
    with pytest.raises(ValueError):
        vectors.most_similar([])

    class Unknown:
        tokens, position, sense, group = ["iPhone", "蘋果", "qwxz"], 1, "x", "g"

    for points in (sentence_average([Unknown()], vectors), static_points([Unknown()], vectors)):
        assert points.shape == (1, 16) and not points.any()  # documented: zeros, never NaN


@pytest.mark.parametrize("token", [" ", "New York", "\u3000", "a\nb", ""])
def test_V10_blank_tokens_are_named(token: str) -> None:
    with pytest.raises(ValueError, match="sentence 1") as caught:
        word2vec([["a", "b"], ["a", token]], min_count=1)
    assert repr(token) in str(caught.value)


def test_V10_saved_text_file_reloads_with_equal_keys(tmp_path: Path) -> None:
    words = ["苹果", "🍎", "é", "한국", "#", '"', "\\", "1.5", "https://a.example/x", "a" * 500, "</s>", "𠮷"]
    vectors = word2vec([words] * 3, vector_size=4, epochs=1)
    path = tmp_path / "vectors.txt"
    vectors.save_word2vec_format(str(path))
    again = KeyedVectors.load_word2vec_format(str(path))
    assert again.index_to_key == vectors.index_to_key and set(again.index_to_key) == set(words)
    np.testing.assert_allclose(again.vectors, vectors.vectors, atol=1e-6)


# ---------------------------------------------------------------- gensim 3 names


OLD_NAMES = regex.compile(
    r"\.wv\.vocab\b|\.index2word\b|\.index2entity\b|\.syn0\b|\.wv\.wv\b|\.init_sims\(|\.similar_by_word\("
    r"|(?:Word2Vec|FastText|Doc2Vec|word2vec|fasttext)\([^()]*(?:\([^()]*\)[^()]*)*\b(?:size|iter)="
)


def test_V13_old_names_are_recognised() -> None:
    assert OLD_NAMES.search("model.wv.vocab['a']")
    assert OLD_NAMES.search("Word2Vec(list(text), size=64)") and OLD_NAMES.search("Word2Vec(text,\n  iter=5)")
    assert not OLD_NAMES.search("Word2Vec(text, vector_size=64, epochs=5)")


def test_V13_no_gensim_3_names() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "elmo_lite").rglob("*.py"))}
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            sources[path] = "\n".join("".join(cell["source"]) for cell in cells)  # code and prose
    if (ROOT / "README.md").exists():
        sources[ROOT / "README.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(sources) > 5
    assert [f"{path.name}: {found[0]}" for path, text in sources.items() if (found := OLD_NAMES.search(text))] == []
