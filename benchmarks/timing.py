"""How long a whole process takes, what CPU time it uses and how much memory it holds.

    runs = interleaved({"bare": lambda _: ["python", "-c", "pass"], "ours": lambda n: [...]}, rounds=21)
    ratios(runs["ours"], runs["bare"], "cpu_ms")

Contenders take turns (A B C A B C …), so that a machine that slows down slows all of them, and ratios are
taken round by round. CPU time is what the kernel charged to the process and to the children it waited for.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

Command = Callable[[int], list[str]]  # the round's number → what is run
Measure = Literal["wall_ms", "cpu_ms"]


class Run(NamedTuple):
    """One finished process. `rss_mb` is the largest resident set of it or of any child it waited for."""

    wall_ms: float
    cpu_ms: float
    rss_mb: float


class Fed(list[str]):
    """A command that reads `text` from its stdin."""

    def __init__(self, command: list[str], text: str) -> None:
        super().__init__(command)
        self.text = text


class CommandFailed(Exception):
    """A process that is timed has to succeed; the message holds what it said."""


def run_once(command: list[str], cwd: str | None = None) -> Run:
    """Run one process to its end. Its `rss_mb` is at least ours: see `run_alone`."""
    with tempfile.TemporaryFile() as fed:
        fed.write(command.text.encode() if isinstance(command, Fed) else b"")
        fed.seek(0)
        started = time.perf_counter_ns()
        process = subprocess.Popen(
            command, cwd=cwd, env=clean_environment(), stdin=fed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    assert process.stderr is not None, "stderr was asked for"
    said = process.stderr.read()  # until it ends; notes are short
    _, status, used = os.wait4(process.pid, 0)
    wall_ms = (time.perf_counter_ns() - started) / 1e6
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != 0:
        raise CommandFailed(f"{' '.join(command)} exits with {process.returncode}: {said.decode(errors='replace')}")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB elsewhere
    return Run(wall_ms, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss * unit / 1e6)


def run_alone(command: list[str], cwd: str | None = None) -> Run:
    """As `run_once`, started from a process that is small.

    Linux hands a process's peak down through exec, so whatever a large process starts looks large.
    """
    launched = subprocess.run(
        [sys.executable, os.path.abspath(__file__), *command], cwd=cwd, env=clean_environment(), check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if launched.returncode != 0:
        raise CommandFailed(f"{' '.join(command)} failed; see above.")
    return Run(*json.loads(launched.stdout))


def interleaved(contenders: Mapping[str, Command], rounds: int, cwd: str | None = None) -> dict[str, list[Run]]:
    """`rounds` runs of each, in turns, after one of each that warms the caches and is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, command in contenders.items():
            run = run_once(command(number), cwd)
            if number > 0:
                runs[name].append(run)
    return runs


def times(runs: list[Run], measure: Measure) -> list[float]:
    """One measure of all runs."""
    return [run.wall_ms if measure == "wall_ms" else run.cpu_ms for run in runs]


def ratios(runs: list[Run], base: list[Run], measure: Measure) -> list[float]:
    """Each run over the base's run of the same round."""
    return [one / other for one, other in zip(times(runs, measure), times(base, measure), strict=True)]


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def clean_environment() -> dict[str, str]:
    """Our environment without settings that would change what is measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CTXRANK_")}


if __name__ == "__main__":
    print(json.dumps(run_once(sys.argv[1:])))
