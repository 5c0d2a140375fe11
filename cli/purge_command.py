"""`ctxrank purge`: take secrets out of what is stored already."""

import gc

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.indexer.records import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.redaction_again import RedactedAgain


@declare.command()
@declare.option("--redact", "is_wanted", is_flag=True, help="Redact all that is stored by today's rules.")
@declare.option("--dry-run", is_flag=True, help="Count; change nothing.")
def command(call: Call, is_wanted: bool, dry_run: bool) -> None:
    """Redact everything that is stored again, by today's rules and your own, and count what changed.

    Names and paths stay. Where a text changed the index is made anew, so that it keeps no word of it.

    Example: ctxrank purge --redact --dry-run
    """
    from ctxrank.indexer.config import load_config
    from ctxrank.indexer.errors import UsageError
    from ctxrank.indexer.redaction_again import redact_again

    if not is_wanted:
        raise UsageError(
            "Say what to purge: --redact takes secrets out of what is stored.",
            "'ctxrank purge --redact --dry-run' counts what would change.",
        )
    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store:
        config = load_config(store)
        for note in config.notes:
            call.note(note)
        report = redact_again(store, config.redaction_mode, is_dry_run=dry_run)
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json({"redacted": dict(report.redacted), "looked_at": report.looked_at, "dry_run": report.is_dry_run})
    else:
        _print_text(report)


def _print_text(report: "RedactedAgain") -> None:
    verb = "would be redacted" if report.is_dry_run else "redacted"
    for kind, count in report.redacted.items():
        print(f"{kind:<10} {count} {verb}")
    print(f"{'total':<10} {sum(report.redacted.values())} {verb}, {report.looked_at} looked at")
