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

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import filterfalse, pairwise

from ctxrank.indexer.text.tables import compiled

MAX_REPEATS = 3  # a name used a hundred times in a file says no more in BM25 than one used three times
MAX_PARTS = 12  # names with more are rare, and hashes of 20 digits and up mostly have more
MAX_WORD_CHARS = 96
_COMPILED_FROM_CHARS = 200  # a shorter text is not worth loading it

# Bytes that may belong to a word; everything else becomes a space. Bytes from 0x80 are parts of UTF-8
# sequences and are looked at once decoded.
_UPPER_CASE, _LOWER_CASE, _DIGITS = bytes(range(0x41, 0x5B)), bytes(range(0x61, 0x7B)), bytes(range(0x30, 0x3A))
_SEPARATORS = bytes(range(0x80)).translate(None, _UPPER_CASE + _LOWER_CASE + _DIGITS)
SEPARATE = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))

# Words that this process has met: those without parts, and the parts of others. Numbers and hashes in logs never end,
# and many passages have the same names, so both are emptied at times.
_plain_words: set[bytes] = set()
_PLAIN_WORDS_MAX = 100_000
_parts: dict[bytes, str] = {}
_PARTS_MAX = 1 << 15

TokensAt = Callable[[bytes], list[tuple[int, int, str]]]  # a tokenizer: terms with their bytes
Match = tuple[int, int, int, str]  # place among the tokens, start and end in bytes, term
# How many tokens a text has, where they start and end in bytes, one after the other, and what is wanted of them.
FoundWords = tuple[int, Sequence[int], list[Match]]

# What a letter or digit of ASCII is: a word is cut where that changes.
_UPPER, _LOWER, _DIGIT = "A", "a", "0"
_KINDS = bytes.maketrans(_UPPER_CASE + _LOWER_CASE + _DIGITS, b"A" * 26 + b"a" * 26 + b"0" * 10)
FIRST_CJK = "\u1100"


def split_identifiers(*texts: str) -> str:
    """The parts of every compound word of these texts, separated by spaces.

    In the order in which the words first occur in each, each word at most MAX_REPEATS times. Where one text is long,
    all are looked at by what is compiled.
    """
    words = compiled("_words") if max(map(len, texts)) >= _COMPILED_FROM_CHARS else None
    if words is None:
        return " ".join(filter(None, map(split_in_python, texts)))
    limits = MAX_PARTS, MAX_WORD_CHARS
    parts: list[str] = [
        words.identifiers(text, *limits, MAX_REPEATS)
        if text.isascii()
        else _split_found(text, words.compound_words(text.encode("utf-8", "surrogatepass"), *limits))
        for text in texts
    ]
    return " ".join(filter(None, parts))


def split_in_python(text: str) -> str:
    """The parts of every compound word of one text."""
    # Cutting bytes at C speed is up to twice as fast as one regular expression that finds compounds: nearly all words
    # repeat and nearly all are plain, so most have been looked at before, and are left out without a step in Python.
    words = text.encode("utf-8", "surrogatepass").translate(SEPARATE).split()
    return _split_found(text, list(filterfalse(_plain_words.__contains__, words)))


def _split_found(text: str, words: list[bytes]) -> str:
    """The parts of the words that were found in a text: all that have parts, and perhaps others."""
    if not words:
        return ""
    from collections import Counter  # noqa: PLC0415  start-up: a query splits no text

    repeats: dict[bytes, int] = Counter(words)
    if not text.isascii():
        repeats = _cut_at_wide_punctuation(repeats)
    found: list[str] = []
    for word, count in repeats.items():
        if parts := _split(word):
            found += [parts] * min(count, MAX_REPEATS)
    return " ".join(found)


def split_word(word: str) -> tuple[str, ...]:
    """The parts of one word of a query, exactly as they are in the column; empty if it is no compound."""
    is_one = word.isascii() and word.isalnum()  # as nearly all are
    return tuple((_split(word.encode()) if is_one else split_in_python(word)).split())


def compounds_among(words: Collection[bytes]) -> dict[bytes, tuple[str, ...]]:
    """Those of these UTF-8 words of a text that have parts, with their parts as `split_word` has them."""
    found: dict[bytes, tuple[str, ...]] = {}
    for word in filterfalse(_plain_words.__contains__, words):
        parts = _parts.get(word)
        if parts is None:  # a word of ASCII is one
            parts = _split(word) if word.isalnum() else split_identifiers(word.decode("utf-8", "replace"))
        if parts:
            found[word] = tuple(parts.split())
    return found


def find_words(tokens_at: TokensAt, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> FoundWords:
    """The tokens of a text in UTF-8, and which of them are wanted, by their terms; with parts, also compound words of
    which a part is: an identifier as a whole, in a CJK run, which may be a sentence, the part.
    """
    tokens = tokens_at(text)
    spans = [place for token in tokens for place in token[:2]]
    parts: dict[bytes, list[tuple[str, str]]] = {}
    if with_parts and (not text.isascii() or may_hold_compound(text)):
        parts = parts_in(tokens_at, {text[start:end] for start, end, _ in tokens})
    matches: list[Match] = []
    for position, (start, end, term) in enumerate(tokens):
        if term in wanted:
            matches.append((position, start, end, term))
        elif parts and (word := text[start:end]) in parts:
            matches += [
                (position, start + first, start + last, stem)
                for first, last, stem in places_of_parts(word, parts[word])
                if stem in wanted
            ]
    return len(tokens), spans, matches


def word_with(tokens_at: TokensAt, term: str, text: str) -> str:
    """The first word of a text that a tokenizer makes this term of, in lower case; '' for none."""
    encoded = text.encode("utf-8", "replace")
    found = (encoded[start:end] for start, end, token in tokens_at(encoded) if token == term)
    return next(found, b"").decode("utf-8", "replace").lower()


def parts_in(tokens_at: TokensAt, words: set[bytes]) -> dict[bytes, list[tuple[str, str]]]:
    """Those of these words that have parts: each part, and the term that it is."""
    parts_of = compounds_among(words)
    # A part in ASCII is one token, so all are tokenized at once.
    ascii_parts = [part.encode() for word, parts in parts_of.items() if word.isascii() for part in parts]
    tokens = tokens_at(b" ".join(ascii_parts)) if ascii_parts else []
    terms = dict(zip(ascii_parts, [term for _, _, term in tokens], strict=True))
    return {
        word: [
            (part, terms.get(part.encode()) or " ".join([term for _, _, term in tokens_at(part.encode())]))
            for part in parts
        ]
        for word, parts in parts_of.items()
    }


def places_of_parts(word: bytes, parts: Sequence[tuple[str, str]]) -> Iterator[tuple[int, int, str]]:
    """Where in a word each of its parts matches, and by which term."""
    for part, term in parts:
        if word.isascii():
            yield 0, len(word), term
            continue
        wanted = part.encode()
        at = word.find(wanted)
        while at >= 0:
            yield at, at + len(wanted), term
            at = word.find(wanted, at + 1)


def _cut_at_wide_punctuation(repeats: dict[bytes, int]) -> dict[bytes, int]:
    """The same words, those with non-ASCII characters cut again where one of these is no letter or digit."""
    words: dict[bytes, int] = {}
    for word, count in repeats.items():
        if word.isascii() or (text := word.decode("utf-8", "surrogatepass")).isalnum():
            words[word] = words.get(word, 0) + count
            continue
        for piece in "".join([char if char.isalnum() else " " for char in text]).split():
            key = piece.encode()
            words[key] = words.get(key, 0) + count
    return words


def _split(word: bytes) -> str:
    """The parts of one UTF-8 word, separated by spaces; empty if it is plain."""
    parts = _parts.get(word)
    if parts is None and not (word.isdigit() or (word.isalpha() and (word.isupper() or word[1:].islower()))):
        if len(_parts) >= _PARTS_MAX:
            _parts.clear()
        parts = _parts[word] = " ".join(_parts_of(word.decode()))
    if not parts:
        if len(_plain_words) >= _PLAIN_WORDS_MAX:
            _plain_words.clear()
        _plain_words.add(word)
    return parts or ""


def _parts_of(word: str) -> list[str]:
    if word.isascii() or max(word) < FIRST_CJK:
        return _cased_parts(word)
    from ctxrank.indexer.text.cjk import is_cjk, pairs, stretches  # noqa: PLC0415  start-up: few texts have any

    found = stretches(word)
    if not any(map(is_cjk, found)):
        return _cased_parts(word)
    parts: list[str] = []
    for stretch in found:
        if is_cjk(stretch):
            parts += pairs(stretch)
        else:  # the tokenizer takes it into the token of the CJK run, so even a plain word is written out
            parts += _cased_parts(stretch) or [stretch.lower()]
    return parts


def _cased_parts(word: str) -> list[str]:
    """Cut one word without CJK at its humps and digits; empty if nothing is to be cut."""
    if len(word) > MAX_WORD_CHARS:
        return []
    kinds = letter_kinds(word) if word.isascii() else "".join(map(_kind, word))
    if kinds.startswith(_DIGIT) and "aA" not in kinds and "AAa" not in kinds:
        return []
    cuts = _cuts(word, kinds)
    if not 1 < len(cuts) <= MAX_PARTS:
        return []
    return [word[start:end].lower() for start, end in pairwise([*cuts, len(word)])]


def _cuts(word: str, kinds: str) -> list[int]:
    """Where the parts of a word begin."""
    cuts = [0]
    for at, (before, behind) in enumerate(pairwise(kinds), start=1):
        if before == _UPPER and behind == _LOWER:
            is_plural = word[at] == "s" and kinds[at + 1 : at + 2] != _LOWER and word.isascii()
            if at - 1 > cuts[-1] and not is_plural:
                cuts.append(at - 1)
        elif before != behind:
            cuts.append(at)
    return cuts


def letter_kinds(word: str) -> str:
    """The word with one letter for all letters of ASCII of a case and one digit for all digits: aaaAaaa0."""
    return word.encode("utf-8", "surrogatepass").translate(_KINDS).decode("utf-8", "surrogatepass")


def may_hold_compound(encoded: bytes) -> bool:
    """False only for a text of ASCII that has no word with parts: most prose."""
    kinds = encoded.translate(_KINDS)
    return any(change in kinds for change in (b"aA", b"AAa", b"a0", b"A0", b"0a", b"0A"))


def _kind(character: str) -> str:
    """The kind of a character of any alphabet, so that all are cut alike."""
    if character.isupper() or character.istitle():
        return _UPPER
    return _DIGIT if character.isnumeric() else _LOWER
