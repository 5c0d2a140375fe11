"""docs/proof.md: each harness, what it does, and its last run: date, commit, counts.

    python tests/proof.py                     make the page anew from what is noted
    python tests/proof.py test slow           run these first, and note how each ended

The harnesses are rows of proof.tsv, the last run of each a row of proof_runs.tsv. A run is noted with the commit that
it was of, `+` where the tree had changes; one that fails is noted as failed, and the exit code is 1.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HOUSE = Path(__file__).parents[1]
PAGE = HOUSE / "docs" / "proof.md"
_RUNS = HOUSE / "tests" / "proof_runs.tsv"
_MAX_CHARS = 120
_HEAD = """\
# The page of proof

Each harness, what it does, and how its last run ended. `make proof` makes this page from what is noted;
`make proof RUN="test slow"` runs these harnesses first. A commit with `+` had changes that were not committed. All runs
are of one machine, Linux on two cores.

| harness | what it does | last run | commit | how it ended |
|---|---|---|---|---|
"""


class Harness(NamedTuple):
    """A row of proof.tsv: its name, its command, what it does, and a word of the line that counts."""

    name: str
    command: str
    does: str
    counts: str


class Run(NamedTuple):
    """The last run of a harness."""

    name: str
    day: str
    commit: str
    ended: str


def _rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def harnesses() -> list[Harness]:
    """Those of the table."""
    return [Harness(*row) for row in _rows(HOUSE / "tests" / "proof.tsv")]


def noted() -> dict[str, Run]:
    """The last run of each, by its name."""
    return {row[0]: Run(*row) for row in _rows(_RUNS)}


def page(runs: dict[str, Run]) -> str:
    """The page for these runs."""
    rows: list[str] = []
    for one in harnesses():
        run = runs.get(one.name, Run(one.name, "not run", "", ""))
        cells = (f"`{one.command}`", one.does, run.day, run.commit and f"`{run.commit}`", run.ended)
        rows.append(f"| {' | '.join(cells)} |")
    return _HEAD + "\n".join(rows) + "\n"


def ending(printed: str, counts: str, code: int) -> str:
    """What a harness counted: its last line with that word, without decoration; and that it failed, where it did."""
    lines = [line.strip(" =-") for line in printed.splitlines() if line.strip(" =-") and counts in line]
    counted = lines[-1][:_MAX_CHARS].replace("|", "/").replace("\t", " ") if lines else "nothing counted"
    return counted if code == 0 else f"**failed** ({code}): {counted}"


def run(harness: Harness) -> Run:
    """Run one, printing what it prints."""
    commit = _git("rev-parse", "--short", "HEAD") + "+" * bool(_git("status", "--porcelain"))
    done = subprocess.run(
        ["sh", "-c", harness.command],
        cwd=HOUSE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout)
    day = time.strftime("%Y-%m-%d")
    return Run(harness.name, day, commit, ending(done.stdout, harness.counts, done.returncode))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=HOUSE, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(names: list[str]) -> int:
    """Run what is named, note it, and make the page."""
    known = {one.name: one for one in harnesses()}
    if unknown := [name for name in names if name not in known]:
        print(f"proof: there is no harness {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    runs = noted()
    for name in names:
        runs[name] = run(known[name])
        rows = ("\t".join(runs[one]) for one in known if one in runs)
        _RUNS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    PAGE.write_text(page(runs), encoding="utf-8")
    return int(any(runs[name].ended.startswith("**failed**") for name in names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
