"""`ctxrank import bazinga`, run."""

import gc
import os
import shlex

from ctxrank.cli.bazinga.database.importer import import_bazinga
from ctxrank.cli.bazinga.database.source import DamagedSourceError
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.import_report import import_reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.store.config import load_config


def import_database(call: Call, database: str, salvage: bool) -> Reply:
    """Bring in the database, or what can be read of a damaged one."""
    gc.enable()  # this may take a while: see cli/entry.py
    asked = call
    if call.root is None:
        call = call._replace(root=_project_of(database))
    with call.open() as store, progress_bar("importing", call) as advance:
        mode = load_config(store).redaction_mode
        try:
            report = import_bazinga(store, database, mode=mode, progress=advance, is_damaged=salvage)
        except DamagedSourceError as error:
            hint = f"Read what can be read of it, in a copy: {_salvaging(asked, database)}"
            raise DamagedError(error.message, hint) from error
    reply = import_reply(report)._replace(exit_code=0 if report.is_complete else DamagedError.exit_code)
    if not report.files_missing:
        return reply
    missing = (
        f"{report.files_missing} files are not where their packages say, below {call.root or 'the root'}; "
        "'ctxrank index --root DIR' brings them in from where they are."
    )
    return reply._replace(notes=(*reply.notes, missing))


def _salvaging(call: Call, database: str) -> str:
    """The command that reads a damaged database, as a shell takes it."""
    words = ["ctxrank", *(("--db", call.db) if call.db else ()), *(("--root", call.root) if call.root else ())]
    return shlex.join([*words, "import", "bazinga", "--salvage", database])


def _project_of(database: str) -> str | None:
    """The project that a database at PROJECT/bazinga/bazinga.db belongs to."""
    folder = os.path.dirname(os.path.abspath(database))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else None
