"""What a member may do, also with a stolen role: speak for one store, and read what it is admitted to."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from builders import save
from postgres_nodes import Node
from sharing import Sharing

from ctxrank.extensions.team import schema, sync
from ctxrank.extensions.team.log import Pushed, connect, connection_values
from ctxrank.extensions.team.schema import prepare
from ctxrank.extensions.team.sealing import Register, Sealed, mark_of, seal, unseal
from ctxrank.indexer.bounds import MAX_RECORD_BYTES
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.redaction.purged_secrets import hash_bucket, secret_digest
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import own_uuid

pytestmark = [pytest.mark.slow, pytest.mark.team]

TOKEN = "ghp_" + "q7VxW2mPz9tKd4RsB8nYc3LfH6jGa1Ue5ToA"  # of the form of a credential, and none


def _sealed(project: str, register: Register, line: object, seq: int = 1) -> Pushed:
    one = seal(project, register, json.dumps(line).encode())
    mark = mark_of(one.secret, b"said")
    return Pushed(register.kind, register.key, seq, 5, False, one.line, one.secret, mark, one.size)


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
def test_a_role_has_no_way_around_push(refuse: Callable[[str], None], statement: str) -> None:
    refuse(statement)


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
        log.join("00000000-0000-4000-8000-000000000000", "")
    role = machines.role("thief")
    made = prepare(node.dsn(), machines.project, [role])
    of_a = own_uuid(machines.stores["a"].primary)
    with connect(machines.dsn("thief"), machines.project) as log:
        with pytest.raises(CtxrankError, match="another member speaks"):
            log.join(of_a, made.codes[role])
        with pytest.raises(CtxrankError, match="has not joined"):
            log.push([_sealed(log.project, Register("reasoning", "1", of_a), _reasoning(1, "x"))], [])


def test_a_store_that_shares_a_project_takes_no_part_in_another(machines: Sharing, node: Node) -> None:
    """The other log would wait for ever for what a store confirms that never asks it."""
    other = f"{machines.project} of others"
    made = prepare(node.dsn(), other, [machines.role("a")])
    with connect(machines.dsn("a"), other) as log:
        with pytest.raises(CtxrankError, match="already"):
            sync.join(machines.stores["a"], log, made.codes[machines.role("a")])
        assert not log.members(log.head().id, own_uuid(machines.stores["a"].primary))


def test_a_forged_origin_in_a_line_counts_for_nothing(machines: Sharing) -> None:
    of_a, of_b = (own_uuid(machines.stores[name].primary) for name in "ab")
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
    of_a = own_uuid(machines.stores["a"].primary)
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("event", "7", of_a), _reasoning(7, "another kind"))], [])
    (done,) = machines.sync("b")
    assert [row.reason for row in done.reports[0].skipped] == ["it is not the record that it stands for"]


def test_secrets_that_a_member_pushes_are_redacted_where_they_come_in(machines: Sharing) -> None:
    of_a = own_uuid(machines.stores["a"].primary)
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("reasoning", "7", of_a), _reasoning(7, f"Log in with {TOKEN}."))], [])
    machines.sync("b")
    (content,) = _contents(machines, "b")
    assert TOKEN not in content and content.startswith("Log in with ")


def test_numbers_that_jump_hold_up_nobody(machines: Sharing, node: Node) -> None:
    of_a = own_uuid(machines.stores["a"].primary)
    with machines.log("a") as log:
        log.push([_sealed(log.project, Register("reasoning", "7", of_a), _reasoning(7, "far"), (1 << 60) - 1)], [])
        with pytest.raises(CtxrankError):
            log.push([_sealed(log.project, Register("reasoning", "8", of_a), _reasoning(8, "farther"), 1 << 60)], [])
        log.report(1 << 50, 1 << 50)
        head = log.head()
    with psycopg.connect(node.dsn()) as connection:
        query = "SELECT greatest(applied, forgotten) FROM ctxrank.members WHERE origin = %s"
        assert [number <= head.n for (number,) in connection.execute(query, (of_a,))] == [True]
    save(machines.stores["b"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    assert machines.stores["a"].primary.execute("SELECT count(*) FROM packages").get == 1
    assert _contents(machines, "b") == ["far"]


def test_megabytes_are_bounded_by_line_by_day_and_when_they_unpack(machines: Sharing, node: Node) -> None:
    of_a = own_uuid(machines.stores["a"].primary)
    register = Register("reasoning", "7", of_a)
    secret, mark = b"k" * 32, b"m" * 16
    with machines.log("a") as log, pytest.raises(CtxrankError):
        log.push([Pushed("reasoning", "7", 1, 5, False, b"x" * (MAX_RECORD_BYTES + 1), secret, mark, 7)], [])
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("UPDATE ctxrank.projects SET day_bytes = 100000 WHERE name = %s", (machines.project,))
    with machines.log("a") as log:
        log.push([Pushed("reasoning", "7", 1, 5, False, b"x" * 90_000, secret, mark, 90_000)], [])
        with pytest.raises(CtxrankError, match="bytes of the day"):
            log.push([Pushed("reasoning", "7", 2, 5, False, b"x" * 90_000, secret, mark, 90_000)], [])
    (done,) = machines.sync("b")
    assert [row.reason for row in done.reports[0].skipped] == ["it was not sealed with its key"]
    whole = seal(machines.project, register, b" " * MAX_RECORD_BYTES)
    assert len(unseal(machines.project, register, whole)) == MAX_RECORD_BYTES
    bomb = seal(machines.project, register, b" " * (MAX_RECORD_BYTES + 1))
    assert len(bomb.line) < 10_000
    with pytest.raises(ValueError, match="longer than 8388608 bytes"):
        unseal(machines.project, register, bomb)


def test_a_portion_of_lines_is_unpacked_one_by_one(machines: Sharing) -> None:
    of_a, junk = own_uuid(machines.stores["a"].primary), "x" * (7 << 20)
    with machines.log("a") as log:
        lines = [_sealed(log.project, Register("reasoning", str(n), of_a), _reasoning(n, f"{n}", junk=junk)) for n in
                 range(1, 41)]  # fmt: skip
        assert sum(len(line.line) for line in lines) < 1_000_000, "of 280 MiB"
        log.push(lines, [])
    tracemalloc.start()
    machines.sync("b")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(_contents(machines, "b")) == 40 and peak < 80 << 20


def test_what_of_a_portion_came_in_is_not_pulled_again(machines: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    of_a, junk = own_uuid(machines.stores["a"].primary), "x" * (5 << 20)
    with machines.log("a") as log:
        registers = [Register("reasoning", str(n), of_a) for n in range(1, 4)]
        log.push([_sealed(log.project, one, _reasoning(int(one.key), one.key, junk=junk)) for one in registers], [])
    unsealed: list[str] = []

    def killed_at_the_third(project: str, register: Register, sealed: Sealed) -> bytes:
        unsealed.append(register.key)
        if unsealed == ["1", "2", "3"]:
            raise KeyboardInterrupt
        return unseal(project, register, sealed)

    monkeypatch.setattr(sync, "unseal", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        machines.sync("b")
    machines.sync("b")
    assert unsealed == ["1", "2", "3", "3"] and sorted(_contents(machines, "b")) == ["1", "2", "3"]


def _key_count(machines: Sharing, origin: str) -> int:
    with psycopg.connect(machines.dsn_of("postgres")) as connection:
        query = "SELECT count(*) FROM ctxrank.record_keys WHERE origin = %s"
        row = connection.execute(query, (origin,)).fetchone()
    return int(row[0]) if row else 0


def _order(project: str, of: Register, by: str) -> Pushed:
    register = Register(f"removed {of.kind}", f"{of.key}@{of.origin}", by)
    line = {"record": "removed", "kind": of.kind, "id": int(of.key), "of": of.origin, "seq": 1}
    return _sealed(project, register, line)._replace(is_order=True)


def test_a_push_without_its_order_deletes_no_key(machines: Sharing) -> None:
    of_a, of_b = (own_uuid(machines.stores[name].primary) for name in "ab")
    save(machines.stores["b"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    package, before = Register("package", "1", of_b), _key_count(machines, of_b)
    with machines.log("a") as log:
        log.push([], [package])
        order = _order(log.project, package, of_a)
        log.push([order._replace(is_order=False)], [package])
        assert _key_count(machines, of_b) == before > 0
        log.push([order._replace(seq=2)], [package])
    assert _key_count(machines, of_b) == before - 1


def test_the_key_of_an_order_is_not_deleted(machines: Sharing) -> None:
    of_a, of_b = (own_uuid(machines.stores[name].primary) for name in "ab")
    forget_secrets(machines.stores["b"], ["Kq7vXw2mPz9t"], load_config(machines.stores["b"]).redaction_mode)
    machines.sync("b")
    with psycopg.connect(machines.dsn("a")) as connection:
        query = "SELECT kind, key FROM ctxrank.records WHERE origin = %s AND is_order"
        kind, key = connection.execute(query, (of_b,)).fetchone() or ("", "")
    with machines.log("a") as log:
        order = _sealed(log.project, Register(f"removed {kind}", f"{key}@{of_b}", of_a), {})._replace(is_order=True)
        log.push([order], [Register(kind, key, of_b)])
    assert kind == "forget secret" and _key_count(machines, of_b) == 1


def test_lost_keys_come_back_after_a_restore_and_those_of_what_is_forgotten_do_not(
    machines: Sharing, tmp_path: Path
) -> None:
    for number in (1, 2):
        save(machines.stores["b"], f"{number}.md", f"plan {number}\n", summary="Plan")
    machines.settle()
    of_a, of_b = (own_uuid(machines.stores[name].primary) for name in "ab")
    with machines.log("a") as log:
        log.push([_order(log.project, Register("package", "1", of_b), of_a)], [Register("package", "1", of_b)])
    with psycopg.connect(machines.dsn_of("postgres")) as connection:
        connection.execute("DELETE FROM ctxrank.record_keys WHERE origin = %s", (of_b,))
        connection.execute("SELECT ctxrank.restored()")
    with machines.log("b") as log:
        sync.push(machines.stores["b"], log)  # before it has heard of the order
        lines = {line.register: line.secret for line in log.lines(log.head().id, 0, of_a)}
    assert [register for register, secret in lines.items() if secret is None] == [Register("package", "1", of_b)]
    machines.settle()
    machines.add("new", tmp_path)
    machines.settle()
    for store in machines.stores.values():
        assert store.primary.execute("SELECT path FROM packages").fetchall() == [("2.md",)]


def test_an_order_for_one_letter_is_refused_by_who_pulls_it(machines: Sharing) -> None:
    of_a = own_uuid(machines.stores["a"].primary)
    save(machines.stores["b"], "plan.md", "The heron sees the eggs.\n", summary="Eggs")
    line = {
        "record": "forget", "kind": "secret", "seq": 1, "digest": secret_digest(of_a, "e"),
        "prefilter": f"1 {hash_bucket(of_a, 'e')}", "key": of_a,
    }  # fmt: skip
    with machines.log("a") as log:
        order = _sealed(log.project, Register("forget secret", str(line["digest"]), of_a), line)
        log.push([order._replace(is_order=True)], [])
    (done,) = machines.sync("b")
    assert [row.reason for row in done.reports[0].skipped] == ["it orders to forget what has not 8 to 10000 characters"]
    query = "SELECT body FROM documents WHERE kind = 'passage'"
    assert machines.stores["b"].primary.execute(query).fetchall() == [("The heron sees the eggs.\n",)]
    assert done.is_forgotten


def test_a_log_of_an_earlier_program_gets_the_functions_of_this_one(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(node.dsn(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE earlier")
    dsn = f"{node.dsn()} dbname=earlier"
    with monkeypatch.context() as patched:
        patched.setattr(schema, "FORMAT", 1)
        prepare(dsn, "shop", [])
    with pytest.raises(CtxrankError, match="has format 1"), connect(dsn, "shop"):
        pass
    assert not prepare(dsn, "shop", []).is_new
    machines = Sharing(node, "shop", tmp_path / "shop", "")
    machines.database = "earlier"
    for name in "ab":
        machines.add(name, tmp_path / "shop")
    save(machines.stores["a"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    assert machines.stores["b"].primary.execute("SELECT path FROM packages").get == "plan.md"
    machines.close()


def test_an_expelled_role_may_do_nothing_and_need_not_confirm(machines: Sharing, node: Node) -> None:
    save(machines.stores["a"], "plan.md", "plan\n", summary="Plan")
    machines.settle()
    with psycopg.connect(node.dsn()) as connection:
        connection.execute("SELECT ctxrank.expel(%s, %s, true)", (machines.project, machines.role("a")))
    with machines.log("a") as log, pytest.raises(CtxrankError, match="no project"):
        log.head()
    with machines.log("b") as log:
        assert log.erase()
        assert [one.machine for one in log.members(log.head().id, own_uuid(machines.stores["b"].primary))] == [
            machines.role("b")
        ]
        lines = log.lines(log.head().id, 0, own_uuid(machines.stores["b"].primary))
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
