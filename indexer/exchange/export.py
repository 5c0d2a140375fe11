"""The store as JSON Lines: a header, one object for each record, and an end line with counts.

    {"format": "ctxrank-export", "version": 2, "store": "9f3c27ab-…", …, "since": 0, "seq": 41}
    {"record": "session", "id": 1, "seq": 1, "name": "shop-2026-11", …}
    {"record": "package", "id": 12, "seq": 40, "session": "shop-2026-11", …, "passages": [{"key": "…", "text": "…"}]}
    {"record": "removed", "kind": "package", "id": 9, "seq": 41}
    {"record": "end", "counts": {"session": 1, "package": 1, "removed": 1}}

A line is the state of one record of one store: `id` is its number there, `seq` the number of its last change in that
store's record log. Without an `origin` the store is the header's. What other stores made is left out, unless a relay is
asked for. Names replace row ids; packages and files carry their passages, so the export is whole where the files
are not. Order is that of the records' ids, all of it one snapshot, and no more than a record is in memory; of a relay
also the keys of what several stores have one of.
"""

import json
from collections import Counter
from collections.abc import Generator, Sequence

import apsw

from ctxrank.indexer.catalogue import chosen_kinds, exported_kinds, kinds_of
from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.exchange.exported_records import Choice, Fields, RecordReader
from ctxrank.indexer.owners import require_owners
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import snapshot, sqlite_errors
from ctxrank.indexer.store.ids import own_uuid
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import visible_json

FORMAT = "ctxrank-export"
VERSION = 2
END = "end"


def export_lines(
    store: Store,
    *,
    sessions: Sequence[str] = (),
    kinds: Sequence[str] = (),
    since: int | None = None,
    all_origins: bool = False,
) -> Generator[str, None, None]:
    """The lines, each with its line break. Without kinds and sessions it is everything.

    What belongs to a session comes with all sessions that were asked for and their groups. What was stored
    under older redaction rules is redacted again. Raises UsageError, NotFoundError before the first line.
    """
    require_owners(store.primary, "export")
    known = kinds_of(store.primary)
    chosen = chosen_kinds(known, kinds, exported_kinds(known), "a kind of record", has_session=bool(sessions))
    ids = tuple(dict.fromkeys(find_session(store.primary, name).id for name in sessions))
    choice = Choice(chosen, ids, since or 0, all_origins, is_selection=bool(sessions or kinds))
    return _lines(store, choice, IncomingTexts(load_config(store).redaction_mode))


def last_number(connection: apsw.Connection) -> int:
    """The number of the last change in the record log: what the next `--since` begins behind."""
    query = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'record_log'), 0)"
    return int(connection.execute(query).get)


def _lines(store: Store, choice: Choice, texts: IncomingTexts) -> Generator[str, None, None]:
    counts: Counter[str] = Counter()
    with sqlite_errors(store.location.primary), snapshot(store.primary):
        header: Fields = {
            "format": FORMAT,
            "version": VERSION,
            "store": own_uuid(store.primary),
            "exported_at": format_us(now_us()),
            "ruleset": RULESET_VERSION,
            "since": choice.since,
            "seq": last_number(store.primary),
        }
        yield _line(header)
        for record, fields in RecordReader(store.primary, choice, texts).records():
            counts[record] += 1
            yield _line({"record": record, **fields})
    yield _line({"record": END, "counts": dict(counts)})


def _line(value: Fields) -> str:
    return visible_json(json.dumps(value, ensure_ascii=False)) + "\n"
