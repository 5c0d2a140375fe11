"""Facets and rowids: exact filters, and one range of rowids a session."""

import apsw
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.fulltext.index_file import TOKENIZER
from ctxrank.indexer.store.change_log import LoggedDocument
from ctxrank.indexer.store.facets import (
    KINDS,
    SENTINEL,
    document_id_of,
    index_rowid,
    kind_facet,
    scope_text,
    session_range,
)

_IDS = st.integers(1, 2**31 - 1)


@given(_IDS, _IDS)
def test_a_rowid_holds_its_session_and_its_document(session: int, document: int) -> None:
    rowid = index_rowid(session, document)
    first, last = session_range(session)
    assert first <= rowid <= last
    assert document_id_of(rowid) == document
    assert rowid < 2**63


@given(_IDS)
def test_ranges_of_sessions_do_not_touch(session: int) -> None:
    assert session_range(session)[1] + 1 == session_range(session + 1)[0]


def test_the_scope_of_a_document_reads_like_this() -> None:
    labels = {"qa_expert": 5, "research": 9}
    one = LoggedDocument(1, 2, "passage", 7, 14, 3, "qa_expert", "research", "unheard of", None, "", "", "", "")
    assert scope_text(one, labels) == "k3 s14 g3 a5 t9 p0 c1"


def test_every_facet_is_one_token_that_the_tokenizer_leaves_alone() -> None:
    connection = apsw.Connection("")
    tokenizer = connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
    one = LoggedDocument(1, 2, "", 7, 10**9, 10**9, "", "", "", 8, "", "", "", "")
    texts = [scope_text(one._replace(kind=kind), {}) for kind in KINDS]
    for text in (*texts, SENTINEL):
        tokens = tokenizer(
            text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        assert tokens == text.split()
    assert len({len(text.split()) for text in texts}) == 1


def test_an_unknown_kind_has_a_facet_that_nothing_has() -> None:
    assert kind_facet("rumour") == "k0"
    assert len({kind_facet(kind) for kind in KINDS}) == len(KINDS)
