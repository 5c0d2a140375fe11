"""The extensions that own tables in a store, as the store names them, and what each declares of its tables.

    owners(store.primary)                   (Owner("links", …),)        those that are installed
    require_owners(store.primary, "purge")  raises where one is absent: its tables may hold what is to be purged

An extension that owns tables declares them in its module `tables` as OWNER, with numbered SQL files next to it, which
make them when they are first written to. A store opens, searches and assembles without the extension.
"""

import os
from collections.abc import Iterator

import apsw

from ctxrank.indexer.declarations import Kind, Table
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.extensions import EXTENSIONS, OWNER, OWNERS, is_installed, provided
from ctxrank.indexer.light_typing import NamedTuple


class Owner(NamedTuple):
    """An extension's tables; its last SQL file in `folder`, schema_001.sql and so on, has the number `version`."""

    name: str
    version: int
    folder: str
    kinds: tuple[Kind, ...] = ()
    tables: tuple[Table, ...] = ()  # that are no part of a kind
    is_read_again: bool = False  # all of it comes from files: after damage the next `index` reads them

    @property
    def all_tables(self) -> Iterator[Table]:
        """Those of its kinds, too, each before the parts of its records."""
        for kind in self.kinds:
            yield kind.table
            yield from kind.parts
        yield from self.tables


def owners(primary: apsw.Connection) -> tuple[Owner, ...]:
    """The installed extensions that own tables in a store."""
    return tuple(_owner(name) for name, _ in _named(primary) if name in EXTENSIONS and is_installed(name))


def require_owners(primary: apsw.Connection, wanted: str) -> None:
    """Raises UsageError for a store with tables of an extension that is absent, or older than they are."""
    for name, version in _named(primary):
        has_tables = f"'{wanted}' must not pass over the tables of {name!a} in this store"
        if name not in EXTENSIONS:
            raise UsageError(f"{has_tables}, an extension that this program does not know.", "Upgrade this ctxrank.")
        if not is_installed(name):
            raise UsageError(f"{has_tables}, and {name} is not installed.", f"Install ctxrank.extensions.{name}.")
        if version > _owner(name).version:
            raise UsageError(f"{has_tables}, which a newer {name} made.", "Upgrade this ctxrank.")


def make_tables(primary: apsw.Connection, owner: Owner) -> None:
    """Bring the extension's tables to this version, in the caller's transaction, and name it in the store."""
    apply_schema(primary, owner, dict(_named(primary)).get(owner.name, 0))
    name_owner(primary, owner)


def name_owner(primary: apsw.Connection, owner: Owner) -> None:
    """Say in the store that it has the extension's tables."""
    query = """
        INSERT INTO extensions (name, version) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET version = excluded.version
    """
    primary.execute(query, (owner.name, owner.version))


def apply_schema(primary: apsw.Connection, owner: Owner, version: int = 0) -> None:
    """Run the SQL files that lead on from a version of the extension's tables."""
    for number in range(version + 1, owner.version + 1):
        with open(os.path.join(owner.folder, f"schema_{number:03d}.sql"), encoding="utf-8") as file:
            primary.execute(file.read())


def installed_owners() -> tuple[Owner, ...]:
    """Every installed extension that could own tables in a store."""
    return tuple(_owner(name) for name in OWNERS if is_installed(name))


def _named(primary: apsw.Connection) -> list[tuple[str, int]]:
    return [(str(name), int(version)) for name, version in primary.execute("SELECT name, version FROM extensions")]


def _owner(name: str) -> Owner:
    owner: Owner = provided(OWNER.format(name), name)
    return owner
