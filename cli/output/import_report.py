"""What an import did, as the reply of its command."""

from collections.abc import Iterator

from ctxrank.cli.call import Reply
from ctxrank.indexer.exchange.run import ImportReport

_SHOWN_SKIPPED = 10


def import_reply(report: ImportReport) -> Reply:
    """The report in both forms; in text, its notes and what was skipped are said on stderr."""
    notes = [*report.notes, *(f"skipped {row.kind} {row.key}: {row.reason}" for row in report.skipped[:_SHOWN_SKIPPED])]
    if len(report.skipped) > _SHOWN_SKIPPED:
        notes.append(f"and {len(report.skipped) - _SHOWN_SKIPPED} more records skipped; --json lists them.")
    return Reply(lambda: report, _lines(report), text_notes=tuple(notes))


def _lines(report: ImportReport) -> Iterator[str]:
    if report.is_noop:
        unchanged = sum(count.unchanged for count in report.counts.values())
        here = f": {unchanged} {'record is' if unchanged == 1 else 'records are'} here already"
        yield f"Nothing new{here if unchanged else ''}"
        return
    for kind, count in report.counts.items():
        if any(count):
            yield f"{kind:<14} {count.new} new, {count.updated} updated, {count.unchanged} unchanged"
    if report.files_indexed or report.files_missing:
        yield f"{'files':<14} {report.files_indexed} indexed, {report.files_missing} missing"
