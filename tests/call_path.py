"""How many functions a value passes through: one call is traced, and each function of ours that is given it counts.

    python tests/call_path.py                 a task's text, a search's query, a path of `index`
    python tests/call_path.py --functions     and which functions they are

A function counts once, if an argument of it is the value or holds it (in a tuple, list, dict, or field of a record).
When the extensions had left the core (2026-11) it was 95, 116 and 70.
"""

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parent.parent / "fixtures"))

from load import load

from ctxrank.cli import main

_DEPTH = 4  # records within records
_OURS = f"{Path(main.__file__).resolve().parents[1]}{os.sep}"


class Walk(NamedTuple):
    """One call, and the words by which its value is known wherever it is."""

    name: str
    words: tuple[str, ...]
    value: str


WALKS = (
    Walk(
        "a task's text, from the command line to the block",
        ("assemble", "--session", "shop-2026-10", "--agent", "developer", "--task", "why zzyzx is the database locked"),
        "zzyzx",
    ),
    Walk("a search's query", ("search", "zzyzx database locked"), "zzyzx"),
    Walk("a path of index", ("index",), "zzyzx.md"),
)


def functions_passed(words: tuple[str, ...], value: str) -> list[str]:
    """The functions of ours that were given the value, in the order in which they were called."""
    passed: dict[CodeType, None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if (
            event != "call"
            or code in passed
            or not code.co_filename.startswith(_OURS)
            or "site-packages" in code.co_filename
        ):
            return
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)]
        if any(_holds(frame.f_locals.get(name), value, _DEPTH) for name in names):
            passed[code] = None

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(look)
        try:
            code = main.run([*words])
        finally:
            sys.setprofile(None)
    assert code in (0, 1), (words, code)
    return [f"{Path(code.co_filename).name}:{code.co_qualname}" for code in passed]


def _holds(value: object, wanted: str, depth: int) -> bool:
    if isinstance(value, str):
        return wanted in value
    if isinstance(value, bytes):
        return wanted.encode() in value
    return depth > 0 and any(_holds(part, wanted, depth - 1) for part in _parts(value))


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, tuple | list | set | frozenset):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif type(value).__module__.startswith("ctxrank"):
        yield from (vars(value) if hasattr(value, "__dict__") else {}).values()
        yield from (getattr(value, name, None) for name in getattr(type(value), "__slots__", ()))


def in_a_store(report: Callable[[Walk], None]) -> None:
    """Walk each way in the fixture store, and with a file that was not there before."""
    with tempfile.TemporaryDirectory() as folder:
        load(folder).close()
        Path(folder, "artifacts", "zzyzx.md").write_text("# Locks\n\nThe database is locked.\n")
        with contextlib.chdir(folder):
            for walk in WALKS:
                report(walk)


def _print(walk: Walk) -> None:
    passed = functions_passed(walk.words, walk.value)
    print(f"{len(passed):4}  {walk.name}")
    if "--functions" in sys.argv:
        print("".join(f"        {name}\n" for name in passed), end="")


if __name__ == "__main__":
    in_a_store(_print)
