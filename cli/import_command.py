"""`ctxrank import`: a predecessor's store."""

import gc
from typing import TYPE_CHECKING

import click

from ctxrank.cli.call import Call
from ctxrank.cli.command import StoreCommand

if TYPE_CHECKING:
    from ctxrank.indexer.import_run import ImportReport

_SHOWN_SKIPPED = 10


@click.group()
def command() -> None:
    """Bring in what another store knows."""


@command.command(cls=StoreCommand)
@click.argument("database", metavar="DB")
@click.pass_obj
def bazinga(call: Call, database: str) -> None:
    """Bring in a BAZINGA database (schema 6 to 19), whole or what changed since.

    Artifacts are looked for from --root [default: PROJECT, where DB is PROJECT/bazinga/bazinga.db]. The database
    is opened read-only, and everything is redacted on the way in. A second run brings only what is new.

    Example: ctxrank import bazinga ../app/bazinga/bazinga.db --root ../app
    """
    from ctxrank.cli.progress import progress_bar
    from ctxrank.indexer.bazinga import import_bazinga
    from ctxrank.indexer.config import load_config

    gc.enable()  # this may take a while: see cli/entry.py
    if call.root is None:
        call = call._replace(root=_project_of(database))
    with call.open() as store, progress_bar("importing", call) as advance:
        report = import_bazinga(store, database, mode=load_config(store).redaction_mode, progress=advance)
    if call.is_json:
        _print_json(report)
    else:
        _print_text(call, report)
    if report.files_missing:
        call.note(
            f"{report.files_missing} files are not where their packages say, below {call.root or 'the root'}; "
            "'ctxrank index --root DIR' brings them in from where they are."
        )


def _project_of(database: str) -> str | None:
    """The project that a database at PROJECT/bazinga/bazinga.db belongs to."""
    import os

    folder = os.path.dirname(os.path.abspath(database))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else None


def _print_json(report: "ImportReport") -> None:
    from ctxrank.cli.envelope import emit_json

    emit_json(
        {
            "schema": report.schema,
            "is_noop": report.is_noop,
            "counts": {kind: count._asdict() for kind, count in report.counts.items()},
            "skipped": [row._asdict() for row in report.skipped],
            "files_indexed": report.files_indexed,
            "files_missing": report.files_missing,
            "recounted": report.recounted,
            "notes": list(report.notes),
        }
    )


def _print_text(call: Call, report: "ImportReport") -> None:
    for note in report.notes:
        call.note(note)
    for row in report.skipped[:_SHOWN_SKIPPED]:
        call.note(f"skipped {row.kind} {row.key}: {row.reason}")
    if len(report.skipped) > _SHOWN_SKIPPED:
        call.note(f"and {len(report.skipped) - _SHOWN_SKIPPED} more rows skipped; --json lists them.")
    if report.is_noop:
        print(f"Nothing new: {sum(count.unchanged for count in report.counts.values())} rows are here already")
        return
    for kind, count in report.counts.items():
        if any(count):
            print(f"{kind:<14} {count.new} new, {count.updated} updated, {count.unchanged} unchanged")
    print(f"{'files':<14} {report.files_indexed} indexed, {report.files_missing} missing")
