"""`ctxrank init`, `trust` and `status`: a store made, believed, and looked at."""

import os
import re
from collections.abc import Iterator

from ctxrank.cli.agents.log import last_failures
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.sharing import sharing
from ctxrank.indexer.care.status import Status, read_status
from ctxrank.indexer.catalogue import folder_tables
from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.extensions import ENGINE, provided
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.opening import create_named_store, create_store, open_store
from ctxrank.indexer.store.allowed_roots import unnamed_folders
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import size_of
from ctxrank.indexer.store.ids import origin_name
from ctxrank.indexer.store.known_stores import remember
from ctxrank.indexer.store.known_stores import trust as make_known
from ctxrank.indexer.store.location import (
    FOLDER,
    PRIMARY_FILE,
    checkout_of,
    identity_of,
    is_known,
    main_worktree,
    refuse_foreign,
    upwards,
)
from ctxrank.indexer.store.origins import count_waiting, known_origins
from ctxrank.indexer.store.out_of_date import files_out_of_date, named
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, shell_word
from ctxrank.ranking.context.floor import ALPHA, Floor, measured_floor

if TYPE_CHECKING:  # most stores have no team
    from ctxrank.indexer.engine import ClusterIndex, ClusterStatus


def init(call: Call, folder: str | None) -> Reply:
    """Make a store where there is none: in a folder, or at the file that is named as for every other command."""
    named = call.db or (os.environ.get("CTXRANK_DB") if folder is None else None)
    if named and folder is not None:
        raise UsageError("--db and DIR both say where the store is to be.", "Give one of them.")
    primary = named or os.path.join(folder or ".", FOLDER, PRIMARY_FILE)
    if not named and not os.path.isdir(folder or "."):
        raise UsageError(f"There is no folder {folder}.", "Make it first, or name another.")
    is_new = not os.path.exists(primary)
    made = create_named_store(named, root=call.root) if named else create_store(folder or ".", root=call.root)
    with made as store:
        is_usual = os.path.basename(store.location.folder) == FOLDER
        path = store.location.folder if is_usual else store.location.primary
        trouble = _not_known(store)
        found = [f"found {one}" for one in proposals(store.location.project)] if is_new else []
    return Reply(
        lambda: {"store": path, "created": is_new, "trusted": not trouble},
        [f"{'Made' if is_new else 'There is already'} a store {'in' if is_usual else 'at'} {one_line(path)}"],
        notes=(trouble,) if trouble else (),
        text_notes=(*found, "next: 'ctxrank index' for files, 'ctxrank save' for findings.") if is_new else (),
    )


def _not_known(store: Store) -> str:
    """Why a store that was just made will not be taken for the user's own; '' where it will."""
    identity = identity_of(store.primary)
    if is_known(identity):
        return ""
    try:
        remember(identity, store.location.primary)
    except CtxrankError as error:
        return f"{error.message} {error.hint}"
    return ""


def status(call: Call, store: Store) -> Reply:
    """Read how the store and its index are."""
    found = read_status(store)
    config = load_config(store)
    team, wide = config.team_log, None
    if config.wide is not None:
        cluster: ClusterIndex = provided(ENGINE, "engine: opensearch")
        wide = cluster.status(store, config.wide, is_used=store.wide is not None)
    failures = last_failures(store.location.primary)
    floor = measured_floor(store)
    found = found._replace(notes=(*found.notes, *_notes(store)))
    size = sum(map(size_of, store.location.database_files))
    is_wide = wide is not None and wide.is_used and not wide.trouble
    engine = "opensearch" if is_wide else "heuristic" if found.index_trouble else "fts5"
    more = {
        "engine": engine, "bytes": size, "processes": found.processes, "hook_failures": failures or None,
        "floor": floor, "team": None if team is None else sharing("team").as_json(team),
        "wide": wide and Extended(wide, {"index": wide.name, "bytes": wide.size_bytes}),
    }  # fmt: skip
    return Reply(
        lambda: Extended(found, more),
        (
            *_status_lines(found, size, "the cluster answers" if is_wide else "heuristics answer"),
            *((_floor_line(floor),) if floor is not None else ()),
            *((f"team      {sharing('team').sentence(team)}",) if team is not None else ()),
            *((f"wide      {_cluster_sentence(wide)}",) if wide is not None else ()),
            *(f"hook      {one_line(failure)}" for failure in failures),
        ),
        outcome="degraded" if found.index_trouble and not is_wide else "stale" if found.stale else "matched",
        engine=engine,
        text_notes=found.notes,
    )


def _notes(store: Store) -> list[str]:
    """What `status` says: which files have changed, after a bounded look at those that are known; who is asked about,
    once who was accepted by the team's log, which orders wait.
    """
    files, notes = files_out_of_date(store), list[str]()
    for one in known_origins(store.primary):
        name = f"{f'{one_line(one.name)} ' if one.name else ''}{origin_name(one.code)}"
        if one.state == "asked":
            notes.append(f"{name} is not accepted: {one.records} records are found and said nowhere unasked.")
        elif one.state == "accepted" and not one.is_told:
            notes.append(f"{name} is accepted: it came through the team's log.")
    if notes:
        notes.append("'ctxrank origins accept ID', 'revoke ID' or 'refuse ID' decides.")
        store.write_if_free("UPDATE origins SET is_told = 1 WHERE state = 'accepted'", ())
    if waiting := count_waiting(store.primary):
        notes.append(f"orders to forget wait for you: {waiting} ('ctxrank origins pending').")
    stale = [f"out of date: {named(files)}; 'ctxrank index' takes in what has changed."] if files else []
    return stale + notes


def _floor_line(floor: Floor) -> str:
    """What is promised of a prompt that is about nothing here."""
    promise = f"of 100 prompts about nothing here, {ALPHA * 100:.0f} at most get an answer"
    return f"floor     {floor.line:.2f}, pasted {floor.pasted:.2f}: {promise}, by {floor.prompts} {floor.source}"


def _cluster_sentence(found: "ClusterStatus") -> str:
    if found.trouble:
        return f"{one_line(found.nodes)}: {found.trouble}"
    asked = "" if found.is_used else "; asked by no search: engine is not opensearch"
    refused = f", {found.set_aside} refused" if found.set_aside else ""
    return f"{one_line(found.nodes)}: {found.documents:,} documents, {found.behind} changes behind{refused}{asked}"


# What a count is of, where it is not the kind with an s.
_KINDS = {"artifact": "file", "linked": "linked artifact", "reasoning": "reasoning entry", "skill": "skill output"}
_PLURALS = {"reasoning": "reasoning entries", "strategy": "strategies"}


def _counted(kind: str, count: int) -> str:
    one = _KINDS.get(kind, kind)
    return f"{count:,} {one if count == 1 else _PLURALS.get(kind, f'{one}s')}"


def _status_lines(status: Status, size: int, instead: str) -> Iterator[str]:
    yield f"store     {one_line(status.store)}"
    yield f"root      {one_line(status.root)}"
    yield f"size      {size / 2**20:,.1f} MB"
    # Files are counted below, those of packages with the others.
    kinds = [kind for kind in status.documents if kind != "artifact" or not status.artifacts]
    held = ", ".join(_counted(kind, status.documents[kind]) for kind in kinds)
    yield f"holds     {held or 'nothing yet'}"
    if status.origins:
        named = ", ".join(f"{count:,} of {origin}" for origin, count in status.origins.items())
        yield f"others    {named} ('ctxrank purge --origin ID' takes them out)"
    if status.artifacts:
        yield f"files     {', '.join(f'{count:,} {state}' for state, count in status.artifacts.items())}"
    if status.index_trouble:
        yield f"index     cannot answer: {status.index_trouble}; {instead} instead"
    else:
        yield f"index     {'up to date with what is stored' if not status.stale else f'{status.stale} changes behind'}"
    if status.counters:
        yield f"tokens    counted by {', '.join(f'{counter} ({count})' for counter, count in status.counters.items())}"
    for does, says in status.processes.items():
        pid, _, where = says.partition(" ")
        verb = "served" if does == "serve" else "followed"
        yield f"{verb:<9} by process {one_line(pid)}{f' at {one_line(where)}' if where else ''}"
    hint = "redacted when shown; 'ctxrank purge --redact' does it for good"
    if status.older_user_rules:
        hint = f"{status.older_user_rules} of them before your own rules existed; 'ctxrank purge --redact' redacts them"
    hint = f" ({hint})" if status.older_ruleset else ""
    yield f"redaction rules {status.ruleset}; {status.older_ruleset} documents stored under older ones{hint}"


def trust(call: Call, path: str) -> Reply:
    """Write down that this user trusts a store, and say what it is."""
    primary = _database_of(path)
    refuse_foreign(primary)
    with open_store(primary, root=call.root) as store:
        is_new = make_known(store)
        documents = sum(read_status(store).documents.values())
        unread = unnamed_folders(store.location, store.primary, [one.name for one in folder_tables(store.primary)])
    folder = store.location.folder
    return Reply(
        lambda: {"store": folder, "known_before": not is_new, "documents": documents, "refused_roots": unread},
        [f"{'Trusted' if is_new else 'You already trust'} the store in {one_line(folder)}: {documents} documents"],
        text_notes=tuple(
            f"it names {name}, which is not read: 'ctxrank index --root {shell_word(name)}' allows that."
            for name in unread
        ),
    )


def _database_of(path: str) -> str:
    """The database of a project folder, of a store's folder, or the file itself. Raises NoStoreError."""
    full = os.path.abspath(path)
    if os.path.isdir(full):
        inside = [os.path.join(full, FOLDER, PRIMARY_FILE), os.path.join(full, PRIMARY_FILE)]
        full = next((name for name in inside if os.path.lexists(name)), inside[0])
    if not os.path.lexists(full):
        raise NoStoreError(f"There is no store at {full}.", "Give a project's folder, its .ctxrank, or its ctxrank.db.")
    return full


_DATABASE = os.path.join("bazinga", "bazinga.db")


def proposals(folder: str) -> Iterator[str]:
    """A line for each thing around a new store that its user may not think of, with its command."""
    main = main_worktree(checkout_of(folder) or folder)
    others = [*upwards(folder)[1:], *([main] if main else [])]
    if other := next((one for one in others if os.path.lexists(os.path.join(one, FOLDER, PRIMARY_FILE))), None):
        yield f"a store in {other}: calls from here do not use it any more"
    if os.path.isfile(os.path.join(folder, _DATABASE)):
        yield f"a store of BAZINGA: 'ctxrank import bazinga {_DATABASE} --root .' takes it in"
    if count := _transcripts(folder):
        yield f"{count} sessions of Claude Code: 'ctxrank import transcripts' takes in what failed, and what fixed it"


def _transcripts(folder: str) -> int:
    """How many sessions Claude Code has kept of a project: a file each, in a folder named after the project's path."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(folder))
    try:
        with os.scandir(os.path.join(home, "projects", name)) as entries:
            return sum(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return 0
