"""A stranger pipes ten failures into it, saves five fixes, and asks again elsewhere: five fixes, five "not known"."""

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import answer_of, make_store

from ctxrank.cli.main import run
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.ranking.errors.answer import Asked, recognise
from ctxrank.ranking.errors.confidence import SURE_BY_WORD


def python_trace(folder: str, name: str, line: int, code: str, said: str) -> str:
    """A program that dies two calls deep."""
    return (
        f'Traceback (most recent call last):\n  File "{folder}/{name}.py", line {line + 30}, in <module>\n    main()\n'
        f'  File "{folder}/{name}.py", line {line}, in main\n    {code}\n{said}\n'
    )


def missing_module(folder: str, name: str, line: int) -> str:
    return python_trace(folder, name, line, "import yaml", "ModuleNotFoundError: No module named 'yaml'")


def type_error(folder: str, name: str, line: int) -> str:
    return (
        f"\x1b[96m{folder}/src/{name}.ts\x1b[0m:\x1b[93m{line}\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m"
        f"\x1b[90m TS2322: \x1b[0mType 'string' is not assignable to type 'number'.\n\n"
        f"\x1b[7m{line}\x1b[0m const {name}Total: number = read();\n\x1b[7m  \x1b[0m \x1b[91m      ~~~~~\x1b[0m\n\n"
        "Found 1 error.\n"
    )


def failing_test(folder: str, name: str, line: int) -> str:
    return (
        "============================= test session starts ==============================\n"
        f"rootdir: {folder}\ncollected 3 items\n\ntests/test_{name}.py .F.                    [100%]\n\n"
        "=================================== FAILURES ===================================\n"
        f"________________________________ test_{name}_adds ______________________________\n\n"
        f"    def test_{name}_adds():\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\n"
        f"E        +  where 3 = total([1, 2])\n\ntests/test_{name}.py:{line}: AssertionError\n"
        "=========================== short test summary info ============================\n"
        f"FAILED tests/test_{name}.py::test_{name}_adds - assert 3 == 4\n"
        "========================= 1 failed, 2 passed in 0.04s ==========================\n"
    )


def missing_file(folder: str, name: str, line: int) -> str:
    return f"cat: {folder}/etc/{name}.toml: No such file or directory\n"


def port_in_use(folder: str, name: str, line: int) -> str:
    port = 3000 + line
    return (
        f"node:events:497\n      throw er; // Unhandled 'error' event\n      ^\n\n"
        f"Error: listen EADDRINUSE: address already in use :::{port}\n"
        "    at Server.setupListenHandle [as _listen2] (node:net:1817:16)\n"
        "    at listenInCluster (node:net:1865:12)\n    at Server.listen (node:net:1953:7)\n"
        f"    at Object.<anonymous> ({folder}/{name}.js:{line}:8)\n"
        "Emitted 'error' event on Server instance at:\n    at emitErrorNT (node:net:1844:8) {\n"
        f"  code: 'EADDRINUSE',\n  errno: -98,\n  syscall: 'listen',\n  address: '::',\n"
        f"  port: {port}\n}}\n\nNode.js v20.11.1\n"
    )


def no_permission(folder: str, name: str, line: int) -> str:
    return f"bash: {folder}/bin/{name}.sh: Permission denied\n"


def merge_conflict(folder: str, name: str, line: int) -> str:
    return (
        f"Auto-merging src/{name}.py\nCONFLICT (content): Merge conflict in src/{name}.py\n"
        "Automatic merge failed; fix conflicts and then commit the result.\n"
    )


def segmentation_fault(folder: str, name: str, line: int) -> str:
    return (
        f"loading {folder}/{name}.bin\n"
        f"{folder}/run.sh: line {line}: {line}4711 Segmentation fault      (core dumped) ./{name}\n"
    )


def compiler_error(folder: str, name: str, line: int) -> str:
    return (
        f"cc -O2 -c -o {name}.o {name}.c\n{name}.c: In function 'main':\n"
        f"{name}.c:{line}:5: error: unknown type name 'size'; did you mean 'size_t'?\n"
        f"   {line} |     size {name}_length;\n      |     ^~~~\n      |     size_t\n"
        f"make: *** [Makefile:{line}: {name}.o] Error 1\n"
    )


def locked_database(folder: str, name: str, line: int) -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "{folder}/{name}.py", line {line}, in {name}_all\n    connection.execute("BEGIN IMMEDIATE")\n'
        "sqlite3.OperationalError: database is locked\n"
    )


def node_top_level(folder: str, name: str, line: int) -> str:
    return (
        "<anonymous_script>:1\n{bad\n ^\n\nSyntaxError: Expected property name or '}' in JSON at position 1\n"
        "    at JSON.parse (<anonymous>)\n    at [eval]:1:6\n    at runScriptInThisContext (node:internal/vm:209:10)\n"
        "    at node:internal/process/execution:118:14\n\nNode.js v20.11.1\n"
    )


FAILURES = (
    missing_module, type_error, failing_test, missing_file, port_in_use, no_permission, merge_conflict,
    segmentation_fault, compiler_error, locked_database,
)  # fmt: skip
FIXES = {
    missing_module: "pip install pyyaml",
    type_error: "Parse the text with Number() before it is assigned.",
    port_in_use: "Stop the old server, or start this one with PORT=0.",
    no_permission: "chmod +x the script.",
    locked_database: "Open the transaction with BEGIN IMMEDIATE and set a busy timeout.",
}


class Stranger:
    """Somebody in a folder with a store, who pipes text into the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_store(folder).close()

    def run(self, *arguments: str, output: str, folder: Path | None = None) -> tuple[int, Any]:
        """The exit code and the JSON of one command, called in this process."""
        with contextlib.chdir(folder or self.folder), pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(output.encode())))
            answer = answer_of(lambda: run(["error", *arguments, "--json"]))
        return answer.code, answer.json()

    def start(self, *arguments: str, output: str) -> tuple[int, Any]:
        """The same of one in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "ctxrank.cli", "error", *arguments, "--json"],
            cwd=self.folder, input=output, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """Ten failures were asked about in vain, and five fixes saved."""
    made = Stranger(tmp_path_factory.mktemp("shop"))
    for failure in FAILURES:
        code, answer = made.run("match", output=failure("/srv/shop", "cart", 12))
        assert (code, answer["outcome"], answer["matches"]) == (1, "no_match", []) and answer["reason"]
    for failure, fix in FIXES.items():
        code, answer = made.run("save", "--solution", fix, output=failure("/srv/shop", "cart", 12))
        assert (code, answer["new"], answer["state"]) == (0, True, "sighted")
    return made


@pytest.mark.parametrize("failure", FIXES)
def test_a_known_failure_is_recognised_elsewhere_with_its_fix(stranger: Stranger, failure: Any) -> None:
    below = stranger.folder / "deep" / "below"
    below.mkdir(parents=True, exist_ok=True)
    code, answer = stranger.run("match", output=failure("/home/ann/work/ledger", "ledger", 47), folder=below)
    assert (code, answer["outcome"]) == (0, "matched")
    assert answer["matches"][0]["solution"] == FIXES[failure]
    assert answer["matches"][0]["recognition"] >= SURE_BY_WORD["looks like"] and answer["matches"][0]["why"]


@pytest.mark.parametrize("failure", [failure for failure in FAILURES if failure not in FIXES])
def test_an_unknown_failure_is_not_known_elsewhere_either(stranger: Stranger, failure: Any) -> None:
    code, answer = stranger.run("match", output=failure("/home/ann/work/ledger", "ledger", 47))
    assert (code, answer["outcome"], answer["matches"]) == (1, "no_match", []) and answer["reason"]


@pytest.mark.slow
def test_the_very_same_failure_is_recognised_by_its_message(stranger: Stranger) -> None:
    for failure in FIXES:
        code, answer = stranger.start("match", output=failure("/srv/shop", "cart", 12))
        assert (
            code == 0 and answer["matches"][0]["solution"] == FIXES[failure] and answer["matches"][0]["grade"] != "near"
        )


@pytest.mark.parametrize("failure", [*FAILURES, node_top_level], ids=lambda failure: failure.__name__)
def test_an_output_matched_against_itself_is_exact(failure: Callable[[str, str, int], str], tmp_path: Path) -> None:
    store = make_store(tmp_path)
    text = failure("/srv/shop", "shop", 12)
    save_error(store, NewKnownError(text, "The fix."))
    answer = recognise(store.primary, text, Asked("default", now_us()))
    assert [fix.match.grade for fix in answer.fixes] == ["exact"]
    store.close()


BAD_INPUT = {
    "empty": b"", "blank": b" \n\t\n", "zeros": b"\0" * 4096, "binary": bytes(range(256)) * 64,
    "latin": b"error: d\xe9j\xe0 vu\n", "a long line": b"error: " + b"x" * 300_000 + b"\n",
    "a long log": b"step done\n" * 80_000 + b"fatal: it broke\n", "a lone escape": b"\x1b[31m\x1b]0;\x1b",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_gets_a_sentence_and_no_traceback(name: str, tmp_path: Path) -> None:
    make_store(tmp_path).close()
    command = [sys.executable, "-m", "ctxrank.cli", "error", "match"]
    done = subprocess.run(command, cwd=tmp_path, input=BAD_INPUT[name], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"not known. " in done.stderr and done.stderr.count(b"\n") == 1
