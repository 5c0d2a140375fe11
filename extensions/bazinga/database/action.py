"""`ctxrank import bazinga`, run."""

import gc
import os
import shlex

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.import_report import import_reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.extensions.bazinga.database.importer import import_bazinga
from ctxrank.extensions.bazinga.database.source import DamagedSourceError
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.store.allowed_roots import allow
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.known_stores import trust_as_used
from ctxrank.indexer.store.location import Location


def import_database(call: Call, database: str, salvage: bool) -> Reply:
    """Bring in the database, or what can be read of a damaged one."""
    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store, progress_bar("importing", call) as advance:
        trust_as_used(store)
        is_read = call.root is not None or _is_of_project(database, store.location)
        if call.root is not None:
            allow(store.location, store.primary, call.root)
        mode = load_config(store).redaction_mode
        try:
            report = import_bazinga(store, database, mode=mode, progress=advance, is_read=is_read, is_damaged=salvage)
        except DamagedSourceError as error:
            hint = f"Read what can be read of it, in a copy: {_salvaging(call, database)}"
            raise DamagedError(error.message, hint) from error
        root = call.root or store.location.root
    reply = import_reply(report)._replace(exit_code=0 if report.is_complete else DamagedError.exit_code)
    if not is_read:
        unread = (
            f"{report.files_missing} files were not looked for, as you named no folder:"
            " 'ctxrank import bazinga DB --root DIR' reads them below DIR."
        )
        return reply._replace(notes=(*reply.notes, unread)) if report.files_missing else reply
    if not report.files_missing:
        return reply
    missing = (
        f"{report.files_missing} files are not where their packages say, below {root}; "
        "'ctxrank index --root DIR' brings them in from where they are."
    )
    return reply._replace(notes=(*reply.notes, missing))


def _salvaging(call: Call, database: str) -> str:
    """The command that reads a damaged database, as a shell takes it."""
    words = ["ctxrank", *(("--db", call.db) if call.db else ()), *(("--root", call.root) if call.root else ())]
    return shlex.join([*words, "import", "bazinga", "--salvage", database])


def _is_of_project(database: str, location: Location) -> bool:
    """Whether a database is the store's own project's, at PROJECT/bazinga/bazinga.db: its files are our own, then."""
    folder = os.path.dirname(os.path.realpath(database))
    return folder == os.path.join(os.path.realpath(location.root), "bazinga")
