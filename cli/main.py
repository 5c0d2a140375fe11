"""The command `ctxrank`: its commands, and the one place where failures become exit codes.

0 found or done   1 nothing found   2 wrong use   3 no store   4 degraded or stale under --strict
5 damaged         6 the system refused             7 locked     130 Ctrl-C
"""

import contextlib
import os
import sys

import click

from ctxrank.cli.call import Call
from ctxrank.cli.command import LazyGroup, global_options, merged
from ctxrank.indexer.errors import CtxrankError, UsageError

_COMMANDS = {
    "init": ("ctxrank.cli.init_command", "Make a store here."),
    "import": ("ctxrank.cli.import_command", "Bring in a predecessor's store, or an export."),
    "index": ("ctxrank.cli.index_command", "Bring artifacts in step with the disk."),
    "search": ("ctxrank.cli.search_command", "Search past findings."),
    "show": ("ctxrank.cli.show_command", "Show one document."),
    "assemble": ("ctxrank.cli.assemble_command", "Print the context block for one spawn."),
    "package": ("ctxrank.cli.package_command", "Save, list, show, supersede and consume packages."),
    "reasoning": ("ctxrank.cli.reasoning_command", "Save and read what agents thought, and see what is missing."),
    "strategy": ("ctxrank.cli.strategy_command", "Save, list, count and extract what worked."),
    "error": ("ctxrank.cli.error_command", "Recognise failures, say what fixed them, and learn from commands."),
    "skill": ("ctxrank.cli.skill_command", "Save what skills reported; say which ones an agent must invoke."),
    "session": ("ctxrank.cli.session_command", "Create, list and show sessions."),
    "group": ("ctxrank.cli.group_command", "Create and list task groups."),
    "eval": ("ctxrank.cli.eval_command", "Measure and tune the ranking on a collection with known answers."),
    "bazinga": ("ctxrank.cli.bazinga.command", "Run the predecessor's own commands on this store."),
    "export": ("ctxrank.cli.export_command", "Print the store as JSON Lines."),
    "prune": ("ctxrank.cli.prune_command", "Remove what is older than an age, and count it."),
    "purge": ("ctxrank.cli.purge_command", "Take secrets out of what is stored already."),
    "why": ("ctxrank.cli.why_command", "Say why a document was in a block, or was not."),
    "receipt": ("ctxrank.cli.receipt_command", "List, show, replay and compare what assemblies did."),
    "context": ("ctxrank.cli.context_command", "Print what a task of .contextia/ reaches."),
    "check": ("ctxrank.cli.check_command", "Check the links of .contextia/."),
    "trace": ("ctxrank.cli.trace_command", "Say which artifacts of .contextia/ govern a file."),
    "suggest-links": ("ctxrank.cli.suggest_links_command", "Print a patch that links what search keeps finding."),
    "status": ("ctxrank.cli.status_command", "Say how the store and its index are."),
    "rebuild": ("ctxrank.cli.rebuild_command", "Make the index anew from the store."),
}


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import version  # costs more than a bare start; only --version pays

    click.echo(f"ctxrank {version('ctxrank')}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 found or done, 1 nothing found, 2 wrong use, 3 no store, 4 degraded or stale "
    "under --strict, 5 damaged, 6 the system refused, 7 locked.",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Say which version."
)
@click.pass_context
def cli(
    ctx: click.Context,
    db: str | None,
    root: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    no_color: bool,
) -> None:
    """Ranked context for coding agents, from one local index.

    \b
    Start with:
      ctxrank init
      ctxrank index docs/
      ctxrank search why is the database locked
      ctxrank assemble --session S --agent developer --task "fix the token refresh"
    """
    is_colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    ctx.obj = merged(
        Call(is_colored=is_colored), db=db, root=root, as_json=as_json, quiet=quiet, verbose=verbose, no_color=no_color
    )


cli.params += global_options()


def main() -> None:
    """Run one call and exit with its code, without taking the interpreter apart.

    Stores are closed and streams flushed by then; freeing every module would cost a fifth of a query.
    """
    code = run(sys.argv[1:])
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one call; returns its exit code. Nothing that happens in a call leaves here as a traceback."""
    try:
        # Not cli.main(): it would end the process with 1 where a reader closes the pipe.
        with cli.make_context("ctxrank", list(arguments)) as context:
            result: object = cli.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        sys.stdout.flush()
        return end.exit_code
    except CtxrankError as error:
        return _fail(error, arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        message = error.format_message()
        if isinstance(error, click.NoSuchOption):
            message += " Words that begin with a dash go behind '--'."
        if isinstance(error, click.UsageError) and error.ctx is not None:
            return _fail(UsageError(message, f"See '{error.ctx.command_path} --help'."), arguments)
        return _fail(UsageError(message), arguments)
    except BrokenPipeError:
        # The reader has what it wanted. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        print("ctxrank: interrupted; what was done is kept.", file=sys.stderr)
        return 130
    except Exception as error:  # the outermost edge: a user gets a sentence, not a traceback
        from ctxrank.cli.unexpected import explained  # rare

        return _fail(explained(error), arguments)


def _fail(error: CtxrankError, arguments: list[str]) -> int:
    if "--json" in arguments:
        from ctxrank.cli.envelope import emit_error

        emit_error(error)
    else:
        print(f"ctxrank: {error.message}{f' {error.hint}' if error.hint else ''}", file=sys.stderr)
    return error.exit_code
