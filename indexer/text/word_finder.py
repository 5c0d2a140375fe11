"""Word finder: which words of a text a query asks for, and where.

    finder = WordFinder(tokens_at)      # the index's tokenizer: terms with the bytes that they were cut from
    finder.find(b"Locked: the walLock", {"lock": 1.0}, with_parts=True)

        tokens 3   how many the text has
        spans      [0, 6, 8, 11, 12, 19]: the bytes of each
        matches    [(0, 0, 6, "lock"), (2, 12, 19, "lock")]: place among the tokens, bytes, term

With parts, a word that is not asked for itself matches by the parts of an identifier or of a CJK run (identifiers.py):
an identifier as a whole, in a run, which may be a sentence, what is asked for.

It says what `find_words` (identifiers.py) says, which tokenizes each text and runs where nothing was compiled.
`_words.c` cuts texts at what separates words in ASCII and asks the tokenizer for each piece once a run: the sixty texts
that a search reads have few words that it has not met.
"""

from collections.abc import Mapping

from ctxrank.indexer.text.identifiers import (
    MAX_PARTS,
    MAX_WORD_CHARS,
    FoundWords,
    TokensAt,
    find_words,
    parts_in,
    places_of_parts,
)
from ctxrank.indexer.text.tables import compiled

# Of a token what it may match as: itself, then its parts; each with its bytes. Of a piece of a text its tokens.
Tokens = tuple[tuple[tuple[int, int, str], ...], ...]


class WordFinder:
    """Finds words by one tokenizer."""

    def __init__(self, tokens_at: TokensAt) -> None:
        self._tokens_at = tokens_at
        words = compiled("_words")
        self._compiled = None if words is None else words.WordFinder(self._described, MAX_PARTS, MAX_WORD_CHARS)

    def find(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> FoundWords:
        """The tokens of a text in UTF-8, and which of them are wanted, by their terms."""
        if self._compiled is None:
            return find_words(self._tokens_at, text, wanted, with_parts=with_parts)
        count, spans, matches = self._compiled.find(text, wanted, with_parts)
        return count, memoryview(spans).cast("I"), matches

    def _described(self, pieces: list[bytes], with_parts: bool) -> list[str | Tokens]:
        """What the tokenizer makes of each piece: one term, or tokens with what they may match as."""
        described = self._of_ascii([piece for piece in pieces if piece.isascii()], with_parts)
        described |= self._of_others([piece for piece in pieces if not piece.isascii()], with_parts)
        return list(map(described.__getitem__, pieces))

    def _of_ascii(self, pieces: list[bytes], with_parts: bool) -> dict[bytes, str | Tokens]:
        """Each is one token."""
        terms = [term for _, _, term in self._tokens_at(b" ".join(pieces))]
        parts = parts_in(self._tokens_at, set(pieces)) if with_parts else {}
        return {
            piece: _description(piece, [(0, len(piece), term)], parts) if piece in parts else term
            for piece, term in zip(pieces, terms, strict=True)
        }

    def _of_others(self, pieces: list[bytes], with_parts: bool) -> dict[bytes, str | Tokens]:
        """Each is any number of tokens."""
        tokens = iter(self._tokens_at(b" ".join(pieces)))
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
            parts = parts_in(self._tokens_at, words)
        return {piece: _description(piece, held, parts) for piece, held in zip(pieces, found, strict=True)}


_NONE = (1 << 62, 0, "")  # behind the last token


def _description(
    piece: bytes, held: list[tuple[int, int, str]], parts: dict[bytes, list[tuple[str, str]]]
) -> str | Tokens:
    if len(held) == 1 and held[0][:2] == (0, len(piece)) and piece not in parts:
        return held[0][2]
    described: list[tuple[tuple[int, int, str], ...]] = []
    for start, end, term in held:
        word = piece[start:end]
        places = places_of_parts(word, parts.get(word, ()))
        described.append(((start, end, term), *[(start + first, start + last, part) for first, last, part in places]))
    return tuple(described)
