"""`ctxrank init`: make a store."""

import click

from ctxrank.cli.call import Call, shown
from ctxrank.cli.click_commands import StoreCommand


@click.command(cls=StoreCommand)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
@click.pass_obj
def command(call: Call, folder: str) -> None:
    """Make a store in DIR/.ctxrank (default: here); an existing one is left as it is.

    Example: ctxrank init
    """
    import os

    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.opening import create_store

    if not os.path.isdir(folder):
        raise UsageError(f"There is no folder {folder}.", "Make it first, or name another.")
    is_new = not os.path.exists(os.path.join(folder, ".ctxrank", "ctxrank.db"))
    with create_store(folder, root=call.root) as store:
        path = store.location.folder
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"store": path, "created": is_new})
    else:
        print(f"{'Made' if is_new else 'There is already'} a store in {shown(path)}")
        if is_new:
            call.note("next: 'ctxrank index' for files, 'ctxrank package save' for findings.")
