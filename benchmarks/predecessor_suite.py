"""The predecessor's own tests, before and after `ctxrank bazinga install`, on copies of a checkout of it.

    python benchmarks/predecessor_suite.py CHECKOUT [--python PYTHON] [--out FILE]

Nothing of it is in this repository: CHECKOUT is a folder with its files (github.com/mehdic/bazinga; 7aa4bb0 was used).
PYTHON runs its tests: it needs pytest and flask, and need not have ctxrank. Each copy is run, switched over, run again,
switched back, and compared byte for byte with what it was.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from machine import facts

SCRIPT = ".claude/skills/bazinga-db/scripts/bazinga_db.py"
BUILDER = ".claude/skills/prompt-builder/scripts/prompt_builder.py"
TRIES = 7


class Outcome(NamedTuple):
    """What a suite came to, and the end of what it printed."""

    summary: str
    exit_code: int
    seconds: float
    tail: list[str]


class Checkout:
    """A copy of the checkout, and how its tests are run."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.python = python
        names = ("PYTHONPATH", "BAZINGA_ROOT", "BAZINGA_DB_PATH", "CTXRANK_DB", "CTXRANK_ROOT")
        self.environment = {key: value for key, value in os.environ.items() if key not in names}
        binaries = folder.parent / "bin"
        binaries.mkdir(exist_ok=True)
        link = binaries / "python3"
        if not link.exists():
            link.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
            link.chmod(0o755)
        self.environment["PATH"] = f"{binaries}:{os.environ['PATH']}"

    def run(self, *words: str, folder: str = "", timeout: int = 600) -> tuple[int, str, float]:
        """(exit code, what was printed on both streams, seconds)."""
        start = time.perf_counter()
        done = subprocess.run(
            words, cwd=self.folder / folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=timeout, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr, time.perf_counter() - start

    def command(self, *words: str) -> tuple[int, str, float]:
        """One of the predecessor's commands, through its script."""
        return self.run("python3", SCRIPT, "--quiet", *words)


def outcome(ran: tuple[int, str, float], pattern: str) -> Outcome:
    """The outcome of a run, whose summary is what the pattern finds."""
    code, text, seconds = ran
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    found = re.findall(pattern, plain)
    return Outcome("; ".join(found) or "no summary", code, round(seconds, 2), plain.strip().splitlines()[-12:])


def integration(checkout: Checkout) -> Outcome:
    """Its integration script for the queries of the context."""
    return outcome(
        checkout.run("bash", "tests/integration/test_context_assembler_queries.sh"),
        r"(?:Passed|Warnings|Failed): +\d+",
    )


def tested(path: str, folder: str = "") -> Callable[[Checkout], Outcome]:
    """One file of its tests."""
    return lambda checkout: outcome(
        checkout.run("python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", path, folder=folder),
        r"\d+ (?:passed|failed|error)\w*",
    )


def script(name: str, pattern: str) -> Callable[[Checkout], Outcome]:
    """One of its scripts that looks for the skills beside itself: run from the root, where they are."""

    def run(checkout: Checkout) -> Outcome:
        copy = checkout.folder / name
        shutil.copy2(checkout.folder / "tests" / name, copy)
        (checkout.folder / "coordination").mkdir(exist_ok=True)
        try:
            return outcome(checkout.run("python3", name), pattern)
        finally:
            copy.unlink()
            shutil.rmtree(checkout.folder / "coordination")

    return run


def validator(checkout: Checkout) -> Outcome:
    """Its check of a session that ended as the workflow demands."""
    session = "bazinga_20261101_100000"
    for words in (
        ("create-session", session, "simple", "Verify the workflow"),
        ("save-event", session, "validator_verdict", '{"verdict": "ACCEPT", "reason": "r", "scope_check": "s"}'),
        ("save-event", session, "validator_gate_check", json.dumps({"passed": True})),
        ("save-event", session, "pm_bazinga", json.dumps({"message": "BAZINGA"})),
        ("update-session-status", session, "completed"),
    ):
        checkout.command(*words)
    return outcome(
        checkout.run("bash", "tests/integration/verify_validator_workflow.sh", session),
        r"(?:Passed|Warnings|Failed): +\d+",
    )


SUITES: dict[str, Callable[[Checkout], Outcome]] = {
    "integration script": integration,
    "prompt builder": tested("tests/test_prompt_builder.py"),
    "version guards": tested("tests/test_version_guards.py"),
    "paths": tested("tests/test_bazinga_paths.py"),
    "concurrent access": script("test_concurrent_access.py", r"Concurrent Access Test PASSED|Total logs: +\d+"),
    "performance comparison": script("test_performance_comparison.py", r"Database: +[\d.]+s"),
    "validator workflow": validator,
    "mini-dashboard": tested("tests/test_api.py", "mini-dashboard"),
}


def timed(checkout: Checkout) -> dict[str, float]:
    """Milliseconds of processor time of three whole processes, the median of seven."""
    session = "bazinga_20261101_110000"
    checkout.command("create-session", session, "simple", "Time the commands")
    checkout.command("create-task-group", "AUTH", session, "Auth")
    for number in range(5):
        checkout.command(
            "save-context-package", session, "AUTH", "research", f"bazinga/artifacts/{session}/{number}.md",
            "investigator", '["developer"]', "high", f"Finding {number} about tokens and locks",
        )  # fmt: skip
    builder = (
        "python3", BUILDER, "--agent-type", "developer", "--session-id", session, "--group-id", "AUTH", "--branch",
        "main", "--mode", "simple", "--testing-mode", "full", "--task-title", "Refresh the tokens",
    )  # fmt: skip
    calls = {
        "get-context-packages": ("python3", SCRIPT, "--quiet", "get-context-packages", session, "AUTH", "developer"),
        "list-sessions": ("python3", SCRIPT, "--quiet", "list-sessions"),
        "prompt_builder": builder,
    }
    return {
        name: round(1000 * median(processor_seconds(checkout, words) for _ in range(TRIES)), 1)
        for name, words in calls.items()
    }


def processor_seconds(checkout: Checkout, words: tuple[str, ...]) -> float:
    """What one call and everything it starts takes."""
    before = os.times()
    checkout.run(*words)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def state_of(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file with its hash, mode and time, but for what running it makes."""
    made = ("__pycache__", ".ctxrank", "bazinga.db", "artifacts", "coordination", ".pytest_cache")
    state: dict[str, tuple[str, int, int]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not any(part.startswith(made) for part in name.split("/")):
            info = path.stat()
            state[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), info.st_mode, info.st_mtime_ns)
    return state


def main() -> None:
    """Run everything, print a table, and write the raw results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "project"
        shutil.copytree(options.checkout, folder, symlinks=True, ignore=shutil.ignore_patterns(".git", ".ctxrank"))
        for name in ("bazinga.db", "bazinga.db-wal", "bazinga.db-shm"):
            (folder / "bazinga" / name).unlink(missing_ok=True)
        checkout = Checkout(folder, options.python)
        was = state_of(folder)
        before = {name: suite(checkout) for name, suite in SUITES.items()}
        times_before = timed(checkout)
        ctxrank = (sys.executable, "-m", "ctxrank.cli", "bazinga")
        installed = checkout.run(*ctxrank, "install", "--project-root", str(folder))
        again = checkout.run(*ctxrank, "install", "--project-root", str(folder))
        after = {name: suite(checkout) for name, suite in SUITES.items()}
        times_after = timed(checkout)
        removed = checkout.run(*ctxrank, "uninstall", "--project-root", str(folder))
        changed = sorted(name for name, _ in set(was.items()) ^ set(state_of(folder).items()))
    for name in SUITES:
        print(f"{name:24}{before[name].summary:48}→ {after[name].summary}")
    for name, milliseconds in times_before.items():
        print(f"{name:24}{milliseconds:8.1f} ms CPU{'':34}→ {times_after[name]:.1f} ms CPU")
    print(f"install {installed[0]}, again {again[0]} ({again[1].strip()}), uninstall {removed[0]}")
    print(f"files that uninstall did not restore, in bytes, mode or time: {len(changed)} of {len(was)} {changed[:5]}")
    if options.out:
        raw = {
            "machine": facts(),
            "before": {name: one._asdict() for name, one in before.items()},
            "after": {name: one._asdict() for name, one in after.items()},
            "milliseconds": {"before": times_before, "after": times_after},
            "install": installed[1].splitlines(), "install_again": again[1].splitlines(),
            "uninstall": removed[1].splitlines(), "not_restored": changed, "files": len(was),
        }  # fmt: skip
        options.out.write_text(json.dumps(raw, indent=2, ensure_ascii=False).replace(temporary, "TMP") + "\n")
    sys.exit(1 if changed or installed[0] or removed[0] else 0)


if __name__ == "__main__":
    main()
