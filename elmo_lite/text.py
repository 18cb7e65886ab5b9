"""Text to tokens, by one set of rules for training and for use, with the way back to the original string.

Normalisation (``normalise``): NFKC; byte order marks, zero-width characters and soft hyphens removed; every line end
becomes ``\\n``; half of a surrogate pair, which no file can hold, becomes U+FFFD. NFKC makes full-width and half-width forms
one: ，becomes a comma, Ａ becomes A.

Tokens (``tokenize``), tried in this order at each place:

1. a web address or an e-mail address is one token;
2. a word from ``keep`` is one token, never merged into another; it never cuts a word of letters in two;
3. a run of Han characters is cut by the jieba dictionary (rjieba, own instance, no guessing of new words);
4. a number with its decimal point, thousands commas, colons and percent sign is one token: 3.5%, 23,876, 10:30;
5. letters and digits of other scripts are one token, n't included (don't), while 's 're 've 'll 'd 'm stand apart;
6. anything else visible (punctuation, emoji) is a token of its own.

Case: ``lower=True`` (the default) puts tokens in lower case, so that Apple the company and a sentence that starts with
"Apples" look alike and only context can tell them apart. Published models, which read case, use ``lower=False``.
Rules go by script, not by language, so mixed text ("我的iPhone是苹果手机") needs no switch.
"""

from __future__ import annotations

import functools
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence

import regex
import rjieba

from .language import Language, check_language

_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00ad"
_REMOVED: dict[int, int | None] = {ord(c): None for c in _INVISIBLE}
_REPLACED = _REMOVED | {code: 0xFFFD for code in range(0xD800, 0xE000)}
_LINE_ENDS = regex.compile(r"\r\n|[\r\u0085\u2028\u2029\v\f]")
_HAN = regex.compile(r"\p{Han}")
# A comma ends an address: behind it stands other text, in Chinese without a blank.
_ADDRESS = r"(?:(?:https?://|www\.)[\x21-\x7e--[,;]]*[A-Za-z0-9/]|[\w.+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+)"
_CLITIC = r"['’](?i:s|re|ve|ll|d|m)(?![\p{L}\p{N}])"


def normalise(text: str) -> str:
    """The one normalisation of the suite (see the module's head). ``TypeError`` for anything but a string."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}")
    text = _LINE_ENDS.sub("\n", text).translate(_REPLACED)
    return unicodedata.normalize("NFKC", text).translate(_REMOVED)


def detect(text: str) -> Language:
    """ "zh" if the text holds any Han character, otherwise "en"."""
    return "zh" if _HAN.search(text) else "en"


def tokenize(text: str, lang: str | None = None, keep: Sequence[str] = (), lower: bool = True) -> list[str]:
    """Cut ``text`` into tokens by the rules in the module's head; blank text gives ``[]``.

    ``lang`` is "zh", "en" or None (any other value raises ``ValueError``); the rules go by script and are the same for all
    three. ``keep`` holds words that are never merged into longer ones: ``keep=("苹果",)`` cuts 苹果公司 into 苹果 and 公司.
    """
    if lang is not None:
        check_language(lang)
    plain = normalise(text)
    tokens = (plain[start:end] for start, end in _pieces(plain, tuple(keep)))
    return [token.lower() for token in tokens] if lower else list(tokens)


def spans(text: str, lang: str | None = None, keep: Sequence[str] = (), lower: bool = True) -> list[tuple[str, int, int]]:
    """Like ``tokenize``, with each token's place: ``(token, start, end)`` such that ``text[start:end]`` is the original."""
    if lang is not None:
        check_language(lang)
    plain = normalise(text)
    starts, ends = _offsets(text, plain)
    pieces = _pieces(plain, tuple(keep))
    cut = [(plain[a:b], starts[a], ends[b - 1]) for a, b in pieces]
    return [(token.lower() if lower else token, a, b) for token, a, b in cut]


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences.

    A sentence ends after 。！？!? (closing quotes and brackets stay; not where a small letter goes on), after a full
    stop that is followed by a blank and a new beginning (not after a title such as Mr. or a single initial), and at every
    line end.
    """
    found = []
    for line in normalise(text).split("\n"):
        start = 0
        addresses = [match.span() for match in _IN_ADDRESS.finditer(line)]
        for match in _SENTENCE_END.finditer(line):
            if any(a < match.start() < b for a, b in addresses):
                continue
            if match.group("stop") and _ABBREVIATION.search(line, start, match.start("stop") + 1):
                continue
            found.append(line[start : match.end()].strip())
            start = match.end()
        found.append(line[start:].strip())
    return [sentence for sentence in found if sentence]


def check_sentences(sentences: Iterable[Sequence[str]]) -> list[list[str]]:
    """Tokenised sentences as training wants them: a list of non-empty lists of tokens (empty ones are left out).

    Raises ``TypeError`` for strings where lists of tokens are wanted (they would be read letter by letter) and ``ValueError``
    for a token that is or holds a blank; both name the item.
    """
    if isinstance(sentences, str):
        raise TypeError(f"a list of tokenised sentences is wanted, got the string {sentences[:30]!r}; use el.tokenize")
    checked = []
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str) or not isinstance(sentence, Sequence):
            raise TypeError(f"sentence {number} must be a list of tokens, got {str(sentence)[:30]!r}; use el.tokenize")
        for token in sentence:
            if not isinstance(token, str):
                raise TypeError(f"sentence {number} holds {token!r}, which is no string")
            if not token or _BLANK.search(token) or not token.translate(_REMOVED):
                raise ValueError(f"sentence {number} holds the token {token!r}: a token must not be or hold a blank")
        if sentence:
            checked.append(list(sentence))
    return checked


def token_lists(
    sentences: Sequence[str | Sequence[str]], lang: str | None = None, keep: Sequence[str] = (), lower: bool = True
) -> list[list[str]]:
    """Sentences as a model wants them: strings are tokenised, the tokens of lists normalised in the same way.

    Raises ``TypeError`` for one string where a list is wanted and for items of other kinds, ``ValueError`` for a blank
    token; both name the item. Warns when a token looks like a whole sentence.
    """
    if isinstance(sentences, str):
        raise TypeError(f"a list of sentences is wanted, got one string; write [{sentences[:20]!r}]")
    result = []
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            result.append(tokenize(sentence, lang, keep, lower))
            continue
        if not isinstance(sentence, Sequence) or not all(isinstance(token, str) for token in sentence):
            raise TypeError(f"sentence {number} must be a string or a list of tokens, got {sentence!r}")
        tokens = [normalise(token).strip() for token in sentence]
        if "" in tokens:
            raise ValueError(f"sentence {number}: token {tokens.index('')} is blank")
        for token in tokens:
            if _BLANK.search(token) or (len(tokens) == 1 and len(token) > 4 and len(tokenize(token, lang, keep)) > 1):
                warnings.warn(f"sentence {number}: {token!r} stands as one token; give the string to have it cut", stacklevel=4)
        result.append([token.lower() for token in tokens] if lower else tokens)
    return result


_BLANK = regex.compile(r"\s")
_SENTENCE_END = regex.compile(
    r"""(?:[。！？]+|[!?]++(?!["'”’)\]]*\s+\p{Ll})|(?P<stop>\.)(?=["'”’)\]]*\s+["'“‘(\[]*[\p{Lu}\p{N}\p{Han}]))["'”’」』)\]》]*"""
)
_IN_ADDRESS = regex.compile(_ADDRESS, regex.V1)
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(])(?:\p{Lu}\.)*(?:\p{Lu}|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Col|Capt|Rev|Sen|vs|etc|e\.g|i\.e|cf|No|Vol|Fig|Inc|Ltd|Co|Corp|ca|c)\.$"
)


@functools.cache
def _jieba() -> rjieba.Jieba:
    """Our own instance: words added to jieba elsewhere in the process don't change our cuts."""
    return rjieba.Jieba()


@functools.lru_cache(maxsize=64)
def _pattern(keep: tuple[str, ...]) -> regex.Pattern[str]:
    """The token pattern, with the words of ``keep`` (longest first) as tokens of their own."""
    if isinstance(keep, str) or not all(isinstance(word, str) for word in keep):
        raise TypeError(f"keep must be a sequence of words, got {keep!r}")
    kept = []
    for word in sorted({normalise(word) for word in keep}, key=lambda w: (-len(w), w)):
        if not word or regex.search(r"\s", word):
            raise ValueError(f"a word to keep must not be empty or hold a blank, got {word!r}")
        whole = regex.escape(word)
        # A word of letters is kept only where it stands alone: keeping "ank" must not cut "bank".
        left = "" if _HAN.match(word[0]) else r"(?<![\p{L}\p{N}--\p{Han}])"
        right = "" if _HAN.match(word[-1]) else r"(?![\p{L}\p{N}--\p{Han}])"
        kept.append(left + whole + right)
    keep_part = f"(?i:{'|'.join(kept)})" if kept else "(?!)"
    return regex.compile(
        rf"""(?V1)
          (?P<address>{_ADDRESS})
        | (?P<keep>{keep_part})
        | (?P<han>(?:(?!{keep_part})\p{{Han}})+)
        | (?P<number>\p{{N}}++(?:(?:[.,:]\p{{N}}++)++%?|%|(?![[\p{{L}}\p{{M}}_]--\p{{Han}}])))
        | (?P<clitic>(?<=[\p{{L}}\p{{N}}]){_CLITIC})
        | (?P<word>[[\p{{L}}\p{{M}}\p{{N}}_]--\p{{Han}}]+ (?:(?<=[nN])['’][tT](?![\p{{L}}\p{{N}}]))?)
        | (?P<other>[^\s\x1c-\x1f]\p{{M}}*)""",
        regex.VERBOSE,
    )


def _pieces(plain: str, keep: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Start and end of each token in normalised text."""
    for match in _pattern(keep).finditer(plain):
        if match.lastgroup != "han":
            yield match.span()
            continue
        start = match.start()
        for word in _jieba().cut(match.group(), False):
            yield start, start + len(word)
            start += len(word)


def _offsets(text: str, plain: str) -> tuple[list[int], list[int]]:
    """For each character of ``plain``, start and end of the original characters it comes from.

    Normalisation works on short stretches (a base character with its combining marks, ﬁ -> fi, \\r\\n -> \\n); all
    characters that come out of a stretch share its place.
    """
    if text == plain:
        return list(range(len(text))), list(range(1, len(text) + 1))
    starts: list[int] = []
    ends: list[int] = []
    # Line ends are folded before the invisible characters go, so a \\r\\n with one in between is two line ends.
    places = [i for i, c in enumerate(text) if c not in _INVISIBLE and not (c == "\n" and i > 0 and text[i - 1] == "\r")]
    visible = "".join("\n" if text[i] == "\r" else text[i] for i in places)
    begin = 0
    while begin < len(visible):
        end = begin + 1
        while end < len(visible) and not _separable(visible[begin:end], visible[end]):
            end += 1
        produced = len(normalise(visible[begin:end]))
        starts += [places[begin]] * produced
        ends += [places[end - 1] + 1] * produced
        begin = end
    if len(starts) != len(plain):
        raise AssertionError(f"positions lost in {text!r}")  # pragma: no cover - held by property tests
    return starts, ends


def _separable(stretch: str, character: str) -> bool:
    """May the text be cut between a stretch and the next character without changing its normal form?"""
    if stretch.isascii() and character.isascii():
        return True
    if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
        return False
    return normalise(stretch + character) == normalise(stretch) + normalise(character)
