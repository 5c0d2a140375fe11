"""An expression that an earlier process has compiled is the one that would be compiled now."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tool_outputs import OUTPUTS

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import rows, signed_rows
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.systems import keep_for_next_process

_PATTERNS = (*(pattern for _, _, pattern in rows("expressions")), *(pattern for _, pattern in signed_rows("missing")))
_FAILURE = {
    "hook_event_name": "PostToolUseFailure",
    "session_id": "monday",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "error": "Exit code 2\nModuleNotFoundError: No module named 'yaml'",
}
# The hook, with how many expressions its process compiled as the last line of what it prints.
_COUNTED = """
import os, re, sys
compiled, end = [], os._exit
compile_code = re._compiler._code
re._compiler._code = lambda *given: compiled.append(given) or compile_code(*given)
os._exit = lambda code: (os.write(1, b"%d" % len(compiled)), end(code))
sys.argv = ["ctxrank", "hook"]
from ctxrank.cli.entry import main
main()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(kept, "place_of_kept", _always(tmp_path / "kept"))
    _forget(monkeypatch)
    return tmp_path / "kept"


def _always(path: Path) -> Callable[[object, str], str]:
    return lambda _, __: str(path)


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(kept, "_made", {})
    monkeypatch.setattr(kept, "_new", [])
    monkeypatch.setattr(kept, "_kept", cache(kept.read_expressions))


def test_what_is_read_again_finds_what_was_compiled(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def keep(place: str, data: bytes) -> None:
        written.append(place)
        keep_for_next_process(place, data)

    monkeypatch.setattr(kept, "keep_for_next_process", keep)
    for _ in range(4):
        for pattern in _PATTERNS:
            kept.compiled(pattern)
        _forget(monkeypatch)
    assert len(written) <= len(set(_PATTERNS)) // 8 + 9
    monkeypatch.setattr(kept, "keep_for_next_process", None)  # nothing is compiled
    text = "\n".join(text for text, _ in OUTPUTS.values())
    for pattern in _PATTERNS:
        found, expected = kept.compiled(pattern), re.compile(pattern)
        assert found == expected and found.groupindex == expected.groupindex
        assert [(one.groups(), one.lastgroup) for one in found.finditer(text)] == [
            (one.groups(), one.lastgroup) for one in expected.finditer(text)
        ]


def test_a_damaged_file_is_as_good_as_none(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.compiled("a+")
    whole = place.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"\0" * len(whole), b"i\0\0\0\0"):
        place.write_bytes(damaged)
        _forget(monkeypatch)
        assert kept.match("a+", "aab") is not None
        assert place.read_bytes() == whole


def test_where_nothing_may_be_written_it_is_compiled(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "place_of_kept", _always(place / "no" / "folder"))
    assert kept.match("a+b", "aab") is not None
    monkeypatch.setattr(kept, "place_of_kept", _always(place))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert kept.match("aab", "aab") is not None and not place.exists()


def test_a_second_failure_compiles_hardly_any_expression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "bytecode"))
    create_store(str(tmp_path)).close()
    first, second = (_compiled_for(tmp_path, command) for command in ("make", "make test"))
    assert second < first - 15
    assert second <= 12


def _compiled_for(folder: Path, command: str) -> int:
    event = json.dumps({**_FAILURE, "cwd": str(folder), "tool_input": {"command": command}})
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED],
        input=event,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return int(done.stdout.splitlines()[-1])
