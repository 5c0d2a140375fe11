"""Damage: every page of the primary database and of the index, in seven ways, and what a user's commands make of it.

Each case damages one page of one file of a closed store (`page_damage.py`) and goes on as a user would: searches,
lists, assembles, saves, indexes, asks doctor, lets it repair, and goes on (`damage_user.py`). Right is, for each
command: what the sound store answers, or degraded with a reason, or 5 with a hint; never a signal, a traceback or more
than half a minute. After the repair doctor finds nothing, every row is there that did not stand on the page, what is
lost was counted, the index is what a rebuild makes, and the primary database as it was lies in the backups.

Of a few bytes, lost sectors and misplaced pages less is asked: what turned into another valid row is seen by no query.
Where these change an answer they are counted, with who saw it: doctor, or doctor --deep.

    damage_many("/tmp/work", seed=7, length=10)      Damages(cases=…, failures=())
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from builders import save
from damage import PAGE, closed
from damage_user import INDEX, PRIMARY, SPAWN, Answer, Case, User, answers, call, copy_store, file_of
from linked_builders import copy_fixture
from load import load
from page_damage import Way, sorts_of

from ctxrank.indexer.fulltext.fts5_engine import index_of

_PROCESSES = 2
_CASES_PER_LENGTH = 40
_FAILURES_KEPT = 40


class Damages(NamedTuple):
    """What a run came to.

    `answers` counts how the questions were answered before a repair, `repairs` how those ended; `sorts` are cases by
    what the page was. `unnoticed` are cases in which subtle damage changed an answer, by file and way, and how many of
    them doctor sees.
    """

    cases: int
    seed: int
    primary_pages: int
    index_pages: int
    ways: dict[str, int]
    sorts: dict[str, int]
    answers: dict[str, int]
    repairs: dict[str, int]
    rows_lost: int
    unnoticed: dict[str, int]
    failures: tuple[str, ...]
    seconds: float


def damage_many(
    work: str, *, seed: int, length: int, say: Callable[[str], None] = lambda line: None, count: int | None = None
) -> Damages:
    """Damage pages one at a time: each sort in each way as far as `count` goes [default: 40 × length]."""
    started = time.monotonic()
    base = os.path.join(work, "base")
    make_base(base)
    cases = choose(base, seed, count or length * _CASES_PER_LENGTH)
    say(f"{len(cases)} cases")
    outcomes = list(_in_processes(work, seed, len(cases)))
    tally: Counter[str] = Counter()
    failures: list[str] = []
    for outcome in outcomes:
        tally.update(outcome["tally"])
        failures += outcome["troubles"]
    for failure in failures:
        say(failure)
    primary_pages, index_pages = (os.path.getsize(file_of(base, name)) // PAGE for name in (PRIMARY, INDEX))
    return Damages(
        len(outcomes), seed, primary_pages, index_pages,
        dict(Counter(case.way.value for case in cases)), dict(Counter(case.sort for case in cases).most_common()),
        _of(tally, "answer "), _of(tally, "repair "), tally["rows lost"], _of(tally, "subtle "),
        tuple(failures[:_FAILURES_KEPT]), round(time.monotonic() - started, 1),
    )  # fmt: skip


def _of(tally: Counter[str], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in sorted(tally.items()) if name.startswith(prefix)}


def make_base(base: str) -> None:
    """A store with every table filled, trees of two levels, a long text, and free pages."""
    os.makedirs(base)
    before = os.getcwd()
    os.chdir(base)
    try:
        store = load(base)
        words = " ".join(f"v{number}" for number in range(900))
        for number in range(30):
            text = f"# Note {number}\n\n" + " ".join(f"w{number}x{place} shared{place % 7}" for place in range(60))
            save(
                store, f"notes/{number}.md", text, session="notes", summary=words if number == 7 else f"Note {number}."
            )
        with store.write() as change:
            rows = [("elsewhere", "package", f"{number:040}", "cafe" * 16, number) for number in range(90)]
            change.connection.executemany("INSERT INTO imported_rows VALUES (?, ?, ?, ?, ?)", rows)
        copy_fixture(Path(base))
        _fill(base)
        index_of(store).connection.execute("INSERT INTO main.fts (fts) VALUES ('optimize')")
        closed(store)
    finally:
        os.chdir(before)


def _fill(base: str) -> None:
    long = "Not for long. " * 2000
    for arguments in (
        ("index",), ("context", "TASK-042"),
        ("skill", "save-output", "lint-check", '{"note": "x"}', *SPAWN), ("assemble", *SPAWN, "--task", "tokens"),
        ("reasoning", "save", long, "--session", "gone", "--create-session", *SPAWN[4:], "--phase", "risks"),
        ("prune", "--older-than", "0s", "--kind", "reasoning", "--session", "gone"),
        *(("assemble", *SPAWN, "--task", f"task {number}", "--iteration", str(number)) for number in range(5)),
        ("index",),  # counts the tokens that a context estimated
    ):  # fmt: skip
        called = call(base, *arguments)
        assert called.code == 0, (arguments, called)


def choose(base: str, seed: int, count: int) -> list[Case]:
    """Every page once, in each way some of them, then each sort in each way, then anything; the first `count`."""
    rng = random.Random(f"{seed} damages")
    sorts = {name: sorts_of(file_of(base, name)) for name in (PRIMARY, INDEX)}
    # A file that is cut off before its first page is empty and not damaged: of a store, nothing can be saved.
    everything = [
        (name, page, way) for name, found in sorts.items() for page in found for way in Way
        if (page, way) != (1, Way.CUT_BEFORE)
    ]  # fmt: skip
    rng.shuffle(everything)
    chosen: dict[tuple[str, int, Way], None] = {}
    for key_of in (_sort_key, _page_key, _way_key, _own_key):
        met = {key_of(sorts, one) for one in chosen}
        for one in everything:
            key = key_of(sorts, one)
            if key not in met:
                met.add(key)
                chosen[one] = None
    cases: list[Case] = []
    for number, (name, page, way) in enumerate(list(chosen)[:count]):
        other = rng.choice([one for one in sorts[name] if one != page])
        writes_first = rng.random() < 1 / 2
        cases.append(Case(number, name, page, sorts[name][page], way, other, sorts[name][other], writes_first))
    return cases


_Damage = tuple[str, int, Way]
_Sorts = dict[str, dict[int, str]]


def _sort_key(sorts: _Sorts, one: _Damage) -> object:
    return one[0], sorts[one[0]][one[1]]


def _page_key(sorts: _Sorts, one: _Damage) -> object:
    return one[:2]


def _way_key(sorts: _Sorts, one: _Damage) -> object:
    return one[0], sorts[one[0]][one[1]], one[2]


def _own_key(sorts: _Sorts, one: _Damage) -> object:
    return one


def _in_processes(work: str, seed: int, count: int) -> Iterator[dict[str, Any]]:
    """What became of all cases, which are dealt out to two processes."""
    paths = [os.path.join(work, f"outcomes-{which}.jsonl") for which in range(_PROCESSES)]
    dealers: list[subprocess.Popen[bytes]] = []
    for which, path in enumerate(paths):
        with open(path, "wb") as file:
            dealers.append(
                subprocess.Popen(
                    [sys.executable, os.path.abspath(__file__), work, str(seed), str(count), str(which)],
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, stdout=file,
                )
            )  # fmt: skip
    for dealer, path in zip(dealers, paths, strict=True):
        code = dealer.wait()
        with open(path, encoding="utf-8") as file:
            yield from map(json.loads, file)
        if code != 0:
            yield {"tally": {}, "troubles": [f"a process of the harness ended with {code}"]}


def _deal(work: str, seed: int, count: int, which: int) -> None:
    """Every second case (of two processes), each in a child: some damage ends a process."""
    base = os.path.join(work, "base")
    home = os.path.join(work, f"store-{which}")
    right = answers(base, work)
    for case in choose(base, seed, count)[which::_PROCESSES]:
        print(json.dumps(run_case(base, home, case, seed, right)), flush=True)


def run_case(base: str, home: str, case: Case, seed: int, right: list[Answer]) -> dict[str, Any]:
    """One case in a process of its own: its troubles, and what is counted."""
    shutil.rmtree(home, ignore_errors=True)
    copy_store(base, home)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            user = User(base, home, case, random.Random(f"{seed} {case}"), right, writing)
            user.go()
            os.write(writing, json.dumps({"troubles": user.troubles, "tally": user.tally}).encode() + b"\n")
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said: list[dict[str, Any]] = [json.loads(line) for line in pipe]
    _, status = os.waitpid(pid, 0)
    if status != 0:
        doing = said[-1].get("begin", "looking at what is left") if said else "beginning"
        return {"troubles": [f"{case}: ended with status {status} in {doing}"], "tally": {}}
    return {**said[-1], "troubles": [f"{case}: {trouble}" for trouble in said[-1]["troubles"]]}


if __name__ == "__main__":
    _deal(sys.argv[1], *map(int, sys.argv[2:5]))
