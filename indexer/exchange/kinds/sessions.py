"""Which packages imported groups may see."""

import json
from collections.abc import Mapping

from ctxrank.indexer.declarations import Value
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.hooks import Hooks
from ctxrank.indexer.exchange.register import LineIdentity, is_uuid, write_entry
from ctxrank.indexer.light_typing import cast
from ctxrank.indexer.records import sessions
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER
from ctxrank.indexer.store.store import Change

_NUMBER_DIGITS = 10
_WAITING = "waiting references"  # the register's word, as its source


class GroupHooks(Hooks):
    """What a group may see is a union of what its stores say."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> tuple[object, ...]:
        """The packages that it may see: numbers of its origin, or number@uuid."""
        if sessions.is_session_wide(str(values["name"])):
            raise UsageError(f"'{values['name']}' is not a group's name: it means the whole session.")
        return fields.items("context_references")

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Let it see packages, each as soon as that is here."""
        for item in cast("tuple[object, ...]", said):
            package_id = self._local(change, item)
            if package_id is not None:
                refer(change, number, package_id)

    def _local(self, change: Change, item: object) -> int | None:
        """The row id of a package that a line names: a number of its origin, or number@uuid."""
        if isinstance(item, int):
            return self.run.origin.local(item) if 0 < item <= MAX_FOREIGN_NUMBER else None
        number, _, uuid = str(item).partition("@")
        if not number.isdecimal() or len(number) > _NUMBER_DIGITS or not is_uuid(uuid):
            return None
        return self.run.maker(change, uuid).local(int(number))


def refer(change: Change, group_id: int, package_id: int) -> bool:
    """Let a group see a package, as soon as that is here; whether it did not see it before."""
    query = "SELECT 1 FROM packages WHERE id = ?"
    if read_value(change.connection, query, (package_id,), int) is None:
        write_entry(change.connection, _WAITING, "group", f"{package_id} {group_id}", "", group_id)
        return False
    query = "SELECT context_references FROM groups WHERE id = ?"
    found = read_value(change.connection, query, (group_id,), str)
    before: list[int] = json.loads(found or "[]")
    if found is None or package_id in before:
        return False
    sessions.set_group_references(change, group_id, (*before, package_id))
    return True


def refer_waiting(change: Change, package_id: int) -> None:
    """Let the groups see a new package that named it before it came."""
    where = "source = ? AND kind = 'group' AND source_key > ? AND source_key < ?"
    values = (_WAITING, f"{package_id} ", f"{package_id}!")
    groups = read_column(change.connection, f"SELECT target_id FROM imported_rows WHERE {where}", values, int)
    for group_id in groups:
        refer(change, group_id, package_id)
    if groups:
        change.connection.execute(f"DELETE FROM imported_rows WHERE {where}", values)
