"""The gate: what was purged is refused where documents are written, and nothing of it stays behind."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from builders import make_store
from tables import each_row
from written import Strategy, write

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.blocklist import (
    PATH,
    SESSION,
    Blocklist,
    allow,
    and_above,
    block,
    block_secrets,
    blocked_entries,
    blocked_secrets,
    digest,
    enter,
    is_entered,
)
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
            write(change, PURGED)


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
    blocklist = Blocklist(store.primary)
    assert blocklist.holds_path("docs/old") and blocklist.holds_path("docs/old/a/b.md")
    assert not blocklist.holds_path("docs/older.md")


@each_row(
    "path, parts",
    [
        ("a/b/c.md", ["a/b/c.md", "a/b", "a"]),
        ("a/b/", ["a/b", "a"]),
        ("/srv/x.md", ["/srv/x.md", "/srv"]),
        ("/", []),
        ("", []),
    ],
)
def test_a_path_is_asked_for_with_every_folder_above_it(path: str, parts: list[str]) -> None:
    assert list(and_above(path)) == parts


@each_row(
    "kind, one, other, are_same",
    [
        (PATH, "docs/a/", "docs/a", True),
        (PATH, "/docs/a/", "/docs/a", True),
        (PATH, "/docs/a", "docs/a", False),
        (PATH, "docs/a  b", "docs/a b", False),
        (SESSION, "S/", "S", False),
        (SESSION, "a  b", "a b", False),
        ("strategy", " drop  the\ncache ", "drop the cache", True),
        ("strategy", "docs/a/", "docs/a", False),
    ],
)
def test_what_is_the_same_to_the_blocklist(kind: str, one: str, other: str, are_same: bool) -> None:
    assert (digest("key", kind, one) == digest("key", kind, other)) is are_same


def test_entries_are_numbered_once_and_allowed_by_their_number(store: Store) -> None:
    with store.write() as change:
        first = block(change.connection, PATH, ["a.md", "b.md", "a.md"])
        assert block(change.connection, PATH, ["b.md"]) == first[1:] and len(first) == 2
        assert [entry.number for entry in blocked_entries(change.connection)] == first
        allow(change.connection, first[:1])
        with pytest.raises(NotFoundError, match=f"under {first[0]}"):
            allow(change.connection, first[:1])
    assert not Blocklist(store.primary).holds_path("a.md") and Blocklist(store.primary).holds_path("b.md")


def test_a_purged_secret_is_kept_out_of_paths_and_only_its_first_character_is_hinted_at(store: Store) -> None:
    secret = "".join(f"w{number}" for number in range(7))
    with store.write() as change:
        block_secrets(change.connection, [secret, secret])
        (mine,) = blocked_secrets(change.connection)
        uuid = store.primary.execute("SELECT uuid FROM store").get
        assert (mine.length, mine.key, mine.is_order) == (len(secret), uuid, False)
        enter(change.connection, "secret", mine.digest[::-1], f"{mine.length} {mine.bucket}", "another")
        assert [(one.key, one.is_order) for one in blocked_secrets(change.connection)][1:] == [("another", True)]
    blocklist = Blocklist(store.primary)
    assert blocklist.holds_path(f"docs/{secret}.md")
    assert not blocklist.holds_path(f"docs/{secret[::-1]}.md")


def test_an_order_of_another_store_is_kept_under_that_stores_key(store: Store) -> None:
    with store.write() as change:
        enter(change.connection, PATH, digest("theirs", PATH, "a.md"), "", "theirs")
        assert is_entered(change.connection, PATH, digest("theirs", PATH, "a.md"))
        assert not is_entered(change.connection, SESSION, digest("theirs", PATH, "a.md"))
    assert Blocklist(store.primary).holds_path("a.md") and not Blocklist(store.primary).holds_path("b.md")
    for kind in ("path", "package", "artifact"):
        with pytest.raises(UsageError, match="This path was purged"):
            Blocklist(store.primary).refuse(kind, "a.md")
    Blocklist(store.primary).refuse(SESSION, "a.md")
