"""The commands as click sees them: for help, for mistakes, and for every spelling that `parse.py` leaves to it."""

from collections.abc import Mapping
from typing import Any

import click

from ctxrank.cli import declare
from ctxrank.cli.call import Call, run_command
from ctxrank.cli.command_table import CORE, GLOBAL_NAMES, GLOBALS, command_table
from ctxrank.cli.names import meant
from ctxrank.cli.parse import MAX_DIGITS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.extensions import is_in_use
from ctxrank.indexer.light_typing import is_tuple

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
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        message = error.format_message()
        place = error.ctx if isinstance(error, click.UsageError) else None
        if isinstance(error, click.NoSuchOption):
            known = () if place is None else [word for one in place.command.params for word in one.opts if "--" in word]
            message = f"{_ended(error.message)}{meant('option', error.option_name, known)}"
            message += " Words that begin with a dash go behind '--'."
        raise UsageError(_ended(message), "" if place is None else f"See '{place.command_path} --help'.") from error


def _ended(message: str) -> str:
    """A message of click with the full stop that some of them lack."""
    return message if message.endswith((".", "?")) else f"{message}."


def whole_cli(commands: Table) -> "LazyGroup":
    """The command `ctxrank` itself."""

    @click.group(
        "ctxrank",
        cls=LazyGroup,
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="Settings are in .ctxrank/config.yaml; docs/configuration.md describes each.\n\n"
        "Exit codes: 0 found or done, 1 nothing found, 2 wrong use, 3 no trusted store, 4 degraded or stale "
        "under --strict, 5 damaged, 6 the system refused, 7 locked.",
    )
    @click.version_option(package_name="ctxrank", message="ctxrank %(version)s")
    @click.pass_context
    def whole(context: click.Context, /, **given: Any) -> None:
        context.obj = Call.at_start().merged(given)

    whole.lazy = commands
    whole.params += map(_parameter, GLOBALS)
    return whole


class NamingGroup(click.Group):
    """A group that says what a word means which is none of its commands."""

    kind = "subcommand"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with what is meant where there is no such command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            listed = ", ".join(name for name, command in self.commands.items() if not command.hidden)
            said = meant(self.kind, args[0], self.list_commands(ctx)) or f" It has {listed}." * bool(listed)
            raise click.UsageError(f"{error.message}{said}", ctx) from error


class LazyGroup(NamingGroup):
    """A group whose commands are read when they are called.

    `lazy` maps a command's name to (package, one line of help): help lists them without reading any.
    """

    lazy: Table
    kind = "command"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table, the everyday ones first, without those that are not installed."""
        extensions = {name: package.rpartition(".")[2] for name, (package, _) in self.lazy.items() if package != CORE}
        return [name for name in self.lazy if name not in extensions or is_in_use(extensions[name])]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command by its declaration."""
        if cmd_name not in self.lazy:
            return None
        return as_click(command_table(self.lazy[cmd_name][0], cmd_name).declared())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing them."""
        installed = set(self.list_commands(ctx))
        common, others = list(self.lazy)[:COMMON], list(self.lazy)[COMMON:]
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in common if name in installed])
        with formatter.section("More, each with --help"):
            formatter.write_text(", ".join(name for name in others if name in installed))


class StoreCommand(click.Command):
    """A command that also takes the global options after its name."""

    declared: declare.Command

    def invoke(self, ctx: click.Context) -> int:
        """Merge the options from both places into one Call, and run what is declared."""
        call: Call = ctx.obj.merged({name: ctx.params.pop(name, None) for name in GLOBAL_NAMES})
        return run_command(self.declared, call, ctx.params)


class RawCommand(StoreCommand):
    """A command whose words are not click's to read; only help is, where it comes first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep all arguments as they are."""
        if args[:1] in (["--help"], ["-h"]):
            click.echo(ctx.get_help())
            ctx.exit()
        ctx.params = {"arguments": tuple(args)}
        return []


def as_click(declared: declare.Declared) -> click.Command:
    """A declared command, as click's."""
    if isinstance(declared, declare.Group):
        commands = {name: as_click(command) for name, command in declared.commands.items()}
        return NamingGroup(declared.name, commands, help=declared.help)
    if declared.usage is not None:
        command: StoreCommand = RawCommand(declared.name, help=declared.help, add_help_option=False)
        command.options_metavar = " ".join(declared.usage)
    else:
        command = StoreCommand(
            declared.name,
            params=[_parameter(parameter) for parameter in (*declared.parameters, *GLOBALS)],
            help=declared.help,
            hidden=declared.is_old,
            context_settings=None if declared.is_interspersed else {"allow_interspersed_args": False},
        )
    command.declared = declared
    return command


def _parameter(one: declare.Parameter) -> click.Parameter:
    attributes: dict[str, Any] = {"type": _type(one.type), "required": one.required, "metavar": one.metavar}
    if isinstance(one.type, declare.Whole):
        attributes["callback"] = _bounded
    if not one.is_option:
        return click.Argument((one.name,), nargs=-1 if one.is_many else 1, **attributes)
    if one.default is not None or one.off_words:
        attributes["default"] = one.default
    return click.Option(
        (*one.declared, one.name),
        is_flag=one.is_flag or None,
        multiple=one.is_many,
        help=one.help,
        show_default=one.default not in (None, "") and "[default" not in (one.help or ""),
        **attributes,
    )


def _bounded(_: click.Context, __: click.Parameter, value: object) -> object:
    """A whole number, or several, as it was read. Raises click's BadParameter for one that might not fit a column."""
    for number in value if is_tuple(value) else (value,):
        if isinstance(number, int) and abs(number) >= 10**MAX_DIGITS:
            raise click.BadParameter(f"{number} is too large.")
    return value


def _type(declared: declare.Type | None) -> Any:
    if isinstance(declared, declare.OneOf):
        return _Words(declared.words)
    if isinstance(declared, declare.Whole):
        return click.INT if declared == declare.Whole() else click.IntRange(*declared)
    return click.Path(file_okay=False) if declared == declare.Path(is_folder=True) else None


class _Words(click.Choice[str]):
    """One of some words, which says what another one means."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word. Raises click's BadParameter."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            said = f"{_ended(error.message)}{meant('word', value, self.choices)}"
            raise click.BadParameter(said, ctx, param) from error


_HELP = """Ranked context for coding agents, from one local index.

\b
Start with:
  ctxrank init
  ctxrank save "The WAL switch ignores the busy timeout" --session shop
  ctxrank search why is the database locked
  ctxrank assemble --session shop --agent developer --task "fix the locked database"
"""
