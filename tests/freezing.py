"""One call of the command line in this process, with a clock that stands still, as text to compare.

    desk = Desk(folder, home)                 a folder to call from
    desk.transcript(Case("search retry"))     "$ ctxrank search retry\\nexit 0\\n--- stdout\\n…"

Only what cannot be fixed is normalised: the folders of this run, and numbers of the machine.
"""

import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from ctxrank.cli import main
from ctxrank.cli.output import envelope

START_S = 1_795_176_000  # 2026-11-20T12:00:00Z, a week after the newest finding of the fixtures
TODAY = "2026-11-20"
_OLD_S = START_S - 86_400  # when every file was written: long enough ago for its stat to prove its content
# Of GitHub's form, and put together here: no file of ours holds one. An answer that shows it differs from its page.
SECRET = "ghp_" + "R7kQ2mXv9LpT4sYw" + "8ZbN3cJ6dF1gH5aE0uIo"


class Case(NamedTuple):
    """One call: what stands behind `ctxrank`, and what is there when it is made."""

    line: str
    stdin: str = ""
    files: Mapping[str, str | None] = {}  # written before the call; None: removed
    env: Mapping[str, str] = {}
    folder: str = "."  # where it is called from
    locked: str = ""  # a database that another connection is writing to

    @property
    def arguments(self) -> list[str]:
        """The words of the call."""
        return shlex.split(self.line)


@contextmanager
def standing_clock(second: int, *, is_waiting: bool = False) -> Generator[None, None, None]:
    """Let it be `second` in the whole process, and new stores have known ids; waiting alone takes real time."""
    ticks, ids = count(1), count(second << 16)
    gmtime = time.gmtime
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: float(second))
        patch.setattr(time, "time_ns", lambda: second * 10**9)
        patch.setattr(time, "gmtime", lambda moment=second: gmtime(moment))
        patch.setattr(time, "perf_counter_ns", lambda: next(ticks) * 10**6)
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=next(ids)))
        if not is_waiting:
            patch.setattr(time, "monotonic", lambda: next(ticks) / 10**6)
        yield


def settle(folder: Path) -> None:
    """Let every file of a folder have been written on the same day, whenever that was."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".ctxrank" not in path.parts:
            os.utime(path, (_OLD_S, _OLD_S))


class Desk:
    """A folder that calls are made from, one second after the other."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._second = START_S
        package = Path(main.__file__).parent.parent
        names = {folder: "<root>", home: "<home>", package: "<package>", Path(sys.executable): "<python>"}
        spelled = {str(spelling): name for path, name in names.items() for spelling in (path, path.resolve())}
        self._names = sorted(spelled.items(), key=lambda item: -len(item[0]))

    def transcript(self, case: Case) -> str:
        """The call and all that it answers."""
        self._prepare(case)
        self._second += 1
        code, out, err = self._call(case)
        parts = [f"{_prompt(case)}\nexit {code}\n"]
        for name, text in (("stdout", out), ("stderr", err)):
            if text:
                ending = "" if text.endswith("\n") else "\n(no newline at the end)\n"
                parts.append(f"--- {name}\n{self._normalised(text)}{ending}")
        return "".join(parts)

    def _prepare(self, case: Case) -> None:
        for name, text in case.files.items():
            path = self.folder / name
            if text is None:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
            os.utime(path, (_OLD_S, _OLD_S))

    def _call(self, case: Case) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder / case.folder)
            patch.setattr(envelope, "is_read_by_a_person", lambda: True)  # a difference is seen line by line
            for name, value in case.env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(case.stdin.encode()), encoding="utf-8"))
            with (
                self._lock(case.locked) if case.locked else nullcontext(),
                standing_clock(self._second, is_waiting=bool(case.locked)),
                _captured(patch) as printed,
            ):
                code = main.run(case.arguments)
            out, err = printed
            return code, out, err

    @contextmanager
    def _lock(self, name: str) -> Generator[None, None, None]:
        with closing(apsw.Connection(str(self.folder / name))) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    def _normalised(self, text: str) -> str:
        for path, name in self._names:
            text = text.replace(path, name)
        for pattern, name in _OF_THE_MACHINE:
            text = pattern.sub(name, text)
        return text


# What depends on the machine, the versions of what is installed, and the layout of SQLite's pages.
_OF_THE_MACHINE = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"SQLite [\d.]+, APSW [\d.]+", "SQLite <version>, APSW <version>"),
        (r"[\d,]+ MB free; the store takes [\d.]+ MB", "<n> MB free; the store takes <n> MB"),
        (r"(size +)[\d.,]+ MB", r"\1<n> MB"),
        (r"[\d.]+ MB not merged yet", "<n> MB not merged yet"),
        (r"(documents, )[\d.]+ MB", r"\1<n> MB"),
        (r"[\d,]+ → [\d,]+ bytes", "<n> → <n> bytes"),
        (r'("bytes(_before)?": )\d+', r"\1<n>"),
        (r"(file-system +|\")[\w.]+(: <root>/\.ctxrank)", r"\1<kind>\2"),
        (r"\d+ ms to (start|load the command|answer|print)", r"<n> ms to \1"),
        (r"^ctxrank \d+\.[\w.]+$", "ctxrank <version>"),
    )
)


_SHOWN_CHARS = 250  # of a file, above its call


def _prompt(case: Case) -> str:
    words = "".join(f"{name}={shlex.quote(value)} " for name, value in case.env.items())
    lines = [f"$ {words}ctxrank {case.line}"]
    if case.folder != ".":
        lines.append(f"(in {case.folder})")
    if case.locked:
        lines.append(f"(while another process writes to {case.locked})")
    for name, text in case.files.items():
        shown = f"{text!a}" if text is None or len(text) <= _SHOWN_CHARS else f"{len(text)} characters"
        lines.append(f"(without {name})" if text is None else f"(with {name}: {shown})")
    if case.stdin:
        lines.append(f"(stdin: {case.stdin!a})")
    return "\n".join(lines).replace(SECRET, "<secret>")


@contextmanager
def _captured(patch: pytest.MonkeyPatch) -> Generator[list[str], None, None]:
    """What goes to stdout and to stderr, also from what is run on the way and from what writes to 1 and 2 itself."""
    printed: list[str] = []
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        saved = [os.dup(number) for number in (1, 2)]
        try:
            for number, name, file in ((1, "stdout", out), (2, "stderr", err)):
                os.dup2(file.fileno(), number)
                errors = "backslashreplace" if number == 2 else "strict"
                patch.setattr(sys, name, io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", errors))
            yield printed
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            for number, copy in enumerate(saved, start=1):
                os.dup2(copy, number)
                os.close(copy)
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode())
