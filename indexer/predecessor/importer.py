"""Bringing in the predecessor's database: sessions, packages and what its agents learned.

    import_bazinga(store, "/home/me/shop/bazinga/bazinga.db")

The paths in it start from the store's root. Nothing there is written, nothing here is deleted, and a
second run brings only what is new or changed there (see `import_ledger`). A row that is changed there is
written over what it became here; a session, pattern or strategy that was here before is joined as it is.
"""

import json
import os
from collections.abc import Callable, Iterator

from ctxrank.indexer.exchange.ledger import digest_of, row_key
from ctxrank.indexer.exchange.run import ImportReport, ImportRun, Incoming, Written
from ctxrank.indexer.predecessor.lessons import LessonImport
from ctxrank.indexer.predecessor.package_import import PackageImport
from ctxrank.indexer.predecessor.session_import import SessionImport
from ctxrank.indexer.predecessor.source import read_predecessor
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.config import IMPORTED_SKILLS_CONFIG
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.store.token_backfill import backfill_counts

SOURCE = "bazinga"
SKILLS_CONFIG_FILE = "skills_config.json"
_SKILLS_CONFIG_MAX_BYTES = 1_000_000


def import_bazinga(
    store: Store,
    db_path: str,
    *,
    mode: RedactionMode = RedactionMode.PATTERN_ONLY,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Bring in what is new or changed in a database of the predecessor, redacted on the way.

    `progress` is told after each chunk how many packages of how many are in. Raises UsageError where
    there is no such file, DamagedError where it cannot be used (nothing is changed then), LockedError.
    """
    source = read_predecessor(db_path, busy_ms=store.busy_ms)
    run = ImportRun(store, SOURCE, mode)
    sessions, packages, lessons = SessionImport(run), PackageImport(run, source), LessonImport(run)
    sessions.bring_sessions(source.sessions)
    sessions.bring_groups(source.groups)
    packages.bring(progress)
    sessions.bring_references(source.groups, packages.target)
    lessons.bring_reasoning(source.reasoning)
    lessons.bring_errors(source.errors)
    lessons.bring_strategies(source.strategies)
    lessons.bring_skills(source.skills)
    run.bring("setting", _skills_config(run, db_path), _write_setting)
    recounted = backfill_counts(store)
    store.follow()
    return ImportReport(
        schema=source.schema,
        counts=run.counts(),
        skipped=run.skipped(),
        files_indexed=len(packages.files.indexed),
        files_missing=len(packages.files.missing),
        recounted=recounted,
        notes=(*run.notes, *packages.files.notes()),
    )


def _skills_config(run: ImportRun, db_path: str) -> Iterator[Incoming[str]]:
    """The predecessor's settings, a file beside its database; one that cannot be read is only noted."""
    path = os.path.join(os.path.dirname(os.path.abspath(db_path)), SKILLS_CONFIG_FILE)
    try:
        with open(path, "rb") as file:
            text = file.read(_SKILLS_CONFIG_MAX_BYTES).decode("utf-8-sig")
        json.loads(text)
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        run.notes.append(f"{path} did not come in: {error}.")
        return
    clean = run.texts.json(text, empty="{}")
    yield Incoming(row_key(None, SKILLS_CONFIG_FILE), SKILLS_CONFIG_FILE, digest_of((clean,)), clean)


def _write_setting(change: Change, value: str, target: int | None) -> Written:
    change.connection.execute(
        "INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", (IMPORTED_SKILLS_CONFIG, value)
    )
    return Written(0)
