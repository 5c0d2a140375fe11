"""Bringing in the predecessor's database: sessions, packages and what its agents learned.

    import_bazinga(store, "/home/me/shop/bazinga/bazinga.db")

The paths in it start from the store's root. Nothing there is written, nothing here is deleted, and a
second run brings only what is new or changed there (see `import_ledger`). A row that is changed there
overwrites what it became here; a session, pattern or strategy that was here before is joined as it is.
"""

import json
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ctxrank.indexer import error_patterns, reasoning, sessions, skill_outputs, strategies
from ctxrank.indexer.bazinga_packages import PackageImport
from ctxrank.indexer.bazinga_rows import (
    ErrorRow,
    GroupRow,
    Predecessor,
    ReasoningRow,
    SessionRow,
    SkillRow,
    StrategyRow,
)
from ctxrank.indexer.bazinga_source import read_predecessor
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.config import IMPORTED_SKILLS_CONFIG
from ctxrank.indexer.import_ledger import digest_of, row_key
from ctxrank.indexer.import_run import ImportReport, ImportRun, Incoming, Written
from ctxrank.indexer.redaction import RedactionMode
from ctxrank.indexer.store import Change, Store
from ctxrank.indexer.token_backfill import backfill_counts

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
    _bring_sessions(run, source)
    run.bring("group", _incoming_groups(source.groups), _group_writer(run))
    packages = PackageImport(run, source)
    packages.bring(progress)
    run.bring("reference", _incoming_references(run, packages, source.groups), _write_references)
    run.bring("reasoning", _incoming_reasoning(source.reasoning), _reasoning_writer(run))
    run.bring("error", _incoming_errors(source.errors), _error_writer(run))
    run.bring("strategy", _incoming_strategies(source.strategies), _strategy_writer(run))
    run.bring("skill", _incoming_skills(source.skills), _skill_writer(run))
    run.bring("setting", _incoming_settings(run, db_path), _write_setting)
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
