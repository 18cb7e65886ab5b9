"""The output side: vocabulary, full loss, sampled loss that has the full one's optimum, correction for kept targets."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from elmo_lite.softmax import UNKNOWN, Softmax, Vocabulary, draw_negatives, log_uniform

# ---------------------------------------------------------------- vocabulary


def test_vocabulary_is_sorted_by_frequency() -> None:
    sentences = [["b", "a", "b"], ["c", "b", "a", "苹果"], ["d", "d"]]
    vocabulary = Vocabulary.build(sentences)
    assert vocabulary.words == ["b", "a", "d", "c", "苹果"] and vocabulary.counts == [3, 2, 2, 1, 1]
    assert [vocabulary.id(word) for word in vocabulary.words] == [0, 1, 2, 3, 4]
    assert vocabulary.id("x") == UNKNOWN == -1
    assert "a" in vocabulary and "x" not in vocabulary and len(vocabulary) == 5
    assert Vocabulary.build(sentences, min_count=2).words == ["b", "a", "d"]
    assert Vocabulary.build(sentences, max_size=2).words == ["b", "a"]
    assert Vocabulary.build(reversed(sentences)).words == vocabulary.words  # ties don't hang on the order of the text


def test_vocabulary_errors_say_the_counts() -> None:
    with pytest.raises(ValueError, match=r"3 tokens of 2 words.*3 times \(min_count=3\)"):
        Vocabulary.build([["a", "b"], ["a"]], min_count=3)
    with pytest.raises(ValueError, match="0 tokens of 0 words"):
        Vocabulary.build([])
    with pytest.raises(ValueError):
        Vocabulary(["a", "a"], [2, 1])
    with pytest.raises(ValueError):
        Vocabulary(["a", "b"], [2])


def test_keep_probability() -> None:
    vocabulary = Vocabulary(["the", "of", "bank"], [900, 90, 10])
    keep = vocabulary.keep_probability(0.09)
    torch.testing.assert_close(keep, torch.tensor([math.sqrt(0.09 / 0.9), 1.0, 1.0]))
    assert vocabulary.keep_probability(None).tolist() == [1, 1, 1]


# ---------------------------------------------------------------- the sampler


def test_log_uniform_is_a_distribution() -> None:
    for n_words in (2, 7, 1000):
        chances = log_uniform(torch.arange(n_words), n_words).exp()
        assert chances.sum().item() == pytest.approx(1, abs=1e-5)
        assert (chances[:-1] > chances[1:]).all()
    assert log_uniform(torch.tensor([0]), 9).exp().item() == pytest.approx(math.log(2) / math.log(10))


def test_draw_negatives_follows_log_uniform() -> None:
    n_words, count = 40, 30_000
    chance = torch.Generator().manual_seed(3)
    drawn = torch.cat([draw_negatives(30, n_words, chance) for _ in range(count // 30)])
    assert drawn.min() >= 0 and drawn.max() < n_words
    expected = log_uniform(torch.arange(n_words), n_words).exp() * count
    seen = torch.bincount(drawn, minlength=n_words)
    chi_square = ((seen - expected) ** 2 / expected).sum().item()
    assert chi_square < 39 + 4 * math.sqrt(2 * 39)


def test_no_sampling_where_it_saves_nothing() -> None:
    assert draw_negatives(10, 10) is None and draw_negatives(11, 10) is None
    assert draw_negatives(9, 10) is not None


# ---------------------------------------------------------------- losses


def test_full_loss_by_hand() -> None:
    softmax = Softmax(3, 2, torch.tensor([0.5, 1.0, 1.0]))
    with torch.no_grad():
        softmax.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
        softmax.bias.copy_(torch.tensor([0.0, 0.0, 1.0]))
    hidden = torch.tensor([[2.0, 1.0], [0.0, 0.0]])
    # scores of the first state: 2, 1, 1; of the second: 0, 0, 1; the chance 0.5 of the first word is taken off: x 2
    first = [2 * math.e**2, math.e, math.e]
    second = [2.0, 1.0, math.e]
    expected = -math.log(first[0] / sum(first)) - math.log(second[2] / sum(second))
    assert softmax.full_loss(hidden, torch.tensor([0, 2])).item() == pytest.approx(expected, rel=1e-5)
    torch.testing.assert_close(softmax.log_probabilities(hidden).exp().sum(1), torch.ones(2))
    assert softmax.full_loss(hidden[:0], torch.tensor([], dtype=torch.long)).item() == 0


def test_training_loss_without_sampling_is_cross_entropy() -> None:
    torch.manual_seed(0)
    softmax = Softmax(5, 3, torch.full((5,), 0.3))
    hidden, targets = torch.randn(4, 3), torch.tensor([0, 4, 2, 2])
    by_hand = F.cross_entropy(hidden @ softmax.weight.T + softmax.bias, targets)
    torch.testing.assert_close(softmax.training_loss(hidden, targets, None), by_hand)


def test_gradient_with_many_negatives_is_that_of_the_full_loss() -> None:
    """With very many draws the sampled loss has the full loss's gradient: for frequent targets as much as for rare ones."""
    torch.manual_seed(1)
    n_words = 12
    softmax = Softmax(n_words, 4)
    hidden, targets = torch.randn(6, 4), torch.tensor([0, 0, 1, 3, 7, 11])
    full = torch.autograd.grad(softmax.training_loss(hidden, targets, None), [softmax.weight, softmax.bias])
    uniform = torch.rand(200_000, dtype=torch.float64)
    negatives = (torch.exp(uniform * math.log(n_words + 1)) - 1).long()
    sampled = torch.autograd.grad(softmax.training_loss(hidden, targets, negatives), [softmax.weight, softmax.bias])
    for one, other in zip(sampled, full, strict=True):
        torch.testing.assert_close(one, other, atol=0.01, rtol=0)


def train_bias(truth: torch.Tensor, negatives: int | None, keep: torch.Tensor | None = None, steps: int = 500) -> Softmax:
    """A softmax that sees nothing but how often words come: after training its bias is all it knows."""
    torch.manual_seed(2)
    n_words = len(truth)
    softmax = Softmax(n_words, 1, keep)
    with torch.no_grad():
        softmax.weight.zero_()
    optimiser = torch.optim.Adam([softmax.bias], lr=0.1)
    for step in range(steps):
        targets = torch.multinomial(truth, 2000, replacement=True)
        targets = targets[torch.rand(len(targets)) < softmax.keep[targets]]
        drawn = None if negatives is None else draw_negatives(negatives, n_words)
        optimiser.param_groups[0]["lr"] = 0.1 * (1 - step / steps) + 1e-3
        optimiser.zero_grad()
        softmax.training_loss(torch.zeros(len(targets), 1), targets, drawn).backward()
        optimiser.step()
    return softmax


UNIGRAM = torch.tensor([0.5, 0.2, 0.1, *[0.2 / 27] * 27])  # a word as frequent as a predictable place makes it


@pytest.mark.parametrize("negatives", [None, 8, 25])
def test_sampled_loss_has_the_full_loss_s_optimum(negatives: int | None) -> None:
    learned = train_bias(UNIGRAM, negatives).log_probabilities(torch.zeros(1, 1))[0].detach()
    torch.testing.assert_close(learned[:3].exp(), UNIGRAM[:3], atol=0.02, rtol=0)
    torch.testing.assert_close(learned[3:], UNIGRAM[3:].log(), atol=0.35, rtol=0)
    entropy = -(UNIGRAM * UNIGRAM.log()).sum().item()
    assert -(UNIGRAM * learned).sum().item() == pytest.approx(entropy, abs=0.02)


@pytest.mark.parametrize("negatives", [None, 25])
def test_kept_targets_are_corrected(negatives: int | None) -> None:
    """Known answer: the perplexity of a unigram model is exp(entropy), however many frequent targets training left out."""
    vocabulary = Vocabulary([f"w{i}" for i in range(30)], [round(100_000 * p) for p in UNIGRAM.tolist()])
    keep = vocabulary.keep_probability(5e-3)
    assert keep.min() < 0.15
    softmax = train_bias(UNIGRAM, negatives, keep)
    targets = torch.multinomial(UNIGRAM, 20_000, replacement=True)
    perplexity = math.exp(softmax.full_loss(torch.zeros(len(targets), 1), targets).item() / len(targets))
    truth = math.exp(-UNIGRAM[targets].log().mean().item())  # of these very draws
    assert perplexity == pytest.approx(truth, rel=0.025)
    assert math.exp(-(UNIGRAM * UNIGRAM.log()).sum().item()) == pytest.approx(truth, rel=0.05)
    uncorrected = F.cross_entropy(softmax.bias.detach().expand(len(targets), -1), targets).exp().item()
    assert uncorrected > 1.3 * truth  # the correction is what makes it right
