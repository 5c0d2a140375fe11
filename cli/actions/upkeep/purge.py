"""`ctxrank purge`: remove what is stored to the last byte, or take secrets out of it."""

import gc
from collections.abc import Iterator

from ctxrank.cli.actions.given import read_given
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.sharing import sharing
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import LockedError, UsageError
from ctxrank.indexer.exchange.origin_removal import forget_origin
from ctxrank.indexer.privacy import purge as forgetting
from ctxrank.indexer.privacy.erase import (
    are_secrets_left,
    backups_of,
    delete_backups,
    is_erasing_due,
    is_redaction_unfinished,
)
from ctxrank.indexer.privacy.purge import PurgeReport
from ctxrank.indexer.privacy.redact_again import RedactedAgain, redact_again
from ctxrank.indexer.privacy.secrets import forget_secrets, read_secrets
from ctxrank.indexer.store import blocklist
from ctxrank.indexer.store.blocklist import BlockedEntry
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.store import Store


def purge(
    call: Call,
    document: str | None,
    session: str | None,
    path: str | None,
    secret: str | None,
    redact: bool,
    is_list: bool,
    allow: tuple[int, ...],
    backups: bool,
    dry_run: bool,
    origin: str | None = None,
) -> Reply:
    """Forget what is named, redact everything, or list what is kept out; 7 while another process reads the store."""
    asked = [document, session, path, secret, origin, redact or None, is_list or None, allow or None]
    if sum(one is not None for one in asked) > 1:
        raise UsageError(
            "One thing at a time.", "Give an ID, or one of --session, --path, --secret, --origin, --redact."
        )
    gc.enable()  # this may take a while: see cli/entry.py
    text = None if secret is None else _read(secret)
    is_alone = all(one is None for one in asked)
    with call.open() as store:
        if is_list or allow:
            return _kept_out(store, allow)
        if backups and not dry_run:
            delete_backups(store)
        # The rules of a redaction are in the configuration, so an unfinished one needs no arguments to be ended.
        if redact or (is_alone and is_redaction_unfinished(store.primary) and not are_secrets_left(store.primary)):
            return _redact(call, store, dry_run=dry_run)
        if origin is not None:
            forgot = forget_origin(store, origin, is_dry_run=dry_run)
        else:
            forgot = _forget(store, document, session, path, text, backups=backups, dry_run=dry_run)
        is_done = forgot.is_erased or forgot.is_dry_run
        reply = Reply(
            lambda: {
                "removed": dict(forgot.removed), "kept_out": list(forgot.kept_out), "forgotten": forgot.is_erased,
                "dry_run": forgot.is_dry_run,
            },
            _forgot_lines(forgot),
            exit_code=0 if is_done else LockedError.exit_code,
            notes=forgot.notes if is_done else (*forgot.notes, _what_is_in_the_way(store)),
        )  # fmt: skip
        config = load_config(store)
        if store.wide is not None and not forgot.is_dry_run:
            reply = _still_in_cluster(reply, store.wide.hosts)
        if forgot.is_dry_run or origin is not None or config.team_log is None:
            return reply
        return _told_to_team(call, store, forgot, reply)


def _still_in_cluster(reply: Reply, hosts: str) -> Reply:
    """The reply of a store whose index is in a cluster: 7 until that has forgotten, too."""
    note = f"not yet purged: the cluster at {hosts} still has it; 'ctxrank wide sync --forget' takes it out."
    return reply._replace(exit_code=LockedError.exit_code, notes=(*reply.notes, note))


def _told_to_team(call: Call, store: Store, forgot: PurgeReport, reply: Reply) -> Reply:
    """The reply of a store that shares a log: 7 until every machine has confirmed."""
    unconfirmed, machines, notes = sharing("team").purge_notes(call, store)
    return reply._replace(
        payload=lambda: {
            "removed": dict(forgot.removed), "kept_out": list(forgot.kept_out),
            "forgotten": forgot.is_erased and unconfirmed == 0, "dry_run": False,
            "team": {"machines": machines or None, "unconfirmed": unconfirmed if unconfirmed >= 0 else None},
        },
        exit_code=reply.exit_code if unconfirmed == 0 else LockedError.exit_code,
        notes=(*reply.notes, *notes),
    )  # fmt: skip


def _what_is_in_the_way(store: Store) -> str:
    if folder := backups_of(store):
        return f"not yet purged: {folder} has copies of the store; 'ctxrank purge --backups' deletes them."
    return "not yet purged: another process reads the store; 'ctxrank purge' finishes it."


def _forget(
    store: Store,
    document: str | None,
    session: str | None,
    path: str | None,
    text: str | None,
    *,
    backups: bool,
    dry_run: bool,
) -> PurgeReport:
    if document is not None:
        return forgetting.forget_document(store, local_ref(store.primary, document), is_dry_run=dry_run)
    if session is not None:
        return forgetting.forget_session(store, session, is_dry_run=dry_run)
    if path is not None:
        return forgetting.forget_path(store, path, is_dry_run=dry_run)
    if text is not None:
        mode = load_config(store).redaction_mode
        return forget_secrets(store, read_secrets(text), mode, is_dry_run=dry_run)
    if not is_erasing_due(store.primary):
        if backups:
            return PurgeReport({}, (), (), is_erased=True, is_dry_run=dry_run)
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
    return PurgeReport({}, (), (), is_erased=is_erased, is_dry_run=dry_run)


def _read(name: str) -> str:
    """The secrets, from a file or from stdin: on a command line others would see them."""
    try:
        return read_given(name).decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"The file of --secret cannot be read: {error.strerror}.",
            "It takes the name of a file that holds the secret, or '-' for stdin; never the secret itself.",
        ) from error


def _forgot_lines(forgot: PurgeReport) -> Iterator[str]:
    verb = "would go" if forgot.is_dry_run else "gone"
    for kind, count in forgot.removed.items():
        yield f"{kind:<10} {count} {verb}"
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
    return Reply(
        lambda: {
            "total": len(rows),
            "has_more": False,
            "kept_out": [_kept_out_json(row) for row in rows],
            "allowed": list(allow),
        },
        _kept_out_lines(rows),
    )


def _kept_out_json(row: BlockedEntry) -> dict[str, object]:
    return {"number": row.number, "kind": row.kind, "forgotten_at": format_us(row.blocked_at)}


def _kept_out_lines(rows: list[BlockedEntry]) -> Iterator[str]:
    for row in rows:
        yield f"{row.number:<5} {row.kind:<10} {format_us(row.blocked_at)}"
    if not rows:
        yield "nothing is kept out"


def _redact(call: Call, store: Store, *, dry_run: bool) -> Reply:
    config = load_config(store)
    for note in config.notes:
        call.note(note)
    was_due = is_erasing_due(store.primary)
    report = redact_again(store, config.redaction_mode, is_dry_run=dry_run)
    is_done = report.is_erased or report.is_dry_run
    return Reply(
        lambda: {
            "redacted": dict(report.redacted), "looked_at": report.looked_at, "forgotten": report.is_erased,
            "dry_run": report.is_dry_run,
        },
        _redacted_lines(report, was_due=was_due),
        exit_code=0 if is_done else LockedError.exit_code,
        notes=() if is_done else (_what_is_in_the_way(store),),
    )  # fmt: skip


def _redacted_lines(report: RedactedAgain, *, was_due: bool) -> Iterator[str]:
    verb = "would be redacted" if report.is_dry_run else "redacted"
    for kind, count in report.redacted.items():
        yield f"{kind:<10} {count} {verb}"
    yield f"{'total':<10} {sum(report.redacted.values())} {verb}, {report.looked_at} looked at"
    if not report.is_dry_run and (report.redacted or was_due):  # else there was nothing to forget
        yield "purged" if report.is_erased else "not yet purged"
