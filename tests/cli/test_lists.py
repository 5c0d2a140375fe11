"""A list says how many there are in all; an id of another machine is not here, in every command."""

import json
from pathlib import Path

import pytest
from load import load
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.opening import open_store

FOREIGN = "12@00000000"
SESSION = "shop-2026-10"
LISTS = [
    ("packages", ["package", "list"]),
    ("reasoning", ["reasoning", "get", "--session", SESSION]),
    ("strategies", ["strategy", "list"]),
    ("errors", ["error", "list"]),
    ("outputs", ["skill", "outputs", "--session", SESSION]),
    ("sessions", ["session", "list"]),
    ("receipts", ["receipt", "list"]),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("shop")
    load(str(folder)).close()
    db = str(folder / ".ctxrank" / "ctxrank.db")
    for _ in range(2):
        assert run(["--db", db, "assemble", "--session", SESSION, "--agent", "developer"]) == 0
        for skill in ("lint-check", "test-coverage"):
            assert run(["--db", db, "skill", "save-output", skill, "{}", "--session", SESSION]) == 0
    return db


@each_row("key, words", LISTS)
def test_a_list_that_a_limit_cuts_says_how_many_there_are(
    key: str, words: list[str], shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    run(["--db", shop, "--json", *words, "-n", "1"])
    cut = json.loads(capsys.readouterr().out)
    run(["--db", shop, "--json", *words, "-n", "1000"])
    whole = json.loads(capsys.readouterr().out)
    assert (len(cut[key]), cut["total"], cut["has_more"]) == (1, len(whole[key]), len(whole[key]) > 1)
    assert (whole["total"], whole["has_more"]) == (len(whole[key]), False)
    assert cut["total"] > 1, "else the limit cuts nothing"


def test_the_text_says_how_many_only_where_something_was_left_out(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(shop) as store:
        total = int(str(store.primary.execute("SELECT count(*) FROM packages WHERE superseded_by IS NULL").get))
    capsys.readouterr()
    run(["--db", shop, "package", "list", "-n", "2"])
    assert capsys.readouterr().err == f"ctxrank: 2 of {total}; -n shows more at once.\n"
    run(["--db", shop, "package", "list", "-n", str(total)])
    assert capsys.readouterr().err == ""


def test_a_search_says_whether_there_is_more(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    run(["--db", shop, "--json", "search", "the", "token", "-n", "1"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"] > len(answer["hits"]) == 1 and answer["has_more"]


def test_an_option_that_a_kind_of_list_has_not_is_refused_with_those_that_it_has(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    for kind, option in (
        ("packages", "--skill"),
        ("reasoning", "--lang"),
        ("timeline", "--topic"),
        ("groups", "--type"),
    ):
        assert run(["--db", shop, "list", kind, "--session", SESSION, option, "x"]) == 2
        said = capsys.readouterr().err
        assert f"'list {kind}' has no {option}. It has" in said and "--session" in said


@each_row(
    "words",
    [
        ["show", f"package:{FOREIGN}"],
        ["show", FOREIGN],
        ["why", f"package:{FOREIGN}"],
        ["why", f"linked:{FOREIGN}"],
        ["package", "show", FOREIGN],
        ["package", "supersede", "1", "--by", FOREIGN],
        ["package", "consume", FOREIGN, "--agent", "developer"],
        ["group", "create", "NEW", "--session", SESSION, "--reference", FOREIGN],
        ["error", "show", f"error:{FOREIGN}"],
        ["error", "confirm", FOREIGN],
        ["error", "refute", FOREIGN],
        ["strategy", "helpful", f"strategy:{FOREIGN}"],
        ["purge", f"package:{FOREIGN}"],
    ],
)
def test_a_record_of_another_machine_is_not_here(
    words: list[str], shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["--db", shop, "--json", *words]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "not_found" and f":{FOREIGN} here" in error["message"]


def test_a_record_named_with_this_store_s_own_origin_is_found(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(shop) as store:
        origin = str(store.primary.execute("SELECT uuid FROM store").get)[:8]
    capsys.readouterr()
    assert run(["--db", shop, "show", f"package:1@{origin}"]) == run(["--db", shop, "show", "1"]) == 0
    both = capsys.readouterr().out
    assert both[: len(both) // 2] == both[len(both) // 2 :]


def test_only_one_module_makes_ids_of_kinds_and_numbers() -> None:
    kinds = ("package", "artifact", "passage", "reasoning", "error", "strategy", "skill", "linked")
    cli = Path(__file__).parent.parent.parent / "cli"
    made = [
        f"{path.name}: {line.strip()}"
        for path in cli.rglob("*.py")
        for line in path.read_text(encoding="utf-8").split("\n")
        for kind in kinds
        if f"{kind}:{{" in line
    ]
    assert not made


def test_a_session_that_is_over_says_since_when_and_an_open_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = str(tmp_path / "s.db")
    for words in (["init"], ["session", "create", "open"], ["session", "create", "over"], ["session", "end", "over"]):
        assert run(["--db", db, *words]) == 0
    capsys.readouterr()
    assert run(["--db", db, "session", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert ", ended 2" in lines["over"] and ", ended" not in lines["open"]


def test_a_group_that_is_not_there_is_named_beside_what_every_group_has(
    shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, where in (((), "The store"), (("--session", SESSION), SESSION)):
        assert run(["--db", shop, "list", "packages", "--group", "NONE-1", *words]) == 0
        assert f"{where} has no group 'NONE-1'; it has " in capsys.readouterr().err
        run(["--db", shop, "list", "packages", "--group", "global", *words])
        assert "has no group" not in capsys.readouterr().err


@each_row(
    "words, nothing, why",
    [
        ("packages --type poem", "no packages.", "type decisions, failures, handoff, investigation, research"),
        ("packages --priority urgent", "no packages.", "priority critical, high, low, medium"),
        ("receipts --agent bard", "no receipts.", "agent developer"),
        ("errors --project nope", "no known errors.", "project shop"),
        ("strategies --framework nope --project nope", "no strategies.", "project shop"),
    ],
)
def test_a_list_that_nothing_is_in_says_what_there_is_instead(
    words: str, nothing: str, why: str, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["--db", shop, "list", *words.split()]) == 1
    said = capsys.readouterr()
    assert said.out == "" and f"ctxrank: {nothing} There are some of {why}." in said.err


@each_row(
    "words",
    ["packages --type research --priority low --session shop-2026-10 --group TOKENS", "receipts --agent developer"],
)
def test_what_there_are_some_of_is_said_of_no_value_that_something_has(
    words: str, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["--db", shop, "list", *words.split()])
    assert "There are some of" not in capsys.readouterr().err


def test_receipts_of_a_group_that_is_not_there_name_it(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--db", shop, "list", "receipts", "--group", "NONE-1"]) == 1
    assert "The store has no group 'NONE-1'; it has " in capsys.readouterr().err


def test_a_search_below_a_path_that_nothing_has_says_so(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("token --path nosuch/", "token path:nosuch/", "path:nosuch/"):
        assert run(["--db", shop, "search", *words.split()]) == 1
        assert "ctxrank: Nothing has the path 'nosuch/'." in capsys.readouterr().err
    for words in ("xyzzy --path *.md", "token --path *.md --path nosuch/", "xyzzy"):
        run(["--db", shop, "search", *words.split()])
        assert "has the path" not in capsys.readouterr().err
