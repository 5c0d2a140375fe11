"""A store with one of everything that can be exported, and exports as plain values."""

import io
import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from builders import make_store, save, write_file
from written import Reasoning, SkillOutput, Strategy, write

from ctxrank.indexer.errors import patterns
from ctxrank.indexer.errors.failures import see, sighting_of
from ctxrank.indexer.errors.lookup import put_signature
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.exchange import carry_out, import_jsonl
from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.exchange.orders import waiting_orders
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.packages import consume
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store.ids import foreign_id, origin_code
from ctxrank.indexer.store.store import Store

MOMENT = 1_700_000_000_123_456
ISO = "2023-11-14T22:13:20.123456Z"


def fill(store: Store) -> None:
    """Two sessions, versions, consumers, deliveries, references, and one record of every other kind."""
    with store.write() as change:
        session = NewSession("S", "shop", requirements="Ship it.", metadata='{"a": [1, "ü"]}', created_at=MOMENT)
        id_ = create_session(change, session)
        change.connection.execute("""UPDATE sessions SET skills_config = '{"lint": true}' WHERE id = ?""", (id_,))
    save(store, "notes/locks.md", "# Locks\n\nold zebra\n", created_at=MOMENT)
    save(store, "notes/locks.md", "# Locks\n\nThe zebra waits.\n\n## More\n\nA walrus.\n", created_at=MOMENT + 1)
    save(store, "notes/other.md", "heron\n", session="T", group=None, producer="developer")
    write_file(store, "plain.txt", "A pelican in a file.\n")
    index_artifacts(store)
    consume(store, 2, "developer", 3)
    with store.write() as change:
        group = change.connection.execute("SELECT id FROM groups").get
        change.connection.execute(
            "INSERT INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
            " VALUES (2, ?, 'qa_expert', 1, ?), (3, 0, 'developer', 0, ?)",
            (group, MOMENT, MOMENT),
        )
        change.connection.execute("UPDATE groups SET title = 'Locking', context_references = '[1, 2]'")
        write(
            change,
            Reasoning(
                id_, group, "developer", "decisions", "We chose ibis.\nTwice.", MOMENT, "dev-1", 2, "high", '["a.py"]'
            ),
        )
        write(change, SkillOutput(id_, None, "developer", "lint", 1, '{"gannet": 1.5}', MOMENT))
        record_event(change, id_, group, "note", '{"text": "hello"}', idempotency_key="k")
        pattern = patterns.ErrorPattern(
            "shop", "cafe", "KeyError", "no <id>", "Use get.", MOMENT, MOMENT, '["x"]', "[]", 0.7, 3, "python", 30, 2, 1
        )
        pattern_id = patterns.upsert(change, pattern)
        put_signature(change, pattern_id, "shop", "KeyError: no <id>")
        for resolved_at, failure in ((None, "KeyError: no 7"), (MOMENT + 2, "make: *** [Makefile:2: all] Error 1")):
            sighting = sighting_of(failure, MOMENT, resolved_at)
            assert sighting is not None
            see(change, id_, group if resolved_at else 0, sighting, None if resolved_at else pattern_id)
        write(change, Strategy("n", "shop", "general", "Test first.", MOMENT, MOMENT, 2, "python", "flask"))
    store.catch_up()


def exported(store: Store, **options: Any) -> list[dict[str, Any]]:
    """An export, one value a line."""
    return [json.loads(line) for line in export_lines(store, **options)]


def exported_bytes(store: Store) -> bytes:
    """An export as it stands in a file."""
    return "".join(export_lines(store)).encode()


def bring(store: Store, data: bytes, *, is_accepted: bool = True) -> ImportReport:
    """Import a file of these bytes; all whose records it has are accepted first, as members of one team are."""
    if is_accepted:
        accept(store, data)
    return import_jsonl(store, io.BytesIO(data), is_accepted=is_accepted)


def agree(store: Store) -> tuple[str, ...]:
    """Carry out every order that waits; returns what is said of it."""
    waiting = waiting_orders(store.primary)
    return carry_out(store, waiting).notes if waiting else ()


def accept(store: Store, data: bytes) -> None:
    """Accept every store that lines name."""
    named = set(re.findall(rb'"(?:store|origin|of)": ?"([0-9a-f-]{36})"', data))
    with store.write() as change:
        for uuid in sorted(map(bytes.decode, named)):
            if origin_code(change.connection, uuid):
                decide(change, uuid, "accepted", "person")


ELSEWHERE = "elsewhere"


@contextmanager
def elsewhere(store: Store, folder: Path) -> Generator[Store]:
    """A store in this new folder that holds what another one exported and nothing else: all of it has ids below 0."""
    folder.mkdir(parents=True)
    with make_store(folder) as other:
        bring(other, exported_bytes(store))
        yield other


@contextmanager
def asked_store(store: Store) -> Generator[Store]:
    """The store itself; beside a folder ELSEWHERE one that has all of it from there alone."""
    folder = Path(store.location.root, ELSEWHERE)
    if not folder.is_dir():
        yield store
        return
    with elsewhere(store, folder / str(len(list(folder.iterdir())))) as other:
        yield other


def as_bytes(*lines: object) -> bytes:
    """Values as the lines of a file."""
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


ANOTHER, THIRD = "0a0a0a0a-0000-4000-8000-000000000000", "0b0b0b0b-0000-4000-8000-000000000000"
_numbers: dict[str, int] = {}


def export_of(*lines: object, store: str = ANOTHER) -> bytes:
    """Lines as an export of another store: what says something new is a later change, and a record is its first."""
    header = {"format": "ctxrank-export", "version": 2, "store": store, "exported_at": ISO, "ruleset": 1}
    return as_bytes(header, *map(_numbered, lines))


def _numbered(line: object) -> object:
    if not is_dict(line) or line.get("record") == "end":
        return line
    return {"id": 1, "seq": _numbers.setdefault(json.dumps(line), len(_numbers) + 1), **line}


def id_of(kind: str, number: int, store: str = ANOTHER) -> str:
    """The public id of a record of another store."""
    return f"{kind}:{number}@{store[:8]}"


def row_of(number: int, store: str = ANOTHER) -> int:
    """The row id of a record of another store."""
    return foreign_id(int(store[:8], 16), number)


def without_ids(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records alone, and nothing in them that is another number in another store."""
    ids = ("id", "seq", "origin", "supersedes", "superseded_by", "context_references")
    return [{name: value for name, value in line.items() if name not in ids} for line in lines[1:]]


def uuid_of(store: Store) -> str:
    """What a store is called in what it exports."""
    return str(store.primary.execute("SELECT uuid FROM store").get)
