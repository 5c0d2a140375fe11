"""`error run`: the command's output, exit code and signals are its own; a failure and the next success teach a fix."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from builders import make_store, obey_interrupts
from git_tree import commit_all, git
from tables import first_quick

from ctxrank.cli.main import run
from ctxrank.indexer.errors.listing import StoredError, list_errors
from ctxrank.indexer.opening import open_store

SCRIPT = "import sys\nprint('said')\nprint('noise', file=sys.stderr)\n\ndef load(cfg): return cfg['retries']\n\n"
BROKEN, FIXED = SCRIPT + "load({})\n", SCRIPT + "load({'retries': 1})\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_store(tmp_path).close()
    return tmp_path


def start(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "ctxrank.cli", "error", "run", *arguments],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=obey_interrupts,
    )  # fmt: skip


def ran(folder: Path, *arguments: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    process = start(folder, *arguments)
    out, err = process.communicate(given, timeout=60)
    return process.returncode, out, err


def errors(folder: Path) -> list[StoredError]:
    with open_store(str(folder / ".ctxrank" / "ctxrank.db")) as store:
        return list_errors(store.primary)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


# Passing through


def test_both_streams_come_through_byte_by_byte_and_apart(folder: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 999); sys.stderr.buffer.write(b'\\xff\\0e')"
    assert ran(folder, "-q", "--", sys.executable, "-c", code) == (0, bytes(range(256)) * 999, b"\xff\0e")


def test_stdin_is_the_commands_own(folder: Path) -> None:
    assert ran(folder, "cat", given=b"a\nb\n")[:2] == (0, b"a\nb\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 0", 0)],
)
def test_the_exit_code_is_the_commands(folder: Path, command: str, code: int) -> None:
    assert ran(folder, "-q", "--", "sh", "-c", command)[0] == code


def test_a_command_that_cannot_be_run_is_what_a_shell_says(folder: Path) -> None:
    write(folder, "plain", "no program\n")
    assert ran(folder, "--", "no-such-command-here")[0] == 127
    code, _, err = ran(folder, "--", "./plain")
    assert code == 126 and b"ermission" in err


def test_output_arrives_while_the_command_still_runs(folder: Path) -> None:
    process = start(folder, "--", "sh", "-c", "echo one; read line; echo $line")
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"one\n"
    process.stdin.write(b"two\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"two\n"
    assert process.wait(60) == 0
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command_and_its_answer_is_ours(folder: Path, number: signal.Signals) -> None:
    script = f"trap 'echo caught; exit 7' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.05; done"
    process = start(folder, "-q", "--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (7, b"caught\n")


def test_a_reader_that_goes_away_ends_the_command_as_it_would_alone(folder: Path) -> None:
    process = start(folder, "-q", "--", "yes")
    assert process.stdout is not None
    assert process.stdout.readline() == b"y\n"
    process.stdout.close()
    assert process.wait(60) == 128 + signal.SIGPIPE
    process.stdout = None
    process.communicate()


def test_a_command_that_leaves_another_running_ends_when_it_ends(folder: Path) -> None:
    code, out, _ = ran(folder, "--", "sh", "-c", "sleep 30 & echo $!; exit 4")
    os.kill(int(out), signal.SIGTERM)
    assert code == 4


def test_without_a_store_the_command_runs_all_the_same(tmp_path: Path) -> None:
    code, out, err = ran(tmp_path, "--", "sh", "-c", "echo hi; exit 5")
    assert (code, out) == (5, b"hi\n") and b"not recorded" in err and b"ctxrank init" in err


def test_options_of_the_command_are_its_own(folder: Path) -> None:
    assert ran(folder, "sh", "-c", "echo $0 $1", "--json", "-q")[1] == b"--json -q\n"


def test_json_is_refused_because_stdout_is_the_commands(folder: Path) -> None:
    code, out, _ = ran(folder, "--json", "--", "true")
    assert code == 2 and b"stdout is the command's" in out


# Learning


def test_a_success_after_a_failure_proposes_what_changed_in_between(folder: Path) -> None:
    write(folder, "app.py", BROKEN)
    write(folder, "other.py", "x = 1\n")
    assert ran(folder, "--", sys.executable, "app.py")[0] == 1
    assert errors(folder) == []
    write(folder, "app.py", FIXED)
    code, out, err = ran(folder, "--", sys.executable, "app.py")
    assert (code, out) == (0, b"said\n") and b"saved as error:1, sighted" in err
    (error,) = errors(folder)
    assert error.solution.endswith("app.py` succeeded once these changed: app.py")
    assert (error.state, error.error_type, error.lang) == ("sighted", "KeyError", "python")


def test_of_many_files_that_changed_eight_are_named_and_the_others_counted(folder: Path) -> None:
    write(folder, "app.py", BROKEN)
    assert ran(folder, "--", sys.executable, "app.py")[0] == 1
    write(folder, "app.py", FIXED)
    for number in range(9):
        write(folder, f"new{number}.py", "y = 1\n")
    assert ran(folder, "--", sys.executable, "app.py")[0] == 0
    named = ", ".join(["app.py", *(f"new{number}.py" for number in range(7))])
    assert errors(folder)[0].solution.endswith(f"these changed: {named} and 2 more")


def test_of_a_committed_file_the_lines_that_changed_are_the_fix(folder: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    git(folder, "init", "-q")
    write(folder, "app.py", BROKEN)
    write(folder, "dirty.py", "x = 1\n")
    write(folder, ".env", "A=1\n")
    commit_all(folder)
    write(folder, "dirty.py", "x = 2\n")
    assert ran(folder, "--", sys.executable, "app.py")[0] == 1
    for name, text in (("app.py", f"{FIXED}token = '{secret}'\n"), ("dirty.py", "x = 3\n"), (".env", "A=2\n")):
        write(folder, name, text)
    write(folder, "new.py", "y = 1\n")
    git(folder, "commit", "-qam", "y")
    _, _, err = ran(folder, "--", sys.executable, "app.py")
    assert b"these changed: .env, app.py, dirty.py, new.py. 'ctxrank error save'" in err
    (error,) = errors(folder)
    said, _, lines = error.solution.partition("\n\n")
    assert said.endswith("these changed: .env, app.py, dirty.py, new.py")
    assert lines.startswith("app.py\n-load({})\n+load({'retries': 1})\n+token") and secret not in error.solution
    assert "dirty" not in lines and "A=2" not in lines


def test_of_a_large_change_twenty_lines_are_kept(folder: Path) -> None:
    git(folder, "init", "-q")
    write(folder, "app.py", BROKEN)
    commit_all(folder)
    assert ran(folder, "--", sys.executable, "app.py")[0] == 1
    write(folder, "app.py", FIXED + "".join(f"x{number} = '{'y' * 300}'\n" for number in range(40)))
    assert ran(folder, "--", sys.executable, "app.py")[0] == 0
    lines = errors(folder)[0].solution.partition("\n\n")[2].split("\n")
    assert len(lines) == 21 and lines[-1] == "…" and max(map(len, lines)) == 161


def test_what_is_known_of_a_failure_is_said_in_the_word_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    known = "sqlite3.OperationalError: database is locked"
    assert run(["-q", "error", "save", "--message", known, "--solution", "BEGIN IMMEDIATE"]) == 0
    for output, said in (
        (known, "known as error:1 (exact, "),
        ("database is locked", "looks like error:1 (near, "),
        ("Segmentation fault in the mill", ""),
    ):
        write(folder, "said", output)
        capsys.readouterr()
        assert run(["error", "run", "--", "sh", "-c", "cat said >&2; exit 4"]) == 4
        notes = capsys.readouterr().err
        assert (f"ctxrank: {said}" in notes and notes.endswith(": BEGIN IMMEDIATE\n")) if said else not notes


@pytest.mark.slow
def test_a_known_failure_is_named_at_once_and_its_end_asks_for_a_verdict(folder: Path) -> None:
    test_a_success_after_a_failure_proposes_what_changed_in_between(folder)
    write(folder, "app.py", BROKEN)
    code, out, err = ran(folder, "--", sys.executable, "app.py")
    assert (code, out) == (1, b"said\n") and b"known as error:1 (exact" in err
    write(folder, "app.py", FIXED)
    assert b"ctxrank error confirm error:1" in ran(folder, "--", sys.executable, "app.py")[2]
    assert len(errors(folder)) == 1


def test_a_success_without_a_change_of_files_saves_nothing(folder: Path) -> None:
    script = f"test -e {folder.parent}/flag && exit 0; echo 'error: the flag is not up' >&2; exit 1"
    assert ran(folder, "--", "sh", "-c", script)[0] == 1
    flag = folder.parent / "flag"
    flag.touch()
    code, _, err = ran(folder, "--", "sh", "-c", script)
    flag.unlink()
    assert code == 0 and b"no file has changed" in err and errors(folder) == []


@pytest.mark.slow
def test_another_folder_or_command_or_a_failure_without_output_is_another_story(folder: Path) -> None:
    write(folder, "app.py", BROKEN)
    (folder / "sub").mkdir()
    ran(folder, "--", sys.executable, "app.py")
    assert b"not recorded" in ran(folder, "--", "false")[2]
    write(folder, "app.py", FIXED)
    assert ran(folder / "sub", "--", sys.executable, "../app.py")[2] == b"noise\n"
    assert errors(folder) == []


OUTPUTS = {
    "nothing": b"", "blank": b" \n\t\n", "zeros": b"\0" * 4096, "binary": bytes(range(256)) * 64,
    "latin": b"error: d\xe9j\xe0 vu\n", "half a character": b"error: it broke \xe2\x82",
    "escapes": b"\x1b[31m\x1b]0;\x1b",
    "a long line": b"error: " + b"x" * 300_000, "a long log": b"step done\n" * 80_000 + b"fatal: it broke\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", first_quick(OUTPUTS, 4))
def test_any_output_comes_through_as_it_is_and_a_failure_with_it_ends_well(folder: Path, name: str) -> None:
    (folder / "said").write_bytes(OUTPUTS[name])
    code, out, err = ran(folder, "--", "sh", "-c", "cat said; exit 3")
    assert (code, out) == (3, OUTPUTS[name]) and b"Traceback" not in err
    is_said = name not in ("nothing", "blank", "zeros", "binary", "escapes")
    assert (b"exit code 3 is not recorded. " in err) is not is_said
    write(folder, "said", "all is well")
    code, out, err = ran(folder, "--", "sh", "-c", "cat said; exit 0")
    assert (code, out, err) == (0, b"all is well", b"")


def test_nothing_is_proposed_for_a_failure_that_said_only_that_it_failed(folder: Path) -> None:
    write(folder, "flag", "make: *** [Makefile:2: all] Error 1\n")
    command = ("--", "sh", "-c", "cat flag >&2; ! grep -q Error flag")
    assert ran(folder, *command)[0] == 1
    write(folder, "flag", "fine\n")
    code, _, err = ran(folder, *command)
    assert code == 0 and b"said only that something failed" in err and errors(folder) == []


@pytest.mark.slow
def test_a_secret_in_the_command_is_not_stored(folder: Path) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    write(folder, "app.py", BROKEN)
    ran(folder, "--", sys.executable, "app.py", secret)
    write(folder, "app.py", FIXED)
    ran(folder, "--", sys.executable, "app.py", secret)
    assert len(errors(folder)) == 1
    assert all(secret.encode() not in path.read_bytes() for path in (folder / ".ctxrank").iterdir())


def test_a_failure_of_a_session_is_its_last_until_the_command_succeeds(folder: Path) -> None:
    write(folder, "app.py", BROKEN)
    ran(folder, "--session", "S", "--create-session", "--", sys.executable, "app.py")
    query = "SELECT count(*), count(resolved_at) FROM error_sightings"
    with open_store(str(folder / ".ctxrank" / "ctxrank.db")) as store:
        assert store.primary.execute(query).get == (1, 0)
    write(folder, "app.py", FIXED)
    ran(folder, "--session", "S", "--", sys.executable, "app.py")
    with open_store(str(folder / ".ctxrank" / "ctxrank.db")) as store:
        assert store.primary.execute(query).get == (1, 1)
