"""Each call of a table, in each situation of its streams, in a process that is forked and not started.

    python stream_cases.py FOLDER < CASES      one line of JSON a case: [exit code, stdout, stderr], bytes as Latin-1

A case is [arguments, situation]. The streams are made as Python makes them at its start: None for one that is closed.
"""

import io
import json
import os
import pkgutil
import sys
from importlib import import_module

from ctxrank import cli, indexer, ranking
from ctxrank.cli.entry import main

PLAIN = {"stdin": "empty", "stdout": "file", "stderr": "file", "encoding": "utf-8", "errors": "strict"}


def run_case(words: list[str], situation: dict[str, str], folder: str) -> tuple[int, str, str]:
    """What a call ends with and says; a stream that leads elsewhere says nothing."""
    places = [os.path.join(folder, name) for name in ("stdout", "stderr")]
    files = [os.open(place, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for place in places]
    child = os.fork()
    if child == 0:
        try:
            _lead({**PLAIN, **situation}, files)
            sys.argv[:] = ["ctxrank", *words]
            main()
        finally:
            os._exit(99)  # main ends the process: nothing comes here but what it let through
    _, status = os.waitpid(child, 0)
    for file in files:
        os.close(file)
    said: list[str] = []
    for place in places:
        with open(place, "rb") as read:
            said.append(read.read().decode("latin-1"))
    return os.waitstatus_to_exitcode(status), said[0], said[1]


def _lead(situation: dict[str, str], files: list[int]) -> None:
    """Lead the three numbers where the situation says."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    full = os.open("/dev/full", os.O_RDWR)
    reader, gone = os.pipe()
    os.close(reader)
    targets = {"empty": nowhere, "full": full, "gone": gone}
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        way = situation[name]
        if way == "closed":
            os.close(number)
            setattr(sys, name, None)
            continue
        os.dup2(files[number - 1] if way == "file" else targets[way], number)
        if number == 0:
            sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
            continue
        errors = situation["errors"] if name == "stdout" else "backslashreplace"
        raw = io.FileIO(number, "w", closefd=False)
        stream = io.TextIOWrapper(io.BufferedWriter(raw), situation["encoding"], errors, line_buffering=number == 2)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _load_everything() -> None:
    """What a call would load, once for all of them."""
    for room in (indexer, ranking, cli):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if not found.name.endswith("__main__"):
                import_module(found.name)


if __name__ == "__main__":
    _load_everything()
    folder_of_answers, out = sys.argv[1], os.fdopen(os.dup(1), "w")
    for line in sys.stdin.read().splitlines():
        given, where = json.loads(line)
        print(json.dumps(run_case(given, where, folder_of_answers)), file=out)
    out.flush()
