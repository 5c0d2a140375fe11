"""`ctxrank purge` and `prune`: what is stored is removed to the last byte, secrets are taken out, what is old goes."""

from collections.abc import Iterator, Mapping

from ctxrank.cli.actions.given import read_given
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.sharing import sharing
from ctxrank.indexer.clock import format_us, now_us, parse_time
from ctxrank.indexer.exceptions import LockedError, UsageError, refused_by_system
from ctxrank.indexer.exchange.origin_removal import forget_origin
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.privacy import purge as forgetting
from ctxrank.indexer.privacy.erase import (
    are_secrets_left,
    backups_of,
    delete_backups,
    is_erasing_due,
    is_redaction_unfinished,
)
from ctxrank.indexer.privacy.purge import PurgeReport
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.privacy.retention import prune_expired, prune_older
from ctxrank.indexer.privacy.secrets import forget_secrets, read_secrets
from ctxrank.indexer.store import blocklist
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.store import Store


def purge(
    call: Call, store: Store, redact: bool, is_list: bool, allow: tuple[int, ...], backups: bool, **options: Any
) -> Reply:
    """Forget what is named, redact everything, or list what is kept out; 7 while another process reads the store."""
    dry_run: bool = options.pop("dry_run")
    named = {name: value for name, value in options.items() if value is not None}
    count = len(named) + redact + is_list + bool(allow)
    if count > 1:
        raise UsageError(
            "One thing at a time.", "Give an ID, or one of --session, --path, --secret, --origin, --redact."
        )
    if "secret" in named:  # from a file or from stdin: on a command line others would see it
        step = "It takes the name of a file that holds the secret, or '-' for stdin; never the secret itself."
        with refused_by_system("The file of --secret cannot be read", step, UsageError):
            named["secret"] = read_given(named["secret"]).decode("utf-8-sig", "surrogateescape")
    if is_list or allow:
        return _kept_out(store, allow)
    if backups and not dry_run:
        delete_backups(store)
    # The rules of a redaction are in the configuration, so an unfinished one needs no arguments to be ended.
    if redact or (not count and is_redaction_unfinished(store.primary) and not are_secrets_left(store.primary)):
        return _redact(call, store, dry_run=dry_run)
    forgot = _forget(store, named, backups=backups, dry_run=dry_run)
    is_done = forgot.is_erased or forgot.is_dry_run
    notes = forgot.notes if is_done else (*forgot.notes, _what_is_in_the_way(store))
    more: dict[str, object] = {"forgotten": forgot.is_erased}
    if store.wide is not None and not dry_run:
        is_done = False
        at = f"the cluster at {store.wide.hosts}"
        notes += (f"not yet purged: {at} still has it; 'ctxrank wide sync --forget' takes it out.",)
    if load_config(store).team_log is not None and not dry_run and "origin" not in named:
        unconfirmed, machines, said = sharing("team").purge_notes(call, store)
        left = {"machines": machines or None, "unconfirmed": unconfirmed if unconfirmed >= 0 else None}
        more = {"forgotten": forgot.is_erased and unconfirmed == 0, "team": left}
        is_done = is_done and unconfirmed == 0
        notes += said
    lines = _forgot_lines(forgot, is_secret="secret" in named)
    return Reply(lambda: Extended(forgot, more), lines, exit_code=0 if is_done else LockedError.exit_code, notes=notes)


def _what_is_in_the_way(store: Store) -> str:
    if folder := backups_of(store):
        return f"not yet purged: {folder} has copies of the store; 'ctxrank purge --backups' deletes them."
    return "not yet purged: another process reads the store; 'ctxrank purge' finishes it."


def _forget(store: Store, named: dict[str, str], *, backups: bool, dry_run: bool) -> PurgeReport:
    for name, value in named.items():  # there is one
        if name == "document":
            return forgetting.forget_document(store, local_ref(store.primary, value), is_dry_run=dry_run)
        if name == "secret":
            return forget_secrets(store, read_secrets(value), load_config(store).redaction_mode, is_dry_run=dry_run)
        forget = {"session": forgetting.forget_session, "path": forgetting.forget_path, "origin": forget_origin}[name]
        return forget(store, value, is_dry_run=dry_run)
    if not is_erasing_due(store.primary):
        if backups:
            return PurgeReport({}, is_erased=True, is_dry_run=dry_run)
        raise UsageError(
            "Say what to purge: an ID, --session, --path or --secret; --redact takes secrets out of what is stored.",
            "'ctxrank purge --path docs/plan.md --dry-run' counts what would go.",
        )
    if are_secrets_left(store.primary):
        raise UsageError(
            "A purge of a secret was interrupted before all of it was found.",
            "Give the same secret again: it is not kept, so nothing else can find the rest.",
        )
    is_erased = not dry_run and forgetting.finish_forgetting(store)
    return PurgeReport({}, is_erased=is_erased, is_dry_run=dry_run)


def _counted(counts: Mapping[str, int], verb: str) -> list[str]:
    return [f"{kind:<10} {count} {verb}" for kind, count in counts.items()]


def _forgot_lines(forgot: PurgeReport, *, is_secret: bool) -> Iterator[str]:
    would_be, is_done = ("would be redacted", "redacted") if is_secret else ("would go", "gone")
    yield from _counted(forgot.removed, would_be if forgot.is_dry_run else is_done)
    if forgot.kept_out:
        yield f"kept out   {', '.join(map(str, forgot.kept_out))} (see 'ctxrank purge --list')"
    if not forgot.is_dry_run:
        yield "purged" if forgot.is_erased else "not yet purged"
    elif not forgot.removed:
        yield "nothing would go"


def _kept_out(store: Store, allow: tuple[int, ...]) -> Reply:
    if allow:
        with store.write() as change:
            blocklist.allow(change.connection, allow)
    rows = blocklist.blocked_entries(store.primary)
    payload = {"total": len(rows), "has_more": False, "kept_out": [tuple(row) for row in rows], "allowed": allow}
    lines = [f"{row.number:<5} {row.kind:<10} {format_us(row.blocked_at)}" for row in rows]
    return Reply(lambda: payload, lines or ["nothing is kept out"])


def _redact(call: Call, store: Store, *, dry_run: bool) -> Reply:
    config = load_config(store)
    for note in config.notes:
        call.note(note)
    was_due = is_erasing_due(store.primary)
    report = redact_again(store, config.redaction_mode, is_dry_run=dry_run)
    is_done = report.is_erased or dry_run
    verb = "would be redacted" if dry_run else "redacted"
    lines = _counted({**report.redacted, "total": sum(report.redacted.values())}, verb)
    lines[-1] += f", {report.looked_at} looked at"
    if not dry_run and (report.redacted or was_due):  # else there was nothing to forget
        lines.append("purged" if report.is_erased else "not yet purged")
    more = {"looked_at": report.looked_at, "forgotten": report.is_erased, "dry_run": dry_run}
    return Reply(
        lambda: {"redacted": dict(report.redacted), **more},
        lines,
        exit_code=0 if is_done else LockedError.exit_code,
        notes=() if is_done else (_what_is_in_the_way(store),),
    )


def prune(call: Call, store: Store, older_than: str | None, expired: bool, **options: Any) -> Reply:
    """Remove what is too old, and count it."""
    if (older_than is None) == (not expired):
        raise UsageError(
            "Say what is too old: --older-than AGE, or --expired.",
            "Give one of them; 'ctxrank prune --older-than 90d --dry-run' counts what would go.",
        )
    options["is_dry_run"] = options.pop("dry_run")
    wanted = [kind.strip().lower() for kind in options.pop("kinds")]
    now = now_us()
    before = now if older_than is None else parse_time(older_than, now=now)
    if before > now:
        raise UsageError(f"{older_than} is in the future.", "Give an age such as 90d, or a date that has passed.")
    if expired:
        report = prune_expired(store, load_config(store).ttl_us, kinds=wanted, now=now, **options)
    else:
        report = prune_older(store, before, kinds=wanted, **options)
    verb = "would be removed" if report.is_dry_run else "removed"
    return Reply(lambda: report, _counted({**report.deleted, "total": report.total}, verb))
