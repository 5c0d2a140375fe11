"""Real PostgreSQL nodes for tests: a folder, a port and a process each, ended by the process's id.

with primary(folder) as node:
    node.dsn("anna")
    with standby(node, folder) as other:
        node.kill(); other.promote()

initdb and postgres refuse root: then they run as the user `postgres`.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

SCRIPT = Path(__file__).parent / "extensions" / "team" / "postgres.sh"
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = on
shared_buffers = 32MB
max_connections = 300
wal_recycle = off
wal_keep_size = 0
wal_level = replica
max_wal_senders = 4
hot_standby = on
"""
_ACCESS = """
host all         all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
"""


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; None where there are none."""
    done = subprocess.run(["sh", str(SCRIPT)], capture_output=True, text=True)
    found = done.stdout.strip().splitlines()
    return Path(found[-1]) if found else None


class Node:
    """A PostgreSQL server of our own."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self.data = folder
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def dsn(self, role: str = "postgres") -> str:
        """How a role connects."""
        return f"host=127.0.0.1 port={self.port} user={role} dbname=postgres"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as its user. Raises CalledProcessError."""
        subprocess.run(
            [*_as_postgres(), str(self.programs / program), *arguments], check=True, capture_output=True, cwd="/",
        )  # fmt: skip

    def configure(self, text: str) -> None:
        """Add settings."""
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(text)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        log = open(self.data.with_suffix(".log"), "ab")  # noqa: SIM115  the server keeps it
        command = [*_as_postgres(), str(self.programs / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        log.close()
        deadline = time.monotonic() + 60
        while subprocess.run(
            [str(self.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
        ).returncode:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(self.data.with_suffix(".log").read_text(encoding="utf-8", errors="replace")[-2000:])
            time.sleep(0.05)

    def promote(self) -> None:
        """Make a standby the primary."""
        self.run("pg_ctl", "promote", "-D", str(self.data), "-w")

    def _server(self) -> int:
        return int((self.data / "postmaster.pid").read_text(encoding="ascii").split()[0])

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT cuts its clients off, SIGQUIT is a crash."""
        if self.process is None or self.process.poll() is not None:
            return
        with contextlib.suppress(OSError, ValueError):
            os.kill(self._server(), how)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def crash(self) -> None:
        """End the server as a lost machine does."""
        self.stop(signal.SIGQUIT)


@contextlib.contextmanager
def primary(programs: Path, folder: Path) -> Generator[Node, None, None]:
    """A new server."""
    folder.mkdir()
    node = Node(programs, folder / "data")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    node.run("initdb", "-D", str(node.data), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
    node.configure(_SETTINGS)
    (node.data / "pg_hba.conf").write_text(_ACCESS, encoding="ascii")
    with _running(node):
        yield node


@contextlib.contextmanager
def standby(of: Node, folder: Path) -> Generator[Node, None, None]:
    """A synchronous standby of a server: what is acknowledged is on both."""
    folder.mkdir()
    node = Node(of.programs, folder / "data")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    node.run("pg_basebackup", "-d", of.dsn(), "-D", str(node.data), "-X", "stream", "--checkpoint=fast", "--no-sync")
    node.configure(f"primary_conninfo = '{of.dsn()} application_name=standby'\n")
    (node.data / "standby.signal").touch()
    if os.geteuid() == 0:
        shutil.chown(node.data / "standby.signal", "postgres")
    with _running(node):
        yield node


@contextlib.contextmanager
def _running(node: Node) -> Generator[None, None, None]:
    node.start()
    try:
        yield
    finally:
        node.stop()


def _as_postgres() -> list[str]:
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
