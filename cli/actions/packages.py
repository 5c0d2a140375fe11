"""`ctxrank package`: save, list, show, supersede and consume context packages."""

from collections.abc import Iterable, Iterator, Mapping

from ctxrank.cli.actions.given import given_text, number_of
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import facts, place
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records import packages as records
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.packages import Consumer, NewPackage, Package, SavedPackage
from ctxrank.indexer.records.reader import state_of
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page
from ctxrank.indexer.store.freshness import STATE_MARKS, shown_path
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.text.lines import one_line


def save(call: Call, path: str, title: str | None, create_session: bool, **options: Any) -> Reply:
    """Save a package, with the passages of its file or of the text on stdin."""
    new = NewPackage(path=path, title=title or "", type=options.pop("type_"), **options)
    text = given_text(call.note, path) if path == "-" else None
    with call.open() as store:
        saved = records.save_package(store, new, text=text, create_session=create_session, needs_file=True)
    return saved_reply(saved)


def saved_reply(saved: SavedPackage, about: Mapping[str, object] | None = None, lines: Iterable[str] = ()) -> Reply:
    """What a save answers: `about` are further fields, `lines` further lines."""
    replaced = f", replaces {public_id(PACKAGE, saved.supersedes)}" if saved.supersedes else ""
    return Reply(
        lambda: Extended(saved, about or {}),
        [
            f"Saved {public_id(PACKAGE, saved.id)} (version {saved.version}{replaced}) "
            f"for {', '.join(saved.consumers)}",
            *lines,
        ],
        notes=saved.notes,
    )


def list_(call: Call, **options: Any) -> Reply:
    """Read a page of packages."""
    with call.open() as store:
        if options["session"] is not None:
            find_session(store.primary, options["session"])
        found = records.list_packages(store.primary, include_superseded=options.pop("superseded"), **options)
        found = cleaned_page(store, PACKAGE, found)
        states = {package.id: state_of(store, DocumentRef(PACKAGE, package.id)) for package in found}
    lines = (line for package in found for line in _package_lines(call, package, states[package.id]))
    return list_reply(
        found, "packages", lines, "no packages.", record=lambda one: Extended(one, {"file_state": states[one.id]})
    )


def show(call: Call, package_id: str) -> Reply:
    """Read one package and its consumers."""
    with call.open() as store:
        package = records.get_package(store.primary, number_of(store.primary, package_id, PACKAGE, 12))
        (package,) = cleaned_page(store, PACKAGE, Page([package], 1))
        consumers = records.consumers_of(store.primary, package.id)
        state = state_of(store, DocumentRef(PACKAGE, package.id))
    return Reply(
        lambda: {"package": Extended(package, {"file_state": state}), "consumers": consumers},
        _details(call, package, state, consumers),
    )


def supersede(call: Call, old_id: str, new_id: str) -> Reply:
    """Replace one package by another."""
    with call.open() as store:
        old, new = number_of(store.primary, old_id, PACKAGE, 12), number_of(store.primary, new_id, PACKAGE, 12)
        records.supersede(store, old, new)
    return Reply(
        lambda: {"superseded": old, "by": new},
        [f"{public_id(PACKAGE, old)} is superseded by {public_id(PACKAGE, new)}"],
    )


def consume(call: Call, package_id: str, agent: str, iteration: int) -> Reply:
    """Record that an agent has taken a package."""
    with call.open() as store:
        number = number_of(store.primary, package_id, PACKAGE, 12)
        is_new = records.consume(store, number, agent, iteration, team=load_config(store).team)
    done = "consumed" if is_new else "was consumed before"
    return Reply(
        lambda: {"package": number, "agent": agent, "iteration": iteration, "recorded": is_new},
        [f"{public_id(PACKAGE, number)} {done} at iteration {iteration}"],
    )


def _package_lines(call: Call, package: Package, file_state: str) -> Iterator[str]:
    mark = f" (superseded by {public_id(PACKAGE, package.superseded_by)})" if package.superseded_by else ""
    path = shown_path(package.path) + STATE_MARKS.get(file_state, "")
    about = one_line(f"[{package.priority}] {facts(package.type, path)}{mark}")
    yield f"{call.bold(public_id(PACKAGE, package.id))} {about}"
    where = facts(place(package.session, package.group), format_day(package.created_at))
    yield f"   {call.dim(where)} · {one_line(package.summary)}"


def _details(call: Call, package: Package, file_state: str, consumers: Iterable[Consumer]) -> Iterator[str]:
    yield from _package_lines(call, package, file_state)
    yield f"   scope {package.scope}, version {package.version}, by {one_line(package.producer)}"
    for one in consumers:
        taken = one.consumed_at and f"consumed at iteration {one.iteration}, {format_us(one.consumed_at)}"
        yield f"   for {one_line(one.agent)}: {taken or 'pending'}"
