"""A command in a checkout that a stranger made reads, leaks and runs nothing of the user's, and waits for nothing."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_repository import SESSION, STORES, Place, as_read, build, build_git, regular_files, tree_state
from tables import first_quick

from ctxrank.cli.main import run

_MOST_CPU_S = 5.0  # a first index of the whole tree
_LONGEST_S = 30.0  # for the same on a machine that does other things, too; what waits for a pipe waits for ever
_MAIN = "from ctxrank.cli.entry import main; main()"
_ASSEMBLE = ("assemble", "--session", SESSION, "--agent", "developer", "--task", "token refresh")
_QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("index",),
    ("search", "token"),
    (*_ASSEMBLE, "--detail", "full"),
    (*_ASSEMBLE, "--json", "--task-id", "TASK-1"),
    ("context", "TASK-1"),
    ("check",),
    ("check", "--trace", "src/app.py"),
    ("package", "list"),
    ("show", "package:1"),
    ("error", "match", "--message", "ValueError: token"),
    ("doctor",),
    ("doctor", "--repair", "apply"),
    ("export",),
)
_AS_PROCESS = ("search", "assemble", "export")  # the fast parser, what hooks start, and what prints without an end
# In which of them a person makes, or names, the store; elsewhere it is what lies there.
_BEGINS: dict[str, tuple[tuple[str, ...], ...]] = {
    "none": (("init",),), "broken settings": (("init",),), "linked folder": (("init",),),
}  # fmt: skip


@pytest.fixture(scope="module")
def git_repository(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    return build_git(tmp_path_factory.mktemp("git") / "made") if shutil.which("git") else None


class _Runner:
    """Runs commands in a checkout as a user with a home of their own, and ends what takes too long.

    What starts as a process meets what Python and the loader find in the folder, too; one start proves that for each
    entry point. The other commands run in this process, which is ten times as fast.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> None:
        self._monkeypatch = monkeypatch
        self._capture = capture

    def run(self, place: Place, *words: str) -> tuple[int, str]:
        """Exit code and all that was printed."""
        began = _cpu_s()
        is_process = words[0] in _AS_PROCESS
        code, data = self._in_a_process(place, words) if is_process else self._in_this_one(place, words)
        took = _cpu_s() - began
        printed = data.decode("utf-8", "backslashreplace")
        return (code, printed) if took < _MOST_CPU_S else (-1, f"took {took:.1f} s of a processor")

    def _in_a_process(self, place: Place, words: tuple[str, ...]) -> tuple[int, bytes]:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", _MAIN, *words], cwd=place.repository, env=place.environment(),
                capture_output=True, timeout=_LONGEST_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, f"took longer than {_LONGEST_S:.0f} s".encode()
        return done.returncode, done.stdout + done.stderr

    def _in_this_one(self, place: Place, words: tuple[str, ...]) -> tuple[int, bytes]:
        self._monkeypatch.chdir(place.repository)
        wanted = place.environment()
        for name in {*os.environ} - {*wanted}:
            self._monkeypatch.delenv(name)
        self._monkeypatch.setenv("HOME", wanted["HOME"])
        self._capture.readouterr()
        # A handler that raises ends even what waits for a pipe to be opened.
        before = signal.signal(signal.SIGALRM, _raise_timeout)
        signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
        try:
            code = run(list(words))
        except TimeoutError:
            return -1, f"took longer than {_LONGEST_S:.0f} s".encode()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return code, b"".join(self._capture.readouterr())


def _raise_timeout(number: int, frame: object) -> None:
    raise TimeoutError


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> _Runner:
    return _Runner(monkeypatch, capfdbinary)


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _wrong(place: Place, code: int, printed: str) -> list[str]:
    """What a call did that none may do."""
    wrong: list[str] = []
    if code not in (0, 1, 2, 3, 5, 6):
        wrong.append(f"exit {code}: {printed[:300]}")
    if "Traceback" in printed or "should not have" in printed:
        wrong.append(f"a traceback: {printed[-300:]}")
    if place.canary in printed:
        wrong.append("printed what stands in a file of the user")
    shown = as_read(printed)
    wrong += [f"printed the token {number}" for number, token in enumerate(place.tokens) if token in shown]
    if place.ran.exists():
        wrong.append(f"ran a program of the repository: {place.ran.read_text()[:200]}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("store", first_quick(STORES))
def test_no_command_reads_leaks_runs_or_waits(
    store: str, tmp_path: Path, git_repository: Path | None, runner: _Runner
) -> None:
    place = build(tmp_path, store, git_repository)
    outside = tree_state(place.outside)
    wrong: dict[str, list[str]] = {}
    for words in (*_BEGINS.get(store, ()), *_QUESTIONS):
        code, printed = runner.run(place, *words)
        found = _wrong(place, code, printed)
        if words[0] == "assemble" and code != 0:
            found.append(f"an assembly ended with {code}: {printed[:200]}")
        if found:
            wrong[" ".join(words)] = found
    assert not wrong
    assert tree_state(place.outside) == outside, "something outside was changed"
    assert place.canary.encode() not in place.written()
    text = as_read(place.written().decode("utf-8", "replace"))
    assert not [token for token in place.tokens if token in text]


@pytest.mark.slow
@pytest.mark.parametrize("named", first_quick(["trust", "--db"], 1))
def test_a_store_that_a_person_vouches_for_still_reads_nothing_elsewhere(
    named: str, tmp_path: Path, git_repository: Path | None, runner: _Runner
) -> None:
    place = build(tmp_path, "archive", git_repository)
    outside = tree_state(place.outside)
    begin: tuple[str, ...] = ()
    if named == "trust":
        assert runner.run(place, "trust", ".")[0] == 0
    else:
        begin = ("--db", ".ctxrank/ctxrank.db")
    wrong: dict[str, list[str]] = {}
    for words in _QUESTIONS:
        code, printed = runner.run(place, *begin, *words)
        if found := _wrong(place, code, printed):
            wrong[" ".join(words)] = found
    assert not wrong
    assert tree_state(place.outside) == outside
    assert place.canary.encode() not in place.written()
    assert "A note on tokens" in runner.run(place, *begin, *_ASSEMBLE)[1], "what is the store's own is there"


def test_a_store_that_came_with_a_checkout_is_refused_until_it_is_trusted(tmp_path: Path, runner: _Runner) -> None:
    place = build(tmp_path, "archive")
    code, printed = runner.run(place, "search", "token")
    assert code == 3 and "ctxrank trust" in printed
    code, printed = runner.run(place, "status")  # in this process: what it says is seen as well
    assert code == 3 and "ctxrank trust" in printed
    code, block = runner.run(place, *_ASSEMBLE)
    assert code == 0 and "A note on tokens" not in block
    assert runner.run(place, *_ASSEMBLE, "--strict")[0] == 3
    assert runner.run(place, "trust", ".")[0] == 0
    assert runner.run(place, "search", "note")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("store", ["none", "archive"])
def test_each_file_of_a_hostile_tree_that_can_be_read_is_found(store: str, tmp_path: Path, runner: _Runner) -> None:
    place = build(tmp_path, store)
    if store == "none":
        assert runner.run(place, "init")[0] == 0
    else:
        assert runner.run(place, "trust", ".")[0] == 0
    assert runner.run(place, "index")[0] == 0
    code, printed = runner.run(place, "search", "token_refresh")
    assert code == 0 and "src/app.py" in printed


def test_the_traps_of_the_repository_are_live(tmp_path: Path, git_repository: Path | None) -> None:
    if git_repository is None:
        pytest.skip("there is no git on this machine: no trap of a repository can be sprung")
    sprung: dict[str, bool] = {}
    for words in (("log", "-1"), ("diff", "--", "tracked.md"), ("commit", "-qm", "x", "--allow-empty")):
        place = build(tmp_path / words[0], "none", git_repository)
        subprocess.run(
            ["git", *words], cwd=place.repository, env=place.environment(), capture_output=True, timeout=30, check=False
        )
        sprung[words[0]] = place.ran.exists()
    assert all(sprung.values()), sprung


def test_the_files_outside_are_what_the_tests_take_them_for(tmp_path: Path) -> None:
    place = build(tmp_path, "linked folder")
    holding = [path for path in regular_files(place.outside) if place.canary.encode() in path.read_bytes()]
    assert len(holding) >= 5, "the private store holds the canary, too"
