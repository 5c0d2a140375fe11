"""What an import did, as JSON or for a person."""

from ctxrank.cli.call import Call
from ctxrank.cli.output.envelope import emit_json
from ctxrank.indexer.exchange.run import ImportReport

_SHOWN_SKIPPED = 10


def print_report(call: Call, report: ImportReport) -> None:
    """Print the report, its notes on stderr."""
    if call.is_json:
        _print_json(report)
    else:
        _print_text(call, report)


def _print_json(report: ImportReport) -> None:
    emit_json(
        {
            "schema": report.schema,
            "complete": report.is_complete,
            "is_noop": report.is_noop,
            "counts": {kind: count._asdict() for kind, count in report.counts.items()},
            "skipped": [row._asdict() for row in report.skipped],
            "files_indexed": report.files_indexed,
            "files_missing": report.files_missing,
            "recounted": report.recounted,
            "notes": list(report.notes),
        }
    )


def _print_text(call: Call, report: ImportReport) -> None:
    for note in report.notes:
        call.note(note)
    for row in report.skipped[:_SHOWN_SKIPPED]:
        call.note(f"skipped {row.kind} {row.key}: {row.reason}")
    if len(report.skipped) > _SHOWN_SKIPPED:
        call.note(f"and {len(report.skipped) - _SHOWN_SKIPPED} more rows skipped; --json lists them.")
    if report.is_noop:
        unchanged = sum(count.unchanged for count in report.counts.values())
        print(f"Nothing new: {unchanged} {'row is' if unchanged == 1 else 'rows are'} here already")
        return
    for kind, count in report.counts.items():
        if any(count):
            print(f"{kind:<14} {count.new} new, {count.updated} updated, {count.unchanged} unchanged")
    print(f"{'files':<14} {report.files_indexed} indexed, {report.files_missing} missing")
