"""Machines that share a log: a store and a role each."""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path

from builders import make_store
from postgres_nodes import Node

from ctxrank.extensions.team import sync
from ctxrank.extensions.team.log import TeamLog, connect
from ctxrank.extensions.team.schema import prepare
from ctxrank.extensions.team.sync import Synced
from ctxrank.indexer.store.store import Store


class Sharing:
    """Machines by name; a role is named after its machine and the project."""

    def __init__(self, node: Node, project: str, folder: Path, names: Sequence[str]) -> None:
        self.node = node
        self.project = project
        self.database = "postgres"
        self.stores: dict[str, Store] = {}
        for name in names:
            self.add(name, folder)

    def add(self, name: str, folder: Path) -> None:
        """Admit a machine, with a new store, and let it join."""
        made = prepare(self.dsn_of("postgres"), self.project, [self.role(name)])
        self.stores[name] = make_store(folder / name)
        with self.log(name) as log:
            sync.join(self.stores[name], log, made.codes[self.role(name)])

    def role(self, name: str) -> str:
        """The role of a machine."""
        return f"{name} of {self.project}".replace(" ", "_")

    def dsn(self, name: str) -> str:
        """How a machine connects."""
        return self.dsn_of(self.role(name))

    def dsn_of(self, role: str) -> str:
        """How a role connects to the log's database."""
        return f"{self.node.dsn(role)} dbname={self.database}"

    @contextlib.contextmanager
    def log(self, name: str) -> Generator[TeamLog, None, None]:
        """A machine's connection to the log."""
        with connect(self.dsn(name), self.project) as log:
            yield log

    def sync(self, *names: str) -> list[Synced]:
        """Let machines exchange with the log, one after the other; without names all of them."""
        done: list[Synced] = []
        for name in names or tuple(self.stores):
            with self.log(name) as log:
                done.append(sync.synchronize(self.stores[name], log))
        return done

    def settle(self) -> None:
        """Exchange until nobody has anything to say."""
        for _ in range(10):
            if not any(done.pushed or done.pulled for done in self.sync()):
                return
        raise AssertionError("they go on telling each other the same")

    def close(self) -> None:
        """Close the stores."""
        for store in self.stores.values():
            store.close()
