"""`ctxrank import bazinga`, run."""

import gc
import os

from ctxrank.cli.bazinga.database.importer import import_bazinga
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.import_report import import_reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.store.config import load_config


def import_database(call: Call, database: str) -> Reply:
    """Bring in the database."""
    gc.enable()  # this may take a while: see cli/entry.py
    if call.root is None:
        call = call._replace(root=_project_of(database))
    with call.open() as store, progress_bar("importing", call) as advance:
        report = import_bazinga(store, database, mode=load_config(store).redaction_mode, progress=advance)
    reply = import_reply(report)
    if not report.files_missing:
        return reply
    missing = (
        f"{report.files_missing} files are not where their packages say, below {call.root or 'the root'}; "
        "'ctxrank index --root DIR' brings them in from where they are."
    )
    return reply._replace(notes=(*reply.notes, missing))


def _project_of(database: str) -> str | None:
    """The project that a database at PROJECT/bazinga/bazinga.db belongs to."""
    folder = os.path.dirname(os.path.abspath(database))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else None
