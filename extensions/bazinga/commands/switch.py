"""`bazinga install` and `bazinga uninstall`: a project of BAZINGA switched over to this store, and back."""

import os

from ctxrank.extensions.bazinga.arguments import leading_options
from ctxrank.extensions.bazinga.call import BazingaCall
from ctxrank.extensions.bazinga.database.importer import import_bazinga
from ctxrank.extensions.bazinga.place import project_folder
from ctxrank.extensions.bazinga.switch import steps
from ctxrank.extensions.bazinga.switch.tree import DATABASE
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.opening import create_store, open_project_store
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.location import FOLDER, PRIMARY_FILE
from ctxrank.indexer.text.lines import one_line


def install(call: BazingaCall) -> None:
    """Switch the project's BAZINGA over; a second run changes nothing."""
    root, is_dry_run, say = _requested(call)
    plan = steps.planned(root)  # refuses before anything is made
    _bring_in(call, root, say, is_dry_run=is_dry_run)
    if not steps.install(root, plan, say, is_dry_run=is_dry_run):
        say("nothing to change: it is installed")
    elif not is_dry_run:
        say("BAZINGA's context is here now; 'ctxrank bazinga uninstall' gives its scripts back")


def uninstall(call: BazingaCall) -> None:
    """Give the project's BAZINGA its scripts back; a second run changes nothing."""
    root, is_dry_run, say = _requested(call)
    if not steps.uninstall(root, say, is_dry_run=is_dry_run):
        say("nothing to change: it is not installed")
    elif not is_dry_run and os.path.exists(os.path.join(root, FOLDER, PRIMARY_FILE)):
        say(f"the store stays in {FOLDER}/, with all context that was saved since install; BAZINGA does not see that")


def _requested(call: BazingaCall) -> tuple[str, bool, steps.Say]:
    """(the project, whether it is a dry run, what says a step). Raises UsageError."""
    given, rest = leading_options(call.positionals, ("--project-root",), ("--dry-run",))
    if rest:
        raise UsageError(f"Unexpected argument {rest[0]!a}.", "Flags are --project-root DIR and --dry-run.")
    root = given.get("--project-root") or call.place.project_root or project_folder()
    if root is None:
        raise UsageError(
            "There is no project of BAZINGA here: no folder with .claude/ and bazinga/ in it.",
            "Run it in the project, or name that: --project-root DIR.",
        )

    def say(text: str) -> None:
        if not call.is_quiet:
            call.write(one_line(text) + "\n")

    return os.path.abspath(root), "--dry-run" in given, say


def _bring_in(call: BazingaCall, root: str, say: steps.Say, *, is_dry_run: bool) -> None:
    """A store in the project, with what BAZINGA's database knows; what is here already is joined."""
    is_there = os.path.exists(os.path.join(root, FOLDER, PRIMARY_FILE))
    database = os.path.join(root, DATABASE)
    has_database = os.path.isfile(database) and os.path.getsize(database) > 0
    if not is_there:
        say(f"{'would make' if is_dry_run else 'made'} a store in {FOLDER}/")
    if is_dry_run:
        if has_database:
            say(f"would bring in what {DATABASE} holds")
        return
    with open_project_store(root) if is_there else create_store(root) as store:
        if not has_database:
            return
        report = import_bazinga(store, database, mode=load_config(store).redaction_mode)
        brought = ", ".join(f"{count.new} of {kind}" for kind, count in report.counts.items() if count.new)
        say(f"brought in {DATABASE}: {brought or 'nothing new'}")
        for note in report.notes:
            call.complain(note)
