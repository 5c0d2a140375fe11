"""`ctxrank bazinga`, as click sees it: one command whose arguments are not click's to read."""

from typing import Any

import click

from ctxrank.cli.call import Call


class _RawCommand(click.Command):
    """A command whose arguments are not click's to read."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Everything as it stands; help alone is ours where it comes first."""
        if args[:1] in (["--help"], ["-h"]):
            click.echo(ctx.get_help())
            ctx.exit()
        ctx.params["arguments"] = tuple(args)
        return []

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """What stands behind the name in the usage line."""
        return ["[--db FILE]", "[--project-root DIR]", "[--quiet]", "COMMAND", "[ARGS]…"]


@click.command(cls=_RawCommand, add_help_option=False)
@click.pass_obj
def command(call: Call, /, **parameters: Any) -> int:
    """Run one of BAZINGA's commands on this store, with its arguments, JSON and exit codes.

    The store is --db FILE or the one in --project-root DIR, made where it is missing; else the nearest .ctxrank/;
    else a new one in the BAZINGA project around this folder. --quiet leaves the '✓' lines away. --script prints
    the path of a script that stands in for bazinga_db.py. 'help' lists the commands.

    Example: ctxrank bazinga --quiet get-context-packages SESSION AUTH developer 5
    """
    from ctxrank.cli.bazinga.run import run

    return run(call, parameters["arguments"])
