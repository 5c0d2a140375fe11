"""Do the tests notice small mistakes? Each of `mutants.toml` is made in a copy of the tree; there its tests must fail.

    python tests/mutants.py                        all of them, about ten minutes on two cores
    python tests/mutants.py --area errors --list   what there is

Its quick tests are asked first. Where they notice nothing, the slow ones and all examples of its properties are.

Exit codes: 0 enough were killed, 1 too few, 2 a mutation cannot be made or its tests say nothing (a text that does not
stand exactly once, a test file that is not there, a test that fails without a mutation, too, or tests that do not end
in time with or without one).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MUTATIONS = Path(__file__).with_suffix(".toml")
SOURCES = ("indexer", "ranking", "cli", "extensions")
ENOUGH = 0.9  # killed, of all
WORKERS = 2
QUICK, SLOW = "quick", "slow"  # in this order
TIMEOUTS_S = {QUICK: 120, SLOW: 600}  # of one mutation; one that never ends is noticed, too
_PARTS = 8  # in which the tests that killed are run once more
_PYTEST = (
    "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider",
    "--hypothesis-seed=1",  # a property that finds its example at one run in two would kill by luck
)  # fmt: skip
_MARKED = {
    QUICK: "not slow",
    SLOW: "(slow or hypothesis) and not browser and not team and not runners and not wide and not wide_nodes",
}
KILLED, SURVIVED, BROKEN, UNREADABLE = "killed", "survived", "broken", "unreadable"  # the last: no module imports it
_PASSED, _FAILED, _INTERRUPTED, _NONE = 0, 1, 2, 5  # pytest's exit codes; all others say that the tests did not run
_NO_CONFTEST = "ImportError while loading conftest"  # what it says, with another code, of a module that this imports
_BYTECODE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
_NOT_COPIED = ("__pycache__", "build", "dist")  # nor, at the top, what begins with a dot


class Mutation(NamedTuple):
    """One mistake, and who is to notice it."""

    area: str
    name: str
    old: str
    new: str
    tests: tuple[str, ...]
    k: str

    def __str__(self) -> str:
        return f"{self.area}: {self.name}"


class Place(NamedTuple):
    """The one file that holds a mutation's text, relative to the root, and the test files that are run."""

    source: Path
    tests: tuple[str, ...]


class Verdict(NamedTuple):
    """What became of a mutation, and which test killed it; `seconds` is what the tests took, `kind` the last asked."""

    mutation: Mutation
    outcome: str
    killer: str
    seconds: float
    kind: str = QUICK


def read_mutations() -> list[Mutation]:
    """All mutations, in the order of the file."""
    areas = tomllib.loads(MUTATIONS.read_text(encoding="utf-8"))
    return [
        Mutation(area, one["name"], one["old"], one["new"], tuple(one["tests"].split()), one.get("k", ""))
        for area, ones in areas.items()
        for one in ones
    ]


def find_places(mutations: list[Mutation]) -> dict[Mutation, Place]:
    """Where each mutation is made. Raises SystemExit, which names all that have no place."""
    texts = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8")
        for folder in SOURCES
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".sql", ".tsv")
    }
    places: dict[Mutation, Place] = {}
    wrong: list[str] = []
    for mutation in mutations:
        counts = {path: text.count(mutation.old) for path, text in texts.items()}
        found = [path for path, count in counts.items() if count]
        tests = {name: sorted((ROOT / "tests").rglob(name)) for name in mutation.tests}
        if sum(counts.values()) != 1:
            shown = ", ".join(map(str, found)) or "nowhere"
            wrong.append(f"{mutation}: its text is there {sum(counts.values())} times, not once ({shown})")
        elif mutation.old == mutation.new or not mutation.tests or not all(tests.values()):
            wrong.append(f"{mutation}: it changes nothing, or these tests are not there: {' '.join(mutation.tests)}")
        else:
            files = (str(path.relative_to(ROOT)) for paths in tests.values() for path in paths)
            places[mutation] = Place(found[0], tuple(files))
    if wrong:
        raise SystemExit(_said("\n".join(wrong)))
    return places


def _said(text: str) -> int:
    """Tell it on stderr; the exit code of a run that says nothing about the tests."""
    print(text, file=sys.stderr)
    return 2


def _not_copied(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in _NOT_COPIED or (name.startswith(".") and Path(folder) == ROOT)]


class Run(NamedTuple):
    """pytest's exit code, and which tests failed; nobody knows which of those that did not end in time."""

    code: int
    failed: tuple[str, ...]


class Copy:
    """A copy of the tree in which mutations are made, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._tree = folder / "tree"
        shutil.copytree(ROOT, self._tree, ignore=_not_copied, symlinks=True)
        # The distribution names the folders ctxrank.indexer and so on. An installation comes later on the path, but
        # before a folder without the package's own files, for a process that a test starts in a folder of its own.
        names = folder / "path" / "ctxrank"
        names.mkdir(parents=True)
        own = [str(path.relative_to(ROOT)) for path in (ROOT / "ctxrank").glob("*.py")]
        for one in (*own, *SOURCES):
            (names / Path(one).name).symlink_to(self._tree / one)
        # What is compiled is kept beside the copy's sources, also where the environment says that nothing is.
        kept = {name: value for name, value in os.environ.items() if name not in _BYTECODE}
        self._environment = {**kept, "PYTHONPATH": str(names.parent)}
        self._changes = 0

    def imports_itself(self) -> bool:
        """Whether Python finds the copy's modules, and not those of an installation, wherever it is started."""
        imports = "import importlib, sys; print(importlib.import_module(f'ctxrank.{sys.argv[1]}').__file__)"
        for source in SOURCES:
            for folder in (self._tree, self._tree.parent):
                done = subprocess.run(
                    [sys.executable, "-c", imports, source],
                    cwd=folder, env=self._environment, capture_output=True, text=True, check=True,
                )  # fmt: skip
                if not Path(done.stdout.strip()).resolve().is_relative_to(self._tree.resolve()):
                    return False
        return True

    def run(self, tests: Sequence[str], k: str = "", *, kind: str = QUICK, stop: bool = False) -> Run:
        """Run some tests of a kind, all or until one fails; those that do not end in time have failed."""
        command = [sys.executable, *_PYTEST, "-m", _MARKED[kind], *(["-x"] if stop else []), "-k", k, *tests]
        examples = {"PROPERTY_EXAMPLES": "all"} if kind == SLOW else {}
        try:
            done = subprocess.run(
                command, cwd=self._tree, env=self._environment | examples, capture_output=True, text=True,
                timeout=TIMEOUTS_S[kind], check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Run(_FAILED, ())
        failed = [line.removeprefix("FAILED ") for line in done.stdout.split("\n") if line.startswith("FAILED ")]
        code = _INTERRUPTED if _NO_CONFTEST in done.stderr else done.returncode
        return Run(code, tuple(line.partition(" - ")[0].partition("[")[0] for line in failed))

    def judge(self, mutation: Mutation, place: Place, kinds: Sequence[str]) -> Verdict:
        """Make one mutation, ask its tests of one kind after the other, and take it back."""
        path = self._tree / place.source
        text, before = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        # Python knows a compiled module by its source's second and size: each change has a second of its own.
        self._changes += 1
        os.utime(path, (before.st_atime, int(before.st_mtime) + self._changes))
        started = time.monotonic()
        try:
            kind, (code, failed) = self._ask(mutation, place, kinds)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        outcome = {_PASSED: SURVIVED, _FAILED: KILLED, _INTERRUPTED: UNREADABLE}.get(code, BROKEN)
        return Verdict(mutation, outcome, failed[0] if failed else "", time.monotonic() - started, kind)

    def _ask(self, mutation: Mutation, place: Place, kinds: Sequence[str]) -> tuple[str, Run]:
        """The first kind of tests that notices a mutation; where none does, the last, passed if any has passed."""
        codes: list[int] = []
        for kind in kinds:
            run = self.run(place.tests, mutation.k, kind=kind, stop=True)
            if run.code not in (_PASSED, _NONE):
                return kind, run
            codes.append(run.code)
        return kinds[-1], Run(min(codes), ())


class Copies:
    """As many copies as are at work, and who is to have the next one."""

    def __init__(self, folder: Path) -> None:
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for number in range(WORKERS):
            copy = Copy(folder / str(number))
            if not copy.imports_itself():
                raise SystemExit(_said("What is installed is imported, and not the copy: nothing would be tested."))
            self._free.put(copy)

    @contextmanager
    def one(self) -> Generator[Copy]:
        """A copy that nobody else has."""
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)

    def judge(self, mutation: Mutation, place: Place, kinds: Sequence[str]) -> Verdict:
        """What becomes of a mutation."""
        with self.one() as copy:
            return copy.judge(mutation, place, kinds)

    def run(self, tests: Sequence[str], k: str = "", kind: str = QUICK) -> Run:
        """Some tests, without a mutation."""
        with self.one() as copy:
            return copy.run(tests, k, kind=kind)


def run(places: dict[Mutation, Place], folder: Path, kinds: Sequence[str] = (QUICK, SLOW)) -> list[Verdict]:
    """What becomes of each mutation, which is printed as soon as it is known."""
    copies = Copies(folder)
    verdicts: list[Verdict] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in as_completed([pool.submit(copies.judge, *item, kinds) for item in places.items()]):
            verdict = done.result()
            verdicts.append(verdict)
            killer = f"  {verdict.killer.rpartition('::')[2]}" if verdict.killer else ""
            print(
                f"{verdict.outcome:8} {verdict.seconds:5.1f} s  {verdict.kind}  {verdict.mutation}{killer}", flush=True
            )
        useless = _useless(copies, pool, verdicts)
        # Tests that did not end in time name no killer. On a busy machine they do not end without a mistake either.
        unnamed = [one for one in verdicts if one.outcome == KILLED and not one.killer]
        asked = {one.mutation: (places[one.mutation].tests, one.mutation.k, one.kind) for one in unnamed}
        again = {each: pool.submit(copies.run, *each) for each in set(asked.values())}
    void = {mutation for mutation, each in asked.items() if again[each].result().code != _PASSED}
    void.update(verdict.mutation for verdict in verdicts if verdict.killer in useless)
    return [verdict._replace(outcome=BROKEN) if verdict.mutation in void else verdict for verdict in verdicts]


def _useless(copies: Copies, pool: ThreadPoolExecutor, verdicts: list[Verdict]) -> set[str]:
    """The tests that killed and fail without a mutation, too: they have noticed none."""
    useless: set[str] = set()
    for kind in (QUICK, SLOW):
        killers = sorted({verdict.killer for verdict in verdicts if verdict.killer and verdict.kind == kind})
        parts = [killers[at::_PARTS] for at in range(min(_PARTS, len(killers)))]
        runs = list(pool.map(partial(copies.run, kind=kind), parts))
        useless.update(name for one in runs for name in one.failed)
        if any(one.code not in (_PASSED, _FAILED) for one in runs):
            useless.update(killers)
    return useless


def report(verdicts: list[Verdict]) -> float:
    """A line for each area and one for all; returns the share that was killed."""
    print(f"\n{'area':12} {'killed':>7} {'survived':>9} {'share':>6}")
    for area in [*dict.fromkeys(verdict.mutation.area for verdict in verdicts), "all"]:
        outcomes = [one.outcome for one in verdicts if area in (one.mutation.area, "all")]
        killed = outcomes.count(KILLED)
        print(f"{area:12} {killed:7} {len(outcomes) - killed:9} {killed / len(outcomes):6.0%}")
    return sum(one.outcome == KILLED for one in verdicts) / len(verdicts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, run, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--area", action="append", help="only this area; may be given again")
    parser.add_argument("--list", action="store_true", help="say what there is and where, and run nothing")
    options = parser.parse_args(arguments)
    mutations = [one for one in read_mutations() if not options.area or one.area in options.area]
    if not mutations:
        return _said(
            f"There is no such area; areas are {', '.join(dict.fromkeys(one.area for one in read_mutations()))}."
        )
    places = find_places(mutations)
    if options.list:
        for mutation, place in places.items():
            print(f"{mutation}  ({place.source}; {' '.join(mutation.tests)})")
        return 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        verdicts = run(places, Path(folder))
    verdicts.sort(key=lambda verdict: mutations.index(verdict.mutation))
    share = report(verdicts)
    for verdict in verdicts:
        if verdict.outcome != KILLED:
            print(f"{verdict.outcome}: {verdict.mutation} ({places[verdict.mutation].source})")
    print(f"{len(verdicts)} mutations in {time.monotonic() - started:.0f} s")
    if any(verdict.outcome in (BROKEN, UNREADABLE) for verdict in verdicts):
        return _said("Broken: no test could run (does the text import, does -k select one?), or it fails anyway.")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
