"""Whoever goes on with a store that was damaged behind their back: asks, writes, lets doctor repair, and goes on.

    User(base, home, case, rng, right, pipe).go()        .troubles == [], .tally

An answer is `right` (as the sound store's), `degraded` with a reason, `refused` with 5 and a hint, or `other`.
"""

import json
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from acts import Called, call_command
from builders import word
from damage import PAGE, rows_of
from examine import index_troubles
from page_damage import Way, damaged

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.opening import open_store

_MOST_S = 30
SESSION = "shop-2026-10"
PRIMARY, INDEX = "ctxrank.db", "index.db"
SPAWN = ("--session", SESSION, "--group", "AUTH", "--agent", "developer")
# What a user asks; only the last of them notes something, a receipt.
QUESTIONS = (
    ("receipt", "list"), ("search", "token refresh"), ("search", "shared3", "--limit", "50"),
    ("search", "w7x3 database locked"),
    ("search", "token", "--passages", "--limit", "50"), ("search", "kind:package", "--limit", "100"),
    ("package", "list", "--session", "notes", "--limit", "100"), ("show", "package:3"),
    ("show", "package:20", "--depth", "full"), ("status",), ("reasoning", "get", "--session", SESSION),
    ("strategy", "list"), ("error", "list"), ("session", "list"),
    ("error", "match", "--message", "sqlite3.OperationalError: database is locked", "--project", "shop"),
    ("assemble", *SPAWN, "--task", "token refresh", "--strict", "--no-mark"),
    ("context", "TASK-042"),
)  # fmt: skip
# Ways that may leave a page on which everything is valid: SQLite has no checksums.
SUBTLE = (Way.BYTES, Way.COPIED, Way.TORN)
# What differs after a repair: how the store is, and the receipts that the first assembly and context left.
_NOT_ASKED_AGAIN = (("status",), ("receipt", "list"))
# What a repair makes anew, what a read may write, marks for the next scan, and what 'context' reads from files again.
_NOT_COMPARED = {
    "receipts", "deliveries", "artifacts", "settings", "roots", "linked_trees", "linked_artifacts", "linked_texts",
    "annotations", "annotated_files",
}  # fmt: skip
Answer = tuple[int, str]


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


def answers(base: str, work: str) -> list[Answer]:
    """What the sound store answers to each question."""
    home = tempfile.mkdtemp(dir=work)
    shutil.rmtree(home)
    copy_store(base, home)
    right = [_said(call(home, *question, "--json"), home) for question in QUESTIONS]
    shutil.rmtree(home)
    return right


class User:
    """Who goes on with a store that was damaged behind their back."""

    def __init__(self, base: str, home: str, case: Case, rng: random.Random, right: list[Answer], pipe: int) -> None:
        self.troubles: list[str] = []
        self.tally: Counter[str] = Counter()
        self._base, self._home, self._case, self._right, self._pipe = base, home, case, right, pipe
        self._rng = rng
        # On an overflow page stands the rest of a row alone: whatever is there is one.
        is_rest_of_a_row = case.file == PRIMARY and case.sort.endswith(" overflow") and not case.way.is_cut
        self._is_subtle = case.way in SUBTLE or is_rest_of_a_row
        self._kept: list[str] = []

    def go(self) -> None:
        """Damage the page, and live with it."""
        case = self._case
        path = file_of(self._home, case.file)
        data = damaged(Path(path).read_bytes(), case.way, case.page, case.other, self._rng)
        Path(path).write_bytes(data)
        os.chdir(self._home)
        is_unnoticed = self._ask(list(range(len(QUESTIONS))))
        if case.file == INDEX:
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
            self._ask(
                [one for one in range(len(QUESTIONS)) if QUESTIONS[one] not in _NOT_ASKED_AGAIN], is_repaired=True
            )
        self._write(2, must=True)
        self._look_at_index()

    def _call(self, *arguments: str) -> Called:
        os.write(self._pipe, json.dumps({"begin": " ".join(arguments)}).encode() + b"\n")
        signal.alarm(_MOST_S)
        called = call(self._home, *arguments)
        signal.alarm(0)
        if called.code not in (0, 1, 4, 5):
            self.troubles.append(
                f"{' '.join(arguments)[:60]} ends with {called.code}: {called.stderr or called.stdout}"
            )
        for sign in ("Traceback", "Internal error", "AssertionError"):
            if sign in called.stdout + called.stderr:
                self.troubles.append(f"{' '.join(arguments)[:60]} says {sign}: {called.stderr or called.stdout}")
        return called

    def _ask(self, numbers: list[int], *, has_healed: bool = False, is_repaired: bool = False) -> bool:
        """Ask, and compare with the sound store; whether an answer was another that nothing explains."""
        is_other = False
        for number in numbers:
            question = " ".join(QUESTIONS[number])
            answer = _said(self._call(*QUESTIONS[number], "--json"), self._home)
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
            ((text,), ("package", "save", f"{text}.md", "--session", SESSION, "--group", "AUTH", "--type", "research",
                      "--producer", "investigator", "--summary", f"About {text}.", "--create-session")),
            ((other,), ("index",)),
            ((), ("assemble", *SPAWN, "--task", text)),
        )  # fmt: skip
        for words, arguments in acts:
            called = self._call(*arguments, "--json")
            is_refused = called.code != 0
            self.tally[f"answer write {'refused' if is_refused else 'done'}"] += not must
            if is_refused and (must or self._case.file == INDEX):
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
        before = self._primary_bytes()
        called = self._call("doctor", "--repair", "apply", "--json")
        payload = json.loads(called.stdout)
        if "error" in payload:
            self.tally["repair refused"] += 1
            if not (case.file == PRIMARY and case.way.is_cut):
                self.troubles.append(f"the repair is refused: {called.stdout}")
            return None
        report: dict[str, Any] = payload["repair"]
        steps = [step["id"] for step in report["steps"]]
        self._has_lost = report["complete"] is False
        end = "not needed" if not steps else "lost rows" if self._has_lost else "lost nothing"
        self.tally[f"repair {end}"] += 1
        self.tally["rows lost"] += sum(table["lost"] for table in report["tables"])
        if case.file == INDEX and "salvage" in steps:
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

    def _primary_bytes(self) -> bytes:
        return Path(file_of(self._home, PRIMARY)).read_bytes()

    def _look_at_backup(self, backup: str | None, before: bytes) -> None:
        if not backup:
            self.troubles.append("no backup is named")
            return
        kept = Path(backup).read_bytes()
        if self._case.writes_first or self._case.file == INDEX:
            return  # the log was merged into it
        size = min(len(kept), len(before) // PAGE * PAGE)
        if kept[PAGE:size] != before[PAGE:size] or len(kept) < len(before) // PAGE * PAGE:
            self.troubles.append(f"the backup of {len(kept)} bytes is not the truth of {len(before)} as it was")

    def _look_at_rows(self, report: dict[str, Any]) -> None:
        """Every row is there, or it was counted, and stood on the damaged page; no text is there that was not."""
        was, now = rows_of(file_of(self._base, PRIMARY)), rows_of(file_of(self._home, PRIMARY))
        tables = {table["name"]: table for table in report["tables"]}
        owner = self._case.sort.partition(" ")[0]
        known = {text for rows in was.values() for row in rows for text in row if isinstance(text, str)}
        for name, rows in was.items():
            if name in _NOT_COMPARED or name.startswith("fts"):
                continue
            missing, more = _own(rows - now.get(name, set())), _own(now.get(name, set()) - rows)
            table = tables.get(name, {"lost": 0, "rebuilt": 0, "is_count_known": True})
            if len(missing) > table["lost"] + table["rebuilt"] and table["is_count_known"]:
                self.troubles.append(f"{len(missing)} rows of {name} are missing; counted are {table}"[:600])
            elif self._is_subtle and self._case.writes_first:
                continue  # what is written by a misplaced page's directions stands elsewhere, twice or anew
            elif missing and owner not in (name, "sqlite_schema") and not (self._case.way.is_cut or table["rebuilt"]):
                self.troubles.append(
                    f"{len(missing)} rows of {name} are lost, which did not stand there: {table}"[:600]
                )
            strange = {text for row in more for text in row if isinstance(text, str)} - known
            if strange and not table["rebuilt"] and not self._case.writes_first:
                self.troubles.append(f"texts of {name} that were never stored: {sorted(strange)[:3]}"[:600])

    def _look_at_index(self) -> None:
        try:
            with open_store(file_of(self._home, PRIMARY), root=self._home) as store:
                self.troubles += index_troubles(store, is_thorough=True)
        except CtxrankError as error:
            self.troubles.append(f"at the end: {type(error).__name__}: {error}")


def copy_store(base: str, home: str) -> None:
    """The store's files copied and all others linked: what a scan knows them by (inode, size, time) stays."""
    shutil.copytree(base, home, copy_function=os.link, ignore=shutil.ignore_patterns(".ctxrank"))
    shutil.copytree(os.path.join(base, ".ctxrank"), os.path.join(home, ".ctxrank"))


def _own(rows: set[tuple[object, ...]]) -> set[tuple[object, ...]]:
    """Rows without the documents of linked artifacts, which are read from their files again, and without the log of who
    was shown what, which goes on as the deliveries that it is of.
    """
    return {row for row in rows if not {"linked", "usage"}.intersection(row[:3])}


def file_of(folder: str, name: str) -> str:
    return os.path.join(folder, ".ctxrank", name)


def call(home: str, *arguments: str) -> Called:
    return call_command("--db", file_of(home, PRIMARY), "--root", home, *arguments)


def _said(called: Called, home: str) -> Answer:
    """The exit code and the answer, without what differs between two calls that say the same."""
    try:
        answer = json.loads(called.stdout)
    except ValueError:
        return called.code, f"no JSON: {called.stdout[:300]} {called.stderr[:300]}"
    for name in ("receipt", "shared_prefix_tokens", "index_bytes", "bytes"):  # the last two: sizes of files
        answer.pop(name, None)
    return called.code, json.dumps(answer, ensure_ascii=False).replace(home, "HOME")


def _judged(answer: Answer, right: Answer) -> str:
    """right, degraded (with a reason), refused (5, with a hint) or other."""
    code, text = answer
    if answer == right:
        return "right"
    if text.startswith("no JSON"):
        return "other"
    said = json.loads(text)
    if code == 5 and said.get("error", {}).get("message") and said["error"].get("hint"):
        return "refused"
    is_told = any(said.get(name) for name in ("reason", "index_trouble", "stale"))
    if said.get("outcome") in ("degraded", "stale") and is_told:
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


def _difference(answer: Answer, right: Answer) -> str:
    place = next((at for at, (one, other) in enumerate(zip(answer[1], right[1], strict=False)) if one != other), 0)
    place = place or min(len(answer[1]), len(right[1]))
    said, wanted = (text[max(0, place - 60) : place + 160] for text in (answer[1], right[1]))
    return f"{answer[0]} …{said}… instead of {right[0]} …{wanted}…"
