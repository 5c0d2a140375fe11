"""Whose a record is, what an exchange takes along, and what it must not do."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save, search_ids
from exported import accept, agree, as_bytes, exported, exported_bytes, fill, uuid_of
from jsonschema import Draft202012Validator

from ctxrank.cli.main import declared_commands, run
from ctxrank.cli.schema import answer_schema, commands_of
from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.errors.failure_text import read_failure_text
from ctxrank.indexer.errors.solutions import NewKnownError, confirm, save_error
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange.exchange import import_jsonl
from ctxrank.indexer.exchange.export import last_number
from ctxrank.indexer.exchange.origin_removal import forget_origin
from ctxrank.indexer.exchange.run import ImportReport, KindCount
from ctxrank.indexer.privacy.purge import forget_document, forget_path
from ctxrank.indexer.privacy.secrets import forget_secrets
from ctxrank.indexer.records.packages import consume, consumers_of, get_package, list_packages, supersede
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.purged_secrets import hash_bucket, secret_digest
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.blocklist import block_secrets, blocked_entries, enter
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import DocumentRef, local_ref, origin_code, public_id
from ctxrank.indexer.store.store import Store

MODE = RedactionMode.PATTERN_ONLY
ERROR = "ModuleNotFoundError: No module named 'yaml'"


def tell(one: Store, other: Store, *, from_origins: tuple[str, ...] = (), **options: Any) -> ImportReport:
    """Export from one store and import into another."""
    data = "".join(json.dumps(line) + "\n" for line in exported(one, **options)).encode()
    accept(other, data)
    report = import_jsonl(other, io.BytesIO(data), from_origins=from_origins)
    agree(other)
    return report


def bodies(store: Store) -> list[str]:
    """The texts of the files, whole."""
    query = "SELECT body FROM documents WHERE kind = 'passage' ORDER BY id"
    return [str(text) for (text,) in store.primary.execute(query)]


def name_of(store: Store) -> str:
    return uuid_of(store)[:8]


def save_known(store: Store, solution: str = "pip install pyyaml") -> int:
    return save_error(store, NewKnownError(read_failure_text(ERROR.encode(), MODE).text, solution)).id


def test_a_foreign_record_keeps_its_number_and_ours_go_on_counting(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    save(ben, "b.md", "walrus\n")
    tell(anna, ben)
    assert search_ids(ben, "zebra") == [f"package:1@{name_of(anna)}"]
    assert save(ben, "c.md", "heron\n").id == 2
    ref = local_ref(ben.primary, f"package:1@{name_of(anna).upper()}")
    assert get_package(ben.primary, ref.number).path == "a.md" and str(ref) == f"package:1@{name_of(anna)}"
    assert local_ref(ben.primary, f"package:1@{name_of(ben)}") == DocumentRef("package", 1)
    with pytest.raises(NotFoundError):
        local_ref(ben.primary, "package:1@00000000")


def test_commands_and_json_take_and_print_it(anna: Store, ben: Store, capsys: pytest.CaptureFixture[str]) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    id_ = f"package:1@{name_of(anna)}"
    place = ["--db", ben.location.primary]
    assert run(["show", id_, *place]) == 0 and id_ in capsys.readouterr().out
    assert run(["package", "list", "--session", "S", "--json", *place]) == 0
    (package,) = json.loads(capsys.readouterr().out)["packages"]
    assert package["id"] == f"1@{name_of(anna)}"
    assert run(["package", "consume", package["id"], "--agent", "developer", "--iteration", "1", *place]) == 0
    assert id_ in capsys.readouterr().out
    assert run(["assemble", "--session", "S", "--group", "G", "--agent", "developer", *place]) == 0
    assert id_ in capsys.readouterr().out
    assert run(["why", id_, "--session", "S", *place]) == 0
    assert run(["package", "supersede", id_, id_, *place]) == 2


def test_what_another_store_made_is_as_the_schema_says(
    anna: Store, ben: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(anna)
    tell(anna, ben)
    declared = dict(commands_of(declared_commands()))
    for command, words in (
        ("list", ["packages", "--session", "S"]), ("show", [f"package:1@{name_of(anna)}"]),
        ("reasoning get", ["--session", "S"]), ("list", ["strategies"]), ("list", ["skills", "--session", "S"]),
        ("assemble", ["--session", "S", "--group", "G", "--agent", "developer"]),
    ):  # fmt: skip
        assert run([*command.split(), *words, "--json", "--db", ben.location.primary]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert f"@{name_of(anna)}" in json.dumps(answer), command
        shape = declared[command].answer
        assert shape, command
        validator: Any = Draft202012Validator(answer_schema(shape))
        validator.validate(answer)


def test_origins_that_begin_alike_have_more_digits(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    own = uuid_of(anna)
    alike = f"{own[:9]}{'0' if own[9] != '0' else '1'}{own[10:]}"
    data = exported_bytes(anna).replace(own.encode(), alike.encode())
    assert not import_jsonl(ben, io.BytesIO(data)).skipped
    ids = search_ids(ben, "zebra")
    assert sorted(ids) == sorted(f"package:1@{uuid.replace('-', '')[:9]}" for uuid in (uuid_of(anna), alike))
    assert {local_ref(ben.primary, id_).number for id_ in ids} == {
        package.id for package in list_packages(ben.primary, include_superseded=True)
    }
    with pytest.raises(UsageError, match="Several origins"):
        local_ref(ben.primary, f"package:1@{name_of(anna)}")


def test_there_is_no_echo_but_a_relay(anna: Store, ben: Store, tmp_path: Path) -> None:
    save(anna, "a.md", "zebra\n")
    save_known(anna)
    tell(anna, ben)
    assert [line["record"] for line in exported(ben)[1:]] == ["end"]
    assert [line["record"] for line in exported(ben, since=0)[1:]] == ["end"]
    with make_store(tmp_path / "carol") as carol:
        tell(ben, carol, all_origins=True)
        assert search_ids(carol, "zebra") == [f"package:1@{name_of(anna)}"]
        assert tell(anna, carol).is_noop
        assert tell(carol, anna, all_origins=True).is_noop


def test_a_record_that_is_new_comes_alone(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    since = last_number(anna.primary)
    assert exported(anna)[0]["seq"] == since
    save(anna, "b.md", "walrus\n")
    lines = exported(anna, since=since)
    assert [line["record"] for line in lines[1:]] == ["package", "end"]
    tell(anna, ben, since=since)
    assert search_ids(ben, "walrus") == [f"package:2@{name_of(anna)}"]


def test_an_older_state_changes_nothing(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    old = exported_bytes(anna)
    save(anna, "a.md", "walrus\n")
    tell(anna, ben)
    assert import_jsonl(ben, io.BytesIO(old)).is_noop
    assert search_ids(ben, "walrus") == [f"package:2@{name_of(anna)}"]
    first, second = sorted((package.id for package in list_packages(ben.primary, include_superseded=True)), key=abs)
    assert get_package(ben.primary, first).superseded_by == second


def test_the_same_path_on_two_machines_is_two_packages(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    save(ben, "a.md", "zebra walrus\n")
    tell(anna, ben)
    save(ben, "a.md", "zebra heron\n")
    current = [package.id for package in list_packages(ben.primary)]
    assert sorted(public_id("package", number) for number in current) == ["package:1@" + name_of(anna), "package:2"]
    with pytest.raises(UsageError, match="another machine's"):
        supersede(ben, min(current), 2)


def test_sessions_join_by_project_and_name(anna: Store, ben: Store) -> None:
    for store, project, moment in ((anna, "shop", 1000), (ben, "lab", 2000)):
        with store.write() as change:
            create_session(change, NewSession("S", project, created_at=moment))
        save(store, "a.md", "zebra\n")
    tell(anna, ben)
    query = "SELECT name, project FROM sessions ORDER BY id"
    assert ben.primary.execute(query).fetchall() == [("S", "lab"), ("S@shop", "shop")]
    assert tell(ben, anna, all_origins=True).skipped == ()
    assert anna.primary.execute(query).fetchall() == [("S", "shop"), ("S@lab", "lab")]


def test_counts_add_up_and_repeating_doubles_nothing(anna: Store, ben: Store) -> None:
    number = save_known(anna)
    save_known(anna)
    save_known(ben)
    confirm(anna, number, has_helped=True)
    for _ in range(2):
        tell(anna, ben)
        tell(ben, anna)
    query = "SELECT occurrences, confirmations, state FROM error_patterns"
    assert anna.primary.execute(query).fetchall() == ben.primary.execute(query).fetchall() == [(3, 1, "confirmed")]
    assert local_ref(ben.primary, f"error:1@{name_of(anna)}").number == 1


def test_who_took_a_package_is_known_to_its_maker(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n", consumers=("developer",))
    tell(anna, ben)
    (package,) = list_packages(ben.primary)
    consume(ben, package.id, "developer", 2)
    tell(ben, anna)
    assert [(one.agent, one.iteration, one.consumed_at is not None) for one in consumers_of(anna.primary, 1)] == [
        ("developer", 2, True)
    ]


def test_what_is_removed_goes_and_no_order_says_a_word_of_it(anna: Store, ben: Store) -> None:
    save(anna, "plans/secret-merger.md", "zebra The word is Kq7vXw2mPz9t\n")
    save(ben, "plans/secret-merger.md", "walrus\n")
    save(ben, "b.md", "The word is Kq7vXw2mPz9t heron\n")
    tell(anna, ben)
    since = last_number(anna.primary)
    forget_path(anna, "plans/secret-merger.md")
    forget_secrets(anna, ["Kq7vXw2mPz9t"], MODE)
    order = json.dumps(exported(anna, since=since))
    assert "merger" not in order and "Kq7v" not in order
    tell(anna, ben, since=since)
    assert search_ids(ben, "zebra") == search_ids(ben, "walrus") == []
    assert search_ids(ben, "Kq7vXw2mPz9t") == [] and search_ids(ben, "heron") == ["package:2"]
    with pytest.raises(UsageError, match="purged"):
        save(ben, "plans/secret-merger.md", "again\n")
    assert tell(anna, ben, since=since).counts == {
        "forget": KindCount(unchanged=2),
        "removed": KindCount(unchanged=2),
    }
    folder = Path(ben.location.primary).parent
    assert not any(b"Kq7vXw2mPz9t" in file.read_bytes() for file in folder.iterdir() if file.is_file())


def order_to_forget(text: str, length: int) -> dict[str, object]:
    """What a store that never was says has to be forgotten."""
    key = "0000000f-0000-4000-8000-000000000000"
    prefilter = f"{length} {hash_bucket(key, text[0])}"
    return {
        "record": "forget",
        "kind": "secret",
        "digest": secret_digest(key, text),
        "prefilter": prefilter,
        "key": key,
    }


def bring_order(store: Store, order: dict[str, object]) -> ImportReport:
    """Import an order to forget in a file of its own."""
    header: dict[str, object] = {"format": "ctxrank-export", "version": 2, "store": order["key"]}
    end: dict[str, object] = {"record": "end", "counts": {}}
    data = "".join(json.dumps(line) + "\n" for line in (header, order, end)).encode()
    report = import_jsonl(store, io.BytesIO(data))
    agree(store)
    return report


HARMLESS = f"The heron:\n{' ' * 16}sees a wombat\n-----BEGIN KEY-----\n"
HELD = "Kq7vXw2m"


@pytest.mark.parametrize("text", ["e", "the", "wombat", "a womba"])
def test_an_order_for_fewer_than_8_characters_is_refused(ben: Store, text: str) -> None:
    save(ben, "b.md", HARMLESS)
    report = bring_order(ben, order_to_forget(text, len(text)))
    assert [row.reason for row in report.skipped] == ["it orders to forget what has not 8 to 10000 characters"]
    assert bodies(ben) == [HARMLESS] and blocked_entries(ben.primary) == []


@pytest.mark.parametrize("length", [0, -1, 8, 11, 10_001, 10**30])
def test_an_order_whose_length_lies_forgets_nothing(ben: Store, length: int) -> None:
    save(ben, "b.md", HARMLESS)
    bring_order(ben, order_to_forget("wombat", length))
    save(ben, "later.md", HARMLESS)
    assert bodies(ben) == [HARMLESS, HARMLESS]


@pytest.mark.parametrize("text", [" " * 8, "  a wombat"[:8], "heron:\n ", "-----BEGIN", "FORGOTTEN"])
def test_an_order_for_what_no_purge_takes_forgets_nothing(ben: Store, text: str) -> None:
    save(ben, "b.md", f"{HARMLESS}They have {HELD}\n")
    bring_order(ben, order_to_forget(text, len(text)))
    bring_order(ben, order_to_forget(HELD, 8))
    bring_order(ben, order_to_forget("not there", 9))  # all texts are gone through again
    assert bodies(ben) == [f"{HARMLESS}They have [FORGOTTEN]\n"]


def test_an_order_that_came_in_before_there_was_a_bound_is_not_obeyed_any_more(ben: Store) -> None:
    order = order_to_forget("e", 1)
    with ben.write() as change:
        enter(change.connection, "secret", str(order["digest"]), str(order["prefilter"]), str(order["key"]))
        block_secrets(change.connection, ["walrus"])  # an own one of 6 characters, as an earlier version took
    assert redact("The heron and the walrus", load_config(ben).redaction_mode).text == "The heron and the [FORGOTTEN]"


def test_what_another_machine_made_is_purged_everywhere(anna: Store, ben: Store) -> None:
    save(anna, "a.md", "zebra\n")
    tell(anna, ben)
    (package,) = list_packages(ben.primary)
    forget_document(ben, DocumentRef("package", package.id))
    assert tell(anna, ben).counts.get("package", (0,))[0] == 0
    tell(ben, anna)
    assert search_ids(anna, "zebra") == search_ids(ben, "zebra") == []


def test_one_origin_is_taken_in_and_one_is_taken_out(anna: Store, ben: Store, tmp_path: Path) -> None:
    save(anna, "a.md", "zebra\n")
    save(ben, "b.md", "zebra\n")
    save_known(anna)
    save_known(ben)
    tell(anna, ben)
    with make_store(tmp_path / "carol") as carol:
        tell(ben, carol, all_origins=True, from_origins=(name_of(anna),))
        assert search_ids(carol, "zebra") == [f"package:1@{name_of(anna)}"]
        tell(ben, carol, all_origins=True)
        assert len(search_ids(carol, "zebra")) == 2
        report = forget_origin(carol, name_of(anna))
        assert report.removed["package"] == 1 and report.is_erased
        assert search_ids(carol, "zebra") == [f"package:1@{name_of(ben)}"]
        assert carol.primary.execute("SELECT occurrences FROM error_patterns").fetchall() == [(1,)]
        assert tell(anna, carol).notes == (
            "4 lines are left out: their origin was purged or refused here, comes through the log, or is one of "
            "too many undecided ones.",
        )
        assert run(["purge", "--allow", str(report.kept_out[0]), "--db", carol.location.primary]) == 0
        tell(anna, carol)
        assert len(search_ids(carol, "zebra")) == 2
        assert [line["record"] for line in exported(carol)[1:]] == ["end"]


def test_what_a_store_saw_of_a_package_before_that_came_goes_with_the_store(
    anna: Store, ben: Store, tmp_path: Path
) -> None:
    save(anna, "a.md", "zebra\n", consumers=("developer",))
    tell(anna, ben)
    (package,) = list_packages(ben.primary)
    consume(ben, package.id, "developer", 1)
    taken = "SELECT count(*) FROM package_consumers WHERE consumed_at IS NOT NULL"
    with make_store(tmp_path / "carol") as carol:
        tell(ben, carol)
        assert carol.primary.execute(taken).get == 0
        tell(anna, carol)
        assert carol.primary.execute(taken).get == 1
        forget_origin(carol, name_of(ben))
        assert carol.primary.execute(taken).get == 0
        assert search_ids(carol, "zebra") == [f"package:1@{name_of(anna)}"]


def test_a_line_cannot_change_a_record_of_ours(anna: Store, ben: Store) -> None:
    save(ben, "b.md", "zebra\n")
    save_known(ben)
    save_strategy(ben, NewStrategy("shop", "general", "Test first."))
    own = uuid_of(ben)
    lines = exported(ben)
    import_jsonl(ben, io.BytesIO(as_bytes(*lines)))
    said = {"summary": "forged", "solution": "forged", "confirmations": 9, "occurrences": 9, "helpfulness": 9}
    said |= {"insight": "forged", "last_seen": format_us(now_us() + 1_000_000), "created_at": "2001-01-01T00:00:00Z"}
    forged: list[dict[str, Any]] = [{**lines[0], "store": uuid_of(anna)}]
    for line in lines[1:-1]:
        over = {name: value for name, value in said.items() if name in line}
        forged.append({**line, "origin": own, "seq": 1 << 40, **over})
    for kind in ("package", "strategy"):
        forged.append({"record": "removed", "kind": kind, "id": 1, "origin": own, "seq": 1 << 41})
    forged.append({"record": "end", "counts": {}})
    import_jsonl(ben, io.BytesIO(as_bytes(*forged)))
    assert exported(ben)[1:] == lines[1:]


@pytest.mark.parametrize(
    "line",
    [
        {"record": "package", "id": 1 << 31, "seq": 1},
        {"record": "package", "id": 1},
        {"record": "reasoning", "id": 1, "seq": 0},
        {"record": "package", "id": 1, "seq": 1, "origin": "nobody"},
        {"record": "removed", "kind": "session", "id": 1, "seq": 1},
        {"record": "removed", "kind": "package", "id": 1, "seq": 1, "of": "x"},
        {"record": "forget", "kind": "path", "digest": "abc", "prefilter": "", "key": "x"},
        {"record": "usage", "id": 1, "seq": 1, "of": "nobody"},
        {"record": "error", "id": 1, "seq": 1, "of": "nobody"},
    ],
)
def test_a_line_that_does_not_say_whose_it_is_is_named(anna: Store, ben: Store, line: dict[str, object]) -> None:
    data = "".join(json.dumps(one) + "\n" for one in [exported(anna)[0], line]).encode()
    report = import_jsonl(ben, io.BytesIO(data))
    assert len(report.skipped) == 1 and report.skipped[0].key == "line 2"


@pytest.mark.slow
def test_long_lines_of_a_file_are_brought_in_a_few_at_a_time(anna: Store, ben: Store, tmp_path: Path) -> None:
    file, line = tmp_path / "long.jsonl", {"record": "event", "seq": 1, "junk": "x" * (4 << 20)}
    with file.open("w") as written:
        written.writelines(
            json.dumps(one) + "\n" for one in (exported(anna)[0], *({**line, "id": n} for n in range(20)))
        )
    with file.open("rb") as read:
        tracemalloc.start()
        import_jsonl(ben, read)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 40 << 20


def test_a_code_that_is_taken_goes_to_the_next(ben: Store) -> None:
    with ben.write() as change:
        codes = [
            origin_code(change.connection, f"0000000a-0000-4000-8000-{number:012d}") for number in range(3)
        ]  # fmt: skip
        assert codes == [10, 11, 12] == sorted(codes)
        assert origin_code(change.connection, f"0000000a-0000-4000-8000-{1:012d}") == 11
        assert origin_code(change.connection, uuid_of(ben)) == 0
