"""Prompts and failures of public threads, asked of the real runners: is what the model was sent right?

    python tests/runners/sets.py DATA [claude-code|codex]

`sets.txt` names the threads, and the digest that DATA/prompts.jsonl and DATA/failures.jsonl had before the findings
were written: the texts are other people's, so they are not kept here. DATA/notes/*.md are the findings, and
DATA/known.jsonl the known errors, each as another thread printed it, with our solution.

A session of the runner takes the notes in, as agents leave them. Then each prompt is the first one of a session, and
each failure is what a command of a session prints. An answer is right where what was sent names the finding that
answers it; it is wrong where something was sent and that was not in it.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from real_runners import RealRunner

from ctxrank.cli.agents.event import RUNNERS

_HERE = Path(__file__).parent
_ABOUT_PROMPT, _ABOUT_FAILURE = "What ctxrank has on this:", "This failure "  # is known, or looks like one that is


class Asked(NamedTuple):
    """A prompt or a failure, what answers it (None: nothing does), and what was sent because of it ('': nothing)."""

    source: str
    answer: str | None
    sent: str
    is_right: bool


def main() -> int:
    """Ask one runner, or each, and print what was not right and the counts."""
    data = Path(sys.argv[1])
    _check_digests(data)
    for name in sys.argv[2:] or RUNNERS:
        with tempfile.TemporaryDirectory() as folder, RealRunner(name, Path(folder)) as runner:
            solutions = _prepare(runner, data)
            _report(f"{name} prompts", _prompts(runner, data, solutions))
            _report(f"{name} failures", _failures(runner, data, solutions))
    return 0


def _check_digests(data: Path) -> None:
    rows = [line.split("\t") for line in (_HERE / "sets.txt").read_text().splitlines()]
    declared = {(row[1], row[2]) for row in rows if row[0].endswith("sha256")}
    for name in ("prompts.jsonl", "failures.jsonl"):
        if (name, hashlib.sha256((data / name).read_bytes()).hexdigest()) not in declared:
            raise SystemExit(f"{data / name} is not the file that was declared")


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _prepare(runner: RealRunner, data: Path) -> dict[str, str]:
    """Bring the findings into the store; returns the solutions of the known errors by what they answer."""
    known = _rows(data / "known.jsonl")
    for one in known:
        words = ("error", "save", "-", "--solution", one["solution"], "--replace")
        saved = runner.ctxrank(*words, stdin=one["text"])
        runner.ctxrank("error", "confirm", str(saved["id"]))  # it has helped: no prompt is given it before
    notes = runner.project / "notes"
    notes.mkdir()
    for note in sorted((data / "notes").iterdir()):
        (notes / note.name).write_text(note.read_text())
    runner.converse("thanks for the notes", "You are welcome.")
    runner.converse("good morning", "Good morning.")  # it is told what is new
    return {one["answer"]: one["solution"] for one in known}


def _prompts(runner: RealRunner, data: Path, solutions: dict[str, str]) -> list[Asked]:
    asked: list[Asked] = []
    for row in _rows(data / "prompts.jsonl"):
        sent = runner.converse(row["text"], "I see.")[0]
        asked.append(_asked(row, _part(sent, _ABOUT_PROMPT), solutions))
    return asked


def _failures(runner: RealRunner, data: Path, solutions: dict[str, str]) -> list[Asked]:
    asked: list[Asked] = []
    for number, row in enumerate(_rows(data / "failures.jsonl")):
        (runner.project / f"step{number}.txt").write_text(row["text"])
        (runner.project / f"step{number}.sh").write_text(f"cat step{number}.txt >&2\nexit 1\n")
        sent = runner.converse(f"do step {number}", runner.shell(f"sh step{number}.sh"), "It failed.")[1]
        asked.append(_asked(row, _part(sent, _ABOUT_FAILURE), solutions))
    return asked


def _part(sent: str, heading: str) -> str:
    """What was sent below a heading of ours."""
    return sent.partition(heading)[2].partition("</ctxrank>")[0].strip()


def _asked(row: dict[str, Any], sent: str, solutions: dict[str, str]) -> Asked:
    answer: str | None = row["answer"]
    if answer is None:
        return Asked(row["source"], None, sent, not sent)
    solution = solutions.get(answer)
    is_named = f"notes/{answer}.md" in sent or (solution is not None and solution in sent)
    return Asked(row["source"], answer, sent, is_named)


def _report(name: str, asked: list[Asked]) -> None:
    answered = [one for one in asked if one.answer is not None]
    right = sum(one.is_right for one in answered)
    wrong = [one for one in asked if one.sent and not one.is_right]
    print(f"{name}: {right} of {len(answered)} right, {len(wrong)} of {len(asked)} wrong or needless")
    for one in asked:
        if not one.is_right:
            shown = " | ".join(line for line in one.sent.splitlines() if line.strip())[:300]
            print(f"   {one.source} ({one.answer or 'nothing'}): {shown or 'nothing'}")


if __name__ == "__main__":
    sys.exit(main())
