"""Every test runs without the settings of whoever runs it; the fixture store is loaded once and copied."""

import gc
import itertools
import os
import tempfile
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from builders import copy_store
from damage import closed
from examples import examples
from hypothesis import settings
from load import load

from ctxrank.indexer.extensions import EXTENSIONS
from ctxrank.indexer.store.location import Location

if TYPE_CHECKING:
    from cluster_nodes import ClusterNode

_homes = itertools.count()
_ABSENT = [name for name in EXTENSIONS if find_spec(f"ctxrank.extensions.{name}") is None]

# A busy machine, or the first import of a large module, makes any example slow: how long one takes is no property.
settings.register_profile("ctxrank", deadline=None, max_examples=examples(100))
settings.load_profile("ctxrank")

# Nothing waits for a disk in memory, and SQLite's operations are the same: half the time, and less than that where
# others use the disk, too. A TMPDIR that is set holds.
_IN_MEMORY = "/dev/shm"
_LEAST_FREE_BYTES = 2 << 30


def _is_fit(folder: str) -> bool:
    """Whether there is room, and programs that a test writes may be run."""
    try:
        place = os.statvfs(folder)
    except OSError:
        return False
    free = place.f_bavail * place.f_frsize
    return os.access(folder, os.W_OK) and free >= _LEAST_FREE_BYTES and not place.f_flag & os.ST_NOEXEC


if "TMPDIR" not in os.environ and _is_fit(_IN_MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = _IN_MEMORY


@pytest.fixture(scope="session")
def _no_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session", autouse=True)
def _state_of_this_session(_no_home: Path) -> Iterator[None]:
    """The stores that were made are known for the whole session: fixture stores are made once and copied."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_STATE_HOME", str(_no_home / "state"))
        environment.setenv("XDG_CONFIG_HOME", str(_no_home / "config"))
        yield


@pytest.fixture(autouse=True)
def _no_settings_from_outside(_no_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's configuration is in a folder that is each test's own, and that a test makes if it wants one."""
    for name in [name for name in os.environ if name.startswith("CTXRANK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(_no_home / str(next(_homes))))


@pytest.fixture(scope="session")
def loaded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture store, closed; it is copied and never written."""
    folder = tmp_path_factory.mktemp("loaded")
    closed(load(str(folder)))
    return folder


@pytest.fixture
def loaded(loaded_once: Path, tmp_path: Path) -> Location:
    """The fixture store in `tmp_path`, closed: a copy, which takes a fortieth of the time of loading."""
    return copy_store(loaded_once, tmp_path)


@pytest.fixture(scope="session")
def wide_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ClusterNode"]:
    """An OpenSearch node; skipped in words where none can be started, while one that should start and does not fails.

    What starts it is imported here, because few runs do.
    """
    from cluster_nodes import NoNodesError, jars, java, running

    cache = Path(__file__).resolve().parents[1] / ".venv" / "opensearch"
    cache.mkdir(parents=True, exist_ok=True)
    try:
        java()
        jars(cache)
    except NoNodesError as error:
        pytest.skip(str(error))
    with running(cache, tmp_path_factory.mktemp("node")) as nodes:
        yield nodes[0]


@pytest.fixture
def for_anyone() -> Iterator[Path]:
    """A folder that another user can reach; pytest's own are closed to all but whoever runs it."""
    with tempfile.TemporaryDirectory(prefix="ctxrank-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module of tests that imports an extension whose folder is deleted is skipped, and says so."""
    report = yield
    for name in _ABSENT if report.failed else ():
        if f"No module named 'ctxrank.extensions.{name}" in str(report.longrepr):
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: the extension {name} is absent")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes stays to the end: looking through it for garbage is half of the time that it takes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that calls a command of an extension is marked with its name, and skipped where its folder is deleted."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if name in _ABSENT:
                pytest.skip(f"the extension {name} is absent")


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option rewrites the golden and frozen files; their diff is what gets reviewed."""
    parser.addoption("--rewrite-golden", action="store_true", help="Write the golden files as the answers are now.")
