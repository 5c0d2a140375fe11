"""`ctxrank import bazinga`: the predecessor's database comes in."""

import gc
import os

from ctxrank.cli import declare
from ctxrank.cli.call import Call


@declare.command("bazinga")
@declare.argument("database", metavar="DB")
def command(call: Call, database: str) -> None:
    """Bring in a BAZINGA database (schema 6 to 19), whole or what changed since.

    Artifacts are looked for from --root [default: PROJECT, where DB is PROJECT/bazinga/bazinga.db]. The database
    is opened read-only, and everything is redacted on the way in. A second run brings only what is new.

    Example: ctxrank import bazinga ../app/bazinga/bazinga.db --root ../app
    """
    # 40 ms that 'import jsonl' and help, which load this module to list its command, do not pay.
    from ctxrank.cli.bazinga.database.importer import import_bazinga  # see above
    from ctxrank.cli.output.import_report import print_report  # see above
    from ctxrank.cli.output.progress import progress_bar  # see above
    from ctxrank.indexer.store.config import load_config  # see above

    gc.enable()  # this may take a while: see cli/entry.py
    if call.root is None:
        call = call._replace(root=_project_of(database))
    with call.open() as store, progress_bar("importing", call) as advance:
        report = import_bazinga(store, database, mode=load_config(store).redaction_mode, progress=advance)
    print_report(call, report)
    if report.files_missing:
        call.note(
            f"{report.files_missing} files are not where their packages say, below {call.root or 'the root'}; "
            "'ctxrank index --root DIR' brings them in from where they are."
        )


def _project_of(database: str) -> str | None:
    """The project that a database at PROJECT/bazinga/bazinga.db belongs to."""
    folder = os.path.dirname(os.path.abspath(database))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else None
