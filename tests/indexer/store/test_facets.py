"""Facets and rowids: exact filters, and one range of rowids a session."""

import apsw
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.fulltext.index_file import TOKENIZER
from ctxrank.indexer.store.change_log import LoggedDocument
from ctxrank.indexer.store.facets import (
    KINDS,
    SENTINEL,
    Scope,
    document_condition,
    document_id_of,
    index_rowid,
    kind_facet,
    parent_condition,
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
    assert scope_text(one, labels) == "k3 s14 g3 a5 t9 s14 c1"


@each_row(
    "scope, of_parents, of_documents",
    [
        (Scope(), ("", ()), ("", ())),
        (Scope(kinds=("event",)), ("", ()), ("d.kind IN (?)", ("event",))),
        (Scope(kinds=("package",)), ("d.kind IN (?)", ("package",)), ("d.kind IN (?)", ("package",))),
        (Scope(kinds=("event", "artifact")), ("d.kind IN (?, ?)", ("event", "artifact")),
         ("d.kind IN (?, ?)", ("event", "artifact"))),
        (Scope(kinds=("passage",)), ("", ()), ("d.kind IN (?, ?, ?)", ("passage", "package", "artifact"))),
        (Scope(kinds=("passage", "package")), ("", ()),
         ("d.kind IN (?, ?, ?, ?)", ("passage", "package", "package", "artifact"))),
        (Scope(session_ids=(4,), agents=("qa",)), ("", ()), ("d.session_id IN (?) AND d.agent IN (?)", (4, "qa"))),
        (Scope(group_ids=(4,), types=("a",), priorities=("b",)), ("", ()),
         ("d.group_id IN (?) AND d.type IN (?) AND d.priority IN (?)", (4, "a", "b"))),
        (Scope(since=5, until=0), *[("d.created_at >= ? AND d.created_at <= ?", (5, 0))] * 2),
        (Scope(since=0), *[("d.created_at >= ?", (0,))] * 2),
        (Scope(origins=(0, 2)), *[("iif(d.record_id < 0, -d.record_id >> 31, 0) IN (?, ?)", (0, 2))] * 2),
        (Scope(without=(Scope(session_ids=(4,)),)), *[("(d.session_id IN (?)) IS NOT TRUE", (4,))] * 2),
    ],
)  # fmt: skip
def test_a_scope_is_asked_for_in_sql_as_far_as_no_facet_says_it(
    scope: Scope, of_parents: tuple[str, object], of_documents: tuple[str, object]
) -> None:
    assert parent_condition(scope) == of_parents
    assert document_condition(scope) == of_documents


@each_row(
    "scope, is_narrow",
    [
        (Scope(), False),
        (Scope(session_ids=(4,)), True),
        (Scope(session_ids=(4, 5)), False),
        (Scope(document_ids=frozenset()), True),
        (Scope(session_ids=(4, 5), document_ids=frozenset((1,))), True),
    ],
)
def test_one_session_or_documents_by_name_are_narrow(scope: Scope, is_narrow: bool) -> None:
    assert scope.is_narrow == is_narrow


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
