"""What lies beside a store that was just made, and the command that takes each of it in.

`ctxrank init` names these and does none of them: what is read into a store is for its user to say.
"""

import os
import re
from collections.abc import Iterator

_NOTES = ("adr", "artifacts", "doc", "docs", "notes", "research")
_DATABASE = os.path.join("bazinga", "bazinga.db")


def proposals(folder: str) -> Iterator[str]:
    """A line for each thing that was found in a project's folder, with its command: `docs/: 'ctxrank index docs'`."""
    if os.path.exists(os.path.join(folder, ".git")):
        yield "a git checkout: 'ctxrank index' takes in its files, but for those that git ignores"
    elif notes := [name for name in _NOTES if os.path.isdir(os.path.join(folder, name))]:
        yield f"{', '.join(f'{name}/' for name in notes)}: 'ctxrank index {' '.join(notes)}'"
    if os.path.isdir(os.path.join(folder, ".contextia")):
        yield ".contextia/: 'ctxrank index' takes in its links, 'ctxrank check' checks them"
    if os.path.isfile(os.path.join(folder, _DATABASE)):
        yield f"a store of BAZINGA: 'ctxrank import bazinga {_DATABASE} --root .' takes it in"
    if count := _transcripts(folder):
        yield f"{count} sessions of Claude Code: 'ctxrank import transcripts' takes in what failed, and what fixed it"


def _transcripts(folder: str) -> int:
    """How many sessions Claude Code has kept of a project: a file each, in a folder named after the project's path."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(folder))
    try:
        with os.scandir(os.path.join(home, "projects", name)) as entries:
            return sum(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return 0
