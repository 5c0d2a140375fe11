"""`ctxrank import`: a predecessor's store."""

from typing import TYPE_CHECKING

import click

from ctxrank.cli.call import Call
from ctxrank.cli.command import StoreCommand

if TYPE_CHECKING:
    pass

_SHOWN_SKIPPED = 10


@click.group()
def command() -> None:
    """Bring in what another store knows."""


@command.command(cls=StoreCommand)
@click.argument("database", metavar="DB")
@click.pass_obj
def bazinga(call: Call, database: str) -> None:
    """Bring in a BAZINGA database (schema 6 to 19), whole or what changed since.

    Artifacts are looked for from --root, which is its project's folder. The database is opened read-only, and
    everything is redacted on the way in. A second run brings only what is new.

    Example: ctxrank import bazinga ../app/bazinga/bazinga.db --root ../app
    """
    from ctxrank.cli.progress import progress_bar
    from ctxrank.indexer.bazinga import import_bazinga
    from ctxrank.indexer.config import load_config

    with call.open() as store, progress_bar("importing", call) as advance:
        report = import_bazinga(store, database, mode=load_config(store).redaction_mode, progress=advance)
    if call.is_json:
        _print_json(report)
    else:
        _print_text(call, report)
