"""The command `ctxrank`: its commands, and the one place where failures become exit codes.

0 found or done   1 nothing found   2 wrong use   3 no store   4 degraded or stale under --strict
5 damaged         6 the system refused             7 locked     130 Ctrl-C
"""

import contextlib
import os
import sys

from ctxrank.cli.call import shown
from ctxrank.cli.plain_call import read, run_plain
from ctxrank.indexer.errors import CtxrankError

COMMANDS = {
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
    "doctor": ("ctxrank.cli.doctor_command", "Say what is wrong with the store, and repair it."),
    "rebuild": ("ctxrank.cli.rebuild_command", "Make the index anew from the store."),
}


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
        plain = read(arguments, find_command)
        if plain is not None:
            code = run_plain(plain)
        else:
            from ctxrank.cli.command import run_by_click  # loading click would double what a query waits for

            code = run_by_click(arguments, COMMANDS)
        sys.stdout.flush()
        return code
    except CtxrankError as error:
        return _fail(error, arguments)
    except BrokenPipeError:
        # The reader has what it wanted. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("ctxrank: interrupted; what was done is kept.", file=sys.stderr)
        return 130
    except Exception as error:  # the outermost edge: a user gets a sentence, not a traceback
        from ctxrank.cli.unexpected import explained, named_store  # rare

        return _fail(explained(error, *named_store(arguments)), arguments)


def find_command(name: str) -> object:
    """What a command of this name is; None for none."""
    if name not in COMMANDS:
        return None
    return __import__(COMMANDS[name][0], fromlist=["command"]).command  # importlib's own function would load warnings


def _fail(error: CtxrankError, arguments: list[str]) -> int:
    if "--json" in arguments:
        from ctxrank.cli.envelope import emit_error

        emit_error(error)
    else:
        # Messages name paths and values, which come from anywhere.
        print(f"ctxrank: {shown(f'{error.message} {error.hint}')}", file=sys.stderr)
    return error.exit_code
