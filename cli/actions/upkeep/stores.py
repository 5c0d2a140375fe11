"""`ctxrank init`, `status` and `prune`: a store made, looked at, and rid of what is old."""

import gc
import os
from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply, shown
from ctxrank.indexer.care.status import Status, read_status
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.privacy.retention import PruneReport, prune_expired, prune_older
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import create_store


def init(call: Call, folder: str) -> Reply:
    """Make a store where there is none."""
    if not os.path.isdir(folder):
        raise UsageError(f"There is no folder {folder}.", "Make it first, or name another.")
    is_new = not os.path.exists(os.path.join(folder, ".ctxrank", "ctxrank.db"))
    with create_store(folder, root=call.root) as store:
        path = store.location.folder
    next_step = "next: 'ctxrank index' for files, 'ctxrank package save' for findings."
    return Reply(
        lambda: {"store": path, "created": is_new},
        [f"{'Made' if is_new else 'There is already'} a store in {shown(path)}"],
        text_notes=(next_step,) if is_new else (),
    )


def status(call: Call) -> Reply:
    """Read how the store and its index are."""
    with call.open() as store:
        found = read_status(store)
    return Reply(
        found._asdict,
        _status_lines(found),
        outcome="degraded" if found.index_trouble else "stale" if found.stale else "matched",
        engine="heuristic" if found.index_trouble else "fts5",
        text_notes=found.notes,
    )


def _status_lines(status: Status) -> Iterator[str]:
    yield f"store     {shown(status.store)}"
    yield f"root      {shown(status.root)}"
    yield f"holds     {', '.join(f'{count} {kind}' for kind, count in status.documents.items()) or 'nothing yet'}"
    if status.artifacts:
        yield f"artifacts {', '.join(f'{count} {state}' for state, count in status.artifacts.items())}"
    if status.index_trouble:
        yield f"index     cannot answer: {status.index_trouble}; heuristics do"
    else:
        yield f"index     {'up to date' if not status.stale else f'lacks {status.stale} changes'}"
    if status.counters:
        yield f"tokens    counted by {', '.join(f'{counter} ({count})' for counter, count in status.counters.items())}"
    hint = "redacted when shown; 'ctxrank purge --redact' does it for good"
    if status.older_user_rules:
        hint = f"{status.older_user_rules} of them before your own rules were; 'ctxrank purge --redact' redacts them"
    hint = f" ({hint})" if status.older_ruleset else ""
    older = f"{status.older_ruleset} documents stored under older ones"
    yield f"redaction rules {status.ruleset}; {older}{hint}"


def prune(
    call: Call, older_than: str | None, expired: bool, kinds: tuple[str, ...], session: str | None, dry_run: bool
) -> Reply:
    """Remove what is too old, and count it."""
    if (older_than is None) == (not expired):
        raise UsageError(
            "Say what is too old: --older-than AGE, or --expired.",
            "One of the two: 'ctxrank prune --older-than 90d --dry-run' counts what would go.",
        )
    gc.enable()  # this may take a while: see cli/entry.py
    wanted = [kind.strip().lower() for kind in kinds]
    now = now_us()
    before = now if older_than is None else parse_time(older_than, now=now)
    if before > now:
        raise UsageError(f"{older_than} is in the future.", "Give an age such as 90d, or a date that has passed.")
    with call.open() as store:
        if expired:
            ttl_us = load_config(store).ttl_us
            report = prune_expired(store, ttl_us, kinds=wanted, session=session, now=now, is_dry_run=dry_run)
        else:
            report = prune_older(store, before, kinds=wanted, session=session, is_dry_run=dry_run)
    return Reply(
        lambda: {"deleted": dict(report.deleted), "total": report.total, "dry_run": report.is_dry_run},
        _pruned_lines(report),
    )


def _pruned_lines(report: PruneReport) -> Iterator[str]:
    verb = "would be removed" if report.is_dry_run else "removed"
    for kind, count in report.deleted.items():
        yield f"{kind:<10} {count} {verb}"
    yield f"{'total':<10} {report.total} {verb}"
