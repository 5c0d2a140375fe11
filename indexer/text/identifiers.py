"""The text of the column `identifiers`: what the tokenizer would keep in one token, in parts.

    getUserById        get user by id
    HTTPServer2        http server 2
    userIDs            user ids                  (a plural s stays with its acronym)
    日本語             日本 本語                 (overlapping pairs: CJK writes no spaces)
    get_user, a-b.c    nothing: the tokenizer already splits these

A word is cut where a lower-case letter meets an upper-case one, before the last capital of an acronym
that runs into a word, and between letters and digits. Three kinds of words are left whole, because they
are not names and their parts would only be noise:

    21T22, 10ms, 0cc175b9    begins with a digit and has no camel hump: times, sizes, hashes
    d41d8cd98f00b204e980     more than MAX_PARTS parts: hashes, base64
    longer than MAX_WORD_CHARS    machine text
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import filterfalse

MAX_REPEATS = 3  # a name used a hundred times in a file says no more in BM25 than one used three times
MAX_PARTS = 12  # names with more are rare, and hashes of 20 digits and up mostly have more
MAX_WORD_CHARS = 96
_COMPILED_FROM_CHARS = 200  # a shorter text is not worth loading it

# Bytes that may belong to a word; everything else becomes a space. Bytes from 0x80 are parts of UTF-8
# sequences and are looked at once decoded.
_SEPARATE = bytes(byte if byte >= 0x80 or chr(byte).isalnum() else 0x20 for byte in range(256))

# Words without parts that this process has met. Numbers and hashes in logs never end, so it is emptied at times.
_plain_words: set[bytes] = set()
_PLAIN_WORDS_MAX = 100_000

_CJK_CHARACTERS = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


_FIRST_CJK = "\u1100"


class _Patterns:
    """Compiled when the first text asks for them: the sets of CJK characters cost half a bare start."""

    def __init__(self) -> None:
        self.cjk = re.compile(f"[{_CJK_CHARACTERS}]")
        self.cjk_or_not = re.compile(f"[{_CJK_CHARACTERS}]+|[^{_CJK_CHARACTERS}]+")


@cache
def _patterns() -> _Patterns:
    return _Patterns()


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+")


@cache
def _part() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@cache
def _hump() -> re.Pattern[str]:
    return re.compile(r"[a-z][A-Z]|[A-Z][A-Z][a-z]")


def split_identifiers(text: str) -> str:
    """The parts of every compound word of a text, separated by spaces.

    In the order in which the words first occur, each word at most MAX_REPEATS times.
    """
    compiled = compiled_split() if len(text) >= _COMPILED_FROM_CHARS and text.isascii() else None
    if compiled is not None:
        return compiled(text, MAX_REPEATS, MAX_PARTS, MAX_WORD_CHARS)
    return split_in_python(text)


@cache
def compiled_split() -> Callable[[str, int, int, int], str] | None:
    """The compiled twin, for ASCII text; None where this installation was made without a C compiler."""
    try:
        from ctxrank.indexer.text._words import split_ascii  # noqa: PLC0415  not for the few words of a query
    except ImportError:
        return None
    return split_ascii


def split_in_python(text: str) -> str:
    """The same for any text."""
    # Cutting bytes at C speed is up to twice as fast as one regular expression that finds compounds: nearly all words
    # repeat and nearly all are plain, so most have been looked at before, and are left out without a step in Python.
    words = text.encode("utf-8", "surrogatepass").translate(_SEPARATE).split()
    unknown = list(filterfalse(_plain_words.__contains__, words))
    if not unknown:
        return ""
    repeats = Counter(unknown)
    if not text.isascii():
        repeats = _cut_at_wide_punctuation(repeats)
    found: list[str] = []
    for word, count in repeats.items():
        if parts := _split(word):
            found += [parts] * min(count, MAX_REPEATS)
        else:
            _plain_words.add(word)
    if len(_plain_words) > _PLAIN_WORDS_MAX:
        _plain_words.clear()
    return " ".join(found)


def split_word(word: str) -> tuple[str, ...]:
    """The parts of one word of a query, exactly as they are in the column; empty if it is no compound."""
    return tuple(split_identifiers(word).split())


def _cut_at_wide_punctuation(repeats: Counter[bytes]) -> Counter[bytes]:
    """The same words, those with non-ASCII characters cut again where one of these is no letter or digit."""
    words: Counter[bytes] = Counter()
    for word, count in repeats.items():
        if word.isascii():
            words[word] += count
        else:
            for piece in _word().findall(word.decode("utf-8", "surrogatepass")):
                words[piece.encode()] += count
    return words


@lru_cache(maxsize=1 << 15)  # many passages have the same names
def _split(word: bytes) -> str:
    """The parts of one UTF-8 word, separated by spaces; empty if it is plain."""
    if word.isdigit() or (word.isalpha() and (word.isupper() or word[1:].islower())):
        return ""
    text = word.decode()
    if text.isascii() or max(text) < _FIRST_CJK or not _patterns().cjk.search(text):
        return " ".join(_cased_parts(text))
    parts: list[str] = []
    for stretch in _patterns().cjk_or_not.findall(text):
        if _patterns().cjk.match(stretch):
            parts += _pairs(stretch)
        else:  # the tokenizer takes it into the token of the CJK run, so even a plain word is written out
            parts += _cased_parts(stretch) or [stretch.lower()]
    return " ".join(parts)


def _cased_parts(word: str) -> list[str]:
    """Cut one word without CJK at its humps and digits; empty if nothing is to be cut."""
    if len(word) > MAX_WORD_CHARS:
        return []
    shape = word if word.isascii() else "".join(map(_shape, word))
    parts = [word[part.start() : part.end()].lower() for part in _part().finditer(shape)]
    if not 1 < len(parts) <= MAX_PARTS:
        return []
    if shape[0].isdigit() and not _hump().search(shape):
        return []
    return parts


def _shape(character: str) -> str:
    """One ASCII character for a character's kind, so that one pattern cuts every alphabet."""
    if character.isupper() or character.istitle():
        return "A"
    return "0" if character.isnumeric() else "a"


def _pairs(run: str) -> list[str]:
    """Overlapping pairs of a CJK run; a single character stays itself."""
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]
