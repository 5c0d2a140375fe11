"""The border to PostgreSQL: how the log is connected to, what it is asked, and its errors as ours.

    with connect("host=log.example user=anna", "shop") as log:
        log.head()                                   Head(n=812, …)

Off this machine only TLS that names the server is spoken. What a role may do is decided in log_001.sql and log_002.sql.
"""

import contextlib
import ipaddress
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence

from ctxrank.extensions.team.sealing import Register, Sealed
from ctxrank.indexer.deadline import Deadline, in_time
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import LiteralString, TypeVar

    from psycopg.abc import PQGen

    Result = TypeVar("Result")

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ModuleNotFoundError as error:  # pragma: no cover
    raise UsageError("A team's log needs the extra team.", "Install it: pip install 'ctxrank[team]'") from error

FORMAT = 2  # the last of log_001.sql, log_002.sql
CONNECT_S, STATEMENT_S = 5, 120
_SILENCE_S = STATEMENT_S + CONNECT_S  # a server that is there has ended a statement by then
_STEP_S = 0.1
PULL_ROWS, PULL_BYTES = 2000, 32 * 1024 * 1024


class Head(NamedTuple):
    """The last change of a project, and which history of the log its number is of."""

    id: int
    n: int
    history: str


class Member(NamedTuple):
    """One machine of a project: how far it is, and since when it has been silent."""

    role: str
    origin: str | None
    applied: int
    forgotten: int
    seen_at: str | None


class LogLine(NamedTuple):
    """A register of the log in its latest state; without a secret it is forgotten."""

    n: int
    register: Register
    line: bytes
    secret: bytes | None


class Pushed(NamedTuple):
    """A line on its way into the log."""

    register: Register
    seq: int
    ruleset: int
    is_order: bool
    sealed: Sealed
    mark: bytes


class TeamLog:
    """An open connection to one project of a log."""

    def __init__(self, connection: "psycopg.Connection[tuple[object, ...]]", project: str) -> None:
        self.project = project
        self._connection = connection

    def head(self) -> Head:
        """The last change. Raises CtxrankError where the role is no member of the project."""
        query = "SELECT id, n, history::text FROM ctxrank.projects WHERE name = %s"
        row = self._row(query, (self.project,))
        if row is None:
            raise CtxrankError(
                f"The log has no project '{self.project}' for the role {self._connection.info.user}.",
                "Its administrator admits a role with 'ctxrank team init PROJECT --machine ROLE'.",
            )
        return Head(int(str(row[0])), int(str(row[1])), str(row[2]))

    def join(self, store: str) -> None:
        """Say which store the role speaks for."""
        with postgres_errors():
            self._connection.execute("SELECT ctxrank.join_project(%s, %s)", (self.project, store))

    def leave(self) -> None:
        """Take no part any more."""
        with postgres_errors():
            self._connection.execute("SELECT ctxrank.leave_project(%s)", (self.project,))

    def known(self, project_id: int, registers: Sequence[Register]) -> dict[Register, tuple[bytes, bytes]]:
        """The key and the mark of those of our registers that are in the log."""
        query = """
            SELECT r.kind, r.key, r.origin::text, k.secret, r.mark
              FROM unnest(%s::text[], %s::text[], %s::uuid[]) AS asked (kind, key, origin)
              JOIN ctxrank.records AS r
                ON r.project = %s AND (r.kind, r.key, r.origin) = (asked.kind, asked.key, asked.origin)
              JOIN ctxrank.record_keys AS k
                ON (k.project, k.kind, k.key, k.origin) = (r.project, r.kind, r.key, r.origin)
        """
        kinds, keys, origins = (list(column) for column in zip(*registers, strict=True))
        with postgres_errors():
            rows = self._connection.execute(query, (kinds, keys, origins, project_id)).fetchall()
        return {Register(str(r[0]), str(r[1]), str(r[2])): (_bytes(r[3]), _bytes(r[4])) for r in rows}

    def push(self, lines: Sequence[Pushed], gone: Sequence[Register]) -> int:
        """Write lines, and delete the keys of what they order to forget; returns the number of the last change."""
        query = "SELECT ctxrank.push(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::uuid[])"
        values = (
            self.project,
            [line.register.kind for line in lines], [line.register.key for line in lines],
            [line.seq for line in lines], [line.ruleset for line in lines], [line.is_order for line in lines],
            [line.sealed.line for line in lines], [line.sealed.secret for line in lines], [line.mark for line in lines],
            [one.kind for one in gone], [one.key for one in gone], [one.origin for one in gone],
        )  # fmt: skip
        row = self._row(query, values)
        return int(str(row[0])) if row else 0

    def lines(self, project_id: int, after: int, without: str) -> list[LogLine]:
        """The next lines of other stores, in the order of their numbers; no more than a portion."""
        query = """
            SELECT r.n, r.kind, r.key, r.origin::text, r.line, (
                SELECT k.secret FROM ctxrank.record_keys AS k
                 WHERE (k.project, k.kind, k.key, k.origin) = (%(project)s, r.kind, r.key, r.origin))
              FROM (SELECT p.*, sum(octet_length(p.line)) OVER (ORDER BY p.n) AS reached
                      FROM (SELECT n, kind, key, origin, line FROM ctxrank.records
                             WHERE project = %(project)s AND n > %(after)s AND origin <> %(without)s
                             ORDER BY n LIMIT %(rows)s) AS p) AS r
             WHERE r.reached - octet_length(r.line) < %(bytes)s ORDER BY r.n
        """  # the key as a subquery: a join would read all keys for a portion while the table has no statistics
        values: Mapping[str, object] = {
            "project": project_id, "after": after, "without": without, "rows": PULL_ROWS, "bytes": PULL_BYTES
        }  # fmt: skip
        with postgres_errors():
            rows = self._connection.execute(query, values, binary=True).fetchall()
        return [
            LogLine(
                int(str(row[0])), Register(str(row[1]), str(row[2]), str(row[3])), _bytes(row[4]),
                None if row[5] is None else _bytes(row[5]),
            )
            for row in rows
        ]  # fmt: skip

    def keys(self, project_id: int, after: int, until: int) -> Iterator[tuple[int, Register, bytes, bytes | None]]:
        """Number, register, digest and key of all lines in a range, in order: what a snapshot is checked against."""
        query = """
            SELECT r.n, r.kind, r.key, r.origin::text, r.digest, (
                SELECT k.secret FROM ctxrank.record_keys AS k
                 WHERE (k.project, k.kind, k.key, k.origin) = (r.project, r.kind, r.key, r.origin))
              FROM ctxrank.records AS r
             WHERE r.project = %s AND r.n > %s AND r.n <= %s ORDER BY r.n
        """
        with postgres_errors(), self._connection.transaction(), self._connection.cursor("keys", binary=True) as cursor:
            cursor.itersize = PULL_ROWS
            for row in cursor.execute(query, (project_id, after, until)):
                secret = None if row[5] is None else _bytes(row[5])
                yield int(str(row[0])), Register(str(row[1]), str(row[2]), str(row[3])), _bytes(row[4]), secret

    def report(self, applied: int, forgotten: int) -> None:
        """Say how far this machine is: what is here, and which orders to forget are carried out."""
        with postgres_errors():
            self._connection.execute("SELECT ctxrank.report(%s, %s, %s)", (self.project, applied, forgotten))

    def erase(self) -> bool:
        """Erase what is left of forgotten keys; False where the server keeps it in its write-ahead log."""
        with postgres_errors():
            self._connection.execute("SELECT ctxrank.erase_keys()")
            row = self._connection.execute("SELECT ctxrank.erase_wal()").fetchone()
        return bool(row and row[0])

    def members(self, project_id: int) -> list[Member]:
        """The machines that take part, by name."""
        query = """
            SELECT role::text, origin::text, applied, forgotten,
                   to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
              FROM ctxrank.members WHERE project = %s AND left_at IS NULL AND origin IS NOT NULL ORDER BY role
        """
        with postgres_errors():
            rows = self._connection.execute(query, (project_id,)).fetchall()
        return [
            Member(
                str(row[0]), None if row[1] is None else str(row[1]), int(str(row[2])), int(str(row[3])),
                None if row[4] is None else str(row[4]),
            )
            for row in rows
        ]  # fmt: skip

    def last_order(self, project_id: int) -> int:
        """The number of the last order to forget; 0 where there is none."""
        query = "SELECT coalesce(max(n), 0) FROM ctxrank.records WHERE project = %s AND is_order"
        row = self._row(query, (project_id,))
        return int(str(row[0])) if row else 0

    def orders_after(self, project_id: int, n: int) -> int:
        """How many orders to forget come after a number."""
        query = "SELECT count(*) FROM ctxrank.records WHERE project = %s AND is_order AND n > %s"
        row = self._row(query, (project_id, n))
        return int(str(row[0])) if row else 0

    def listen(self) -> None:
        """Be told of changes from now on: `wait`."""
        with postgres_errors():
            self._connection.execute("LISTEN ctxrank")  # as push() notifies

    def wait(self, timeout_s: float) -> int:
        """Wait so long for others to change this project; the number of the last change told of, 0 for none."""
        last = 0
        with postgres_errors():
            for note in self._connection.notifies(timeout=timeout_s, stop_after=1):
                project, _, number = note.payload.rpartition(" ")
                if project == self.project and note.pid != self._connection.info.backend_pid and number.isdecimal():
                    last = max(last, int(number))
        return last

    def _row(self, query: "LiteralString", values: Sequence[object]) -> tuple[object, ...] | None:
        with postgres_errors():
            return self._connection.execute(query, values).fetchone()


class _Connection(psycopg.Connection[tuple[object, ...]]):
    """One that does not wait for a server for ever; with a deadline, until that at most."""

    deadline: Deadline | None = None

    def wait(self, gen: "PQGen[Result]", interval: float = _STEP_S, timeout: float | None = None) -> "Result":
        """Let a statement run, as psycopg does. Raises OperationalError when the time is over."""
        most_s = _SILENCE_S if self.deadline is None else self.deadline.left_s
        begun = time.monotonic()
        try:
            bounded = self._bounded(gen, begun + most_s)
            return super().wait(bounded, interval) if timeout is None else super().wait(bounded, interval, timeout)
        finally:
            if self.deadline is not None:
                self.deadline.spend(time.monotonic() - begun)

    def _bounded(self, gen: "PQGen[Result]", until: float) -> "PQGen[Result]":
        """The same steps; psycopg takes one each _STEP_S, whatever the server does."""
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if time.monotonic() > until:
                    self.pgconn.finish()  # its state is not known
                    raise psycopg.OperationalError("the server does not answer in time")
                wanted = gen.send(ready)
        except StopIteration as done:
            result: Result = done.value
            return result


@contextlib.contextmanager
def connect(dsn: str, project: str, deadline: Deadline | None = None) -> Generator[TeamLog, None, None]:
    """A connection to the log. Raises UsageError for a DSN that is none or that is not safe, CtxrankError."""
    with postgres_errors(), opened(dsn, deadline) as connection:
        refuse_other_format(connection)
        yield TeamLog(connection, project)


@contextlib.contextmanager
def opened(
    dsn: str, deadline: Deadline | None = None
) -> Generator["psycopg.Connection[tuple[object, ...]]", None, None]:
    """A connection that writes, of two nodes to the one that is the primary; each statement is a transaction."""
    values = connection_values(dsn)

    def connected() -> _Connection:
        return _Connection.connect(make_conninfo(**values), autocommit=True)

    try:
        made = in_time(_SILENCE_S, connected) if deadline is None else deadline.ask(connected)
    except TimeoutError as error:
        raise psycopg.OperationalError("the server does not answer in time") from error
    made.deadline = deadline
    with made as connection:
        yield connection


def connection_values(dsn: str) -> dict[str, str]:
    """What is connected with. Raises UsageError for a DSN that is none, or that trusts the way to another machine."""
    try:
        values = {str(name): str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.ProgrammingError as error:
        raise UsageError("CTXRANK_TEAM is no connection string.", "Such as: host=log.example dbname=team") from error
    if not _is_on_this_machine(values):
        mode = values.setdefault("sslmode", "verify-full")
        if mode != "verify-full":
            raise UsageError(
                f"sslmode={mode} does not prove which machine answers.",
                "Off this machine it is verify-full, with the certificate of your authority in sslrootcert.",
            )
        values["gssencmode"] = "disable"  # it would take the place of TLS
    values.setdefault("connect_timeout", str(CONNECT_S))
    values.setdefault("application_name", "ctxrank")
    values["target_session_attrs"] = "read-write"
    values["options"] = f"{values.get('options', '')} -c statement_timeout={STATEMENT_S}s".strip()
    return values


def _is_on_this_machine(values: Mapping[str, str]) -> bool:
    """Whether every host is a socket or a loopback address; what a service file says is not looked into."""
    if "service" in values or os.environ.get("PGSERVICE"):
        return False
    named = values.get("hostaddr") or os.environ.get("PGHOSTADDR")
    named = named or values.get("host") or os.environ.get("PGHOST") or "/"
    return all(_is_loopback(host) for host in named.split(","))


def _is_loopback(host: str) -> bool:
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_other_format(connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Raises CtxrankError where no log is here, or one of a newer program."""
    row = connection.execute("SELECT to_regclass('ctxrank.version')").fetchone()
    if row is None or row[0] is None:
        raise CtxrankError("This database holds no team's log.", "Its administrator makes one: 'ctxrank team init'.")
    found = connection.execute("SELECT number FROM ctxrank.version").fetchone()
    number = int(str(found[0])) if found else 0
    if number != FORMAT:
        newer = number > FORMAT
        raise CtxrankError(
            f"The log has format {number}; this program writes {FORMAT}.",
            "Upgrade this machine's ctxrank." if newer else "Its administrator upgrades it: 'ctxrank team init'.",
        )


@contextlib.contextmanager
def postgres_errors() -> Generator[None, None, None]:
    """Turn PostgreSQL's errors into ours."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise CtxrankError(f"The log refuses: {_said(error)}.", "Its administrator admits and expels.") from error
    except psycopg.errors.ProgramLimitExceeded as error:
        raise CtxrankError(f"The log takes no more: {_said(error)}.", "It goes on by itself tomorrow.") from error
    except psycopg.Error as error:
        raise CtxrankError(
            f"The team's log cannot be asked: {_said(error)}.", "What was written here waits for it."
        ) from error


def _said(error: "psycopg.Error") -> str:
    return (error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__).rstrip(".")


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
