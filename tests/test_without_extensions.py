"""The core works without an extension: with each folder deleted, and with all of them; what needs one says so (2).

A copy of the package is made of links, without the folder; a process of its own imports every module of it and runs
the commands that a user of every day runs.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ctxrank.indexer.extensions import EXTENSIONS

ROOT = Path(__file__).parent.parent
_SCRIPT = """
import contextlib, importlib, io, json, os, pkgutil, sys
from pathlib import Path
import ctxrank
assert ctxrank.__file__.startswith(sys.argv[1]), ctxrank.__file__

def walk(package):
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            sys.exit(f"{info.name} needs {error.name}")
        if info.ispkg:
            walk(module)

walk(ctxrank)
from ctxrank.cli.main import run

def call(*words, code=0):
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        found = run(list(words))
    assert found == code, (words, found, out.getvalue()[-500:], said.getvalue()[-1500:])
    return out.getvalue()

Path("notes").mkdir()
Path("notes/locks.md").write_text("# Why the queue stops\\n\\nThe database is locked.\\n")
call("--help")
commands = json.loads(call("schema"))["commands"]
assert "search" in commands and "assemble" in commands
call("init")
call("index")
call("package", "save", "notes/locks.md", "--session", "shop", "--create-session", "--type", "research",
     "--producer", "investigator", "--summary", "The database is locked.")
assert "locks.md" in call("search", "database", "locked")
assert "Relevant Packages" in call("assemble", "--session", "shop", "--agent", "developer", "--task", "locked database")
call("error", "save", "--message", "database is locked", "--type", "OperationalError", "--solution", "BEGIN IMMEDIATE")
call("error", "match", "--message", "database is locked", "--type", "OperationalError")
call("status")
call("doctor")
call("export")
for words in (
    ["package", "list"], ["schema", "search"], ["completion", "bash"], ["optimize"], ["prune", "--older-than", "9d"],
    ["show", "package:1"], ["error", "list"], ["receipt", "list"],
):
    call(*words)
call("purge", "package:1")  # what `index` made of the note
call("purge", "package:2")
call("search", "queue", code=1)
for name in sys.argv[2:]:
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        assert run([name, "--help"]) == 2
    assert "not installed" in said.getvalue(), said.getvalue()
if "context" in sys.argv:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        assert run(["assemble", "--session", "shop", "--agent", "developer", "--task-id", "TASK-1"]) == 0
        assert "not installed" in said.getvalue(), said.getvalue()
        assert run(["receipt", "replay"]) == run(["why", "SPEC-A-1"]) == run(["check"]) == 2
if "wide" in sys.argv[2:]:
    def refused(*words, code):
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            assert run(list(words)) == code, (words, said.getvalue())
        assert "leaves ctxrank.extensions.opensearch" in said.getvalue(), (words, said.getvalue())

    os.environ["CTXRANK_WIDE"] = "http://127.0.0.1:1"
    for words in (["wide", "sync"], ["wide", "sync", "--forget"], ["status"]):
        refused(*words, code=2)
    call("search", "queue", code=1)  # the embedded index answers what is not asked of the cluster
    Path("notes/zebra.md").write_text("# Zebra\\n\\nThe zebra is striped.\\n")
    call("package", "save", "notes/zebra.md", "--session", "shop", "--type", "research", "--producer", "investigator",
         "--summary", "The zebra is striped.")
    os.environ["CTXRANK_ENGINE"] = "opensearch"
    refused("search", "queue", code=2)
    refused("assemble", "--session", "shop", "--agent", "developer", "--task", "zebra", code=0)  # a spawn goes on
print("fine")
"""
# A command of each, which says where its extension is absent that it is not installed.
_COMMANDS = {
    "bazinga": "bazinga", "team": "team", "opensearch": "wide", "web": "web", "mcp": "mcp", "links": "context",
    "evaluation": "eval",
}  # fmt: skip


def _without(absent: set[str], folder: Path) -> Path:
    """A folder whose package ctxrank has all rooms but these extensions."""
    site = folder / "site"
    package = site / "ctxrank"
    (package / "extensions").mkdir(parents=True)
    for one in (ROOT / "ctxrank").iterdir():
        if one.name != "__pycache__":
            (package / one.name).symlink_to(one)
    for room in ("indexer", "ranking", "cli"):
        (package / room).symlink_to(ROOT / room)
    for one in (ROOT / "extensions").iterdir():
        if one.name not in {"__pycache__", *absent}:
            (package / "extensions" / one.name).symlink_to(one)
    return site


@pytest.mark.parametrize(
    "absent", [*(pytest.param(name, marks=pytest.mark.slow) for name in EXTENSIONS), "all of them"]
)
def test_the_core_works_where_an_extension_is_deleted(absent: str, tmp_path: Path) -> None:
    folders = set(EXTENSIONS) if absent not in EXTENSIONS else {absent}
    site = _without(folders, tmp_path)
    (tmp_path / "project").mkdir()
    words = [command for name, command in _COMMANDS.items() if name in folders]
    run = subprocess.run(
        [sys.executable, "-P", "-c", _SCRIPT, str(site), *words],
        cwd=tmp_path / "project",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(site), "HOME": str(tmp_path), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.endswith("fine\n"), run.stdout + run.stderr


@pytest.mark.needs(*EXTENSIONS)
def test_every_extension_is_in_the_table() -> None:
    folders = {path.name for path in (ROOT / "extensions").iterdir() if (path / "__init__.py").exists()}
    assert folders == set(EXTENSIONS)
