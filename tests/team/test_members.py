"""What a member may do, also with a stolen role: speak for one store, and read what it is admitted to."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from builders import save
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.team import sync
from ctxrank.indexer.team.log import Pushed, connect, connection_values
from ctxrank.indexer.team.schema import prepare
from ctxrank.indexer.team.sealing import Register, Sealed, mark_of, seal, unseal

pytestmark = [pytest.mark.slow, pytest.mark.team]

TOKEN = "ghp_" + "q7VxW2mPz9tKd4RsB8nYc3LfH6jGa1Ue5ToA"  # of the form of a credential, and none


@pytest.fixture
def machines(node: Node, project: str, tmp_path: Path) -> Iterator[Sharing]:
    made = Sharing(node, project, tmp_path, "ab")
    yield made
    made.close()


def _sealed(project: str, register: Register, line: object, seq: int = 1) -> Pushed:
    one = seal(project, register, json.dumps(line).encode())
    return Pushed(register, seq, 5, False, one, mark_of(one.secret, b"said"))


def _reasoning(id_: int, content: str, **more: object) -> dict[str, object]:
    return {
        "record": "reasoning", "id": id_, "seq": 1, "session": "S", "project": "default", "agent": "developer",
        "phase": "decisions", "content": content, "created_at": "2026-11-01T10:00:00Z", **more,
    }  # fmt: skip


def _contents(machines: Sharing, name: str) -> list[str]:
    return [str(text) for (text,) in machines.stores[name].primary.execute("SELECT content FROM reasoning")]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO ctxrank.records (project, n, origin, kind, key, seq, ruleset, is_order, line, mark)"
        " VALUES (1, 1, gen_random_uuid(), 'package', '1', 1, 5, false, 'x', '0123456789abcdef')",
        "UPDATE ctxrank.records SET line = 'x'",
        "DELETE FROM ctxrank.records",
        "DELETE FROM ctxrank.record_keys",
        "UPDATE ctxrank.record_keys SET secret = '0123456789abcdef0123456789abcdef'",
        "SELECT * FROM ctxrank.record_keys_0",
        "TRUNCATE ctxrank.record_keys",
        "UPDATE ctxrank.projects SET n = 0",
        "UPDATE ctxrank.projects SET day_bytes = 1e15",
        "INSERT INTO ctxrank.members (project, role) SELECT id, session_user FROM ctxrank.projects",
        "UPDATE ctxrank.members SET forgotten = 1e15",
        "SELECT ctxrank.restored()",
        "SELECT ctxrank.my_membership('x')",
        "SELECT ctxrank.expel('x', session_user, true)",
        "SET ROLE ctxrank_log",
        "ALTER TABLE ctxrank.records DISABLE ROW LEVEL SECURITY",
        "CREATE FUNCTION ctxrank.my_projects(x int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SELECT pg_switch_wal()",
        "CHECKPOINT",
        "COPY (SELECT 1) TO PROGRAM 'true'",
    ],
)
def test_a_role_has_no_way_around_push(machines: Sharing, statement: str) -> None:
    with (
        psycopg.connect(machines.dsn("a"), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


def test_a_role_sees_nothing_of_projects_that_it_is_no_member_of(machines: Sharing, node: Node, tmp_path: Path) -> None:
    other = Sharing(node, f"{machines.project} of others", tmp_path / "others", "x")
    save(other.stores["x"], "plan.md", "a plan\n", summary="Plan")
    other.sync()
    with psycopg.connect(machines.dsn("a")) as connection:
        for table in ("projects", "members", "records", "record_keys"):
            key = (
                "name <> %s" if table == "projects" else "project <> (SELECT id FROM ctxrank.projects WHERE name = %s)"
            )
            query = f"SELECT count(*) FROM ctxrank.{table} WHERE {key}"
            assert connection.execute(query.encode(), (machines.project,)).fetchone() == (0,), table
    with pytest.raises(CtxrankError, match="no project"), connect(machines.dsn("a"), other.project) as log:
        log.head()
    with pytest.raises(CtxrankError, match="no member"), connect(machines.dsn("a"), other.project) as log:
        log.push([_sealed(other.project, Register("reasoning", "1", "x"), {})], [])
    other.close()


def test_a_role_speaks_for_one_store_and_no_other_member_can(machines: Sharing, node: Node) -> None:
    with machines.log("a") as log, pytest.raises(CtxrankError, match="speaks for another store"):
        log.join("00000000-0000-4000-8000-000000000000")
    prepare(node.dsn(), machines.project, [machines.role("thief")])
    of_a = sync.own_uuid(machines.stores["a"])
    with connect(machines.dsn("thief"), machines.project) as log:
        with pytest.raises(CtxrankError, match="another member speaks"):
            log.join(of_a)
        with pytest.raises(CtxrankError, match="has not joined"):
            log.push([_sealed(log.project, Register("reasoning", "1", of_a), _reasoning(1, "x"))], [])


def test_a_forged_origin_in_a_line_counts_for_nothing(machines: Sharing) -> None:
    of_a, of_b = (sync.own_uuid(machines.stores[name]) for name in "ab")
    save(machines.stores["b"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("reasoning", "7", of_a), _reasoning(7, "I am b", origin=of_b))], [])
        # One that was sealed for b's place does not open in a's.
        log.push([_sealed(log.project, Register("reasoning", "8", of_b), _reasoning(8, "I am b, too"))], [])
    (done,) = machines.sync("b")
    assert _contents(machines, "b") == ["I am b"]
    number = int(machines.stores["b"].primary.execute("SELECT id FROM reasoning").get)
    assert number < 0, "a record of another store"
    assert [row.reason for row in done.reports[0].skipped] == ["it was not sealed with its key"]


def test_a_line_that_is_not_what_its_register_says_is_skipped(machines: Sharing) -> None:
    of_a = sync.own_uuid(machines.stores["a"])
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("event", "7", of_a), _reasoning(7, "another kind"))], [])
    (done,) = machines.sync("b")
    assert [row.reason for row in done.reports[0].skipped] == ["it is not the record that it stands for"]


def test_secrets_that_a_member_pushes_are_redacted_where_they_come_in(machines: Sharing) -> None:
    of_a = sync.own_uuid(machines.stores["a"])
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("reasoning", "7", of_a), _reasoning(7, f"Log in with {TOKEN}."))], [])
    machines.sync("b")
    (content,) = _contents(machines, "b")
    assert TOKEN not in content and content.startswith("Log in with ")


def test_numbers_that_jump_hold_up_nobody(machines: Sharing) -> None:
    of_a = sync.own_uuid(machines.stores["a"])
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("reasoning", "7", of_a), _reasoning(7, "far"), (1 << 60) - 1)], [])
        with pytest.raises(CtxrankError):
            log.push([_sealed(log.project, Register("reasoning", "8", of_a), _reasoning(8, "farther"), 1 << 60)], [])
        log.report(1 << 50, 1 << 50)
        head = log.head()
        me = next(one for one in log.members(head.id) if one.origin == of_a)
        assert me.applied <= head.n and me.forgotten <= head.n
    save(machines.stores["b"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    assert machines.stores["a"].primary.execute("SELECT count(*) FROM packages").get == 1
    assert _contents(machines, "b") == ["far"]


def test_megabytes_are_bounded_by_line_by_day_and_when_they_unpack(machines: Sharing, node: Node) -> None:
    of_a = sync.own_uuid(machines.stores["a"])
    register = Register("reasoning", "7", of_a)
    sealed = Sealed(b"k" * 32, b"x" * (sync.MAX_SEALED_BYTES + 1))
    with machines.log("a") as log, pytest.raises(CtxrankError):
        log.push([Pushed(register, 1, 5, False, sealed, b"m" * 16)], [])
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("UPDATE ctxrank.projects SET day_bytes = 100000 WHERE name = %s", (machines.project,))
    with machines.log("a") as log:
        log.push([Pushed(register, 1, 5, False, Sealed(b"k" * 32, b"x" * 90_000), b"m" * 16)], [])
        with pytest.raises(CtxrankError, match="bytes of the day"):
            log.push([Pushed(register, 2, 5, False, Sealed(b"k" * 32, b"x" * 90_000), b"m" * 16)], [])
    (done,) = machines.sync("b")
    assert [row.reason for row in done.reports[0].skipped] == ["it was not sealed with its key"]
    bomb = seal(machines.project, register, b" " * (65 << 20))
    assert len(bomb.line) < 100_000
    with pytest.raises(ValueError, match="longer than 64 MiB"):
        unseal(machines.project, register, bomb)


def test_an_expelled_role_may_do_nothing_and_need_not_confirm(machines: Sharing, node: Node) -> None:
    save(machines.stores["a"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("SELECT ctxrank.expel(%s, %s, true)", (machines.project, machines.role("a")))
    with machines.log("a") as log, pytest.raises(CtxrankError, match="no project"):
        log.head()
    with machines.log("b") as log:
        assert log.erase()
        assert [one.role for one in log.members(log.head().id)] == [machines.role("b")]
        lines = log.lines(log.head().id, 0, sync.own_uuid(machines.stores["b"]))
    assert lines and all(line.secret is None for line in lines), "the keys of what it wrote are gone"


@pytest.mark.parametrize(
    "dsn",
    [
        "host=log.example sslmode=require", "host=log.example sslmode=disable",
        "host=127.0.0.1,log.example sslmode=prefer",
        "postgresql://anna@log.example/team?sslmode=allow", "hostaddr=192.0.2.7 host=localhost sslmode=verify-ca",
        "service=team sslmode=require",
    ],
)  # fmt: skip
def test_off_this_machine_only_tls_that_names_the_server_is_spoken(dsn: str) -> None:
    with pytest.raises(UsageError, match="does not prove"):
        connection_values(dsn)


def test_off_this_machine_tls_is_verified_also_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "disable")
    values = connection_values("host=log.example user=anna")
    assert (values["sslmode"], values["gssencmode"]) == ("verify-full", "disable")
    assert "sslmode" not in connection_values("host=127.0.0.1 user=anna")
    monkeypatch.setenv("PGHOST", "log.example")
    assert connection_values("user=anna")["sslmode"] == "verify-full"
