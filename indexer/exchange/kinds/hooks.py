"""What an import does with records of a kind beyond what the catalogue says of their columns.

A kind that needs nothing of the sort has the hooks of `Hooks`.
"""

import json
from collections.abc import Mapping

import apsw

from ctxrank.indexer.declarations import Kind, Row, Value
from ctxrank.indexer.errors import failures, lookup, patterns
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.register import LineIdentity
from ctxrank.indexer.exchange.run import ImportRun
from ctxrank.indexer.light_typing import cast
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.records import sessions
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER
from ctxrank.indexer.store.imported_rows import take_waiting, write_entry
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.lines import error_title, is_uuid

_NUMBER_DIGITS = 10
_WAITING = "waiting references"  # the register's word, as its source


class Hooks:
    """What a kind may add; an import has one of its own for each kind and origin."""

    def __init__(self, run: ImportRun, kind: Kind) -> None:
        self.run = run
        self.kind = kind

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Fill in what a line does not say; returns what it says beyond the columns.

        Raises UsageError for a record that cannot be used.
        """
        return None

    def place(self, change: Change, values: dict[str, Value], before: Row) -> None:
        """Make values fit what is here, before they are written over it."""

    def insert(self, change: Change, values: Mapping[str, Value], said: object) -> int:
        """Write a new record; returns its row id."""
        return insert(change, self.kind, values)

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Write what belongs to the record in other tables."""


class ReasoningHooks(Hooks):
    """A thought says whether it was redacted, be it on its way in."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Refuse an empty thought."""
        content = str(values["content"])
        if not content.strip():
            raise UsageError("its 'content' is empty")
        values["redacted"] = int(bool(values["redacted"]) or content != fields.raw("content"))
        return None


class ErrorHooks(Hooks):
    """A pattern has a state that follows from its record, and a signature by which it is recognised."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Work out its state, and the text that was signed where the line has none."""
        counts = merge.counts_of(self.kind, values)
        values["state"] = patterns.state_of(counts.confirmations, counts.refutations)
        values["unit"] = values["unit"] or error_title(str(values["error_type"]), str(values["message"]))
        return None

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Make it recognisable, with what was learned of it."""
        lookup.put_signature(change, number, str(values["project"]), str(values["unit"]))
        if learned := json.loads(str(values["varying"] or "[]")):
            lookup.let_vary(change, number, tuple(map(str, learned)))


class FailureHooks(Hooks):
    """A failure's signature is computed again: the other store may have another version of the normaliser."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Refuse a failure of which nothing can be read."""
        sighting = failures.sighting_of(str(values["error_text"]), 0, None)
        if sighting is None:
            raise UsageError("its 'unit' is empty")
        signature = sighting.signature
        values.update(normaliser_version=signature.normaliser, template=signature.template, instance=signature.instance)
        return None

    def insert(self, change: Change, values: Mapping[str, Value], said: object) -> int:
        """Write it, unless it was purged with its error."""
        change.blocklist.refuse("error", str(values["error_text"]))
        return super().insert(change, values, said)


class GroupHooks(Hooks):
    """What a group may see is a union of what its stores say."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> tuple[object, ...]:
        """The packages that it may see: numbers of its origin, or number@uuid."""
        if sessions.is_session_wide(str(values["name"])):
            raise UsageError(f"'{values['name']}' is not a group's name: it means the whole session.")
        return fields.items("context_references")

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Let it see packages, each as soon as that is here; what names none is passed over, and so is a package of
        another store that one names which is not accepted.
        """
        for item in cast("tuple[object, ...]", said):
            there, at, uuid = str(item).partition("@")
            is_number = there.isdecimal() and len(there) <= _NUMBER_DIGITS and 0 < int(there) <= MAX_FOREIGN_NUMBER
            if is_number and (not at or (is_uuid(uuid) and self.run.origin.is_accepted)):
                refer(change, number, self.run.maker(change, uuid or None).local(int(there)))


def is_here(connection: apsw.Connection, package_id: int) -> bool:
    """Whether there is a package of this row id."""
    return read_value(connection, "SELECT 1 FROM packages WHERE id = ?", (package_id,), int) is not None


def refer(change: Change, group_id: int, package_id: int) -> bool:
    """Let a group see a package, as soon as that is here; whether it did not see it before."""
    if not is_here(change.connection, package_id):
        write_entry(change.connection, _WAITING, "group", f"{package_id} {group_id}", "", group_id)
        return False
    found = read_value(change.connection, "SELECT context_references FROM groups WHERE id = ?", (group_id,), str)
    before: list[int] = json.loads(found or "[]")
    if found is None or package_id in before:
        return False
    sessions.set_group_references(change, group_id, (*before, package_id))
    return True


def refer_waiting(change: Change, package_id: int) -> None:
    """Let the groups see a new package that named it before it came."""
    for group_id in take_waiting(change.connection, _WAITING, "group", package_id):
        refer(change, group_id, package_id)
