"""Word finder: which words of a text a query asks for, and where.

    finder = WordFinder(tokens_at)      # the index's tokenizer: terms with the bytes that they were cut from
    finder.find(b"Locked: the walLock", {"lock": 1.0}, with_parts=True)

        tokens 3   how many the text has
        spans      [0, 6, 8, 11, 12, 19]: the bytes of each
        matches    [(0, 0, 6, "lock"), (2, 12, 19, "lock")]: place among the tokens, bytes, term

With parts, a word that is not asked for itself matches by the parts of an identifier or of a CJK run (identifiers.py):
an identifier as a whole, in a run, which may be a sentence, what is asked for.

There are two of it. The one here tokenizes each text. `_words.c` cuts texts at what separates words in ASCII and asks
the tokenizer for each piece once a run: the sixty texts that a search reads have few words that it has not met.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cache
from ctxrank.indexer.text.identifiers import MAX_PARTS, MAX_WORD_CHARS, compounds_among, may_hold_compound

if TYPE_CHECKING:
    from ctxrank.indexer.text import _words

TokensAt = Callable[[bytes], list[tuple[int, int, str]]]
Match = tuple[int, int, int, str]  # place among the tokens, start and end in bytes, term
# Of a token what it may match as: itself, then its parts; each with its bytes. Of a piece of a text its tokens.
Tokens = tuple[tuple[tuple[int, int, str], ...], ...]


class FoundWords(NamedTuple):
    """What was found in a text; `spans` are start and end of each of its tokens, in bytes, one after the other."""

    tokens: int
    spans: Sequence[int]
    matches: list[Match]


class WordFinder:
    """Finds words by one tokenizer."""

    def __init__(self, tokens_at: TokensAt) -> None:
        self._tokens_at = tokens_at
        self._known_parts: dict[bytes, list[tuple[str, str]]] = {}
        compiled = compiled_finder()
        self._compiled = None if compiled is None else compiled(self._described, MAX_PARTS, MAX_WORD_CHARS)

    def find(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> FoundWords:
        """The tokens of a text in UTF-8, and which of them are wanted, by their terms."""
        if self._compiled is None:
            return self.find_in_python(text, wanted, with_parts=with_parts)
        count, spans, matches = self._compiled.find(text, wanted, with_parts)
        return FoundWords(count, memoryview(spans).cast("I"), matches)

    def find_in_python(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> FoundWords:
        """The same without the compiled twin."""
        tokens = self._tokens_at(text)
        spans = [place for token in tokens for place in token[:2]]
        may_have_parts = with_parts and (not text.isascii() or may_hold_compound(text))
        parts = self._remembered_parts({text[start:end] for start, end, _ in tokens}) if may_have_parts else {}
        matches: list[Match] = []
        for position, (start, end, term) in enumerate(tokens):
            if term in wanted:
                matches.append((position, start, end, term))
            elif parts and (word := text[start:end]) in parts:
                matches += [
                    (position, start + first, start + last, stem)
                    for first, last, stem in _places(word, parts[word])
                    if stem in wanted
                ]
        return FoundWords(len(tokens), spans, matches)

    def _described(self, pieces: list[bytes], with_parts: bool) -> list[str | Tokens]:
        """What the tokenizer makes of each piece: one term, or tokens with what they may match as."""
        text = b" ".join(pieces)
        if text.isascii():  # each is one token
            terms = [term for _, _, term in self._tokens_at(text)]
            parts = self._parts(set(pieces)) if with_parts else {}
            return [
                _description(piece, [(0, len(piece), term)], parts) if piece in parts else term
                for piece, term in zip(pieces, terms, strict=True)
            ]
        tokens = iter(self._tokens_at(text))
        start, end, term = next(tokens, _NONE)
        found: list[list[tuple[int, int, str]]] = []
        begin = 0
        for piece in pieces:
            held: list[tuple[int, int, str]] = []
            while start < begin + len(piece):
                held.append((start - begin, end - begin, term))
                start, end, term = next(tokens, _NONE)
            found.append(held)
            begin += len(piece) + 1
        parts = {}
        if with_parts:
            words = {piece[first:last] for piece, held in zip(pieces, found, strict=True) for first, last, _ in held}
            parts = self._parts(words)
        return [_description(piece, held, parts) for piece, held in zip(pieces, found, strict=True)]

    def _remembered_parts(self, words: set[bytes]) -> dict[bytes, list[tuple[str, str]]]:
        """The same as `_parts`, each word once a run."""
        known = self._known_parts
        unknown = words.difference(known)
        if len(known) + len(unknown) > _KNOWN_PARTS_MAX:
            known.clear()
            unknown = words
        if unknown:
            known.update(dict.fromkeys(unknown, _NO_PARTS) | self._parts(unknown))
        return {word: found for word in words if (found := known[word])}

    def _parts(self, words: set[bytes]) -> dict[bytes, list[tuple[str, str]]]:
        """Those of these words that have parts: each part, and the term that it is."""
        parts_of = compounds_among(words)
        # A part in ASCII is one token, so all are tokenized at once.
        ascii_parts = [part.encode() for word, parts in parts_of.items() if word.isascii() for part in parts]
        terms = dict(zip(ascii_parts, [term for _, _, term in self._tokens_at(b" ".join(ascii_parts))], strict=True))
        return {
            word: [
                (part, terms.get(part.encode()) or " ".join([term for _, _, term in self._tokens_at(part.encode())]))
                for part in parts
            ]
            for word, parts in parts_of.items()
        }


_NONE = (1 << 62, 0, "")  # behind the last token
_NO_PARTS: list[tuple[str, str]] = []
_KNOWN_PARTS_MAX = 1 << 15  # emptied at times, since hashes never end


def _description(
    piece: bytes, held: list[tuple[int, int, str]], parts: dict[bytes, list[tuple[str, str]]]
) -> str | Tokens:
    if len(held) == 1 and held[0][:2] == (0, len(piece)) and piece not in parts:
        return held[0][2]
    return tuple([(token, *_part_tokens(piece, token, parts)) for token in held])


def _part_tokens(
    piece: bytes, token: tuple[int, int, str], parts: dict[bytes, list[tuple[str, str]]]
) -> list[tuple[int, int, str]]:
    start, end, _ = token
    word = piece[start:end]
    return [(start + first, start + last, term) for first, last, term in _places(word, parts.get(word, _NO_PARTS))]


def _places(word: bytes, parts: list[tuple[str, str]]) -> Iterator[tuple[int, int, str]]:
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


@cache
def compiled_finder() -> "type[_words.WordFinder] | None":
    """The compiled twin; None where this installation was made without a C compiler."""
    try:
        from ctxrank.indexer.text import _words  # noqa: PLC0415  only where texts are read
    except ImportError:
        return None
    return _words.WordFinder
