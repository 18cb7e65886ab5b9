"""Text: one normalisation, one tokeniser, and the way back to the original string."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

import elmo_lite as el
from elmo_lite.characters import encode_word
from elmo_lite.text import check_sentences, detect

# Characters that have broken tokenisers: other planes, combining marks, full width, ligatures, invisible ones, line ends.
TRICKY = (
    "苹果手机我的银行𠮷㐀\ufa0cabAB12３．５Ａ,，。！？!?.…%：:'’\"”-_@/()（）#+ "
    "\u3000\t\n\r\u0085\u2028\u00a0\u200b\u200c\u200d\u2060\ufeff\u00ad\u0301\u0308\u0327éﬁ½℃㎏①ﷺ한ᄒ가ก́🍎👩\ufe0fİßΣωЖא\x00\x1c"
)
BLANK = regex.compile(r"[\s\x1c-\x1f]")  # what str.strip() takes off
texts = st.one_of(
    st.text(max_size=40), st.text(alphabet=TRICKY, max_size=40), st.text(alphabet="苹果手机公司ab1.,%' ", max_size=40)
)
keeps = st.sampled_from([(), ("苹果",), ("苹果", "苹果手机", "ab"), ("果手", "1.5"), ("c++", "%")])


# ---------------------------------------------------------------- normalisation


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＡＢＣ１２３，。！", "ABC123,。!"),
        ("e\u0301", "é"),
        ("ﬁn", "fin"),
        ("a\r\nb\rc\nd\u0085e\u2028f\u2029g", "a\nb\nc\nd\ne\nf\ng"),
        ("\ufeff苹果\u200b手机", "苹果手机"),
        ("ba\u00adnk", "bank"),
        ("a\u2060b\u200cc\u200dd\ufeffe", "abcde"),
        ("e\u200b\u0301", "é"),
        ("\ufa0c", "\u5140"),
        ("a\u00a0b\u3000c", "a b c"),
        ("", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert el.normalise(text) == expected


@given(texts)
def test_normalise_is_stable_and_nfkc(text: str) -> None:
    once = el.normalise(text)
    assert el.normalise(once) == once
    assert unicodedata.is_normalized("NFKC", once)
    assert not regex.search(r"[\ufeff\u200b-\u200d\u2060\u00ad\r\u0085\u2028\u2029]", once)


@pytest.mark.parametrize("wrong", [None, 3, b"bank", ["bank"]])
def test_only_strings_are_text(wrong: Any) -> None:
    for function in (el.normalise, el.tokenize, el.spans, el.split_sentences):
        with pytest.raises(TypeError, match="string"):
            function(wrong)


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    """Such a character comes with text that another program cut; no UTF-8 file can hold it."""
    assert el.tokenize("a \ud83d b") == ["a", "\ufffd", "b"]
    assert el.spans("苹果\udc4e") == [("苹果", 0, 2), ("\ufffd", 2, 3)]


def test_U4_invisible_characters_make_no_look_alikes() -> None:
    assert el.tokenize("苹果\u200b手机") == el.tokenize("苹果手机")
    assert el.tokenize("ba\u00adnk") == ["bank"]
    assert el.tokenize("\ufeffbank") == ["bank"]
    assert el.tokenize("ri\ufeffver") == ["river"]
    assert el.tokenize("\ufeff\u200b") == []
    assert el.spans("ba\u00adnk") == [("bank", 0, 5)]


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\n\u3000", []),
        ("The bank, by the river.", ["the", "bank", ",", "by", "the", "river", "."]),
        (
            "I don't know; it's Tom's, we'll see.",
            ["i", "don't", "know", ";", "it", "'s", "tom", "'s", ",", "we", "'ll", "see", "."],
        ),
        ("They’re DON’T", ["they", "’re", "don’t"]),
        ("Café naïve Ωmega", ["café", "naïve", "ωmega"]),
        ("苹果🍎!", ["苹果", "🍎", "!"]),
        ("snake_case", ["snake_case"]),
        ("第12章", ["第", "12", "章"]),
    ],
)
def test_tokenize(text: str, tokens: list[str]) -> None:
    assert el.tokenize(text) == tokens


def test_mixed_text() -> None:
    assert el.tokenize("我的iPhone是苹果手机", keep=("苹果",)) == ["我", "的", "iphone", "是", "苹果", "手机"]
    assert el.tokenize("我的iPhone是苹果手机", lower=False, keep=("苹果",))[2] == "iPhone"
    assert el.tokenize("用WiFi上网3小时") == ["用", "wifi", "上网", "3", "小时"]


def test_case_policy() -> None:
    assert el.tokenize("Apple APPLES") == ["apple", "apples"]
    assert el.tokenize("Apple APPLES", lower=False) == ["Apple", "APPLES"]
    assert el.tokenize("ＡＰＰＬＥ") == ["apple"]


def test_language_is_checked_and_detected() -> None:
    for function in (el.tokenize, el.spans):
        with pytest.raises(ValueError, match="'zh' or 'en'"):
            function("bank", "fr")
    assert el.tokenize("bank 苹果", "zh") == el.tokenize("bank 苹果", "en") == el.tokenize("bank 苹果")
    assert detect("bank") == "en" and detect("bank 𠮷") == "zh"


def test_keep_words_are_never_merged() -> None:
    assert "苹果公司" in el.tokenize("苹果公司发布新产品")
    assert el.tokenize("苹果公司发布新产品", keep=("苹果",))[:2] == ["苹果", "公司"]
    assert el.tokenize("New Apples", keep=("APPLES",)) == ["new", "apples"]
    assert el.tokenize("苹果手机", keep=("苹果", "苹果手机")) == ["苹果手机"]  # the longest wins


@pytest.mark.parametrize("keep", [("",), ("a b",), ("\u200b",)])
def test_keep_words_must_be_words(keep: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="keep"):
        el.tokenize("bank", keep=keep)


def test_T1_kept_words_do_not_cut_english_words() -> None:
    assert el.tokenize("river bank 苹果", keep=("ank", "an", "iver")) == ["river", "bank", "苹果"]
    assert el.tokenize("ank bank anks", keep=("ank",)) == ["ank", "bank", "anks"]
    assert el.tokenize("my2nd", keep=("y2",)) == ["my2nd"]


def test_T2_kept_words_have_no_after_effects() -> None:
    texts_before = ["苹果手机很好", "苹果公司发布新产品", "他存钱到银行"]
    before = [el.tokenize(text) for text in texts_before]
    el.tokenize("苹果手机很好", keep=("苹果手机", "果手", "存钱到银"))
    assert [el.tokenize(text) for text in texts_before] == before


def test_separators_are_blanks() -> None:
    """What ``str.strip`` and ``str.split`` take for a blank must not be a token: given back as a token it would be refused."""
    assert el.tokenize("a\x1cb\x1d\x1e\x1fc") == ["a", "b", "c"]


def test_no_words_are_invented() -> None:
    """Guessing of unknown words is off: no 他存, no 钱到."""
    assert el.tokenize("他存钱到银行") == ["他", "存钱", "到", "银行"]


T4 = "上涨3.5%到23,876元，见https://a.example/x?y=1，user_name@a.example"


def test_T4_numbers_and_addresses_stay_whole() -> None:
    expected = ["上涨", "3.5%", "到", "23,876", "元", ",", "见", "https://a.example/x?y=1", ",", "user_name@a.example"]
    assert el.tokenize(T4) == expected
    assert el.tokenize("at 10:30 see www.a.example/b-c (now).") == [
        "at",
        "10:30",
        "see",
        "www.a.example/b-c",
        "(",
        "now",
        ")",
        ".",
    ]
    assert el.tokenize("-3.14, 50% and 1998.") == ["-", "3.14", ",", "50%", "and", "1998", "."]


def test_T4_addresses_are_not_split_into_sentences() -> None:
    assert len(el.split_sentences(T4)) == 1
    assert len(el.split_sentences("See https://a.example/x?Y=1 for more.")) == 1


@pytest.mark.parametrize("word", ["12kg", "100th", "1990s", "2nd", "5G", "737MAX", "3abc", "a1b2", "10000m"])
def test_T4_digits_and_letters_stay_together(word: str) -> None:
    assert el.tokenize(f"the {word} there", lower=False) == ["the", word, "there"]


@pytest.mark.parametrize(("text", "number"), [("4:00pm", "4:00"), ("3.5kg", "3.5"), ("23,876m", "23,876")])
def test_T4_numbers_are_whole_before_a_unit(text: str, number: str) -> None:
    tokens = el.tokenize(f"at {text} today")
    assert tokens[1].startswith(number) and "".join(tokens[1:-1]) == text


def test_T5_traditional_characters_are_kept_apart() -> None:
    """No conversion: 蘋果 stays 蘋果, never a silent match with 苹果."""
    traditional, simplified = el.tokenize("蘋果發布了新手機"), el.tokenize("苹果发布了新手机", keep=("苹果",))
    assert "".join(traditional) == "蘋果發布了新手機"
    assert "苹果" in simplified and "苹果" not in traditional
    assert el.tokenize("我喜歡吃蘋果", keep=("苹果", "蘋果"))[-1] == "蘋果"


@pytest.mark.parametrize("text", ["𠮷野家的苹果", "𨋢里的苹果", "㐀", "\ufa0c"])
def test_U3_han_outside_the_basic_plane(text: str) -> None:
    tokens = el.tokenize(text, keep=("苹果",))
    assert "".join(tokens) == el.normalise(text)
    assert detect(text) == "zh"
    assert ("苹果" in tokens) == ("苹果" in text)
    for token in tokens:
        assert all(1 <= i <= 261 for i in encode_word(token))
        assert token.encode("utf-8").decode("utf-8") == token
    assert el.tokenize("\ufa0c") == ["\u5140"]
    assert el.tokenize("a𠮷b") == ["a", "𠮷", "b"]  # classed as Han: not glued to letters


# ---------------------------------------------------------------- the way back


def test_spans_of_known_text() -> None:
    text = "Ａpple的苹果\u200b手机\r\n涨３．５％"
    found = el.spans(text, keep=("苹果",))
    assert [token for token, _, _ in found] == ["apple", "的", "苹果", "手机", "涨", "3.5%"]
    assert [text[a:b] for _, a, b in found] == ["Ａpple", "的", "苹果", "手机", "涨", "３．５％"]
    assert el.spans("½ l") == [("1", 0, 1), ("⁄", 0, 1), ("2", 0, 1), ("l", 2, 3)]  # one character, three tokens


@given(texts, keeps)
@example("e\u0301a\u0301", ())
@example("\r\n\r\n", ())
@example("a\u200b\u0301", ())
@example("ᄒ\u1161\u11ab", ())
@example("\u0301", ())
@example("½a", ())
@example("\xa0\u0300", ())
def test_spans_map_back(text: str, keep: tuple[str, ...]) -> None:
    found = el.spans(text, keep=keep, lower=False)
    plain = el.normalise(text)
    tokens = [token for token, _, _ in found]
    assert tokens == el.tokenize(text, keep=keep, lower=False)
    assert BLANK.sub("", "".join(tokens)) == BLANK.sub("", plain)  # nothing visible is lost, nothing is invented
    assert not any(regex.search(r"\s", token) or not token for token in tokens)
    end_before = 0
    spread_out = any(len(el.normalise(character)) > 1 for character in text)  # such as ½: one character, several tokens
    for token, start, end in found:
        assert 0 <= start < end <= len(text)
        own = el.normalise(text[start:end])
        if spread_out:
            assert token in own
            assert start >= end_before or len(own) > len(token)  # only tokens out of one character share a place
        else:
            assert BLANK.sub("", own) == token  # a blank that carries a combining mark shares its place
            assert start >= end_before
        assert end >= end_before
        end_before = end
    covered = {i for _, start, end in found for i in range(start, end)}
    visible = {i for i, character in enumerate(text) if BLANK.sub("", el.normalise(character))}
    assert visible <= covered


@given(texts, keeps)
def test_case_changes_nothing_but_case(text: str, keep: tuple[str, ...]) -> None:
    lower, as_is = el.spans(text, keep=keep), el.spans(text, keep=keep, lower=False)
    assert [(a, b) for _, a, b in lower] == [(a, b) for _, a, b in as_is]
    assert [token for token, _, _ in lower] == [token.lower() for token, _, _ in as_is]


@given(texts)
def test_tokens_of_normalised_text_are_the_same(text: str) -> None:
    assert el.tokenize(el.normalise(text)) == el.tokenize(text)


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n \u3000\n", []),
        ("我吃苹果。你呢？好！", ["我吃苹果。", "你呢?", "好!"]),
        ("他说：“苹果很甜。”然后走了。", ["他说:“苹果很甜。”", "然后走了。"]),
        ("She left. He stayed.", ["She left.", "He stayed."]),
        ("Mr. Smith met Dr. Jones. They talked.", ["Mr. Smith met Dr. Jones.", "They talked."]),
        ("J. R. Tolkien wrote it. Fine.", ["J. R. Tolkien wrote it.", "Fine."]),
        ("It rose 3.5 percent. Then it fell.", ["It rose 3.5 percent.", "Then it fell."]),
        ('"Stop!" she said. He did.', ['"Stop!" she said.', "He did."]),
        ("One line\r\nand another\u2028third", ["One line", "and another", "third"]),
        ("Really?! Yes. 真的？！是。", ["Really?!", "Yes.", "真的?!", "是。"]),
        ("太好了！iPhone真好用。", ["太好了!", "iPhone真好用。"]),
        ("苹果很甜。\n\n手机很贵。", ["苹果很甜。", "手机很贵。"]),
    ],
)
def test_split_sentences(text: str, sentences: list[str]) -> None:
    assert el.split_sentences(text) == sentences


@pytest.mark.parametrize("text", ['"What?!" he said.', "What?! he said.", "Wait!! she cried."])
def test_no_sentence_ends_where_a_small_letter_goes_on(text: str) -> None:
    assert el.split_sentences(text) == [text]


@given(texts)
def test_splitting_loses_nothing(text: str) -> None:
    sentences = el.split_sentences(text)
    assert all(sentence and sentence == sentence.strip() and "\n" not in sentence for sentence in sentences)

    def visible(text: str) -> str:
        return "".join(text.split())

    assert visible("".join(sentences)) == visible(el.normalise(text))


# ---------------------------------------------------------------- sentences for training


def test_check_sentences_leaves_out_empty_ones() -> None:
    assert check_sentences([["a"], [], ("b", "c")]) == [["a"], ["b", "c"]]
    assert check_sentences(iter([["a"]])) == [["a"]]
    assert check_sentences([]) == []


def test_V1_strings_are_refused() -> None:
    with pytest.raises(TypeError, match=r"the bank of the river.*tokenize"):
        check_sentences("the bank of the river")
    with pytest.raises(TypeError, match=r"sentence 1 .*苹果很甜.*tokenize"):
        check_sentences([["fine"], "苹果很甜"])


@pytest.mark.parametrize("item", [b"ab", 3, None, [1], [["a"]], [None]])
def test_check_sentences_names_other_types(item: Any) -> None:
    with pytest.raises(TypeError, match="sentence 2"):
        check_sentences([["a"], ["b"], item])


@pytest.mark.parametrize("token", ["", " ", "New York", "\u3000", "a\nb", "a\tb", "\u00a0", "\u0085", "\u2028"])
def test_V10_blank_tokens_are_refused(token: str) -> None:
    with pytest.raises(ValueError, match="sentence 1") as caught:
        check_sentences([["a"], ["b", token]])
    assert repr(token) in str(caught.value)


@pytest.mark.parametrize("token", ["\ufeff", "\u200b", "\u00ad", "\u200b\u200d"])
def test_V10_invisible_tokens_are_blank_too(token: str) -> None:
    """Normalised, they are empty: a model could never meet them again."""
    with pytest.raises(ValueError, match="sentence 1"):
        check_sentences([["a"], ["b", token]])
