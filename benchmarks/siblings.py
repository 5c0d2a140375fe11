"""How often an agent finds out what another has found already: python benchmarks/siblings.py REPOSITORY STORE [COMMITS]

Eight agents make the commits in turn. A step begins when the commit eight before it is made, with its message as the
task and the block that `ctxrank hook` gives then; it hears of others after a tool call behind each commit till its own,
when its note (message, changed files) is saved. Its fact is the note of the earlier commit that wrote most of the lines
it changes (`git blame`, no change logs), *late* if younger than the block; *found twice*: nothing that was sent had it.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from road import run_git

from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call
from ctxrank.indexer import create_store
from ctxrank.indexer.records.injections import list_injections
from ctxrank.indexer.records.packages import NewPackage, save_package

_AGENTS = 8
_CHANGE_LOG = re.compile(r"(?i)(^|/)(change|history|news|release|authors)")
_HUNK = re.compile(r"^(?:--- a/(.+)|@@ -(\d+)(?:,(\d+))? )", re.MULTILINE)


def _origins(repository: Path, commit: str) -> Iterator[str]:
    """The commit that wrote each line that a commit changed or took out."""
    file = ""
    for name, start, count in _HUNK.findall(run_git(repository, "diff", "-U0", f"{commit}^", commit)):
        file = name or file
        if not name and count != "0" and not _CHANGE_LOG.search(file):
            span = f"{start},+{count or 1}"
            for line in run_git(repository, "blame", "-s", "-l", "-L", span, f"{commit}^", "--", file).splitlines():
                yield line[:40]


def _says(home: Path, event: str, **fields: object) -> str:
    told = {"hook_event_name": event, "session_id": "team", "cwd": str(home), **fields}
    return answer_of(json.dumps(told).encode(), "claude-code", Call())


def replay(repository: Path, home: Path, most: int) -> Counter[str]:
    """Counts of the steps, their facts and where these stood, and of tokens."""
    (home / "notes").mkdir(parents=True)
    listed = run_git(repository, "log", "--no-merges", "--topo-order", f"-n{most}", "--format=%H").split()[::-1]
    files = {one: run_git(repository, "diff", "--name-only", f"{one}^", one) for one in listed}
    steps = [one for one in listed if 0 < len(files[one].splitlines()) <= 5]  # more says little of each
    messages = {one: run_git(repository, "log", "-1", "--format=%B", one).strip() for one in steps}
    notes: dict[str, str] = {}  # the package of each commit that was made
    sent: dict[str, list[str]] = {}  # to the agents at work: a block, then what they heard
    counts = Counter(steps=len(steps))
    with create_store(str(home)) as store:
        for at in range(len(steps) + _AGENTS):
            if at >= _AGENTS:
                made = steps[at - _AGENTS]
                block, *heard = sent.pop(made)
                origins = Counter(_origins(repository, made)).most_common(1)
                for origin in notes.keys() & {commit for commit, _ in origins}:
                    note = re.compile(rf"{notes[origin]}\b")
                    is_late = list(notes).index(origin) > len(notes) - _AGENTS
                    in_block, is_heard = (note.search(text) is not None for text in (block, "".join(heard)))
                    counts.update(facts=1, late=is_late, in_block=in_block, heard=is_heard and not in_block)
                path, title = f"notes/{at:04}.md", messages[made].partition("\n")[0]
                (home / path).write_text(f"# {messages[made]}\n\n## Files that changed\n\n{files[made]}\n", "utf-8")
                new = NewPackage("team", None, "research", path, "developer", title)
                notes[made] = f"package:{save_package(store, new, create_session=True).id}"
                for agent, texts in sent.items():
                    texts.append(_says(home, "PostToolUse", agent_id=agent, tool_name="Bash", tool_response={}))
            if at < len(steps):
                begun = steps[at]
                spawn = {"tool_use_id": begun, "tool_input": {"prompt": messages[begun]}}
                sent[begun] = [_says(home, "PreToolUse", tool_name="Agent", **spawn)]
                _says(home, "SubagentStart", agent_id=begun)
        for one in list_injections(store.primary, "team", -1):
            counts[f"tokens_{one.injection.event}"] += one.injection.tokens
    return counts


if __name__ == "__main__":
    print(json.dumps(replay(Path(sys.argv[1]), Path(sys.argv[2]), int((*sys.argv[3:], "400")[0]))))
