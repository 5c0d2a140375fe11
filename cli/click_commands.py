"""The commands as click sees them: for help, for mistakes, and for every spelling that `parse.py` leaves to it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import click

from ctxrank.cli import declare
from ctxrank.cli.call import Call, run_command
from ctxrank.cli.command_table import GLOBAL_NAMES, GLOBALS, command_table
from ctxrank.cli.names import OTHER_WORDS
from ctxrank.indexer.exceptions import UsageError

Table = Mapping[str, tuple[str, str]]
COMMON = 20  # so many of the table, the first ones, are described by the first page of help; it names the others


def run_by_click(arguments: list[str], commands: Table) -> int:
    """Run one call; returns its exit code. Raises UsageError where click finds a mistake."""
    try:
        # Not main(): it would end the process with 1 where a reader closes the pipe.
        with whole_cli(commands).make_context("ctxrank", list(arguments)) as context:
            result: object = context.command.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        message = error.format_message()
        if isinstance(error, click.NoSuchOption):
            message += " Words that begin with a dash go behind '--'."
        place = error.ctx if isinstance(error, click.UsageError) else None
        raise UsageError(message, "" if place is None else f"See '{place.command_path} --help'.") from error


def whole_cli(commands: Table) -> "LazyGroup":
    """The command `ctxrank` itself."""
    group = LazyGroup(
        name="ctxrank",
        lazy=commands,
        callback=click.pass_context(_begin),
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="Exit codes: 0 found or done, 1 nothing found, 2 wrong use, 3 no trusted store, 4 degraded or stale "
        "under --strict, 5 damaged, 6 the system refused, 7 locked.",
    )
    group.params = [
        click.Option(
            ("--version",), is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
            help="Show the version and exit.",
        ),
        *_global_options(),
    ]  # fmt: skip
    return group


class LazyGroup(click.Group):
    """A group whose commands are read when they are called.

    `lazy` maps a command's name to (package, one line of help): help lists them without reading any.
    """

    def __init__(self, *args: Any, lazy: Table, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table, the everyday ones first, without those that are not installed."""
        return [name for name, (package, _) in self.lazy.items() if _is_installed(package)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command by its declaration."""
        if cmd_name not in self.lazy:
            return None
        return as_click(command_table(self.lazy[cmd_name][0], cmd_name).declared())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with near names where there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] in OTHER_WORDS:
                raise click.UsageError(f"{error.message} Here it is {OTHER_WORDS[args[0]]}.", ctx) from error
            from difflib import get_close_matches  # noqa: PLC0415  only for a typing error

            near = get_close_matches(args[0], self.list_commands(ctx), n=2)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing them."""
        installed = set(self.list_commands(ctx))
        common, others = list(self.lazy)[:COMMON], list(self.lazy)[COMMON:]
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in common if name in installed])
        with formatter.section("More, each with --help"):
            formatter.write_text(", ".join(name for name in others if name in installed))


def _is_installed(package: str) -> bool:
    """Whether an installation has a command's package; the package itself is not imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # its folder is left out
        return False


class StoreCommand(click.Command):
    """A command that also takes the global options after its name, and gets a Call first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _global_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Merge the options from both places into one Call."""
        before = ctx.obj if isinstance(ctx.obj, Call) else Call()
        ctx.obj = before.merged({name: ctx.params.pop(name) for name in GLOBAL_NAMES})
        return super().invoke(ctx)


class RawCommand(StoreCommand):
    """A command whose words are not click's to read; only help is, where it comes first."""

    def __init__(self, *args: Any, usage: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(*args, add_help_option=False, **kwargs)
        self.usage = usage
        self.params = []

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep all arguments as they are."""
        if args[:1] in (["--help"], ["-h"]):
            click.echo(ctx.get_help())
            ctx.exit()
        ctx.params = {**dict.fromkeys(GLOBAL_NAMES), "arguments": tuple(args)}
        return []

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """What follows the name in the usage line."""
        return list(self.usage)


def as_click(declared: declare.Declared) -> click.Command:
    """A declared command, as click's."""
    if isinstance(declared, declare.Group):
        commands = {name: as_click(command) for name, command in declared.commands.items()}
        return click.Group(declared.name, commands, help=declared.help)
    if declared.usage is not None:
        return RawCommand(declared.name, callback=_callback(declared), help=declared.help, usage=declared.usage)
    return StoreCommand(
        declared.name,
        params=[_parameter(parameter) for parameter in declared.parameters],
        callback=_callback(declared),
        help=declared.help,
        hidden=declared.is_old,
        context_settings=None if declared.is_interspersed else {"allow_interspersed_args": False},
    )


def _callback(command: declare.Command) -> Any:
    @click.pass_obj
    def callback(call: Call, /, **values: object) -> int:
        return run_command(command, call, values)

    return callback


def _parameter(one: declare.Parameter) -> click.Parameter:
    if not one.is_option:
        default: dict[str, Any] = {} if one.default is None else {"default": one.default}
        return click.Argument(
            (one.name,),
            type=_type(one.type),
            nargs=one.nargs,
            required=one.required,
            metavar=one.metavar,
            **default,
        )
    attributes: dict[str, Any] = {"required": one.required, "multiple": one.multiple, "metavar": one.metavar}
    if one.default is not None or one.off_words:
        attributes["default"] = one.default
    return click.Option(
        (*one.declared, one.name),
        is_flag=one.is_flag or None,
        type=_type(one.type),
        help=one.help,
        show_default=one.default not in (None, "") and "[default" not in (one.help or ""),
        **attributes,
    )


def _type(declared: declare.Type | None) -> Any:
    if isinstance(declared, declare.OneOf):
        return click.Choice(declared.words)
    if isinstance(declared, declare.Path):
        return click.Path(file_okay=False) if declared.is_folder else None
    if declared is None or declared == declare.Whole():
        return None if declared is None else click.INT
    return click.IntRange(declared.least, declared.most)


def _global_options() -> list[click.Parameter]:
    return [_parameter(one) for one in GLOBALS]


def _begin(ctx: click.Context, /, **given: Any) -> None:
    ctx.obj = Call.at_start().merged(given)


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import version  # noqa: PLC0415  costs more than a bare start; only --version pays

    click.echo(f"ctxrank {version('ctxrank')}")
    ctx.exit()


_HELP = """Ranked context for coding agents, from one local index.

\b
Start with:
  ctxrank init
  ctxrank save "The WAL switch ignores the busy timeout"
  ctxrank search why is the database locked
  ctxrank assemble --session S --agent developer --task "fix the token refresh"
"""
