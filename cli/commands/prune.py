"""`ctxrank prune`: take out what is old."""

import gc

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.privacy.retention import PruneReport


@declare.command()
@declare.option("--older-than", "older_than", metavar="AGE", help="What is older than an age (90d) or a date.")
@declare.option("--expired", is_flag=True, help="What has outlived its time to live (ttl in the configuration).")
@declare.option(
    "--kind", "kinds", multiple=True,
    help="Only package, reasoning, error, strategy, skill, event or session.",
)  # fmt: skip
@declare.option("--session", help="Only what belongs to this session.")
@declare.option("--dry-run", is_flag=True, help="Count; remove nothing.")
def command(
    call: Call, older_than: str | None, expired: bool, kinds: tuple[str, ...], session: str | None, dry_run: bool
) -> None:
    """Remove what is older than an age, or has outlived its time to live, and count it.

    Error patterns and strategies are as old as their last use. A session goes with the last thing it held,
    unless it is active. A file that loses its last package stays indexed as a file.

    Example: ctxrank prune --older-than 90d --kind event --dry-run
    """
    from ctxrank.indexer.clock import now_us, parse_time
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.privacy.retention import prune_expired, prune_older
    from ctxrank.indexer.store.config import load_config

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
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"deleted": dict(report.deleted), "total": report.total, "dry_run": report.is_dry_run})
    else:
        _print_text(report)


def _print_text(report: "PruneReport") -> None:
    verb = "would be removed" if report.is_dry_run else "removed"
    for kind, count in report.deleted.items():
        print(f"{kind:<10} {count} {verb}")
    print(f"{'total':<10} {report.total} {verb}")
