"""Damage: every page of the truth and of the index, in seven ways, and what a user's commands make of it.

Each case damages one page of one file of a closed store (`page_damage.py`) and goes on as a user would: searches, lists,
assembles, saves, indexes, asks doctor, lets it repair, and goes on. Right is, for each command: what the sound store
answers, or degraded with a reason, or 5 with a hint; never a signal, a traceback or more than half a minute. After the repair doctor
finds nothing, every row is there that did not stand on the page, what is lost was counted, the index is what a rebuild
makes, and the truth as it was lies in the backups.

Of a few bytes, lost sectors and misplaced pages less is asked: what turned into another valid row is seen by no query. Where
these change an answer they are counted, with who saw it: doctor, or doctor --deep.

    damage_many("/tmp/work", seed=7, length=10)      Damages(cases=…, failures=())
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from acts import Called, call_command
from builders import save, word
from damage import PAGE, closed, rows_of
from examine import index_troubles
from linked_builders import copy_fixture
from load import load
from page_damage import Way, damaged, sorts_of

from ctxrank.indexer.errors import CtxrankError
from ctxrank.indexer.store import open_store

_PROCESSES = 2
_CASES_PER_LENGTH = 100
_MOST_S = 30
_FAILURES_KEPT = 40
_SESSION = "shop-2026-10"
_TRUTH, _INDEX = "ctxrank.db", "index.db"
_SPAWN = ("--session", _SESSION, "--group", "AUTH", "--agent", "developer")
# What a user asks; only the last of them notes something, a receipt.
_QUESTIONS = (
    ("receipt", "list"), ("search", "token refresh"), ("search", "shared3", "--limit", "50"), ("search", "w7x3 database locked"),
    ("search", "token", "--passages", "--limit", "50"), ("search", "kind:package", "--limit", "100"),
    ("package", "list", "--session", "notes", "--limit", "100"), ("show", "package:3"),
    ("show", "package:20", "--depth", "full"), ("status",), ("reasoning", "get", "--session", _SESSION),
    ("strategy", "list"), ("error", "list"), ("session", "list"),
    ("error", "match", "--message", "sqlite3.OperationalError: database is locked", "--project", "shop"),
    ("assemble", *_SPAWN, "--task", "token refresh", "--strict", "--no-mark"),
    ("context", "TASK-042"),
)  # fmt: skip
# Ways that may leave a page on which everything is valid: SQLite has no checksums.
SUBTLE = (Way.BYTES, Way.COPIED, Way.TORN)
# What differs after a repair: how the store is, and the receipts that the first assembly and context left.
_NOT_ASKED_AGAIN = (("status",), ("receipt", "list"))
# What a repair makes anew, what a read may write, marks for the next scan, and what 'context' reads from files again.
_NOT_COMPARED = {
    "receipts", "deliveries", "artifacts", "settings", "roots", "linked_trees", "linked", "linked_texts", "annotations",
    "annotated_files",
}  # fmt: skip
_Answer = tuple[int, str]


class Damages(NamedTuple):
    """What a run came to.

    `answers` counts how the questions were answered before a repair, `repairs` how those ended; `sorts` are cases by what
    the page was. `unnoticed` are cases in which subtle damage changed an answer, by file and way, and how many of them
    doctor sees.
    """

    cases: int
    seed: int
    truth_pages: int
    index_pages: int
    ways: dict[str, int]
    sorts: dict[str, int]
    answers: dict[str, int]
    repairs: dict[str, int]
    rows_lost: int
    unnoticed: dict[str, int]
    failures: tuple[str, ...]
    seconds: float


class Case(NamedTuple):
    """One page of one file, and how it is damaged; writes come before the repair, too, in half of the cases."""

    number: int
    file: str
    page: int
    sort: str
    way: Way
    other: int
    other_sort: str
    writes_first: bool

    def __str__(self) -> str:
        over = f", page {self.other}, {self.other_sort}" if self.way is Way.COPIED else ""
        return f"case {self.number}, {self.file} page {self.page} ({self.sort}), {self.way.value}{over}"


def damage_many(
    work: str, *, seed: int, length: int, say: Callable[[str], None] = lambda line: None, count: int | None = None
) -> Damages:
    """Damage pages one at a time: each sort in each way as far as `count` goes [default: 100 × length]."""
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
    return Damages(
        len(outcomes), seed, os.path.getsize(_file(base, _TRUTH)) // PAGE, os.path.getsize(_file(base, _INDEX)) // PAGE,
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
            save(store, f"notes/{number}.md", text, session="notes", summary=words if number == 7 else f"Note {number}.")
        with store.write() as change:
            rows = [("elsewhere", "package", f"{number:040}", "cafe" * 16, number) for number in range(90)]
            change.connection.executemany("INSERT INTO imported_rows VALUES (?, ?, ?, ?, ?)", rows)
        copy_fixture(Path(base))
        _fill(base)
        store.index().connection.execute("INSERT INTO main.fts (fts) VALUES ('optimize')")
        closed(store)
    finally:
        os.chdir(before)


def _fill(base: str) -> None:
    long = "Not for long. " * 2000
    for arguments in (
        ("index",), ("context", "TASK-042"),
        ("skill", "save-output", "lint-check", '{"note": "x"}', *_SPAWN), ("assemble", *_SPAWN, "--task", "tokens"),
        ("reasoning", "save", long, "--session", "gone", "--create-session", "--agent", "developer", "--phase", "risks"),
        ("prune", "--older-than", "0s", "--kind", "reasoning", "--session", "gone"),
        *(("assemble", *_SPAWN, "--task", f"task {number}", "--iteration", str(number)) for number in range(5)),
        ("index",),  # counts the tokens that a context estimated
    ):  # fmt: skip
        called = _call(base, *arguments)
        assert called.code == 0, (arguments, called)


def choose(base: str, seed: int, count: int) -> list[Case]:
    """Every page once, in each way some of them, then each sort in each way, then anything; the first `count`."""
    rng = random.Random(f"{seed} damages")
    sorts = {name: sorts_of(_file(base, name)) for name in (_TRUTH, _INDEX)}
    everything = [(name, page, way) for name, found in sorts.items() for page in found for way in Way]
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


def answers(base: str, work: str) -> list[_Answer]:
    """What the sound store answers to each question."""
    home = tempfile.mkdtemp(dir=work)
    shutil.rmtree(home)
    _copy(base, home)
    right = [_said(_call(home, *question, "--json"), home) for question in _QUESTIONS]
    shutil.rmtree(home)
    return right


def run_case(base: str, home: str, case: Case, seed: int, right: list[_Answer]) -> dict[str, Any]:
    """One case in a process of its own: its troubles, and what is counted."""
    shutil.rmtree(home, ignore_errors=True)
    _copy(base, home)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            user = _User(base, home, case, random.Random(f"{seed} {case}"), right, writing)
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


class _User:
    """Who goes on with a store that was damaged behind their back."""

    def __init__(
        self, base: str, home: str, case: Case, rng: random.Random, right: list[_Answer], pipe: int
    ) -> None:
        self.troubles: list[str] = []
        self.tally: Counter[str] = Counter()
        self._base, self._home, self._case, self._right, self._pipe = base, home, case, right, pipe
        self._rng = rng
        self._is_subtle = case.way in SUBTLE
        self._kept: list[str] = []

    def go(self) -> None:
        """Damage the page, and live with it."""
        case = self._case
        path = _file(self._home, case.file)
        data = damaged(Path(path).read_bytes(), case.way, case.page, case.other, self._rng)
        Path(path).write_bytes(data)
        os.chdir(self._home)
        is_unnoticed = self._ask(list(range(len(_QUESTIONS))))
        if case.file == _INDEX:
            self._ask(list(range(1, 6)), has_healed=True)
        if case.writes_first:
            self._write(1)
        report = self._repair(data, is_unnoticed=is_unnoticed)
        if report is None:
            return
        is_whole = report["complete"] is not False and not any(
            table["rebuilt"] or table["problems"] for table in report["tables"]
        )
        if is_whole and not case.writes_first and not self._is_subtle:
            self._ask([one for one in range(len(_QUESTIONS)) if _QUESTIONS[one] not in _NOT_ASKED_AGAIN], is_repaired=True)
        self._write(2, must=True)
        self._look_at_index()

    def _call(self, *arguments: str) -> Called:
        os.write(self._pipe, json.dumps({"begin": " ".join(arguments)}).encode() + b"\n")
        signal.alarm(_MOST_S)
        called = _call(self._home, *arguments)
        signal.alarm(0)
        if called.code not in (0, 1, 4, 5):
            self.troubles.append(f"{' '.join(arguments)[:60]} ends with {called.code}: {called.stderr or called.stdout}")
        for sign in ("Traceback", "should not", "AssertionError"):
            if sign in called.stdout + called.stderr:
                self.troubles.append(f"{' '.join(arguments)[:60]} says {sign}: {called.stderr or called.stdout}")
        return called

    def _ask(self, numbers: list[int], *, has_healed: bool = False, is_repaired: bool = False) -> bool:
        """Ask, and compare with the sound store; whether an answer was another that nothing explains."""
        is_other = False
        for number in numbers:
            question = " ".join(_QUESTIONS[number])
            answer = _said(self._call(*_QUESTIONS[number], "--json"), self._home)
            how = _judged(answer, self._right[number])
            if not is_repaired and not has_healed:
                self.tally[f"answer {how}"] += 1
            if how == "other" or (how != "right" and (is_repaired or has_healed)):
                is_other = True
                if not self._is_subtle or is_repaired:
                    when = " after the repair" if is_repaired else " once more" if has_healed else ""
                    self.troubles.append(f"{question}{when}: {how}: {_difference(answer, self._right[number])}")
        return is_other

    def _write(self, first: int, *, must: bool = False) -> None:
        """Save, index and assemble; what is acknowledged is to be there after the repair."""
        text = word(800_000_000 + first)
        Path(self._home, f"{text}.md").write_text(f"# About\n\nThe {text} is a finding.\n")
        other = word(810_000_000 + first)
        Path(self._home, "artifacts", f"{other}.md").write_text(f"# About\n\nThe {other} is a finding.\n")
        acts = (
            ((text,), ("package", "save", f"{text}.md", "--session", _SESSION, "--group", "AUTH", "--type", "research",
                      "--producer", "investigator", "--summary", f"About {text}.")),
            ((other,), ("index",)),
            ((), ("assemble", *_SPAWN, "--task", text)),
        )  # fmt: skip
        for words, arguments in acts:
            called = self._call(*arguments, "--json")
            is_refused = called.code != 0
            self.tally[f"answer write {'refused' if is_refused else 'done'}"] += not must
            if is_refused and (must or self._case.file == _INDEX):
                self.troubles.append(f"{arguments[0]} ends with {called.code}: {called.stderr or called.stdout}"[:400])
            self._kept += () if is_refused else words
        if must:
            for kept in self._kept:
                if json.loads(self._call("search", kept, "--json").stdout).get("total") != 1:
                    self.tally["rows lost"] += 0
                    if self._has_lost and kept not in (text, other):
                        continue
                    self.troubles.append(f"{kept} was acknowledged and is not found")

    _has_lost = False

    def _repair(self, data: bytes, *, is_unnoticed: bool) -> dict[str, Any] | None:
        """Let doctor look and repair, and compare what is left with what was; None where nothing can be saved."""
        case = self._case
        looked = self._call("doctor", "--json").code
        deep = self._call("doctor", "--deep", "--json").code
        if is_unnoticed and self._is_subtle:
            what = f"subtle {case.file}, {case.way.value}"
            self.tally[what] += 1
            self.tally[f"{what}: seen by doctor"] += looked == 5
            self.tally[f"{what}: seen by doctor --deep"] += deep == 5
        before = self._truth_bytes()
        called = self._call("doctor", "--repair", "apply", "--json")
        payload = json.loads(called.stdout)
        if "error" in payload:
            self.tally["repair refused"] += 1
            if not (case.file == _TRUTH and case.way.is_cut):
                self.troubles.append(f"the repair is refused: {called.stdout}")
            return None
        report: dict[str, Any] = payload["repair"]
        steps = [step["id"] for step in report["steps"]]
        self._has_lost = report["complete"] is False
        end = "not needed" if not steps else "lost rows" if self._has_lost else "lost nothing"
        self.tally[f"repair {end}"] += 1
        self.tally["rows lost"] += sum(table["lost"] for table in report["tables"])
        if case.file == _INDEX and "salvage" in steps:
            self.troubles.append("the truth is salvaged though only the index was damaged")
        if steps:
            self._look_at_backup(report["backup"], before)
        findings = json.loads(self._call("doctor", "--deep", "--json").stdout).get("findings", [])
        broken = [
            f"{finding['id']}: {finding['evidence']}" for finding in findings if finding["result"] == "fail"
        ]  # fmt: skip
        if broken and self._is_subtle:  # seen by --deep alone
            again = json.loads(self._call("doctor", "--deep", "--repair", "apply", "--json").stdout)["repair"]
            broken = [f"{one['id']}: {one['evidence']}" for one in again["findings"] if one["result"] == "fail"]
            broken = [one for one in broken if not one.startswith("passage-texts")]  # altered, and a valid row
            self._has_lost = self._has_lost or again["complete"] is False
        if broken:
            self.troubles.append(f"after the repair doctor --deep finds {broken}")
        if case.way not in (Way.BYTES, Way.TORN):
            self._look_at_rows(report)
        return report

    def _truth_bytes(self) -> bytes:
        return Path(_file(self._home, _TRUTH)).read_bytes()

    def _look_at_backup(self, backup: str | None, before: bytes) -> None:
        if not backup:
            self.troubles.append("no backup is named")
            return
        kept = Path(backup).read_bytes()
        if self._case.writes_first or self._case.file == _INDEX:
            return  # the log was merged into it
        size = min(len(kept), len(before) // PAGE * PAGE)
        if kept[PAGE:size] != before[PAGE:size] or len(kept) < len(before) // PAGE * PAGE:
            self.troubles.append(f"the backup of {len(kept)} bytes is not the truth of {len(before)} as it was")

    def _look_at_rows(self, report: dict[str, Any]) -> None:
        """Every row is there, or it was counted, and stood on the damaged page; no row is there that was not."""
        was, now = rows_of(_file(self._base, _TRUTH)), rows_of(_file(self._home, _TRUTH))
        tables = {table["name"]: table for table in report["tables"]}
        owner = self._case.sort.partition(" ")[0]
        for name, rows in was.items():
            if name in _NOT_COMPARED or name.startswith("fts"):
                continue
            missing, more = _own(rows - now.get(name, set())), _own(now.get(name, set()) - rows)
            table = tables.get(name, {"lost": 0, "rebuilt": 0, "is_count_known": True})
            if len(missing) > table["lost"] + table["rebuilt"] and table["is_count_known"]:
                self.troubles.append(f"{len(missing)} rows of {name} are missing; counted are {table}"[:600])
            elif missing and owner != name and not self._case.way.is_cut and not table["rebuilt"]:
                self.troubles.append(f"{len(missing)} rows of {name} are lost, which did not stand there: {table}"[:600])
            if len(more) > table["rebuilt"] and not self._case.writes_first and not self._is_subtle:
                self.troubles.append(f"{len(more)} rows of {name} were never stored: {sorted(map(repr, more))[:2]}"[:600])

    def _look_at_index(self) -> None:
        try:
            with open_store(_file(self._home, _TRUTH), root=self._home) as store:
                self.troubles += index_troubles(store, is_thorough=True)
        except CtxrankError as error:
            self.troubles.append(f"at the end: {type(error).__name__}: {error}")


def _copy(base: str, home: str) -> None:
    """The store's files copied and all others linked: what a scan knows them by (inode, size, time) stays."""
    shutil.copytree(base, home, copy_function=os.link, ignore=shutil.ignore_patterns(".ctxrank"))
    shutil.copytree(os.path.join(base, ".ctxrank"), os.path.join(home, ".ctxrank"))


def _own(rows: set[tuple[object, ...]]) -> set[tuple[object, ...]]:
    """Rows without the documents of linked artifacts, which are read from their files again."""
    return {row for row in rows if "linked" not in row[:3]}


def _file(folder: str, name: str) -> str:
    return os.path.join(folder, ".ctxrank", name)


def _call(home: str, *arguments: str) -> Called:
    return call_command("--db", _file(home, _TRUTH), "--root", home, *arguments)


def _said(called: Called, home: str) -> _Answer:
    """The exit code and the answer, without what differs between two calls that say the same."""
    try:
        answer = json.loads(called.stdout)
    except ValueError:
        return called.code, f"no JSON: {called.stdout[:300]} {called.stderr[:300]}"
    for name in ("receipt", "shared_prefix_tokens"):
        answer.pop(name, None)
    if "index_bytes" in answer:
        answer.pop("index_bytes")
    return called.code, json.dumps(answer, ensure_ascii=False).replace(home, "HOME")


def _judged(answer: _Answer, right: _Answer) -> str:
    """right, degraded (with a reason), refused (5, with a hint) or other."""
    code, text = answer
    if answer == right:
        return "right"
    if text.startswith("no JSON"):
        return "other"
    said = json.loads(text)
    if code == 5 and said.get("error", {}).get("message") and said["error"].get("hint"):
        return "refused"
    if said.get("outcome") in ("degraded", "stale") and (said.get("reason") or said.get("index_trouble")):
        return "other" if _strangers(said, json.loads(right[1])) else "degraded"
    if set(said.get("warnings", ())) - set(json.loads(right[1]).get("warnings", ())):
        return "degraded"  # a context says so
    return "other"


def _strangers(said: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether a degraded answer shows a known id with another content than the sound store's."""
    known = {hit["id"]: hit for hit in right.get("hits", ())}
    return any(
        hit[field] != known[hit["id"]][field]
        for hit in said.get("hits", ())
        if hit["id"] in known
        for field in ("kind", "title", "path", "created_at")
    )


def _difference(answer: _Answer, right: _Answer) -> str:
    place = next((at for at, (one, other) in enumerate(zip(answer[1], right[1], strict=False)) if one != other), 0)
    place = place or min(len(answer[1]), len(right[1]))
    return f"{answer[0]} …{answer[1][max(0, place - 100) : place + 160]}… instead of {right[0]} …{right[1][max(0, place - 20) : place + 160]}…"


if __name__ == "__main__":
    _deal(sys.argv[1], *map(int, sys.argv[2:5]))
