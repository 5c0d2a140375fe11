"""How commands are built: loaded when they are called, with the global options before or after their name."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click

from ctxrank.cli.call import Call


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called.

    `lazy` maps a command's name to (module, one line of help): help lists them without importing any.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table: the everyday ones first."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and take `command` from it."""
        if cmd_name not in self.lazy:
            return None
        command = import_module(self.lazy[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with near names where there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # only for a typing error

            near = get_close_matches(args[0], self.lazy, n=2)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.lazy.items()])


class StoreCommand(click.Command):
    """A command that also takes the global options after its name, and gets a Call first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [option() for option in _GLOBAL_OPTIONS]

    def invoke(self, ctx: click.Context) -> Any:
        """Merge the options from both places into one Call."""
        before = ctx.obj if isinstance(ctx.obj, Call) else Call()
        given = {name: ctx.params.pop(name) for name in ("db", "root", "as_json", "quiet", "verbose", "no_color")}
        ctx.obj = merged(before, **given)
        return super().invoke(ctx)


def merged(
    call: Call, *, db: str | None, root: str | None, as_json: bool, quiet: bool, verbose: bool, no_color: bool
) -> Call:
    """The call with options given later over those given before."""
    verbosity = -1 if quiet else 1 if verbose else call.verbosity
    return Call(db or call.db, root or call.root, as_json or call.is_json, verbosity, call.is_colored and not no_color)


def _option(*names: str, **attributes: Any) -> Callable[[], click.Option]:
    return lambda: click.Option(names, **attributes)


_GLOBAL_OPTIONS = (
    _option("--db", metavar="FILE", help="The store's ctxrank.db [default: the nearest .ctxrank/]."),
    _option("--root", metavar="DIR", help="Where artifacts' paths start [default: beside .ctxrank/]."),
    _option("--json", "as_json", is_flag=True, help="Answer in JSON."),
    _option("-q", "--quiet", is_flag=True, help="No notes on stderr."),
    _option("-v", "--verbose", is_flag=True, help="More notes on stderr."),
    _option("--no-color", is_flag=True, help="No colour, also without NO_COLOR."),
)


def global_options() -> list[click.Option]:
    """The options that stand before a command's name or after it."""
    return [option() for option in _GLOBAL_OPTIONS]
