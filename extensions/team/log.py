"""The border to PostgreSQL: how the log is connected to, what it is asked, and its errors as ours.

    with connect("host=log.example user=anna", "shop") as log:
        log.head()                                   Head(n=812, …)

Off this machine only TLS that names the server is spoken. What a role may do is decided in log_001.sql, log_002.sql …
"""

import contextlib
import ipaddress
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence

from ctxrank.extensions.team.sealing import Register
from ctxrank.indexer.deadline import ENDLESS, Deadline
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, LiteralString, TypeVar

    from psycopg.abc import PQGen

    Result = TypeVar("Result")

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ModuleNotFoundError as error:  # pragma: no cover  (the tests have it)
    raise UsageError("A team's log needs the extra team.", "Install it: pip install 'ctxrank[team]'") from error

FORMAT = 3  # the last of log_001.sql, log_002.sql …
CONNECT_S, STATEMENT_S = 5, 120
_SILENCE_S = STATEMENT_S + CONNECT_S  # a server that is there has ended a statement by then
_STEP_S = 0.1
# Of each session: a server that holds a lock, or is gone, is not waited for. A role's own are in schema.py.
_SESSION = f"-c statement_timeout={STATEMENT_S}s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
_NETWORK = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "25000"}
PULL_ROWS, PULL_BYTES = 2000, 32 * 1024 * 1024


class Head(NamedTuple):
    """The last change of a project, which history of the log its number is of, and whether the role may write."""

    id: int
    n: int
    history: str
    may_write: bool


class Member(NamedTuple):
    """One machine of a project: how many orders to forget it has not carried out, and when it was seen last."""

    machine: str  # its role
    is_this: bool
    orders: int
    seen_at: str | None


class LogLine(NamedTuple):
    """A register of the log in its latest state; without a secret it is forgotten. `size` is what it unpacks to."""

    n: int
    register: Register
    line: bytes
    secret: bytes | None
    size: int


class Pushed(NamedTuple):
    """A line on its way into the log, as push() takes its columns."""

    kind: str
    key: str
    seq: int
    ruleset: int
    is_order: bool
    line: bytes  # sealed with the secret
    secret: bytes
    mark: bytes
    size: int  # of the line before it was sealed


class TeamLog:
    """An open connection to one project of a log."""

    def __init__(self, connection: "psycopg.Connection[tuple[Any, ...]]", project: str) -> None:
        self.project = project
        self._connection = connection

    def head(self) -> Head:
        """The last change. Raises CtxrankError where the role is no member of the project."""
        query = """
            SELECT id, n, history::text, (
                SELECT may_write FROM ctxrank.members WHERE project = p.id AND role = session_user)
              FROM ctxrank.projects AS p WHERE name = %s
        """
        rows = self._rows(query, (self.project,))
        if not rows:
            raise CtxrankError(
                f"The log has no project '{self.project}' for the role {self._connection.info.user}.",
                "Its administrator admits a role with 'ctxrank team init PROJECT --machine ROLE'.",
            )
        return Head(*rows[0])

    def join(self, store: str, code: str) -> None:
        """Say which store the role speaks for; the first time with the code that `team init` printed."""
        self._rows("SELECT ctxrank.join_project(%s, %s, %s)", (self.project, store, code))

    def leave(self) -> None:
        """Take no part any more."""
        self._rows("SELECT ctxrank.leave_project(%s)", (self.project,))

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
        rows = self._rows(query, (*_columns(registers, Register), project_id))
        return {Register(*register): (secret, mark) for *register, secret, mark in rows}

    def push(self, lines: Sequence[Pushed], gone: Sequence[Register]) -> int:
        """Write lines, and delete the keys of what they order to forget; returns the number of the last change."""
        query = "SELECT ctxrank.push(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::uuid[])"
        values = (self.project, *_columns(lines, Pushed), *_columns(gone, Register))
        return int(self._rows(query, values)[0][0] or 0)

    def lines(self, project_id: int, after: int, without: str) -> list[LogLine]:
        """The next lines of other stores, in the order of their numbers; no more than a portion."""
        query = """
            SELECT r.n, r.size, r.kind, r.key, r.origin::text, r.line, (
                SELECT k.secret FROM ctxrank.record_keys AS k
                 WHERE (k.project, k.kind, k.key, k.origin) = (%(project)s, r.kind, r.key, r.origin))
              FROM (SELECT p.*, sum(octet_length(p.line)) OVER (ORDER BY p.n) AS reached
                      FROM (SELECT n, size, kind, key, origin, line FROM ctxrank.records
                             WHERE project = %(project)s AND n > %(after)s AND origin <> %(without)s
                             ORDER BY n LIMIT %(rows)s) AS p) AS r
             WHERE r.reached - octet_length(r.line) < %(bytes)s ORDER BY r.n
        """  # the key as a subquery: a join would read all keys for a portion while the table has no statistics
        values = {"project": project_id, "after": after, "without": without, "rows": PULL_ROWS, "bytes": PULL_BYTES}
        return [_log_line(row) for row in self._rows(query, values, binary=True)]

    def keys(self, project_id: int, until: int) -> Iterator[LogLine]:
        """All lines up to a number, in order, each with its digest as its line: what a snapshot is checked against."""
        query = """
            SELECT r.n, r.size, r.kind, r.key, r.origin::text, r.digest, (
                SELECT k.secret FROM ctxrank.record_keys AS k
                 WHERE (k.project, k.kind, k.key, k.origin) = (r.project, r.kind, r.key, r.origin))
              FROM ctxrank.records AS r
             WHERE r.project = %s AND r.n > %s AND r.n <= %s ORDER BY r.n LIMIT %s
        """  # a statement for each portion: a transaction that is held while they are brought in would hold up erasing
        after = 0
        while rows := self._rows(query, (project_id, after, until, PULL_ROWS), binary=True):
            yield from map(_log_line, rows)
            after = rows[-1][0]

    def report(self, applied: int, forgotten: int) -> None:
        """Say how far this machine is: what is here, and which orders are carried out; below 0 takes that back."""
        self._rows("SELECT ctxrank.report(%s, %s, %s)", (self.project, applied, forgotten))

    def erase(self) -> bool:
        """Erase what is left of forgotten keys; False where others hold them, or the write-ahead log keeps them."""
        is_rewritten = self._rows("SELECT ctxrank.erase_keys()")[0][0] >= 0
        if not is_rewritten and self._end_holders():
            is_rewritten = self._rows("SELECT ctxrank.erase_keys()")[0][0] >= 0
        return bool(self._rows("SELECT ctxrank.erase_wal()")[0][0]) and is_rewritten

    def members(self, project_id: int, own: str) -> list[Member]:
        """The machines that take part, by name; `own` is the store of this one."""
        query = """
            SELECT role::text, origin = %s, (
                SELECT count(*) FROM ctxrank.records AS r
                 WHERE r.project = m.project AND r.is_order AND r.n > m.forgotten),
                   to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
              FROM ctxrank.members AS m
             WHERE project = %s AND left_at IS NULL AND origin IS NOT NULL ORDER BY role
        """
        return [Member(*row) for row in self._rows(query, (own, project_id))]

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

    def _rows(
        self, query: "LiteralString", values: Sequence[object] | Mapping[str, object] = (), *, binary: bool = False
    ) -> "list[tuple[Any, ...]]":
        with postgres_errors():
            try:
                return self._connection.execute(query, values, binary=binary).fetchall()
            except psycopg.errors.LockNotAvailable:
                if not self._end_holders():
                    raise
                return self._connection.execute(query, values, binary=binary).fetchall()

    def _end_holders(self) -> int:
        """End what members hold for longer than a statement may take; how many sessions that were."""
        row = self._connection.execute("SELECT ctxrank.end_holders()").fetchone()
        return int(row[0]) if row else 0


def _columns(rows: Sequence[tuple[object, ...]], kind: "type[Pushed | Register]") -> list[list[object]]:
    """The same by columns, as arrays of a query; each is empty where there is no row."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in kind._fields]


def _log_line(row: "tuple[Any, ...]") -> LogLine:
    n, size, kind, key, origin, line, secret = row
    return LogLine(n, Register(kind, key, origin), line, secret, size)


class _LogConnection(psycopg.Connection["tuple[Any, ...]"]):
    """One that does not wait for a server for ever; with a deadline, until that at most."""

    deadline = ENDLESS

    def wait(self, gen: "PQGen[Result]", interval: float = _STEP_S, timeout: float | None = None) -> "Result":
        """Let a statement run, as psycopg does. Raises OperationalError when the time is over."""
        most_s = min(self.deadline.left_s, _SILENCE_S)
        begun = time.monotonic()
        try:
            bounded = self._bounded(gen, begun + most_s)
            return super().wait(bounded, interval) if timeout is None else super().wait(bounded, interval, timeout)
        finally:
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
def connect(dsn: str, project: str, deadline: Deadline = ENDLESS) -> Generator[TeamLog, None, None]:
    """A connection to the log. Raises UsageError for a DSN that is none or that is not safe, CtxrankError."""
    with postgres_errors(), opened(dsn, deadline) as connection:
        number = format_of(connection)
        if not number:
            raise CtxrankError("This database holds no team's log.", "Its administrator makes it: 'ctxrank team init'.")
        if number != FORMAT:
            older = "Its administrator upgrades it: 'ctxrank team init'."
            hint = "Upgrade this machine's ctxrank." if number > FORMAT else older
            raise CtxrankError(f"The log has format {number}; this program writes {FORMAT}.", hint)
        yield TeamLog(connection, project)


@contextlib.contextmanager
def opened(dsn: str, deadline: Deadline = ENDLESS) -> Generator["psycopg.Connection[tuple[Any, ...]]", None, None]:
    """A connection that writes, of two nodes to the one that is the primary; each statement is a transaction."""
    values = connection_values(dsn)

    def connected() -> _LogConnection:
        return _LogConnection.connect(make_conninfo(**values), autocommit=True)

    try:
        made = deadline.ask(connected, _SILENCE_S)
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
    named = values.get("hostaddr") or os.environ.get("PGHOSTADDR") or values.get("host") or os.environ.get("PGHOST")
    is_here = all(map(_is_loopback, (named or "/").split(",")))
    if not is_here or "service" in values or os.environ.get("PGSERVICE"):  # what a service file says is not looked into
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
    values["options"] = f"{values.get('options', '')} {_SESSION}".strip()
    return {**_NETWORK, **values}


def _is_loopback(host: str) -> bool:
    """Whether a host is a socket or a loopback address."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def format_of(connection: "psycopg.Connection[tuple[Any, ...]]") -> int:
    """The format of the log that is here; 0 for none."""
    row = connection.execute("SELECT to_regclass('ctxrank.version')").fetchone()
    found = connection.execute("SELECT number FROM ctxrank.version").fetchone() if row and row[0] else None
    return int(found[0]) if found else 0


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
    text = str(error).partition("\n\t")[0]  # without what libpq asks its user below a failure
    return (error.diag.message_primary or " ".join(text.split()) or type(error).__name__).rstrip(".")
