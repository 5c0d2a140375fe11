"""What the log's server bounds, whatever a member's session says: days, sizes, locks, rights, joining."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from builders import make_store, save
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.extensions.team import sync
from ctxrank.extensions.team.log import connect, connection_values
from ctxrank.extensions.team.schema import prepare
from ctxrank.extensions.team.sealing import Register, seal, unseal
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.store.ids import own_uuid

pytestmark = [pytest.mark.slow, pytest.mark.team]

PUSH = "SELECT ctxrank.push(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '{}', '{}', '{}')"
NO_LIMITS = "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0"


def _push(
    connection: "psycopg.Connection[Any]", project: str, seq: int, *lines: bytes, size: int | None = None
) -> None:
    """A member's own push: lines `1`, `2` …, each said to unpack to so many bytes."""
    count = len(lines)
    values = (
        project, ["reasoning"] * count, [str(n + 1) for n in range(count)], [seq] * count, [5] * count,
        [False] * count, list(lines), [b"k" * 32] * count, [b"m" * 16] * count,
        [len(line) if size is None else size for line in lines],
    )  # fmt: skip
    connection.execute(PUSH, values)


def _bound_day(machines: Sharing, size: int) -> None:
    with psycopg.connect(machines.dsn_of("postgres")) as connection:
        connection.execute("UPDATE ctxrank.projects SET day_bytes = %s WHERE name = %s", (size, machines.project))


def test_the_day_is_the_servers_in_any_time_zone(machines: Sharing) -> None:
    _bound_day(machines, 100_000)
    with psycopg.connect(machines.dsn("a"), autocommit=True) as connection:
        _push(connection, machines.project, 1, b"x" * 90_000)
        for seq, zone in enumerate(("Etc/GMT+12", "Pacific/Kiritimati") * 5, start=2):
            connection.execute(f"SET TimeZone = '{zone}'".encode())
            with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="bytes of the day"):
                _push(connection, machines.project, seq, b"x" * 90_000)


@pytest.mark.parametrize(("line", "size"), [(b"", 0), (b"x", 8 << 20)])
def test_a_row_and_what_it_unpacks_to_count_for_the_day(machines: Sharing, line: bytes, size: int) -> None:
    _bound_day(machines, 3_000_000)
    with psycopg.connect(machines.dsn("a"), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            for seq in range(1, 10):
                _push(connection, machines.project, seq, *[line] * (1000 if not size else 1), size=size)
        count = connection.execute("SELECT count(*) FROM ctxrank.records").fetchone()
    assert count is not None and count[0] <= 5000


def test_a_line_that_unpacks_to_more_than_it_says_is_refused(machines: Sharing) -> None:
    register = Register("reasoning", "7", "x")
    whole = seal("p", register, b" " * 1000)
    assert whole.size == 1000 and len(unseal("p", register, whole)) == 1000
    with pytest.raises(ValueError, match="longer than 999 bytes"):
        unseal("p", register, whole._replace(size=999))
    with psycopg.connect(machines.dsn("a"), autocommit=True) as connection:
        for size in (-1, (8 << 20) + 1):
            with pytest.raises(psycopg.errors.CheckViolation):
                _push(connection, machines.project, 1, b"x", size=size)


@pytest.mark.parametrize("held", ["push", "erase_keys", "SELECT"])
def test_a_held_transaction_holds_nobody_up_for_long(machines: Sharing, held: str) -> None:
    save(machines.stores["b"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    save(machines.stores["b"], "late.md", "late\n", summary="Late")
    with psycopg.connect(machines.dsn("a")) as hostile:
        hostile.execute(NO_LIMITS)
        _push(hostile, machines.project, 1, b"x")
        _push(hostile, machines.project, 2, b"y")
        if held != "push":
            hostile.commit()
            hostile.execute("SELECT ctxrank.erase_keys()" if held == "erase_keys" else "TABLE ctxrank.record_keys")
        begun = time.monotonic()
        with machines.log("b") as log:
            if held == "SELECT":
                assert sync.synchronize(machines.stores["b"], log).pushed and not log.erase()
            else:
                with pytest.raises(CtxrankError, match="lock timeout"):
                    sync.synchronize(machines.stores["b"], log)
        assert time.monotonic() - begun < 15
        with psycopg.connect(machines.dsn_of("postgres")) as administrator:
            administrator.execute("SELECT ctxrank.expel(%s, %s, false)", (machines.project, machines.role("a")))
        machines.sync("b")
        with machines.log("b") as log:
            assert log.erase()
        hostile.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TEMP TABLE filling AS SELECT generate_series(1, 10)",
        "SELECT lo_from_bytea(0, 'x')",
        "SELECT lo_create(0)",
        "SELECT lo_creat(-1)",
        "SET temp_file_limit = -1",
        "CREATE TABLE public.filling (x int)",
        "TABLE ctxrank.join_codes",
        "SELECT ctxrank.admit('p', session_user, true, 'x', NULL)",
        "INSERT INTO ctxrank.unerased VALUES ('records')",
    ],
)
def test_a_member_fills_nothing_but_the_log_and_admits_nobody(refuse: Callable[[str], None], statement: str) -> None:
    refuse(statement)


def test_a_role_that_is_no_member_may_do_nothing(machines: Sharing, node: Node) -> None:
    with psycopg.connect(node.dsn(), autocommit=True) as connection:
        connection.execute(f'CREATE ROLE "other_{machines.role("x")}" LOGIN'.encode())
    with psycopg.connect(node.dsn(f"other_{machines.role('x')}"), autocommit=True) as connection:
        for call in ("erase_keys()", "erase_wal()", "my_projects()", "leave_project('p')", "report('p', 1, 1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT ctxrank.{call}".encode())


def test_a_reader_reads_and_confirms_and_says_what_stays(machines: Sharing, node: Node, tmp_path: Path) -> None:
    role = machines.role("reader")
    made = prepare(node.dsn(), machines.project, [f"{role}=reader"])
    assert made.admitted == (role,)
    save(machines.stores["a"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    with make_store(tmp_path / "reader") as store, connect(machines.dsn("reader"), machines.project) as log:
        sync.join(store, log, made.codes[role])
        save(store, "own.md", "own\n", summary="Own")
        done = sync.synchronize(store, log)
        assert (done.pushed, done.pulled > 0) == (0, True) and "does not write" in done.notes[0]
        with pytest.raises(CtxrankError, match="does not write"):
            sync.push(store, log)
        assert store.primary.execute("SELECT count(*) FROM packages").get == 2
        with psycopg.connect(machines.dsn("reader")) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            _push(connection, machines.project, 1, b"x")
        prepare(node.dsn(), machines.project, [role])
        assert sync.synchronize(store, log).pushed > 0, "a writer by now: what waited is pushed"


def test_a_role_joins_once_with_its_latest_code_within_a_day(machines: Sharing, node: Node, project: str) -> None:
    role, own = machines.role("late"), "00000000-0000-4000-8000-00000000000a"
    first = prepare(node.dsn(), project, [role]).codes[role]
    with connect(machines.dsn("late"), project) as log:
        for code in ("", "x", prepare(node.dsn(), project, [machines.role("other")]).codes[machines.role("other")]):
            with pytest.raises(CtxrankError, match="no code that admits"):
                log.join(own, code)
        second = prepare(node.dsn(), project, [role]).codes[role]
        with pytest.raises(CtxrankError, match="no code that admits"):
            log.join(own, first)
        with psycopg.connect(node.dsn()) as connection:
            connection.execute("UPDATE ctxrank.join_codes SET until = until - interval '24 hours'")
        with pytest.raises(CtxrankError, match="older than a day"):
            log.join(own, second)
        log.join(own, prepare(node.dsn(), project, [role]).codes[role])
        log.join(own, "")
        assert not prepare(node.dsn(), project, [role]).codes


def test_a_store_that_a_member_of_another_project_speaks_for_is_not_claimed(machines: Sharing, node: Node) -> None:
    role, of_a = machines.role("thief"), own_uuid(machines.stores["a"].primary)
    other = f"{machines.project} of thieves"
    code = prepare(node.dsn(), other, [role]).codes[role]
    with connect(machines.dsn("thief"), other) as log, pytest.raises(CtxrankError, match="another member speaks"):
        log.join(of_a, code)


def test_roles_have_timeouts_and_few_connections(machines: Sharing) -> None:
    with psycopg.connect(machines.dsn("a")) as connection:
        shown = [
            str((connection.execute(f"SHOW {name}".encode()).fetchone() or ("",))[0])
            for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "temp_file_limit")
        ]
        limit = connection.execute("SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user").fetchone()
    assert shown == ["2min", "10s", "1min", "256MB"] and limit == (10,)


def test_a_connection_notices_a_server_that_is_gone() -> None:
    values = connection_values("host=127.0.0.1 user=anna keepalives_idle=77")
    assert values["keepalives_idle"] == "77" and int(values["tcp_user_timeout"]) <= 30_000
    assert "lock_timeout=10s" in values["options"]


def test_a_code_for_a_store_admits_no_other(machines: Sharing, node: Node, project: str) -> None:
    role, own, other = machines.role("late"), *(f"00000000-0000-4000-8000-00000000000{n}" for n in "de")
    code = prepare(node.dsn(), project, [f"{role}=reader={own}"]).codes[role]
    with connect(machines.dsn("late"), project) as log:
        with pytest.raises(CtxrankError, match=f"no code that admits this role with the store {other}"):
            log.join(other, code)
        log.join(own, code)
        assert not log.head().may_write
    for wrong in ("=x", f"{role}=x", f"{role}={own}={other}", f"{role}={own}=reader"):
        with pytest.raises(UsageError, match="admits nobody"):
            prepare(node.dsn(), project, [wrong])


def test_a_held_advisory_lock_stops_no_administrator(machines: Sharing, node: Node, project: str) -> None:
    with psycopg.connect(machines.dsn("a")) as hostile:
        hostile.execute("SELECT pg_advisory_lock(hashtext('ctxrank'))")
        hostile.execute("LOCK TABLE ctxrank.version IN ACCESS SHARE MODE")
        assert not prepare(node.dsn(), project, []).is_new


@pytest.mark.parametrize("held", ["push", "erase_keys", "SELECT"])
def test_who_holds_a_lock_for_longer_than_a_statement_takes_is_ended_and_may_not_retake_it(
    machines: Sharing, node: Node, held: str
) -> None:
    save(machines.stores["b"], "late.md", "late\n", summary="Late")
    statement = {"push": "", "erase_keys": "SELECT ctxrank.erase_keys()", "SELECT": "TABLE ctxrank.record_keys"}[held]
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("INSERT INTO ctxrank.unerased VALUES ('record_keys_0') ON CONFLICT DO NOTHING")
        query = "CREATE OR REPLACE FUNCTION ctxrank.longest_transaction() RETURNS interval LANGUAGE sql AS {}"
        connection.execute(query.format("$$ SELECT interval '1 second' $$").encode())
    try:
        with contextlib.ExitStack() as hostile:
            for number in range(3):  # one holds it, the others wait to
                one = psycopg.connect(machines.dsn("a"))
                hostile.callback(one.close)
                one.execute(NO_LIMITS)
                one.execute("SELECT 1 FROM ctxrank.records LIMIT 1")
                if statement:
                    with contextlib.suppress(psycopg.errors.LockNotAvailable):
                        one.execute(statement.encode())
                elif number == 0:
                    _push(one, machines.project, 1, b"x")
            time.sleep(1.2)
            with machines.log("b") as log:
                assert sync.synchronize(machines.stores["b"], log).pushed and log.erase()
        with psycopg.connect(machines.dsn("a"), autocommit=True) as again:
            if held == "SELECT":
                _push(again, machines.project, 2, b"y")
                return
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may write again in an hour"):
                _push(again, machines.project, 2, b"y")
            assert again.execute("SELECT ctxrank.erase_keys()").fetchone() == (-1,)
    finally:
        with psycopg.connect(node.dsn()) as connection:
            connection.execute(query.format("$$ SELECT interval '130 seconds' $$").encode())


# Its words: what is no value, breaks a rule, is too much, twice the same, not allowed; and what psycopg does not send.
_REFUSALS = (
    psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded, psycopg.errors.CardinalityViolation,
    psycopg.errors.InsufficientPrivilege, UnicodeEncodeError,
)  # fmt: skip
_ARRAYS = {
    "kinds": st.text(max_size=50), "keys": st.text(max_size=130), "seqs": st.integers(-(2**63), 2**63 - 1),
    "rulesets": st.integers(-(2**31), 2**31 - 1), "orders": st.booleans(), "lines": st.binary(max_size=40),
    "secrets": st.binary(min_size=30, max_size=33), "marks": st.binary(min_size=15, max_size=17),
    "sizes": st.integers(-(2**31), 2**31 - 1), "gone_kinds": st.text(max_size=50), "gone_keys": st.text(max_size=130),
    "gone_of": st.uuids().map(str),
}  # fmt: skip


def _few(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | st.lists(st.none() | values, max_size=3)


def test_whatever_is_given_to_push_is_refused_in_words_or_written_as_its_own(machines: Sharing) -> None:
    of_a, of_b = (own_uuid(machines.stores[name].primary) for name in "ab")
    query = f"SELECT ctxrank.push(%s{', %s' * 11}, %s::uuid[])".encode()
    with psycopg.connect(machines.dsn("a"), autocommit=True) as connection:

        @settings(max_examples=150, deadline=None)
        @given(st.tuples(*map(_few, _ARRAYS.values())), st.booleans())
        def pushed(arrays: tuple[Any, ...], is_own: bool) -> None:
            with contextlib.suppress(*_REFUSALS):
                connection.execute(query, (machines.project if is_own else "other", *arrays))

        pushed()
        origins = connection.execute("SELECT DISTINCT origin::text FROM ctxrank.records").fetchall()
    assert {origin for (origin,) in origins} <= {of_a, of_b}
    save(machines.stores["b"], "plan.md", "plan\n", summary="Plan")
    (done,) = machines.sync("b")
    assert done.pushed and machines.stores["b"].primary.execute("SELECT count(*) FROM packages").get == 1
