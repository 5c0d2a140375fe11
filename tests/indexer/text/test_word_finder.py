"""Which words of a text a query asks for: the compiled finder and its twin in Python."""

from collections.abc import Callable, Iterator
from typing import cast

import apsw
import pytest
from builders import always
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.text import word_finder
from ctxrank.indexer.text.identifiers import find_words
from ctxrank.indexer.text.tables import compiled
from ctxrank.indexer.text.word_finder import WordFinder

TokensAt = Callable[[bytes], list[tuple[int, int, str]]]
pieces = st.sampled_from(
    ["lock", "Locked", "wal_lock", "walLock", "HTTPServer2", "日本語の検索", "検索", "café", "naïve", "✅", "⚠️", "→",
     "ﬁn", "e\u0301x", "\u0301", "x" * 70, "a1B2", "\0", "10ms", "ÅngStröm", "straße", "\U0001f600", "userIDs",
     "ays", "Ayed", "aing", "AI", "a", "ties", "typed"]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=4), max_size=12).flatmap(
    lambda words: st.sampled_from([" ", "", "-", "\n"]).map(lambda by: by.join(words))
)


@pytest.fixture(scope="module")
def tokens_at() -> Iterator[TokensAt]:
    connection = apsw.Connection(":memory:")
    tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def cut(text: bytes) -> list[tuple[int, int, str]]:
        found = tokenizer(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return cast("list[tuple[int, int, str]]", found)

    yield cut
    connection.close()


@pytest.fixture(scope="module")
def finder(tokens_at: TokensAt) -> WordFinder:
    """One for all texts: what it remembers of one is used for the next."""
    return WordFinder(tokens_at)


def terms_of(tokens_at: TokensAt, text: str) -> list[str]:
    return [term for _, _, term in tokens_at(text.encode("utf-8", "replace"))]


@pytest.mark.skipif(compiled("_words") is None, reason="this installation was made without a C compiler")
@given(text=texts, asked=texts, with_parts=st.booleans())
def test_the_compiled_finder_finds_what_the_one_in_python_finds(
    finder: WordFinder, tokens_at: TokensAt, text: str, asked: str, with_parts: bool
) -> None:
    wanted = dict.fromkeys(terms_of(tokens_at, asked), 1.0) | {"lock": 1.0, "検索": 1.0, "id": 1.0}
    encoded = text.encode("utf-8", "replace")
    tokens, spans, matches = finder.find(encoded, wanted, with_parts=with_parts)
    in_python = find_words(tokens_at, encoded, wanted, with_parts=with_parts)
    assert (tokens, list(spans), matches) == in_python


@given(
    words=st.lists(
        st.from_regex(r"[A-Za-z0-9]{1,4}(s|es|ies|ed|eed|ing|y|ly|ational|ement|e|ll|ness)?", fullmatch=True)
    )
)
def test_a_term_begins_with_the_letters_of_its_word_but_for_a_y(tokens_at: TokensAt, words: list[str]) -> None:
    """The compiled finder passes over words by their first two letters."""
    terms = terms_of(tokens_at, " ".join(words))
    for word, term in zip(words, terms, strict=True):
        beginning = word[:2].lower()
        assert term[:2] in (beginning, beginning[:1], beginning.replace("y", "i"))


@pytest.mark.parametrize("is_compiled", [True, False])
def test_words_match_by_their_terms_and_identifiers_by_their_parts(
    tokens_at: TokensAt, monkeypatch: pytest.MonkeyPatch, is_compiled: bool
) -> None:
    if not is_compiled:
        monkeypatch.setattr(word_finder, "compiled", always(None))
    finder = WordFinder(tokens_at)
    text = b"Locked: the walLock"
    tokens, spans, matches = finder.find(text, {"lock": 1.0}, with_parts=True)
    assert (tokens, list(spans)) == (3, [0, 6, 8, 11, 12, 19])
    assert matches == [(0, 0, 6, "lock"), (2, 12, 19, "lock")]
    assert finder.find(text, {"lock": 1.0}, with_parts=False)[2] == [(0, 0, 6, "lock")]
    assert finder.find(text, {"wallock": 1.0, "lock": 1.0}, with_parts=True)[2][1:] == [(2, 12, 19, "wallock")]


def test_what_was_met_without_parts_is_asked_again_with_them(finder: WordFinder) -> None:
    text = "openStore 全文検索".encode()
    assert finder.find(text, {"store": 1.0}, with_parts=False)[2] == []
    assert finder.find(text, {"store": 1.0, "検索": 1.0}, with_parts=True)[2] == [
        (0, 0, 9, "store"),
        (1, 16, 22, "検索"),
    ]


def test_more_words_than_are_remembered_are_found(tokens_at: TokensAt) -> None:
    finder = WordFinder(tokens_at)
    for start in range(0, 60_000, 5_000):
        text = b" ".join(b"w%d" % number for number in range(start, start + 5_000))
        tokens, _, matches = finder.find(text, {f"w{start + 7}": 1.0}, with_parts=False)
        assert (tokens, [match[0] for match in matches]) == (5_000, [7])


def test_an_error_of_the_tokenizer_is_the_callers(tokens_at: TokensAt) -> None:
    is_broken = True

    def sometimes(text: bytes) -> list[tuple[int, int, str]]:
        if is_broken:
            raise apsw.CorruptError("no tokenizer")
        return tokens_at(text)

    finder = WordFinder(sometimes)
    with pytest.raises(apsw.CorruptError):
        finder.find(b"lock", {"lock": 1.0}, with_parts=False)
    is_broken = False
    assert finder.find(b"lock", {"lock": 1.0}, with_parts=False)[2] == [(0, 0, 4, "lock")]
