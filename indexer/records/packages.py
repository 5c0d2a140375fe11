"""Context packages: a finding with a file, a summary, a priority and the agents it is meant for."""

import os
from collections.abc import Callable, Mapping, Sequence

import apsw

from ctxrank.indexer.agents import NO_TEAM, Team, fold_agent, saved_agent, saved_type
from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError, require_word
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import contained_path, without_secret
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import document_of, stored
from ctxrank.indexer.records.cloned_notes import where_from
from ctxrank.indexer.records.sessions import is_session_wide, require_place
from ctxrank.indexer.redaction.engine import RedactionMode, redact, secret_values
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store import documents, rows
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page, read_column, read_rows, read_value
from ctxrank.indexer.store.freshness import TEXT_PATH
from ctxrank.indexer.store.ids import DocumentRef, numbered, public_id
from ctxrank.indexer.store.rows import Value
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Change, Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.lines import one_line

PRIORITIES = ("low", "medium", "high", "critical")
SCOPES = ("group", "global")
_MAX_SLUG_CHARS = 100
_OWN_PATH_BYTES = 4
_MARKS = ".,;:!?…()\"'`"

# Who takes what, where a package does not say: the integration matrix of the package system's review.
_DEVELOPERS = ("developer", "senior_software_engineer")
DEFAULT_CONSUMERS = {
    "research": (*_DEVELOPERS, "tech_lead"),
    "failures": (*_DEVELOPERS, "qa_expert"),
    "decisions": (*_DEVELOPERS, "tech_lead"),
    "handoff": _DEVELOPERS,
    "investigation": (*_DEVELOPERS, "qa_expert", "tech_lead"),
}


class NewPackage(NamedTuple):
    """What a package is saved from; empty `consumers` means those of its type, a `created_at` of None now.

    A `title` of '' is the first heading of the file, or its name; a `priority` of '' is that of what it replaces, else
    medium.
    """

    session: str
    group: str | None
    type: str
    path: str
    producer: str
    summary: str
    priority: str = "medium"
    scope: str | None = None
    consumers: tuple[str, ...] = ()
    created_at: int | None = None
    title: str = ""


class SavedPackage(NamedTuple):
    """What saving did; `notes` are for a person: a file that is not there, a summary that was redacted."""

    id: int
    path: str
    version: int
    supersedes: int | None
    consumers: tuple[str, ...]
    passages: int
    notes: tuple[str, ...]


class Package(NamedTuple):
    """A stored package as it is listed; names instead of row ids."""

    id: int
    session: str
    group: str | None
    type: str
    path: str
    producer: str
    priority: str
    scope: str
    summary: str
    size_bytes: int | None
    version: int
    supersedes: int | None
    superseded_by: int | None
    created_at: int


class Consumer(NamedTuple):
    """One designation: `iteration` None is any; `consumed_at` None is pending."""

    agent: str
    iteration: int | None
    consumed_at: int | None


def save_package(
    store: Store,
    new: NewPackage,
    *,
    text: str | None = None,
    create_session: bool = False,
    needs_file: bool = False,
    then: Callable[[Change, int], None] | None = None,
) -> SavedPackage:
    """Save a package and index its file at once; a path that the session knows becomes its next version.

    `then` is called with its id in the same transaction; what it raises undoes it.

    A `text` is kept in the store and in no file: its path is one of the store's own, or is made of its title.
    An agent or type that is not known is kept, with a note. Where it `needs_file`, one that is not there or has no
    text is refused; else it is a note.
    Raises UsageError (which names what is allowed), NotFoundError for an unknown session, LockedError.
    """
    config = load_config(store)
    mode = config.redaction_mode
    checked, notes = _checked(new, config.team, mode)
    if text is not None:
        new, file = _of_text(checked, text, mode)
    else:
        path, file = _file_of(store.location.root, new.path, mode)
        new = checked._replace(path=path)
        if not isinstance(file, FileText):
            if needs_file:
                step = "Name a file with text, or give the text: package save - --title TITLE."
                raise UsageError(f"{file} Nothing was saved.", step)
            notes.append(f"{file} Only its summary can be found. 'ctxrank index' brings it in once it is there.")
    known = secret_values(new.summary, mode)
    prepared = None
    if isinstance(file, FileText):
        prepared = artifacts.prepare(new.path if text is None else f"{TEXT_PATH}.md", file, mode, known=known)
        known = secret_values(file.text, mode)
    summary = redact(new.summary, mode, known)
    if summary.rules:
        notes.append(f"The summary was redacted ({', '.join(summary.rules)}).")
    with store.write() as change:
        session, group_id = require_place(
            change, new.session, new.group, create=create_session, created_at=new.created_at
        )
        if text is not None and not new.path.startswith(TEXT_PATH):
            new = new._replace(path=_text_path(change.connection, session.id, new.title))
        if prepared is not None:
            prepared = prepared._replace(path=new.path, title=new.title or prepared.title)
        place = store.location
        root = None if text is not None else artifacts.root_id(change, place.root, place.project)
        replaced = change.connection.execute(_REPLACED, (session.id, new.path, group_id, root)).fetchone()
        supersedes, version, priority = replaced or (None, 0, "medium")
        values: dict[str, Value] = {**new._asdict(), "session_id": session.id, "group_id": group_id}
        values |= {"summary": one_line(summary.text), "version": version + 1, "supersedes": supersedes}
        created_at = now_us() if new.created_at is None else new.created_at
        values |= {"priority": new.priority or priority, "created_at": created_at}
        designated = [Consumer(agent, None, None) for agent in new.consumers]
        package_id = insert(change, values, designated, root=root, prepared=prepared)
        if then is not None:
            then(change, package_id)
    from ctxrank.indexer.records.anchor_passes import anchor_document, replaceable  # noqa: PLC0415  start-up: saving only

    ref = DocumentRef("package", package_id)
    anchor_document(store, ref)
    for older in replaceable(store, ref):
        step = f"'ctxrank package supersede {older} --by {ref}' replaces it."
        notes.append(f"{older} says something of the same code, which has changed since: {step}")
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    passages = len(prepared.passages) if prepared else 0
    return SavedPackage(package_id, new.path, version + 1, supersedes, new.consumers, passages, tuple(notes))


# A file that a second group saves, or that is saved for the whole session, is a package of its own: no group loses what
# it had. What a note became as it was read is replaced, too, whoever's session that was; not that of another worktree,
# whose file says what it said.
_REPLACED = """
    SELECT id, version, iif(session_id <> ?1 AND priority = 'low', 'medium', priority) FROM packages
     WHERE superseded_by IS NULL AND id > 0 AND path = ?2 AND (session_id = ?1 AND group_id IS ?3 OR group_id IS NULL
       AND id IN (SELECT target_id FROM imported_rows WHERE source = 'notes' AND kind = 'package')
       AND coalesce((SELECT root_id FROM artifacts WHERE id = artifact_id), ?4) = ?4)
     ORDER BY session_id = ?1 AND group_id IS ?3 DESC, id DESC LIMIT 1
"""


def _file_of(root: str, given: str, mode: RedactionMode) -> tuple[str, FileText | str]:
    """The path of a file below the root, and the file, or a sentence on why there is none. Raises UsageError."""
    path = contained_path(root, given)
    shown = without_secret(path, mode)
    if shown != path:
        raise UsageError(f"The name of the file '{shown}' holds a secret.", "Rename the file.")
    read = read_text_file(root, path)
    if isinstance(read, FileText):
        return path, read
    full = os.path.join(root, path)
    if os.path.isdir(full):
        return path, f"{path} is a folder."
    if os.path.lexists(full):
        return path, f"{path} is not indexed: {read.reason}."
    return path, f"There is no file {path} below {root}."


def _of_text(new: NewPackage, text: str, mode: RedactionMode) -> tuple[NewPackage, FileText | str]:
    """A package whose text is in the store, and that as a file. Raises UsageError without a text or a title."""
    title = one_line(redact(new.title, mode, secret_values(text, mode)).text).strip()
    if not title:
        raise UsageError("A text needs a title.", "Give --title TITLE.")
    if not text.strip():
        raise UsageError("There is no text.", "Give a sentence in quotes, or pipe it in: ctxrank save < notes.md")
    data = text.encode("utf-8", "replace")
    file = FileText(text.replace("\r\n", "\n"), "", FileStamp(len(data), 0, 0, now_us()), "utf-8")
    return new._replace(title=title), file


_TITLES = """
    SELECT d.title FROM packages AS p JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
     WHERE p.session_id = ? AND p.path = ? AND p.superseded_by IS NULL AND p.id > 0
"""


def _text_path(connection: apsw.Connection, session_id: int, title: str) -> str:
    """What a package has for a path whose text is in the store; no path below a root has two slashes in a row.

    It is the title's letters and digits, cut where it is long. Another title may come down to the same, as C and C++
    do: where a text of that title is there, this one has a path of its own, so that it does not take its place.
    """
    words = "".join(char if char.isalnum() else " " for char in title.lower()).split()
    path = TEXT_PATH + ("-".join(words) or "untitled")[:_MAX_SLUG_CHARS]
    said = _said(title)
    is_its_own = all(_said(other) == said for other in read_column(connection, _TITLES, (session_id, path), str))
    return path if is_its_own else f"{path}-{digest_of(said, _OWN_PATH_BYTES)}"


def _said(title: str) -> str:
    """What two titles of one text have the same: their words, but for case and the marks around them."""
    return " ".join(word.strip(_MARKS) or word for word in title.casefold().split())


def _checked(new: NewPackage, team: Team, mode: RedactionMode) -> tuple[NewPackage, list[str]]:
    """The same package with its values normalised, and notes on names that are not known. Raises UsageError for the
    first bad value.
    """
    texts = IncomingTexts(mode)
    type_, like, note = saved_type(texts.line(new.type), team)
    notes = [note]
    priority = new.priority.strip().lower()
    priority = priority and require_word(priority, PRIORITIES, "a priority", "Priorities", new.priority)
    scope = (new.scope or ("global" if is_session_wide(new.group) else "group")).strip().lower()
    require_word(scope, SCOPES, "a scope", "Scopes", new.scope or "")
    if scope == "group" and is_session_wide(new.group):
        raise UsageError("A package of scope 'group' needs a group.", "Give --group, or --scope global.")
    if not one_line(new.summary).strip():
        raise UsageError("The summary is empty.", "Say in one line what was found.")
    agents: list[str] = []
    for given in (new.producer, *new.consumers):
        agent, note = saved_agent(texts.line(given), team)
        agents.append(agent)
        notes.append(note)
    own = team.types.get(type_)
    own_consumers = [] if own is None else [fold_agent(agent, team) for agent in own.consumers]
    checked = new._replace(
        type=type_,
        priority=priority,
        scope=scope,
        producer=agents[0],
        consumers=tuple(dict.fromkeys(agents[1:] or own_consumers or DEFAULT_CONSUMERS[like])),
    )
    return checked, list(dict.fromkeys(filter(None, notes)))


def insert(
    change: Change,
    values: Mapping[str, Value],
    consumers: Sequence[Consumer],
    *,
    root: int | None,
    prepared: artifacts.PreparedFile | None,
    said_by: int = 0,
) -> int:
    """Write a checked, redacted package by column inside the caller's transaction; returns its id.

    A `title` of '' is that of its file, or the name of that. `said_by` is the code of the store that its consumers are
    known from. Without a `root` no file here is its, whatever its path: its text is in the store alone, or is another
    machine's.

    Raises UsageError for a path that was purged.
    """
    connection, path = change.connection, str(values["path"])
    change.blocklist.refuse("package", path)
    # A savepoint: all of its rows or none, also where the caller goes on after an error.
    with connection:
        known = artifacts.artifact_at(connection, root, path) if root is not None else None
        artifact_id = known.id if known is not None else None
        if prepared is not None and root is not None:
            artifact_id = artifacts.record(change, root, prepared.path, prepared.file)
        row = {"size_bytes": None, **values, "artifact_id": artifact_id}
        if prepared is not None:
            row["title"] = prepared.title
            row["size_bytes"] = prepared.file.stamp.size_bytes if row["size_bytes"] is None else row["size_bytes"]
        package_id = row["id"] = rows.insert(connection, "packages", stored(KINDS["package"], row))
        replaced = values.get("supersedes")
        if isinstance(replaced, int):
            mark_superseded(change, replaced, package_id)
        for consumer in consumers:
            designation = {**consumer._asdict(), "package_id": package_id, "origin": said_by}
            rows.insert(connection, "package_consumers", designation)
        document = document_of(KINDS["package"], row)
        document_id = documents.put(change, document)
        if prepared is not None:
            if artifact_id is not None:
                artifacts.release(change, artifact_id)
            facets = (document.session_id, document.group_id, document.agent, document.type, document.priority)
            owner = artifacts.PassageOwner(document_id, *facets, document.created_at)
            artifacts.put_passages(change, owner, prepared)
            if artifact_id is not None and known is not None and known.sha256 != prepared.file.sha256:
                # The artifact's row now says that these bytes are indexed: so they are for its other owners too.
                artifacts.refresh_owners(change, artifact_id, prepared)
        return package_id
    raise AssertionError("a savepoint swallows no exception")


def mark_superseded(change: Change, old_id: int, new_id: int) -> None:
    """The old package stays readable, marked, without passages: the new one speaks for the file."""
    change.connection.execute("UPDATE packages SET superseded_by = ? WHERE id = ?", (new_id, old_id))
    document_id = documents.document_id(change.connection, DocumentRef("package", old_id))
    documents.remove_owned(change, document_id)
    documents.touch(change, document_id, superseded_by=new_id)


def supersede(store: Store, old_id: int, new_id: int) -> None:
    """Say that one package replaces another. Raises NotFoundError, and UsageError for a circle or a repeat."""
    with store.write() as change:
        link_versions(change, old_id, new_id)
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)


def link_versions(change: Change, old_id: int, new_id: int) -> None:
    """`supersede` inside the caller's transaction; nothing is written where it raises."""
    old, new = get_package(change.connection, old_id), get_package(change.connection, new_id)
    if old_id < 0 or new_id < 0:
        foreign = public_id("package", old_id if old_id < 0 else new_id)
        raise UsageError(
            f"{foreign} is another machine's: only there it is replaced.", "Save a package of this machine."
        )
    # A note is one finding, whoever reads it; and what came with the repository is no session's.
    is_of_project = old.path == new.path or where_from(change.connection, old_id)
    if old.session != new.session and not is_of_project:
        raise UsageError(
            f"Packages {old_id} and {new_id} belong to different sessions.",
            "A package can only replace one of its own session.",
        )
    if old.superseded_by is not None:
        raise UsageError(
            f"Package {old_id} is superseded by package {old.superseded_by} already.",
            "Supersede the newest version instead.",
        )
    later = new
    while later.superseded_by is not None:
        later = get_package(change.connection, later.superseded_by)
    if later.id == old_id:  # which nothing supersedes
        raise UsageError(
            f"Package {new_id} is {'the same package' if new_id == old_id else f'replaced by {old_id}'}.",
            "A chain of versions cannot be a circle.",
        )
    values = {"supersedes": old_id, "version": max(new.version, old.version + 1)}
    rows.update(change.connection, "packages", new_id, values)
    mark_superseded(change, old_id, new_id)


def consume(store: Store, package_id: int, agent: str, iteration: int = 0, *, team: Team = NO_TEAM) -> bool:
    """Record that an agent has taken a package at an iteration; False if it had done so before.

    Any pending designation of the agent serves, whatever its iteration; a role also takes what is designated for the
    agent that it is like, whose own designation stays pending. Raises NotFoundError, and
    UsageError if the package is not meant for the agent.
    """
    agent = fold_agent(agent, team)
    with store.write() as change:
        get_package(change.connection, package_id)
        consumers = consumers_of(change.connection, package_id)
        own = [consumer for consumer in consumers if consumer.agent == agent]
        meant = sorted({consumer.agent for consumer in consumers})
        if not own and team.like(agent) not in meant:
            raise UsageError(
                f"Package {numbered(package_id)} is not designated for {agent}.",
                f"It is designated for {', '.join(meant) or 'no agent'}."
                + ("" if team.knows(agent) else f" Agents are {', '.join(team.agents)}."),
            )
        if any(one.iteration == iteration and one.consumed_at is not None for one in own):
            return False
        query = """
            SELECT id FROM package_consumers WHERE package_id = ?1 AND agent = ?2 AND consumed_at IS NULL
             ORDER BY iteration IS NOT ?3, iteration IS NOT NULL, id LIMIT 1
        """
        pending = read_value(change.connection, query, (package_id, agent, iteration), int)
        taken: dict[str, Value] = {"iteration": iteration, "consumed_at": now_us(), "origin": 0}
        if pending is None:
            taken |= {"package_id": package_id, "agent": agent}
            rows.insert(change.connection, "package_consumers", taken)
        else:
            rows.update(change.connection, "package_consumers", pending, taken)
        return True


def get_package(primary: apsw.Connection, package_id: int) -> Package:
    """One package. Raises NotFoundError."""
    package = rows.read_where(primary, "packages", Package, {"id": package_id})
    if package is None:
        raise NotFoundError(
            f"There is no package {numbered(package_id)}.", "'ctxrank list packages' shows what there is."
        )
    return package


def consumers_of(primary: apsw.Connection, package_id: int) -> list[Consumer]:
    """Who a package is designated for, in the order they were named."""
    query = "SELECT agent, iteration, consumed_at FROM package_consumers WHERE package_id = ? ORDER BY id"
    return list(read_rows(primary, query, (package_id,), Consumer))


def list_packages(
    primary: apsw.Connection,
    *,
    session: str | None = None,
    group: str | None = None,
    type_: str | None = None,
    priority: str | None = None,
    include_superseded: bool = False,
    limit: int = -1,
) -> Page[Package]:
    """Packages by age, the newest first; a session-wide `group` means all groups."""
    wanted: dict[str, Value] = {"session": session, "type": type_, "priority": priority, "near": group}
    conditions = ("(g.name = :near OR t.scope = 'global')",) * (not is_session_wide(group))
    conditions += ("t.superseded_by IS NULL",) * (not include_superseded)
    return rows.list_where(primary, "packages", Package, wanted, *conditions, limit=limit)
