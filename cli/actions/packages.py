"""`ctxrank package`: save, list, show, supersede and consume context packages."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from ctxrank.cli.actions.given import given_text, note_unknown_group, number_of, others_know
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import facts, place
from ctxrank.indexer.clock import format_day, format_us
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records import packages as records
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.packages import Consumer, NewPackage, Package, SavedPackage
from ctxrank.indexer.records.reader import state_of
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page
from ctxrank.indexer.store.freshness import STATE_MARKS, shown_path
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line


def save(call: Call, store: Store, path: str, title: str | None, create_session: bool, **options: Any) -> Reply:
    """Save a package, with the passages of its file or of the text on stdin."""
    new = NewPackage(path=path, title=title or "", type=options.pop("type_"), **options)
    text = given_text(call.note, path) if path == "-" else None
    saved = records.save_package(store, new, text=text, create_session=create_session, needs_file=True)
    return saved_reply(saved)


def saved_reply(saved: SavedPackage, about: Mapping[str, object] | None = None, lines: Iterable[str] = ()) -> Reply:
    """What a save answers: `about` are further fields, `lines` further lines."""
    replaced = f", replaces {public_id(PACKAGE, saved.supersedes)}" if saved.supersedes else ""
    version = f"version {saved.version}{replaced}"
    said = f"Saved {public_id(PACKAGE, saved.id)} ({version}) for {', '.join(saved.consumers)}"
    return Reply(lambda: Extended(saved, about or {}), [said, *lines], notes=saved.notes)


def list_(call: Call, store: Store, **options: Any) -> Reply:
    """Read a page of packages."""
    note_unknown_group(call, store, options["session"], options["group"])
    found = records.list_packages(store.primary, include_superseded=options.pop("superseded"), **options)
    found = cleaned_page(store, PACKAGE, found)
    states = _states(store, found)
    shown, record = partial(_package_lines, states), partial(_with_state, states)
    elsewhere = others_know(store.primary, "packages", type=options["type_"], priority=options["priority"])
    return list_reply(call, found, "packages", shown, f"no packages.{elsewhere}", record=record)


def show(call: Call, store: Store, package_id: str) -> Reply:
    """Read one package and its consumers."""
    package = records.get_package(store.primary, number_of(store.primary, package_id, PACKAGE, 12))
    (package,) = cleaned_page(store, PACKAGE, Page([package], 1))
    consumers = records.consumers_of(store.primary, package.id)
    states = _states(store, [package])
    return Reply(
        lambda: {"package": _with_state(states, package), "consumers": consumers},
        (*_package_lines(states, call, package), *_more_lines(package, consumers)),
    )


def _states(store: Store, packages: Iterable[Package]) -> Mapping[int, str]:
    return {one.id: state_of(store, DocumentRef(PACKAGE, one.id)) for one in packages}


def _with_state(states: Mapping[int, str], package: Package) -> Extended:
    return Extended(package, {"file_state": states[package.id]})


def supersede(call: Call, store: Store, old_id: str, new_id: str) -> Reply:
    """Replace one package by another."""
    old, new = number_of(store.primary, old_id, PACKAGE, 12), number_of(store.primary, new_id, PACKAGE, 12)
    records.supersede(store, old, new)
    done = f"{public_id(PACKAGE, old)} is superseded by {public_id(PACKAGE, new)}"
    return Reply(lambda: {"superseded": old, "by": new}, [done])


def consume(call: Call, store: Store, package_id: str, agent: str, iteration: int) -> Reply:
    """Record that an agent has taken a package."""
    number = number_of(store.primary, package_id, PACKAGE, 12)
    is_new = records.consume(store, number, agent, iteration, team=load_config(store).team)
    done = f"{'consumed' if is_new else 'was consumed before'} at iteration {iteration}"
    answer = {"package": number, "agent": agent, "iteration": iteration, "recorded": is_new}
    return Reply(lambda: answer, [f"{public_id(PACKAGE, number)} {done}"])


def _package_lines(states: Mapping[int, str], call: Call, package: Package) -> Iterator[str]:
    mark = f" (superseded by {public_id(PACKAGE, package.superseded_by)})" if package.superseded_by else ""
    path = shown_path(package.path) + STATE_MARKS.get(states[package.id], "")
    about = one_line(f"[{package.priority}] {facts(package.type, path)}{mark}")
    yield f"{call.bold(public_id(PACKAGE, package.id))} {about}"
    where = facts(place(package.session, package.group), format_day(package.created_at))
    yield f"   {call.dim(where)} · {one_line(package.summary)}"


def _more_lines(package: Package, consumers: Iterable[Consumer]) -> Iterator[str]:
    yield f"   scope {package.scope}, version {package.version}, by {one_line(package.producer)}"
    for one in consumers:
        taken = one.consumed_at and f"consumed at iteration {one.iteration}, {format_us(one.consumed_at)}"
        yield f"   for {one_line(one.agent)}: {taken or 'pending'}"
