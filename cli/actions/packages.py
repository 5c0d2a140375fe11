"""`ctxrank package`: save, list, show, supersede and consume context packages."""

from collections.abc import Iterable, Iterator, Mapping

import apsw

from ctxrank.cli.actions.given import given_text
from ctxrank.cli.call import Call, Extended, Reply, list_reply, shown
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.records import packages as records
from ctxrank.indexer.records.packages import Consumer, NewPackage, Package, SavedPackage
from ctxrank.indexer.records.reader import state_of
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.freshness import ELSEWHERE
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, local_ref, public_id


def save(
    call: Call,
    path: str,
    title: str | None,
    session: str,
    group: str | None,
    type_: str,
    producer: str,
    summary: str,
    priority: str,
    scope: str | None,
    consumers: tuple[str, ...],
    create_session: bool,
) -> Reply:
    """Save a package, with the passages of its file or of the text on stdin."""
    new = NewPackage(session, group, type_, path, producer, summary, priority, scope, consumers, title=title or "")
    text = given_text(call.note, path) if path == "-" else None
    with call.open() as store:
        config = load_config(store)
        if text is None:
            saved = records.save_package(
                store, new, create_session=create_session, mode=config.redaction_mode, team=config.team, needs_file=True
            )
        else:
            saved = records.save_text(
                store, new, text, create_session=create_session, mode=config.redaction_mode, team=config.team
            )
    return saved_reply(saved)


def saved_reply(saved: SavedPackage, about: Mapping[str, object] | None = None, lines: Iterable[str] = ()) -> Reply:
    """What a save answers: `about` are further fields, `lines` further lines."""
    replaced = f", replaces {public_id(PACKAGE, saved.supersedes)}" if saved.supersedes else ""
    return Reply(
        lambda: {
            "id": saved.id, "file_path": saved.path, "version": saved.version, "supersedes": saved.supersedes,
            "consumers": list(saved.consumers), "passages": saved.passages, "notes": list(saved.notes),
            **(about or {}),
        },
        [
            f"Saved {public_id(PACKAGE, saved.id)} (version {saved.version}{replaced}) "
            f"for {', '.join(saved.consumers)}",
            *lines,
        ],
        notes=saved.notes,
    )  # fmt: skip


def list_(
    call: Call,
    session: str | None,
    group: str | None,
    type_: str | None,
    priority: str | None,
    superseded: bool,
    limit: int,
) -> Reply:
    """Read a page of packages."""
    with call.open() as store:
        if session is not None:
            find_session(store.primary, session)
        found = records.list_packages(
            store.primary, session=session, group=group, type_=type_, priority=priority,
            include_superseded=superseded, limit=limit,
        )  # fmt: skip
        states = {package.id: state_of(store, DocumentRef(PACKAGE, package.id)) for package in found}
    return list_reply(
        found,
        lambda: {"packages": [_with_state(package, states[package.id]) for package in found]},
        (line for package in found for line in _package_lines(call, package, states[package.id])),
        "no packages.",
    )


def show(call: Call, package_id: str) -> Reply:
    """Read one package and its consumers."""
    with call.open() as store:
        package = records.get_package(store.primary, package_number(store.primary, package_id))
        consumers = records.consumers_of(store.primary, package.id)
        state = state_of(store, DocumentRef(PACKAGE, package.id))
    return Reply(
        lambda: {"package": _with_state(package, state), "consumers": consumers},
        _details(call, package, state, consumers),
    )


def supersede(call: Call, old_id: str, new_id: str) -> Reply:
    """Replace one package by another."""
    with call.open() as store:
        old, new = package_number(store.primary, old_id), package_number(store.primary, new_id)
        records.supersede(store, old, new)
    return Reply(
        lambda: {"superseded": old, "by": new},
        [f"{public_id(PACKAGE, old)} is superseded by {public_id(PACKAGE, new)}"],
    )


def consume(call: Call, package_id: str, agent: str, iteration: int) -> Reply:
    """Record that an agent has taken a package."""
    with call.open() as store:
        number = package_number(store.primary, package_id)
        is_new = records.consume(store, number, agent, iteration, team=load_config(store).team)
    done = "consumed" if is_new else "was consumed before"
    return Reply(
        lambda: {"package": number, "agent": agent, "iteration": iteration, "recorded": is_new},
        [f"{public_id(PACKAGE, number)} {done} at iteration {iteration}"],
    )


def package_number(database: apsw.Connection, text: str) -> int:
    """The number of a package of this store. Raises UsageError, NotFoundError."""
    ref = local_ref(database, text)
    if ref.kind != PACKAGE:
        raise UsageError(f"{ref} is not a package.", "Give a package's id, such as 12 or package:12.")
    return ref.number


def _package_lines(call: Call, package: Package, file_state: str) -> Iterator[str]:
    where = "/".join(part for part in (package.session, package.group) if part)
    marker = f" (superseded by {public_id(PACKAGE, package.superseded_by)})" if package.superseded_by else ""
    marker = f" ({ELSEWHERE}){marker}" if file_state == "elsewhere" else marker
    about = shown(f"[{package.priority}] {package.type} · {package.path}{marker}")
    yield f"{call.bold(public_id(PACKAGE, package.id))} {about}"
    yield f"   {call.dim(shown(f'{where} · {format_day(package.created_at)}'))} · {shown(package.summary)}"


def _details(call: Call, package: Package, file_state: str, consumers: Iterable[Consumer]) -> Iterator[str]:
    yield from _package_lines(call, package, file_state)
    yield f"   scope {package.scope}, version {package.version}, by {shown(package.producer)}"
    if package.superseded_by:
        yield f"   superseded by {public_id(PACKAGE, package.superseded_by)}"
    for consumer in consumers:
        yield f"   for {shown(consumer.agent)}: {_consumption(consumer)}"


def _consumption(consumer: Consumer) -> str:
    if consumer.consumed_at is None:
        return "pending"
    return f"consumed at iteration {consumer.iteration}, {format_us(consumer.consumed_at)}"


def _with_state(package: Package, file_state: str) -> Extended:
    return Extended(package, {"file_state": file_state or None})
