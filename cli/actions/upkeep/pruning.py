"""`ctxrank prune`: what is old goes, and is counted."""

import gc
from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.privacy.retention import PruneReport, prune_expired, prune_older
from ctxrank.indexer.store.config import load_config


def prune(call: Call, older_than: str | None, expired: bool, kinds: tuple[str, ...], **options: Any) -> Reply:
    """Remove what is too old, and count it."""
    if (older_than is None) == (not expired):
        raise UsageError(
            "Say what is too old: --older-than AGE, or --expired.",
            "Give one of them; 'ctxrank prune --older-than 90d --dry-run' counts what would go.",
        )
    options["is_dry_run"] = options.pop("dry_run")
    gc.enable()  # this may take a while: see cli/entry.py
    wanted = [kind.strip().lower() for kind in kinds]
    now = now_us()
    before = now if older_than is None else parse_time(older_than, now=now)
    if before > now:
        raise UsageError(f"{older_than} is in the future.", "Give an age such as 90d, or a date that has passed.")
    with call.open() as store:
        if expired:
            ttl_us = load_config(store).ttl_us
            report = prune_expired(store, ttl_us, kinds=wanted, now=now, **options)
        else:
            report = prune_older(store, before, kinds=wanted, **options)
    return Reply(lambda: report, _pruned_lines(report))


def _pruned_lines(report: PruneReport) -> Iterator[str]:
    verb = "would be removed" if report.is_dry_run else "removed"
    for kind, count in report.deleted.items():
        yield f"{kind:<10} {count} {verb}"
    yield f"{'total':<10} {report.total} {verb}"
