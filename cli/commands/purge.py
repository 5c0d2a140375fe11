"""`ctxrank purge`: forget what is stored, or take secrets out of it."""

import gc

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.privacy.purge import Forgot
    from ctxrank.indexer.privacy.redact_again import RedactedAgain
    from ctxrank.indexer.store.blocklist import BlockedEntry
    from ctxrank.indexer.store.store import Store


@declare.command()
@declare.argument("document", metavar="[ID]", required=False)
@declare.option("--session", help="Forget a session and all that belongs to it.")
@declare.option("--path", help="Forget a file or a folder, whoever has stored it.")
@declare.option(
    "--secret", metavar="FILE", help="Forget secrets, one a line of FILE or of stdin ('-'), wherever they are."
)
@declare.option("--redact", is_flag=True, help="Redact all that is stored by today's rules, to the last byte.")
@declare.option("--list", "is_list", is_flag=True, help="List what is kept from coming back.")
@declare.option(
    "--allow", type=declare.Whole(1), multiple=True, metavar="N", help="Let what --list shows under N come back."
)
@declare.option("--backups", is_flag=True, help="Also delete the copies of the store that 'doctor' made.")
@declare.option("--dry-run", is_flag=True, help="Count; change nothing.")
def command(
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
) -> int:
    """Forget a document, a session, a path or a secret: no byte of it stays in a file of the store.

    What is forgotten is kept from coming back by an index, an import or a save. Where another process reads the
    store, bytes may still be in a log: the answer is 'not yet forgotten' and the exit code 7, and the next purge,
    also one without any option, ends it. --redact is for secrets in general: names and paths stay.

    Example: ctxrank purge --path docs/plan.md --dry-run
    """
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.privacy.erase import are_secrets_left, delete_backups, is_redaction_unfinished

    asked = [document, session, path, secret, redact or None, is_list or None, allow or None]
    if sum(one is not None for one in asked) > 1:
        raise UsageError("One thing at a time.", "Give an ID, or one of --session, --path, --secret, --redact.")
    gc.enable()  # this may take a while: see cli/entry.py
    text = None if secret is None else _read(secret)
    is_alone = all(one is None for one in asked)
    with call.open() as store:
        if is_list or allow:
            return _kept_out(call, store, allow)
        if backups and not dry_run:
            delete_backups(store)
        # Its rules are in the configuration, so that nobody has to say again what is to be ended.
        if redact or (is_alone and is_redaction_unfinished(store.truth) and not are_secrets_left(store.truth)):
            return _redact(call, store, dry_run=dry_run)
        forgot = _forget(store, document, session, path, text, backups=backups, dry_run=dry_run)
        return _told(call, store, forgot)


def _told(call: Call, store: "Store", forgot: "Forgot") -> int:
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "removed": dict(forgot.removed), "kept_out": list(forgot.kept_out), "forgotten": forgot.is_erased,
                "dry_run": forgot.is_dry_run,
            }
        )  # fmt: skip
    else:
        _print_forgot(forgot)
    for note in forgot.notes:
        call.note(note)
    return 0 if forgot.is_erased or forgot.is_dry_run else _not_yet(call, store)


def _not_yet(call: Call, store: "Store") -> int:
    """Say what is in the way; the exit code."""
    from ctxrank.indexer.exceptions import LockedError
    from ctxrank.indexer.privacy.erase import backups_of

    if folder := backups_of(store):
        call.note(f"not yet forgotten: {folder} has copies of the store; 'ctxrank purge --backups' deletes them.")
    else:
        call.note("not yet forgotten: another process reads the store; 'ctxrank purge' ends it.")
    return LockedError.exit_code


def _forget(
    store: "Store",
    document: str | None,
    session: str | None,
    path: str | None,
    text: str | None,
    *,
    backups: bool,
    dry_run: bool,
) -> "Forgot":
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.privacy import purge
    from ctxrank.indexer.privacy.erase import are_secrets_left, is_erasing_due
    from ctxrank.indexer.store.documents import parse_ref

    if document is not None:
        return purge.forget_document(store, parse_ref(document), is_dry_run=dry_run)
    if session is not None:
        return purge.forget_session(store, session, is_dry_run=dry_run)
    if path is not None:
        return purge.forget_path(store, path, is_dry_run=dry_run)
    if text is not None:
        from ctxrank.indexer.privacy.secrets import forget_secrets, read_secrets
        from ctxrank.indexer.store.config import load_config

        mode = load_config(store).redaction_mode
        return forget_secrets(store, read_secrets(text), mode, is_dry_run=dry_run)
    if not is_erasing_due(store.truth):
        if backups:
            return purge.Forgot({}, (), (), is_erased=True, is_dry_run=dry_run)
        raise UsageError(
            "Say what to purge: an ID, --session, --path or --secret; --redact takes secrets out of what is stored.",
            "'ctxrank purge --path docs/plan.md --dry-run' counts what would go.",
        )
    if are_secrets_left(store.truth):
        raise UsageError(
            "A purge of a secret was interrupted before all of it was found.",
            "Give the same secret again: it is not kept, so nothing else can find the rest.",
        )
    is_erased = not dry_run and purge.finish_forgetting(store)
    return purge.Forgot({}, (), (), is_erased=is_erased, is_dry_run=dry_run)


def _read(name: str) -> str:
    """The secrets, from a file or from stdin: on a command line others would see them."""
    import sys

    from ctxrank.indexer.exceptions import UsageError

    try:
        if name == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape")
        with open(name, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise UsageError(
            f"The file of --secret cannot be read: {error.strerror}.",
            "It takes the name of a file that holds the secret, or '-' for stdin; never the secret itself.",
        ) from error


def _print_forgot(forgot: "Forgot") -> None:
    verb = "would go" if forgot.is_dry_run else "gone"
    for kind, count in forgot.removed.items():
        print(f"{kind:<10} {count} {verb}")
    if forgot.kept_out:
        print(f"kept out   {', '.join(map(str, forgot.kept_out))} (see 'ctxrank purge --list')")
    if not forgot.is_dry_run:
        print("forgotten" if forgot.is_erased else "not yet forgotten")
    elif not forgot.removed:
        print("nothing would go")


def _kept_out(call: Call, store: "Store", allow: tuple[int, ...]) -> int:
    from ctxrank.indexer.store import blocklist

    if allow:
        with store.write() as change:
            blocklist.allow(change.connection, allow)
    rows = blocklist.blocked_entries(store.truth)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json
        from ctxrank.indexer.clock import format_us

        shown = [{"number": row.number, "kind": row.kind, "forgotten_at": format_us(row.blocked_at)} for row in rows]
        emit_json({"kept_out": shown, "allowed": list(allow)})
    else:
        _print_kept_out(rows)
    return 0


def _print_kept_out(rows: "list[BlockedEntry]") -> None:
    from ctxrank.indexer.clock import format_us

    for row in rows:
        print(f"{row.number:<5} {row.kind:<10} {format_us(row.blocked_at)}")
    if not rows:
        print("nothing is kept out")


def _redact(call: Call, store: "Store", *, dry_run: bool) -> int:
    from ctxrank.indexer.privacy.erase import is_erasing_due
    from ctxrank.indexer.privacy.redact_again import redact_again
    from ctxrank.indexer.store.config import load_config

    config = load_config(store)
    for note in config.notes:
        call.note(note)
    was_due = is_erasing_due(store.truth)
    report = redact_again(store, config.redaction_mode, is_dry_run=dry_run)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "redacted": dict(report.redacted), "looked_at": report.looked_at, "forgotten": report.is_erased,
                "dry_run": report.is_dry_run,
            }
        )  # fmt: skip
    else:
        _print_redacted(report, was_due=was_due)
    return 0 if report.is_erased or report.is_dry_run else _not_yet(call, store)


def _print_redacted(report: "RedactedAgain", *, was_due: bool) -> None:
    verb = "would be redacted" if report.is_dry_run else "redacted"
    for kind, count in report.redacted.items():
        print(f"{kind:<10} {count} {verb}")
    print(f"{'total':<10} {sum(report.redacted.values())} {verb}, {report.looked_at} looked at")
    if not report.is_dry_run and (report.redacted or was_due):  # else there was nothing to forget
        print("forgotten" if report.is_erased else "not yet forgotten")
