"""One PostgreSQL for the tests of this folder, and machines that share its log."""

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from postgres_nodes import Node, primary, programs
from sharing import Sharing

_numbers = itertools.count()


@pytest.fixture(scope="session")
def team_programs() -> Path:
    """PostgreSQL's programs; without them a test is skipped, and says so."""
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL is here: 'apt-get install postgresql', or set CTXRANK_PG_BIN")
    return found


@pytest.fixture(scope="session")
def team_folder() -> Iterator[Path]:
    """A folder that the user postgres can reach, too."""
    folder = Path(tempfile.mkdtemp(prefix="ctxrank-team-"))
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def node(team_programs: Path, team_folder: Path) -> Iterator[Node]:
    """A server for all tests; each has a project of its own."""
    with primary(team_programs, team_folder / "node") as running:
        yield running


@pytest.fixture
def project() -> str:
    """A project that no other test has."""
    return f"project {next(_numbers)}"


@pytest.fixture
def names() -> str:
    """The machines, a letter each."""
    return "ab"


@pytest.fixture
def machines(node: Node, project: str, tmp_path: Path, names: str) -> Iterator[Sharing]:
    """Machines that share a project."""
    made = Sharing(node, project, tmp_path, names)
    yield made
    made.close()


@pytest.fixture
def refuse(machines: Sharing) -> Callable[[str], None]:
    """Says that the server refuses a statement to the role of machine a, for want of a right."""

    def refused(statement: str) -> None:
        with (
            psycopg.connect(machines.dsn("a"), autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement.encode())

    return refused
