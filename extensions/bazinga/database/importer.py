"""Bringing in the predecessor's database: sessions, packages and what its agents learned.

    import_bazinga(store, "/home/me/shop/bazinga/bazinga.db")

The paths in it start from the store's root. Nothing there is written, nothing here is deleted, and a second run brings
only what is new or changed there. A row that is changed there is written over what it became here, but counts never
fall; a session, pattern or strategy that was here before is joined as it is, but a session that ended there ends here.
"""

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.import_report import import_reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.extensions.bazinga.database.records import PredecessorRecords, PredecessorRun
from ctxrank.extensions.bazinga.database.source import DamagedSourceError, Predecessor, read_damaged, read_predecessor
from ctxrank.indexer.beneath import read_file
from ctxrank.indexer.care.replacement import TRIAL
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.exchange.import_lines import LineImport, Progress, bring_batches
from ctxrank.indexer.exchange.lines import Line, batches
from ctxrank.indexer.exchange.run import CHUNK_ROWS, Account, ImportReport, ImportRun
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.allowed_roots import allow
from ctxrank.indexer.store.config import IMPORTED_SKILLS_CONFIG, load_config
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.known_stores import trust_as_used
from ctxrank.indexer.store.store import Store

SKILLS_CONFIG_FILE = "skills_config.json"
_SKILLS_CONFIG_MAX_BYTES = 1_000_000
# The order of the report.
_KINDS = (
    "session", "group", "package", "consumer", "supersession", "delivery", "reference", "reasoning", "error",
    "strategy", "skill", "event", "setting",
)  # fmt: skip


def import_bazinga(
    store: Store,
    db_path: str,
    *,
    mode: RedactionMode = RedactionMode.PATTERN_ONLY,
    progress: Progress | None = None,
    is_read: bool = True,
    is_damaged: bool = False,
) -> ImportReport:
    """Bring in what is new or changed in a database of the predecessor, redacted on the way.

    Files are read only where `is_read`: the root is theirs. `progress(done, total)` counts packages
    after each chunk. Of one that `is_damaged` what can be read comes in, and the report says what was lost. Raises
    UsageError where there is no such file, DamagedError where it cannot be used (nothing is changed then), LockedError.
    """
    source = _salvaged(store, db_path) if is_damaged else read_predecessor(db_path, busy_ms=store.busy_ms)
    account = Account()
    run = PredecessorRun(store, mode, account, is_read=is_read)
    records = LineImport(run, PredecessorRecords)
    records.writers |= run.writers()
    total = sum(line.record == "package" for line in source.lines)
    done = 0

    def tell(batch: list[Line]) -> None:
        nonlocal done
        if batch[0].record == "package":
            done += len(batch)
            if progress is not None:
                progress(done, total)

    lines = ((line.record, line) for line in _lines(source.lines, run, db_path))
    bring_batches(store, batches(lines, CHUNK_ROWS), records.bring, tell)
    account.notes += run.notes()
    account.recounted += backfill_counts(store)
    store.catch_up()
    report = account.report(schema=source.schema)
    notes = (*source.lost, *report.notes)
    if source.left_out:
        notes += (f"left out, as there is nothing like it here: {', '.join(source.left_out)}.",)
    counts = {kind: report.counts[kind] for kind in _KINDS if kind in report.counts}
    return report._replace(is_complete=report.is_complete and not source.lost, notes=notes, counts=counts)


def _salvaged(store: Store, db_path: str) -> Predecessor:
    """What can be read of a damaged database. Nothing in the copy is redacted: it lies in the store's own folder."""
    folder = os.path.join(store.location.folder, f"{TRIAL}{os.getpid()}")  # doctor removes what a kill leaves
    os.mkdir(folder, 0o700)
    try:
        return read_damaged(db_path, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lines(rows: Iterable[Line], run: ImportRun, db_path: str) -> Iterator[Line]:
    """The lines of the tables, and one of the settings; what a report calls them holds no secret."""
    texts = run.texts
    for line in rows:
        name = line.name if line.name.isdecimal() else texts.line(line.name)
        values = line.values
        if line.record == "error":
            # A pattern's message is one line here. Redacted before it is joined: a rule may need the line's end.
            values = {**values, "message": texts.line(str(values["message"]))}
        yield line._replace(name=name, values=values)
    yield from _skills_config(run, db_path)


def _skills_config(run: ImportRun, db_path: str) -> Iterator[Line]:
    """The predecessor's settings, a file next to its database; one that cannot be read is only noted."""
    path = os.path.join(os.path.dirname(os.path.abspath(db_path)), SKILLS_CONFIG_FILE)
    try:
        text = read_file(path, _SKILLS_CONFIG_MAX_BYTES).decode("utf-8-sig")
        value: object = json.loads(text)
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        run.account.notes.append(f"{path} was not imported: {error}.")
        return
    yield Line(0, "setting", {"name": IMPORTED_SKILLS_CONFIG, "value": value}, name=SKILLS_CONFIG_FILE)


def import_database(call: Call, database: str, salvage: bool) -> Reply:
    """Bring in the database, or what can be read of a damaged one."""
    with call.open() as store, progress_bar("importing", call) as advance:
        trust_as_used(store)
        folder = os.path.dirname(os.path.realpath(database))
        # At PROJECT/bazinga/bazinga.db it is the store's own project's: its files are our own, then.
        is_own = folder == os.path.join(os.path.realpath(store.location.root), "bazinga")
        is_read = call.root is not None or is_own
        if call.root is not None:
            allow(store.location, store.primary, call.root)
        mode = load_config(store).redaction_mode
        try:
            report = import_bazinga(store, database, mode=mode, progress=advance, is_read=is_read, is_damaged=salvage)
        except DamagedSourceError as error:
            words = ["ctxrank", *(("--db", call.db) if call.db else ()), *(("--root", call.root) if call.root else ())]
            command = shlex.join([*words, "import", "bazinga", "--salvage", database])
            raise DamagedError(error.message, f"Read what can be read of it, in a copy: {command}") from error
    reply = import_reply(report)._replace(exit_code=0 if report.is_complete else DamagedError.exit_code)
    if not report.files_missing:
        return reply
    count, step = report.files_missing, "'ctxrank index --root DIR' brings them in from where they are."
    missing = f"{count} files are not where their packages say, below {call.root or store.location.root}; {step}"
    if not is_read:
        step = "'ctxrank import bazinga DB --root DIR' reads them below DIR."
        missing = f"{count} files were not looked for, as you named no folder: {step}"
    return reply._replace(notes=(*reply.notes, missing))
