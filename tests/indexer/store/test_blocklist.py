"""The gate: what was purged is refused where documents are written, and nothing of it stays behind."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from builders import make_store
from written import Strategy, write

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.blocklist import PATH, block
from ctxrank.indexer.store.store import Store

PURGED = Strategy("shop_general_1", "shop", "general", "Drop the cache first.", last_seen=1, created_at=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def test_a_writer_that_goes_on_after_a_refusal_keeps_no_row_without_its_document(store: Store) -> None:
    with store.write() as change:
        block(change.connection, "strategy", [PURGED.insight])
        with pytest.raises(UsageError, match="strategy of this text was purged"):
            write(change, PURGED)
        write(change, PURGED._replace(name="shop_general_2", insight="Warm the cache first."))
    for table, column in (("strategies", "insight"), ("documents", "body")):
        assert store.primary.execute(f"SELECT {column} FROM {table}").fetchall() == [("Warm the cache first.",)], table


def test_a_document_that_is_written_again_is_not_asked_for(store: Store) -> None:
    document = documents.Document("strategy", 1, "t", PURGED.insight, 1, 1)
    with store.write() as change:
        block(change.connection, "strategy", [PURGED.insight])
        documents.put(change, document)
        with pytest.raises(UsageError):
            documents.put(change, document._replace(source=PURGED.insight))


def test_an_empty_blocklist_is_read_once_and_only_when_it_is_asked(store: Store) -> None:
    statements: list[str] = []

    def traced(cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        statements.append(statement)
        return True

    with store.write() as change:
        store.primary.exec_trace = traced
        assert not statements
        assert not any(change.blocklist.holds_path(f"docs/{number}.md") for number in range(100))
        assert len(statements) == 2  # what is blocked, and the secrets
        assert not any("FROM store" in statement for statement in statements)


def test_a_folder_is_blocked_with_all_below_it(store: Store) -> None:
    with store.write() as change:
        block(change.connection, PATH, ["docs/old/"])
    blocklist = store.blocklist()
    assert blocklist.holds_path("docs/old") and blocklist.holds_path("docs/old/a/b.md")
    assert not blocklist.holds_path("docs/older.md")
