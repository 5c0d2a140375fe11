"""A store with something on every page: the fixtures, linked artifacts, and what a team did with them."""

import contextlib
import io
from pathlib import Path

from linked_builders import copy_fixture
from load import load

from ctxrank.cli.main import run

TASK = "customers are logged out when two requests refresh the token at once"
_SESSION = ("--session", "shop-2026-10")
_FAILURE = ("--type", "OperationalError", "--message", "database is locked")
_COMMANDS = (
    ("index",),
    ("assemble", *_SESSION, "--group", "AUTH", "--agent", "developer", "--task", TASK),
    ("package", "consume", "1", "--agent", "developer"),
    ("reasoning", "save", "The refresh has to be one flight.", *_SESSION, "--group", "AUTH", "--agent", "developer",
     "--phase", "decisions"),
    ("error", "match", *_FAILURE, *_SESSION, "--group", "QUEUE"),
    ("assemble", *_SESSION, "--group", "QUEUE", "--agent", "qa_expert", "--task", "workers stop: database is locked"),
    ("error", "confirm", "error:1", *_SESSION),
    ("error", "match", "--type", "KeyError", "--message", "'retries'", *_SESSION, "--group", "CHECKOUT"),
    ("assemble", *_SESSION, "--group", "CHECKOUT", "--agent", "tech_lead", "--budget", "900"),
    ("context", "TASK-042", "--budget", "900"),
)  # fmt: skip


def demo_store(folder: Path) -> Path:
    """Fill a folder; returns the store's file."""
    load(str(folder)).close()
    copy_fixture(folder)
    primary = folder / ".ctxrank" / "ctxrank.db"
    for words in _COMMANDS:
        with contextlib.redirect_stdout(io.StringIO()):
            code = run(["--db", str(primary), "--root", str(folder), "--quiet", *words])
        assert code in (0, 1), words
    return primary
