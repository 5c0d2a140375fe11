"""Does a finding reach the block of the agent that needs it: tasks with one known package each.

    python benchmarks/road.py DATA STORES [NAME…]        the shares
    python benchmarks/road.py --items DATA STORES NAME SEED    what results/judged-rule.md judges, as JSON lines

    issues      a reported issue (SWE-bench, Loc-Bench) looks for the note of the pull request that fixed it, among 300
                of one program: the messages of its commits and the files it changed
    questions   a question about a dialogue (LoCoMo) looks for the note of the session that answers it: its summary, and
                what was said

DATA has swe/*.jsonl, git/OWNER+NAME and locomo/locomo10.json. A store is made once for each set, below STORES. Each
package has a priority at random, and is for all agents. What is kept: whether the known package is *named* (title or
summary, not only a path), stands with a *passage*, is *first*. `results/road-sets.json` has the digest of each set and
what was dropped.
"""

import hashlib
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxrank.indexer import create_store, open_store
from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.config import load_config
from ctxrank.ranking.context.assembly.assemble import make_assembly
from ctxrank.ranking.context.assembly.bearing import IS_NEAR, select_by_bearing
from ctxrank.ranking.context.assembly.eligibility import eligible_packages
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.task_text import task_query

RESULTS = Path(__file__).parent / "results"
_RECORD = RESULTS / "road-sets.json"
# The repositories or dialogues of each set; a new one is an entry with `of` alone.
SETS: dict[str, list[str | int]] = {name: one["of"] for name, one in json.loads(_RECORD.read_text("utf-8")).items()}
_OF_LOCBENCH = [part for name in ("newest", "forms", "latest", "block") for part in SETS[f"issues-{name}"]]
BUDGETS = (8000, 2000)
_TASKS, _NOTES = 63, 300  # of a set; of a program
_PRIORITIES = ("critical", "high", "medium", "low")
_ADVERSARIAL = 5  # questions that have no answer
_PULL = re.compile(r"Merge pull request #(\d+) |\(#(\d+)\)$")
_TODAY = 20_000 * DAY_US


class Note(NamedTuple):
    """A package to be; `session` is whose packages a task is asked among."""

    session: str
    id: str
    title: str
    summary: str
    body: str


class Task(NamedTuple):
    """A task and the id of its package."""

    session: str
    text: str
    note: str


class TaskSet(NamedTuple):
    """Tasks with the notes that they are asked among; `dropped` are those without one known package."""

    tasks: list[Task]
    notes: list[Note]
    dropped: list[str]

    @property
    def digest(self) -> str:
        """Of all texts, in order."""
        return hashlib.sha256(json.dumps([self.tasks, self.notes]).encode()).hexdigest()


def read_set(data: Path, name: str) -> TaskSet:
    """A set, drawn the same way each time."""
    parts = SETS[name]
    found = [_questions(data, at) if isinstance(at, int) else _issues(data, at) for at in parts]
    tasks = [task for one in found for task in one.tasks]
    before = [other for other in list(SETS)[: list(SETS).index(name)] if {name[:9], other[:9]} == {"questions"}]
    drawn_before = {task for other in before for task in read_set(data, other).tasks}
    tasks = [task for task in tasks if task not in drawn_before]
    drawn = random.Random(name).sample(tasks, min(_TASKS, len(tasks)))
    return TaskSet(drawn, [note for one in found for note in one.notes], [id_ for one in found for id_ in one.dropped])


def _issues(data: Path, repository: str) -> TaskSet:
    git = data / "git" / repository.replace("/", "+")
    issues: dict[str, str] = {}
    for name in ("locbench",) if repository in _OF_LOCBENCH else ("swebench_lite", "swebench_verified"):
        for line in (data / "swe" / f"{name}.jsonl").read_text("utf-8").splitlines():
            issue = json.loads(line)
            if issue["repo"] == repository:
                issues[issue["instance_id"].rpartition("-")[2]] = issue["problem_statement"]
    pulls: dict[str, str] = {}
    for line in run_git(git, "log", "--first-parent", "--all", "--format=%H %s").splitlines():
        commit, _, subject = line.partition(" ")
        match = _PULL.search(subject)
        if match:
            pulls.setdefault(match[1] or match[2], commit)
    known = sorted(issues.keys() & pulls.keys(), key=int)
    others = sorted(pulls.keys() - issues.keys(), key=int)
    chosen = known + random.Random(repository).sample(others, min(_NOTES - len(known), len(others)))
    notes = {pull: _note_of(git, repository, pull, pulls[pull]) for pull in chosen}
    tasks = [Task(repository, issues[pull], pull) for pull in known if notes[pull].body]
    dropped = [f"{repository}#{pull}" for pull in sorted(issues, key=int) if pull not in pulls or not notes[pull].body]
    return TaskSet(tasks, [note for note in notes.values() if note.body], dropped)


def _note_of(git: Path, repository: str, pull: str, commit: str) -> Note:
    """What a pull request says of itself; its body is '' where it says nothing."""
    base = f"{commit}^1"
    messages = run_git(git, "log", "--no-merges", "--reverse", "--format=%B", f"{base}..{commit}").strip()
    files = run_git(git, "diff", "--name-only", base, commit).splitlines()[:20]
    lines = [line for line in messages.splitlines() if line.strip()]
    if not lines or not files:
        return Note(repository, pull, "", "", "")
    title, rest = lines[0].strip(), "\n".join(lines[1:])[:6000]
    summary = " ".join(rest.split())[:300] or title
    changed = "\n".join(f"- {file}" for file in files)
    return Note(repository, pull, title, summary, f"# {title}\n\n{rest}\n\n## Files that changed\n\n{changed}\n")


def run_git(git: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(git), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def _questions(data: Path, at: int) -> TaskSet:
    dialogue = json.loads((data / "locomo" / "locomo10.json").read_text("utf-8"))[at]
    name, talk = dialogue["sample_id"], dialogue["conversation"]
    notes: list[Note] = []
    for key, summary in dialogue["session_summary"].items():
        session = key.removesuffix("_summary")
        said = "\n\n".join(f"{turn['speaker']}: {turn['text']}" for turn in talk[session])
        number = session.removeprefix("session_")
        title = f"{talk['speaker_a']} and {talk['speaker_b']}, {talk[f'{session}_date_time']}"
        notes.append(Note(name, f"{name}-{number}", title, summary, f"# {title}\n\n{said}\n"))
    tasks: list[Task] = []
    dropped: list[str] = []
    for place, asked in enumerate(dialogue["qa"]):
        sessions = {evidence.split(":")[0].removeprefix("D") for evidence in asked["evidence"]}
        if asked["category"] == _ADVERSARIAL or len(sessions) != 1:
            dropped.append(f"{name}?{place}")
            continue
        tasks.append(Task(name, asked["question"], f"{name}-{sessions.pop()}"))
    known = {note.id for note in notes}
    return TaskSet([task for task in tasks if task.note in known], notes, dropped)


def make_store(home: Path, notes: list[Note]) -> None:
    """A project with the notes as packages of one group, saved in a shuffled order."""
    home.mkdir(parents=True)
    create_store(str(home)).close()
    draw = random.Random(len(notes))
    with open_store(str(home / ".ctxrank" / "ctxrank.db")) as store:
        for number, note in enumerate(draw.sample(notes, len(notes))):
            path = home / "notes" / f"{number:04}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(note.body, "utf-8")
            priority, made_at = draw.choice(_PRIORITIES), _TODAY - draw.randrange(365) * DAY_US
            new = NewPackage(
                note.session, "G", "research", f"notes/{number:04}.md", "investigator", note.summary, priority,
                None, (), made_at,
            )  # fmt: skip
            id_ = save_package(store, new, create_session=True).id
            with (home / "ids.tsv").open("a", encoding="utf-8") as ids:
                ids.write(f"{note.session}#{note.id}\t{id_}\n")  # a number is of one program alone


def measure(home: Path, tasks: list[Task]) -> Iterator[tuple[str, dict[str, float]]]:
    """(budget, shares) of a set."""
    ids = dict(line.split("\t") for line in (home / "ids.tsv").read_text("utf-8").splitlines())
    with open_store(str(home / ".ctxrank" / "ctxrank.db")) as store:
        config = load_config(store)
        for budget in BUDGETS:
            sums: dict[str, float] = dict.fromkeys(("named", "passage", "first", "packages", "used"), 0.0)
            for task in tasks:
                request = AssembleRequest(task.session, "developer", "G", task.text, "claude", budget=budget)
                block = make_assembly(store, request._replace(as_of=_TODAY, is_explained=False), config)[0]
                wanted = int(ids[f"{task.session}#{task.note}"])
                for place, one in enumerate(block.packages):
                    if one.id == wanted:
                        sums["first"] += place == 0
                        sums["named"] += 1
                        sums["passage"] += bool(one.passages)
                sums["packages"] += len(block.packages)
                sums["used"] += block.used
            yield str(budget), {name: round(total / len(tasks), 3) for name, total in sums.items()}


def print_items(data: Path, stores: Path, name: str, seed: str) -> None:
    """What twenty blocks show first and, of what is near the best, anywhere."""
    with open_store(str(stores / name / ".ctxrank" / "ctxrank.db")) as store:
        config = load_config(store)
        for number, task in enumerate(random.Random(seed).sample(read_set(data, name).tasks, 20)):
            request = AssembleRequest(task.session, "developer", "G", task.text, "claude", budget=8000, as_of=_TODAY)
            block, spawn = make_assembly(store, request, config)
            assert spawn is not None
            engine = engine_of(store)
            with engine.snapshot() as statistics:
                plan = make_plan(task_query(task.text), engine, statistics, tuned(config.ranking))
                rows = select_by_bearing(spawn, plan, eligible_packages(spawn)).packages
            near = {row.package.id for row in rows if row.standing == IS_NEAR}
            for place, one in enumerate(block.packages):
                if place == 0 or one.id in near:
                    key = f"{name}/{number}/{one.id}/{'near' if place else 'first'}"
                    shown = [one.title, one.summary, *(passage.text for passage in one.passages)]
                    print(json.dumps({"key": key, "task": task.text, "shown": shown}))


def main() -> None:
    """Check the digests, or write them where none are, and print the shares."""
    if sys.argv[1] == "--items":
        print_items(Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
        return
    data, stores, *names = sys.argv[1:]
    written: dict[str, Any] = json.loads(_RECORD.read_text("utf-8"))
    for name in names or SETS:
        found = read_set(Path(data), name)
        said = {
            "of": SETS[name],
            "digest": found.digest,
            "tasks": len(found.tasks),
            "notes": len(found.notes),
            "dropped": found.dropped,
        }
        if written[name] not in (said, {"of": SETS[name]}):
            sys.exit(f"{name} is not what it was: {found.digest}")
        written[name] = said
        _RECORD.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
        home = Path(stores) / name
        if not home.exists():
            make_store(home, found.notes)
        for budget, shares in measure(home, found.tasks):
            print(name, budget, shares, flush=True)


if __name__ == "__main__":
    main()
