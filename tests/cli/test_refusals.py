"""What commands refuse and say beside their answer: one store, each call in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest
from builders import Answer, answer_of, make_store, save
from tables import each_row

from ctxrank.cli.actions.given import instead_of_stdin
from ctxrank.cli.call import Call
from ctxrank.cli.main import run

_Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> _Ask:
    """A command on a store with three packages."""
    folder = tmp_path_factory.mktemp("shop")
    with make_store(folder) as store:
        for name in "abc":
            save(store, f"{name}.md", f"walrus {name * 3}\n", summary=f"walrus {name * 3}")
        db = store.location.primary
    return lambda *words: answer_of(lambda: run(["--db", db, *words]))


@each_row(
    "words, code, said",
    [
        ("search --plain --syntax walrus", 2, "--plain and --syntax exclude each other. Give one of them."),
        ("search walrus qqzzx", 0, "in no document: 'qqzzx'."),
        ("search a.md:490 qqzzx:", 0, "in no document: 'qqzzx'."),
        ("search -n 1 walrus", 0, "2 more; -n shows more at once."),
        ("search ,", 1, "nothing found for: ,"),
        ("search kind:skill", 1, "nothing found for: kind:skill"),
        ("search package:60", 1, "'ctxrank show package:60' shows a record by its id."),
        ("prune", 2, "Say what is too old: --older-than AGE, or --expired."),
        ("prune --older-than 90d --expired", 2, "Say what is too old"),
        ("prune --older-than 2999-01-01", 2, "2999-01-01 is in the future."),
        (
            "package save gone.md --session S --type research --producer developer --summary x --create-session",
            2,
            "Nothing was saved. Name a file with text",
        ),
        ("receipt show 99", 1, "99"),
        (f"receipt show {'9' * 20}", 2, f"{'9' * 20} is too large."),
        (f"show receipt:{'9' * 20}", 2, "is not a document's id"),
        (f"show receipt:{'9' * 5000}", 2, "is not a document's id"),
        (f"why package:1 --receipt {'9' * 20}", 2, f"{'9' * 20} is too large."),
        (f"list packages -n {'9' * 20}", 2, f"{'9' * 20} is too large."),
        (f"purge --allow 1 --allow {'9' * 20}", 2, f"{'9' * 20} is too large."),
        ("session show none", 1, "none"),
        ("session show a;b", 1, "'ctxrank list sessions' shows all; --create-session makes one where you save."),
        ("purge --session a", 1, "There is no session 'a'. The newest are"),
        ("group list --session none", 1, "none"),
        ("error show package:1", 2, "package:1 is not an error. Give an error's id, such as 3 or error:3."),
        ("error match --type KeyError", 2, "--type needs --message."),
        ("error match a.md --message x", 2, "The failure is given twice."),
        ("error match nofile.txt", 2, "nofile.txt cannot be read"),
        ("schema nothing", 2, "There is no command 'nothing'."),
        ("assemble --strict --task walrus", 2, "--session is missing."),
        ("assemble --strict --session S --task walrus", 2, "--agent is missing."),
        ("search -n x walrus", 2, "'x' is not a valid integer range"),
        ("search -n 0 walrus", 2, "0 is not in the range 1<=x<=1000"),
        ("search -n 1000001 walrus", 2, "1000001"),
        ("search --format nice walrus", 2, "'nice'"),
        ("search --limit", 2, "limit"),
        ("search --nothing", 2, "--nothing"),
    ],
)
def test_a_call_is_refused_or_told_what_it_left_out(ask: _Ask, words: str, code: int, said: str) -> None:
    answer = ask(*words.split())
    assert (answer.code, said in answer.err) == (code, True), answer.err


@each_row(
    "words, said",
    [
        ("search walrus", "more; -n"),
        ("search walrus", "in no document"),
        ("search a.md:490", "in no document"),
        ("search walrus", "stale"),
        ("search walrus", "folded"),
        ("search walrus", "out of date: a.md (changed)"),
        ("assemble --session S --agent developer --task walrus", "degraded"),
        ("assemble --session S --agent developer --task walrus", "has no room"),
        ("assemble --session S --agent developer --task walrus", "is missing"),
    ],
)
def test_what_is_not_so_is_not_said(ask: _Ask, words: str, said: str) -> None:
    answer = ask(*words.split())
    assert answer.code == 0 and said not in answer.err


def test_stdin_is_the_query_word_by_word(ask: _Ask) -> None:
    for given, words, count in (
        (b"walrus OR (", (), 3),
        (b"kind:skill walrus", (), 3),
        (b"kind:skill walrus", ("--syntax",), 0),
        (b"aaa bbb", (), 2),
    ):
        with instead_of_stdin(given):
            answer = ask("search", "-", *words, "--json")
        assert (answer.code, answer.json()["total"]) == (int(not count), count), (given, words)


def test_a_task_comes_from_one_place(ask: _Ask, tmp_path: Path) -> None:
    block = ("assemble", "--session", "S", "--agent", "developer")
    task = tmp_path / "task.txt"
    task.write_text("walrus bbb")
    answer = ask(*block, "--task", "walrus aaa", "--task-file", str(task))
    assert answer.code == 0 and "--task and --task-file are both given; --task is used." in answer.err
    answer = ask(*block, "--task-file", str(tmp_path / "none"))
    assert answer.code == 0 and "packages are ranked without a task" in answer.err
    with instead_of_stdin(b"walrus bbb"):
        answer = ask(*block, "--task", "-", "--error-file", "-", "--format", "compact")
    assert "stdin holds the task; --error-file - is ignored." in answer.err
    head, *items = answer.out.splitlines()
    assert head.startswith("developer · ") and " tokens (" in head
    assert any(item.startswith("package:2 [medium] b.md · ") for item in items)
    assert ask(*block, "--task", "walrus", "--error-file", "-").err.count("stdin holds the task") == 0


def test_a_block_that_breaks_says_why_and_is_a_block_all_the_same(ask: _Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a part is missing")

    monkeypatch.setattr("ctxrank.cli.actions.assemble.load_config", broken)
    answer = ask("assemble", "--session", "S", "--agent", "developer", "--task", "walrus")
    assert answer.code == 0 and answer.out and "no context: " in answer.err
    answer = ask("assemble", "--session", "S", "--agent", "developer", "--json", "--budget", "300")
    assert (answer.code, answer.json()["outcome"], answer.json()["packages"]) == (0, "degraded", [])
    assert ask("assemble", "--strict", "--session", "S", "--agent", "developer").code != 0


def test_a_store_is_made_in_a_folder_that_is_there_and_in_one_place(tmp_path: Path) -> None:
    def init(*words: str) -> Answer:
        return answer_of(lambda: run([*words]))

    none = init("init", str(tmp_path / "none"))
    assert none.code == 2 and "Make it first, or name another." in none.err and not (tmp_path / "none").exists()
    both = init("--db", str(tmp_path / "x.db"), "init", str(tmp_path))
    assert both.code == 2 and "Give one of them." in both.err and list(tmp_path.iterdir()) == []


def test_a_call_tells_a_person_or_whoever_hears_it(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    Call(heard=heard).note("one\ntwo")
    Call(verbosity=-1).note("quiet")
    assert (heard, capsys.readouterr().err) == (["one\ntwo"], "")
    Call().note("one\ntwo")
    assert capsys.readouterr().err.count("\n") == 1
    plain, colored = Call(is_colored=False), Call()
    assert [plain.bold("x"), plain.dim("x"), plain.linked("x", "/a b")] == ["x", "x", "x"]
    assert [colored.bold("x"), colored.dim("x")] == ["\x1b[1mx\x1b[0m", "\x1b[2mx\x1b[0m"]
    link = colored.linked("x", "/a b")
    assert link.startswith("\x1b]8;;file://") and link.endswith("/a%20b\x1b\\x\x1b]8;;\x1b\\")
    assert (Call(is_json=True).form("text"), Call().form("text")) == ("json", "text")


@each_row("words", ["show", "list groups --session", "search walrus --kind", "index", "save", ""])
def test_a_value_of_any_length_is_quoted_in_part(ask: _Ask, words: str) -> None:
    for form in ((), ("--json",)):
        said = ask(*words.split(), "x" * 100_000, *form)
        assert said.code and "x" * 500 in said.out + said.err and len(said.out + said.err) < 10_000, words
