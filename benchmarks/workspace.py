"""What the benchmarks of one run share: a temporary folder, sizes, the command, and stores made once."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from typing import NamedTuple

from generate import StoreShape, TreeShape, write_store
from timing import clean_environment

from ctxrank.indexer import open_store

_HOME = os.path.dirname(os.path.abspath(__file__))
_PACKAGES_A_SESSION = 250


class Sizes(NamedTuple):
    """How much is measured, and how often."""

    small: StoreShape
    large: StoreShape
    rounds: int  # whole processes of each contender
    calls: int  # calls in process
    indexed: TreeShape
    index_rounds: int
    unchanged: TreeShape
    huge: TreeShape
    saves: int  # of each process of a crowd
    scales: tuple[int, ...]  # documents of indexing_scale
    changes: int  # of each kind, one at a time


FULL = Sizes(
    small=StoreShape(1000, 1000 // _PACKAGES_A_SESSION),
    large=StoreShape(100_000, 100_000 // _PACKAGES_A_SESSION),
    rounds=25,
    calls=2000,
    indexed=TreeShape(64_000_000, 4000),
    index_rounds=3,
    unchanged=TreeShape(20_000_000, 10_000),
    huge=TreeShape(1_000_000_000, 20_000, largest_bytes=16_000_000),
    saves=500,
    scales=(10_000, 100_000, 1_000_000),
    changes=1000,
)
QUICK = Sizes(
    small=StoreShape(50, 1),
    large=StoreShape(200, 2),
    rounds=1,
    calls=10,
    indexed=TreeShape(300_000, 30),
    index_rounds=1,
    unchanged=TreeShape(100_000, 50),
    huge=TreeShape(2_000_000, 50, largest_bytes=500_000),
    saves=5,
    scales=(100, 300),
    changes=10,
)


class Question(NamedTuple):
    """A store in a folder, and a question that it can answer."""

    folder: str
    session: str
    group: str
    task: str
    file: str  # one of its files, relative to the root
    root: str


class Workspace:
    """One run's folder; whoever made it removes it."""

    def __init__(
        self, folder: str, sizes: Sizes, data: str | None, *, is_offline: bool, tree: str | None = None
    ) -> None:
        self.folder = folder
        self.tree = tree  # what `indexing` indexes instead of a generated one
        self.sizes = sizes
        self.data = data
        self.is_offline = is_offline
        self._stores: dict[StoreShape, str] = {}
        self._real_stores = 0

    @staticmethod
    def ctxrank(*words: str) -> list[str]:
        """The command that was installed beside this interpreter, with its arguments."""
        return [os.path.join(os.path.dirname(sys.executable), "ctxrank"), *words]

    def run(self, *words: str, cwd: str) -> None:
        """Run the command for what it does. Raises CalledProcessError, after what it said on stderr."""
        subprocess.run(
            self.ctxrank(*words), cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env=clean_environment(),
        )  # fmt: skip

    @contextlib.contextmanager
    def scratch(self, name: str) -> Generator[str, None, None]:
        """An empty folder for a while: a gigabyte is not kept until the end of the run."""
        folder = self.new_folder(name)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def new_folder(self, name: str) -> str:
        """An empty folder."""
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    def store(self, shape: StoreShape) -> str:
        """The folder of a generated store of this shape; all who ask get the same one."""
        if shape not in self._stores:
            folder = self.new_folder(f"store-{shape.packages}")
            write_store(folder, shape)
            self._stores[shape] = folder
        return self._stores[shape]

    def real_store(self) -> Question:
        """The predecessor's store from `--data`, imported anew for each who asks, as some save into it; without it the
        fixtures.
        """
        self._real_stores += 1
        folder = self.new_folder(f"real-{self._real_stores}")
        if self.data is None:
            return self._fixtures(folder)
        root = os.path.join(self.data, "predecessor")
        self.run("init", "--quiet", cwd=folder)
        self.run("import", "bazinga", os.path.join(root, "bazinga", "bazinga.db"), "--root", root, cwd=folder)
        with open_store(start=folder) as store:
            session, group, path = store.primary.execute(
                """
                SELECT s.name, g.name, min(p.path)
                  FROM packages AS p
                  JOIN sessions AS s ON s.id = p.session_id
                  JOIN groups AS g ON g.id = p.group_id
                 WHERE p.superseded_by IS NULL AND p.artifact_id IS NOT NULL
                 GROUP BY s.id, g.id
                 ORDER BY count(*) DESC, s.id, g.id
                 LIMIT 1
                """
            ).fetchone() or ("", "", "")
        task = (
            "Make the orchestrator retry a failed developer spawn: find out why context packages are lost when the "
            "session resumes, and add a regression test for the database lock during parallel groups"
        )
        return Question(folder, str(session), str(group), task, str(path), root)

    @staticmethod
    def _fixtures(folder: str) -> Question:
        loader = os.path.join(os.path.dirname(_HOME), "fixtures", "load.py")
        subprocess.run([sys.executable, loader, folder], check=True, env=clean_environment())
        task = "Customers are signed out when two requests refresh the token at once: make the refresh single-flight"
        file = "artifacts/shop-2026-10/auth/token-refresh-race.md"
        return Question(folder, "shop-2026-10", "AUTH", task, file, folder)
