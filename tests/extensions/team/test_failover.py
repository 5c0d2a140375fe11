"""The primary is lost while eight machines write: a standby takes its place, and no acknowledged write is lost."""

import threading
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from postgres_nodes import Node, primary, standby

from ctxrank.extensions.team import sync
from ctxrank.extensions.team.log import connect
from ctxrank.extensions.team.schema import prepare
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning

pytestmark = [pytest.mark.slow, pytest.mark.team]

WRITERS = 8
BEFORE_S, AFTER_S = 3.0, 4.0
PROJECT = "shop"


class Writer(threading.Thread):
    """A machine that writes and waits for the log, all the time; what the log acknowledged is kept apart."""

    def __init__(self, folder: Path, name: str, dsn: str, code: str) -> None:
        super().__init__()
        self.folder, self.role, self.dsn, self.code = folder, name, dsn, code
        self.acknowledged: list[tuple[float, str]] = []
        self.written: list[str] = []
        self.is_ending = threading.Event()
        self.failure: Exception | None = None

    def run(self) -> None:
        """Write until it is told to end; a log that is away is tried again, as a command does."""
        try:
            self._write()
        except Exception as error:
            self.failure = error

    def _write(self) -> None:
        with create_store(str(self.folder)) as store:
            with connect(self.dsn, PROJECT) as log:
                sync.join(store, log, self.code)
            while not self.is_ending.is_set():
                text = f"note {len(self.written)} of {self.role}"
                save_reasoning(store, NewReasoning("S", "G", "developer", "decisions", text), create_session=True)
                self.written.append(text)
                while not self.is_ending.is_set():
                    try:
                        with connect(self.dsn, PROJECT) as log:
                            sync.push(store, log)
                        self.acknowledged.append((time.monotonic(), text))
                        break
                    except CtxrankError:
                        time.sleep(0.05)


def _dsn(role: str, *nodes: Node) -> str:
    hosts, ports = ",".join("127.0.0.1" for _ in nodes), ",".join(str(node.port) for node in nodes)
    return f"host={hosts} port={ports} user={role} dbname=postgres connect_timeout=2"


def test_no_acknowledged_write_is_lost_or_doubled_and_writers_go_on(
    team_programs: Path, team_folder: Path, tmp_path: Path
) -> None:
    with primary(team_programs, team_folder / "first") as first, standby(first, team_folder / "second") as second:
        with psycopg.connect(first.dsn(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone() is None:
                time.sleep(0.05)
        names = [f"machine{number}" for number in range(WRITERS)]
        codes = prepare(first.dsn(), PROJECT, [*names, "late"]).codes
        writers = [Writer(tmp_path / name, name, _dsn(name, first, second), codes[name]) for name in names]
        for writer in writers:
            writer.start()
        time.sleep(BEFORE_S)
        first.crash()
        lost_at = time.monotonic()
        second.promote()
        time.sleep(AFTER_S)
        for writer in writers:
            writer.is_ending.set()
        for writer in writers:
            writer.join()
        assert [writer.failure for writer in writers] == [None] * WRITERS

        with create_store(str(tmp_path / "late")) as late:
            with connect(_dsn("late", first, second), PROJECT) as log:
                sync.join(late, log, codes["late"])
                sync.synchronize(late, log)
            found = Counter(str(text) for (text,) in late.primary.execute("SELECT content FROM reasoning"))
        acknowledged = [text for writer in writers for _, text in writer.acknowledged]
        assert len(acknowledged) > 10 * WRITERS
        assert not set(acknowledged) - found.keys(), "lost"
        assert set(found.values()) == {1}, "doubled"
        for writer in writers:
            assert any(moment > lost_at for moment, _ in writer.acknowledged), f"{writer.role} did not go on"
        gap = max(
            later - earlier
            for writer in writers
            for (earlier, _), (later, _) in zip(writer.acknowledged, writer.acknowledged[1:], strict=False)
        )
        print(f"{len(acknowledged)} acknowledged, 0 lost, 0 doubled, longest gap {gap:.2f} s")
