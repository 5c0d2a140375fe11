"""The predecessor's commands for a database's health, raw queries and paths."""

import _thread
import os
import sys

from ctxrank.extensions.bazinga.arguments import data
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json, failure
from ctxrank.extensions.bazinga.place import open_store_of, project_folder
from ctxrank.extensions.bazinga.records import views
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError
from ctxrank.indexer.store.connection import read_column, sqlite_errors

_SHOWN_PROBLEMS = 3
_GRACE_SECONDS = 0.5


def query(call: BazingaCall) -> list[Json]:
    """Run one SELECT over the predecessor's tables, which are views here."""
    if not call.positionals:
        raise UsageError("query requires an SQL statement.", "Give one SELECT.")
    is_done = _thread.allocate_lock()
    is_done.acquire()
    _thread.start_new_thread(_give_up_after, (is_done, views.MAX_SECONDS + _GRACE_SECONDS))
    try:
        found = views.select(call.store, " ".join(call.positionals))
    finally:
        is_done.release()
    if found.is_cut:
        call.complain(f"Only the first {len(found.rows):,} rows are shown: narrow the query, or give it a LIMIT.")
    return call.shown(found)


def _give_up_after(is_done: "_thread.LockType", seconds: float) -> None:
    """End the process where SQLite does not come back in time; it can be stopped between two of its steps alone."""
    if is_done.acquire(timeout=seconds):
        return
    print("Error: The query took too long, and was ended with the process. Narrow it.", file=sys.stderr, flush=True)
    os._exit(1)  # what is wrong with an argument is 1 there


def integrity_check(call: BazingaCall) -> Json:
    """Whether SQLite finds the store sound."""
    try:
        problems = _problems(call)
    except DamagedError as error:
        raise Failed({"ok": False, "details": f"Integrity check failed: {error.message}"}, error.exit_code) from error
    if problems:
        raise Failed({"ok": False, "details": f"Integrity issues found: {problems}"})
    return {"ok": True, "details": "Database integrity check passed"}


def _problems(call: BazingaCall) -> str:
    """What SQLite finds wrong with the primary database; '' for nothing. Raises DamagedError."""
    with sqlite_errors(call.store.location.primary):
        lines = read_column(call.store.primary, "PRAGMA integrity_check", (), str)
    return "" if lines == ["ok"] else "; ".join(lines[:_SHOWN_PROBLEMS])


def recover_db(call: BazingaCall) -> Json:
    """Check the store, and rebuild its index where that cannot answer. The store itself is never rewritten."""
    from ctxrank.indexer.care.status import read_status  # noqa: PLC0415  query must not load it
    from ctxrank.indexer.fulltext.catch_up import rebuild  # noqa: PLC0415  query must not load it
    from ctxrank.indexer.fulltext.fts5_engine import fts5_of  # noqa: PLC0415  query must not load it

    try:
        problems, code = _problems(call), DamagedError.exit_code
    except DamagedError as error:
        problems, code = error.message, error.exit_code
    if problems:
        said = f"The store is damaged, and was left as it is: {problems}"
        hint = "'ctxrank doctor --repair apply' saves what can be read, and keeps the file as it is."
        raise Failed({"success": False, "error": said, "hint": hint}, code)
    before = read_status(call.store)
    if not before.index_trouble and not before.stale:
        return {"success": True, "message": "Nothing is wrong; nothing was changed", "index_rebuilt": False}
    rebuild(fts5_of(call.store))
    after = read_status(call.store)
    if after.index_trouble:
        raise failure(f"The store is sound, but its index cannot be rebuilt: {after.index_trouble}")
    call.done("Rebuilt the index")
    return {"success": True, "message": "The store is sound; its index was rebuilt", "index_rebuilt": True}


def diagnose_group_ids(call: BazingaCall) -> Json:
    """Groups whose names the predecessor's rules refuse; 1 while there are any. --fix renames them."""
    from ctxrank.extensions.bazinga.records.groups import bad_groups, rename_bad_groups  # noqa: PLC0415  not for query

    if call.positionals not in ((), ("--fix",)):
        raise UsageError(f"Unexpected argument {call.positionals[-1]!a}.", "The only flag is --fix.")
    is_fixing = call.positionals == ("--fix",)
    bad = rename_bad_groups(call.store) if is_fixing else bad_groups(call.store.primary)
    renamed = "renamed_to" if is_fixing else "fix_renames_to"
    issues = [
        {"session_id": one.session, "group_id": one.name, "problem": one.problem, renamed: one.renamed_to}
        for one in bad
    ]
    if bad and not is_fixing:
        raise Failed({"ok": False, "issues": issues, "fixed": 0})
    return {"ok": True, "issues": issues, "fixed": len(bad)}


def detect_paths(call: BazingaCall) -> Json:
    """Where this call looks, without making anything."""
    root = os.environ.get("BAZINGA_ROOT")
    answer: Json = {"cwd": os.getcwd(), "bazinga_root_env": root, "project_root": project_folder()}
    try:
        with open_store_of(call.place) as store:
            location = store.location
    except CtxrankError as error:
        return {**answer, "detected": False, "db_path": None, "artifacts_dir": None, "error": error.message}
    artifacts = os.path.join(location.root, "bazinga", "artifacts")
    found = {"db_path": location.primary, "root": location.root, "artifacts_dir": artifacts}
    return {**answer, "detected": True, **found}


def help(call: BazingaCall) -> None:
    """The commands by family."""
    call.write(data("help.txt"))
