"""Bytes of any kind for the compiled modules, while sanitizers watch what they do with memory and numbers.

    python tests/fuzz/compiled.py --seconds 120 --seed 1       which functions were called how often; a finding ends it

tests/fuzz/sanitized.sh builds the modules for it. A ValueError and its kin are answers; what a sanitizer finds ends
the process, with the seed of the round on the last line.
"""

import argparse
import random
import struct
import time
from base64 import b64encode
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ctxrank.indexer.fulltext import _forward, _postings
from ctxrank.indexer.fulltext.batch_counts import BatchCounts, PureBatchCounts
from ctxrank.indexer.fulltext.forward import encode
from ctxrank.indexer.text import _code, _words
from ctxrank.indexer.text._vocabulary import Vocabulary
from ctxrank.ranking.formulas import _bm25
from ctxrank.ranking.retrieval import _snippets

_ANSWERS = (ValueError, TypeError, IndexError, KeyError, OverflowError, RuntimeError, MemoryError, struct.error)
_WORDS = (b"parseRequest", b"a_b_c", "größe".encode(), "日本語".encode(), b"HTTPServer2", b"x" * 300, b"\xff\xc0", b"0")
_CODE = (
    "def ",
    "class ",
    "async ",
    " ",
    "\t",
    "\n",
    "'",
    '"',
    "'''",
    '"""',
    "\\",
    "#",
    "=",
    ":",
    "(",
    "name",
    "A",
    "else",
    "->",
)
_VOCABULARY = b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256))
_TABLE_BYTES = 8 * 26  # what a row can gain by a term: by its occurrences in text and path, by a name


def _bytes(chance: random.Random, most: int = 400) -> bytes:
    """A text of words, or bytes of any kind, or numbers that are none."""
    kind = chance.randrange(4)
    if kind == 0:
        return b" ".join(chance.choices(_WORDS, k=chance.randrange(30)))[:most]
    if kind == 1:
        return chance.randbytes(chance.randrange(most))
    if kind == 2:
        odd = (0.0, -1.0, 1e308, float("nan"), float("inf"), -float("inf"), 5e-324, 3.5)
        return struct.pack(f"<{most // 8}d", *chance.choices(odd, k=most // 8))
    return bytes(chance.choices((0, 1, 2, 127, 128, 255), k=chance.randrange(most)))


def _page(chance: random.Random) -> bytes:
    """A page of the index: a header, terms with their lists, and where the terms begin."""
    lists = b"".join(
        bytes([len(word) + 1]) + b"0" + word + _bytes(chance, 60) for word in chance.choices(_WORDS[:5], k=3)
    )
    page = struct.pack(">HH", chance.choice((0, 4)), 4 + len(lists)) + lists + bytes([4, len(lists) // 2])
    changed = bytearray(page)
    for _ in range(chance.randrange(6)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randrange(len(changed) + 1)] if chance.randrange(4) == 0 else changed)


def _segment(chance: random.Random) -> tuple[bytes, list[Any]]:
    lists: list[Any] = []
    for _ in range(chance.randrange(4)):
        pages = [_bytes(chance) for _ in range(chance.choice((0, 1, 1, 1, 3)))]
        size = len(pages[0]) if pages else 0
        start = chance.randrange(-1, 9)
        lists.append((chance.randrange(-1, 4), start, chance.choice((start, size, size + 1, size // 2)), pages))
    return chance.randbytes(8 * chance.randrange(5)), lists


def _calls(chance: random.Random) -> Iterator[tuple[str, Callable[[], object]]]:
    """One call of each function, with arguments of this round."""
    text, page = _bytes(chance), _page(chance)
    yield "find_list", lambda: _postings.find_list(page, chance.choice((b"0parse", b"0", b"", _bytes(chance, 9))))
    yield (
        "row_bounds",
        lambda: _postings.row_bounds(
            [_segment(chance) for _ in range(chance.randrange(3))],
            struct.pack("<104d", *(chance.uniform(0, 9) for _ in range(104)))
            if chance.randrange(2)
            else _bytes(chance, 4 * _TABLE_BYTES),
            chance.choice((0, 1, 7)),
        ),
    )
    doubles = _bytes(chance, 160)
    yield "threshold", lambda: _postings.threshold(doubles, chance.choice((-1, 0, 1, 3, 1 << 62)))
    yield "between", lambda: _postings.between(chance.randbytes(len(doubles)), doubles, 0.0, float("nan"), 3)
    yield "frequencies", lambda: _forward.frequencies([chance.choice((page, _blob(chance)))], [1, 7, 70_000], _Levels())
    yield "saturated_sums", lambda: _saturated_sums(chance)
    yield "cut", lambda: _cut(chance, text)
    yield "count_classes", lambda: _words.count_classes(text)
    yield "compound_words", lambda: _words.compound_words(text, chance.randrange(-1, 9), chance.randrange(-1, 99))
    characters = (
        text.decode("utf-8", "replace")
        if chance.randrange(2)
        else text.decode("ascii", "replace").replace("\ufffd", "\n")
    )
    yield "identifiers", lambda: _words.identifiers(characters, chance.randrange(-1, 9), chance.randrange(-1, 99), 3)
    code = "".join(chance.choices(_CODE, k=chance.randrange(90)))
    yield "python_openings", lambda: _code.python_openings(chance.choice((code, characters)))
    yield "python_names", lambda: _code.python_names(chance.choice((code, characters)))
    places = [chance.randrange(-1, 99), *(chance.randrange(500) for _ in range(3))]
    yield "line_checksums", lambda: _code.line_checksums(chance.choice((text, b"")), chance.choice((b"", b" \t", text)))
    yield "code_cut", lambda: _code.code_cut(chance.choice((code, characters)), *places)
    finder = _words.WordFinder(lambda pieces, _: [piece.decode("utf-8", "replace") for piece in pieces], 8, 64)
    yield "find", lambda: finder.find(text, dict.fromkeys(("a_b_c", "0", "größe")), chance.random() < 0.5)
    broken = bytearray(_VOCABULARY)
    broken[chance.randrange(len(broken))] = chance.randrange(256)
    yield "Vocabulary", lambda: Vocabulary(bytes(broken), lambda _: chance.choice((0, 1, 300, -1)))
    yield "count", lambda: _vocabulary().count(text.decode("utf-8", chance.choice(("replace", "surrogateescape"))))
    counts: Any = BatchCounts
    assert counts is not PureBatchCounts
    yield "BatchCounts", lambda: _counted(counts, chance, text)


def _vocabulary() -> Any:
    return Vocabulary(_VOCABULARY, lambda code_point: 1 + code_point % 5)


class _Ids(dict[str, int]):
    def __missing__(self, term: str) -> int:
        self[term] = len(self) + 1
        return self[term]


class _Levels(dict[int, int]):
    def __missing__(self, packed: int) -> int:
        return packed % 9


def _counted(counts: Any, chance: random.Random, text: bytes) -> object:
    units = tuple(tuple(range(chance.choice((1, 2, 9)))) for _ in range(3))
    made = counts(str.split, _Ids(), units, _Levels())
    words = text.decode("utf-8", "replace")
    fixed = [(chance.randrange(-1, 20), chance.choice((-1, 1 << 16, 7)))] if chance.randrange(4) == 0 else []
    made.add(words, words[::2], "", fixed, chance.choice((0, 0, 7, 1 << 40)))
    made.remove([chance.randrange(1, 9) for _ in range(chance.randrange(3))])
    return made.take()


def _blob(chance: random.Random) -> bytes:
    """A forward list whose head may say another number of terms, with the checksum of what it says."""
    ids = chance.sample(range(1, 80_000), chance.randrange(9))
    blob = bytearray(encode({id_: chance.choice((1, 20, 300)) for id_ in (1, 7, *ids)})[:-4])
    blob[chance.randrange(4)] ^= chance.choice((0, 0, 1, 200))
    return bytes(blob) + crc32(blob).to_bytes(4, "little")


def _saturated_sums(chance: random.Random) -> object:
    odd: Any = (0.0, -1.0, 1e308, float("nan"), float("inf"), 5e-324, 3.5, "1")
    places = {id_: [(chance.randrange(-1, 4), chance.choice(odd[:7]))] for id_ in range(chance.randrange(4))}
    texts = [[(chance.randrange(4), chance.choice(odd)) for _ in range(3)] for _ in range(chance.randrange(4))]
    worths = chance.choices(odd[:7], k=3)
    return _bm25.saturated_sums([(places, texts)] * chance.randrange(3), [1, 9], worths, *chance.choices(odd[:7], k=2))


def _cut(chance: random.Random, text: bytes) -> object:
    """A snippet by places that may lie outside of its text, or in the middle of a character."""
    values = {"a": 1.0, "b": 0.5, "c": 2.0, "d": 2.0}
    text = text if chance.randrange(4) else b"a b\n**a** \xe3\x80\x80d\n" * 9
    spans = sorted(chance.choices(range(-1, len(text) + 2), k=2 * chance.randrange(60)))
    found: Any = [(at, *spans[2 * at : 2 * at + 2], chance.choice("abcd" * 9 + "e")) for at in range(len(spans) // 2)]
    return _snippets.cut(text, spans, found, values, chance.random() < 0.5, chance.randrange(-1, 9))


def main() -> None:
    """Call for so many seconds, round by round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    answered: Counter[str] = Counter()
    until, number = time.monotonic() + given.seconds, given.seed
    while time.monotonic() < until:
        print(f"\rround {number}", end="", flush=True)
        for name, call in _calls(random.Random(number)):
            try:
                call()
                answered[f"{name} answered"] += 1
            except _ANSWERS:
                answered[f"{name} refused"] += 1
        number += 1
    print()
    for name, count in sorted(answered.items()):
        print(f"{name}: {count:,}")


if __name__ == "__main__":
    main()
