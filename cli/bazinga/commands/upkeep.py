"""The predecessor's commands for a database's health, raw queries and paths."""

import _thread
import os
import sys

from ctxrank.cli.bazinga.call import BazingaCall, objects
from ctxrank.cli.bazinga.place import open_existing, project_folder
from ctxrank.cli.bazinga.records import views
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError
from ctxrank.indexer.store.connection import read_column, sqlite_errors

_SHOWN_PROBLEMS = 3
_GRACE_SECONDS = 0.5


def query(call: BazingaCall) -> int:
    """Run one SELECT over the predecessor's tables, which are views here."""
    if not call.arguments:
        raise UsageError("query requires an SQL statement.", "Give one SELECT.")
    is_done = _thread.allocate_lock()
    is_done.acquire()
    _thread.start_new_thread(_give_up_after, (is_done, views.MAX_SECONDS + _GRACE_SECONDS))
    try:
        found = views.select(call.store, " ".join(call.arguments))
    finally:
        is_done.release()
    if found.is_cut:
        call.complain(f"Only the first {len(found.rows):,} rows are shown: narrow the query, or give it a LIMIT.")
    call.answer(objects(found))
    return 0


def _give_up_after(is_done: "_thread.LockType", seconds: float) -> None:
    """End the process where SQLite does not come back in time; it can be stopped between two of its steps alone."""
    if is_done.acquire(timeout=seconds):
        return
    print("Error: The query took too long, and was ended with the process. Narrow it.", file=sys.stderr, flush=True)
    os._exit(1)  # what is wrong with an argument is 1 there


def integrity_check(call: BazingaCall) -> int:
    """Whether SQLite finds the store sound."""
    try:
        problems = _problems(call)
    except DamagedError as error:
        call.answer({"ok": False, "details": f"Integrity check failed: {error.message}"})
        return error.exit_code
    if problems:
        call.answer({"ok": False, "details": f"Integrity issues found: {problems}"})
        return 1
    call.answer({"ok": True, "details": "Database integrity check passed"})
    return 0


def _problems(call: BazingaCall) -> str:
    """What SQLite finds wrong with the primary database; '' for nothing. Raises DamagedError."""
    with sqlite_errors(call.store.location.primary):
        lines = read_column(call.store.primary, "PRAGMA integrity_check", (), str)
    return "" if lines == ["ok"] else "; ".join(lines[:_SHOWN_PROBLEMS])


def recover_db(call: BazingaCall) -> int:
    """Check the store, and rebuild its index where that cannot answer. The store itself is never rewritten."""
    try:
        problems = _problems(call)
    except DamagedError as error:
        problems, code = error.message, error.exit_code
    else:
        code = DamagedError.exit_code
    if problems:
        call.answer(
            {
                "success": False,
                "error": f"The store is damaged, and was left as it is: {problems}",
                "hint": "'ctxrank doctor --repair apply' saves what can be read, and keeps the file as it is.",
            }
        )
        return code
    return _recover_index(call)


def _recover_index(call: BazingaCall) -> int:
    from ctxrank.indexer.care.status import read_status  # noqa: PLC0415  query must not load it
    from ctxrank.indexer.fulltext.catch_up import rebuild  # noqa: PLC0415  query must not load it
    from ctxrank.indexer.fulltext.fts5_engine import fts5_of  # noqa: PLC0415  query must not load it

    before = read_status(call.store)
    if not before.index_trouble and not before.stale:
        call.answer({"success": True, "message": "Nothing is wrong; nothing was changed", "index_rebuilt": False})
        return 0
    rebuild(fts5_of(call.store))
    after = read_status(call.store)
    if after.index_trouble:
        return call.failed(f"The store is sound, but its index cannot be rebuilt: {after.index_trouble}")
    call.done("Rebuilt the index")
    call.answer({"success": True, "message": "The store is sound; its index was rebuilt", "index_rebuilt": True})
    return 0


def diagnose_group_ids(call: BazingaCall) -> int:
    """Groups whose names the predecessor's rules refuse; 1 while there are any. --fix renames them."""
    from ctxrank.cli.bazinga.records.groups import bad_groups, rename_bad_groups  # noqa: PLC0415  not for query

    if call.arguments not in ((), ("--fix",)):
        raise UsageError(f"Unexpected argument {call.arguments[-1]!a}.", "The only flag is --fix.")
    is_fixing = call.arguments == ("--fix",)
    bad = rename_bad_groups(call.store) if is_fixing else bad_groups(call.store.primary)
    call.answer(
        {
            "ok": is_fixing or not bad,
            "issues": [
                {
                    "session_id": group.session, "group_id": group.name, "problem": group.problem,
                    "renamed_to" if is_fixing else "fix_renames_to": group.renamed_to,
                }
                for group in bad
            ],
            "fixed": len(bad) if is_fixing else 0,
        }
    )  # fmt: skip
    return 0 if is_fixing or not bad else 1


def detect_paths(call: BazingaCall) -> int:
    """Where this call looks, without making anything."""
    call.read()
    answer: dict[str, object] = {
        "cwd": os.getcwd(),
        "bazinga_root_env": os.environ.get("BAZINGA_ROOT"),
        "project_root": project_folder(),
    }
    try:
        with open_existing(call.place) as store:
            location = store.location
    except CtxrankError as error:
        call.answer({**answer, "detected": False, "db_path": None, "artifacts_dir": None, "error": error.message})
        return 0
    artifacts = os.path.join(location.root, "bazinga", "artifacts")
    call.answer(
        {**answer, "detected": True, "db_path": location.primary, "root": location.root, "artifacts_dir": artifacts}
    )
    return 0


def help(call: BazingaCall) -> int:
    """The commands by family."""
    call.write(_HELP)
    return 0


_HELP = """\
ctxrank bazinga [--db FILE] [--project-root DIR] [--quiet] COMMAND [ARGS]

Sessions and groups
  create-session <session> <simple|parallel> <requirements> [--initial_branch X] [--metadata JSON]
  get-session <session>
  list-sessions [limit=10]
  create-task-group <group> <session> <name> [status] [assigned_to] [--specializations JSON] [--item_count N]
                    [--component-path P] [--initial_tier T] [--complexity 1-10]
  dashboard-snapshot <session>

Context packages
  save-context-package <session> <group|global> <type> <file_path> <producer> <consumers_json> <priority> <summary>
  get-context-packages <session> <group> <agent> [limit=3]
  mark-context-consumed <package_id> <agent> [iteration=1]
  update-context-references <group> <session> <ids_json>
  save-consumption <session> <group> <agent> <iteration> <package_id>
  get-consumption <session> [--group_id G] [--agent_type A] [--limit 50]
  context-block --agent-type A --session-id S [--group-id G] [--task-title T] [--task-requirements R] [--model M]

Reasoning
  save-reasoning <session> <group|global> <agent> <phase> [content] [--content-file F] [--agent_id X]
                 [--iteration N] [--confidence high|medium|low] [--references JSON]
  get-reasoning <session> [--group_id G] [--agent_type A] [--phase P] [--limit 50] [--format json|prompt-summary]
  reasoning-timeline <session> [--group_id G] [--format json|markdown]
  check-mandatory-phases <session> <group> <agent>

Error patterns
  save-error-pattern <project> <error_type> <message> <solution> [--lang L] [--context_hints JSON]
                     [--stack_pattern JSON]
  get-error-patterns <project> [--lang L] [--min_confidence 0.7] [--limit 5]
  update-error-confidence <pattern_hash> <project> <success|failure>
  cleanup-error-patterns [project]

Strategies
  save-strategy <project> <topic> <insight> [--lang L] [--framework F] [--strategy_id ID]
  get-strategies <project> [--lang L] [--framework F] [--topic T] [--limit 5]
  update-strategy-helpfulness <strategy_id> [increment=1]
  extract-strategies <session> <group> <project> [--lang L] [--framework F]

Skill outputs
  save-skill-output <session> <skill> <json> [--agent A] [--group G]
  get-skill-output <session> <skill> [--agent A]          (also get-latest-skill-output)
  get-skill-output-all <session> <skill> [--agent A]
  check-skill-evidence <session> <skill1,skill2,...> [--agent A] [--since 30]

Events and tokens
  save-event <session> <subtype> [payload | --payload-file F] [--idempotency-key K] [--group-id G]
  get-events <session> [subtype] [limit=50]
  log-tokens <session> <agent> <tokens> [agent_id]
  token-summary <session> [agent_type|agent_id]

Upkeep
  query <SELECT …>
  integrity-check
  recover-db
  diagnose-group-ids [--fix]
  detect-paths
  help

The whole of BAZINGA
  install [--project-root DIR] [--dry-run]         its scripts ask ctxrank for context; state stays where it is
  uninstall [--project-root DIR] [--dry-run]       every byte back

A group of '' is the whole session.
"""
