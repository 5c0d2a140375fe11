"""A log that is restored from a backup: what was written since comes again from the machines, and nothing twice."""

from pathlib import Path

import psycopg
import pytest
from builders import save
from converging import Seen, seen
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.privacy.purge import forget_path

pytestmark = [pytest.mark.slow, pytest.mark.team]

KEYS = "ctxrank.record_keys*"
BACKUPS: dict[str, list[list[str]]] = {
    "whole": [[]],
    "keys apart": [[f"--exclude-table-data={KEYS}"], ["--data-only", f"--table={KEYS}"]],
}


@pytest.fixture
def machines(machines: Sharing, node: Node) -> Sharing:
    save(machines.stores["a"], "early.md", "zebra walrus\n", summary="Early")
    save(machines.stores["b"], "secret.md", "heron lock\n", summary="Forgotten later")
    machines.settle()
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("INSERT INTO ctxrank.unerased VALUES ('record_keys_0') ON CONFLICT DO NOTHING")
    return machines


@pytest.mark.parametrize("how", BACKUPS)
def test_after_a_restore_all_have_all_of_it_once(
    machines: Sharing, node: Node, team_folder: Path, tmp_path: Path, how: str
) -> None:
    files = [team_folder / f"{how} {number}.sql" for number in range(len(BACKUPS[how]))]
    for file, options in zip(files, BACKUPS[how], strict=True):
        file.touch()
        file.chmod(0o666)
        node.run(
            "pg_dump", "-h", "127.0.0.1", "-p", str(node.port), "-U", "postgres", "-f", str(file), *options, "postgres"
        )
    save(machines.stores["a"], "late.md", "queue retry\n", summary="Late")
    forget_path(machines.stores["b"], "secret.md")
    machines.settle()

    database = f"restored_{how.replace(' ', '_')}"
    with psycopg.connect(node.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}".encode())
    machines.database = database
    for file in files:
        node.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", machines.dsn_of("postgres"), "-f", str(file))
    with psycopg.connect(machines.dsn_of("postgres"), autocommit=True) as connection:
        connection.execute("SELECT ctxrank.restored()")

    save(machines.stores["b"], "after.md", "vacuum shard\n", summary="After")
    machines.add("new", tmp_path)
    machines.settle()
    with machines.log("a") as log:
        assert log.erase(), "the parts with replaced keys are known by name, which a dump keeps"
    as_of = now_us()
    views = [seen(store, as_of) for store in machines.stores.values()]
    for field in Seen._fields:
        assert len({repr(getattr(view, field)) for view in views}) == 1, field
    for store in machines.stores.values():
        paths = [str(path) for (path,) in store.primary.execute("SELECT path FROM packages ORDER BY path")]
        assert paths == ["after.md", "early.md", "late.md"]
