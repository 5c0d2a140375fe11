"""What a new user does first, with what is installed and nothing else. Prints one line; a failure is an error.

Run by `release.py` in an environment that has the distribution and its declared dependencies alone, so it needs only
the standard library: `python -I release_smoke.py`.
"""

import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

COMMAND = Path(sysconfig.get_path("scripts")) / "ctxrank"
COMPILED = (
    "indexer.text._words",
    "indexer.text._code",
    "indexer.text._vocabulary",
    "indexer.fulltext._batch_counts",
    "indexer.fulltext._postings",
    "indexer.fulltext._forward",
    "ranking.formulas._bm25",
    "ranking.retrieval._snippets",
)
NOTE = "# Why the queue stops\n\nA read that becomes a write fails at once in WAL mode: database is locked.\n"
FAILURE = "sqlite3.OperationalError: database is locked\n"


def ctxrank(*arguments: str, stdin: str = "", exit_code: int = 0) -> Any:
    """The JSON answer of one command."""
    done = subprocess.run(
        [str(COMMAND), *arguments, "--json"], input=stdin, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == exit_code, (arguments, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def commands() -> None:
    Path("locks.md").write_text(NOTE)
    ctxrank("init")
    ctxrank(
        "package", "save", "locks.md", "--session", "shop", "--group", "QUEUE", "--create-session", "--type",
        "investigation", "--producer", "investigator", "--priority", "critical", "--summary", "Use BEGIN IMMEDIATE.",
    )  # fmt: skip
    ctxrank("index", ".")
    assert list(ctxrank("status")["counters"]) == ["o200k_base"]
    hits = ctxrank("search", "why is the database locked")
    assert hits["engine"] == "fts5" and hits["exact"], hits
    assert hits["hits"][0]["title"] == "Why the queue stops", hits
    block = ctxrank(
        "assemble", "--session", "shop", "--agent", "developer", "--group", "QUEUE", "--task", "locked database"
    )
    assert [package["id"] for package in block["packages"]] == [1], block
    ctxrank("error", "save", "-", "--solution", "BEGIN IMMEDIATE", stdin=FAILURE)
    assert ctxrank("error", "match", stdin=FAILURE)["matches"][0]["solution"] == "BEGIN IMMEDIATE"
    assert ctxrank("doctor")["counts"]["fail"] == 0


def interface() -> None:
    package = import_module("ctxrank")
    assert package.__version__ == metadata.version("ctxrank")
    with package.open_store() as store:
        assert package.search(store, "database locked").hits


def main() -> None:
    os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        commands()
        interface()
        os.chdir("/")
    compiled = [name for name in COMPILED if _is_compiled(name)]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"works on {python}, {len(compiled)} of {len(COMPILED)} compiled modules")
    if len(compiled) != len(COMPILED) and sys.platform == "linux":
        sys.exit(f"not compiled: {sorted(set(COMPILED) - set(compiled))}")


def _is_compiled(name: str) -> bool:
    try:
        import_module(f"ctxrank.{name}")
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
