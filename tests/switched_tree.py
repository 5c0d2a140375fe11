"""A stand-in for a checkout of the predecessor: small scripts of our own in the shape that install recognises."""

import hashlib
import os
from pathlib import Path

METHODS = (
    "save_context_package", "get_context_packages", "mark_context_consumed", "update_context_references",
    "save_reasoning", "get_reasoning", "reasoning_timeline", "check_mandatory_phases", "save_error_pattern",
    "get_error_patterns", "update_error_pattern_confidence", "cleanup_expired_patterns", "save_consumption",
    "get_consumption", "save_strategy", "get_strategies", "update_strategy_helpfulness", "extract_strategies",
    "save_skill_output", "get_skill_output", "get_skill_output_all", "check_skill_evidence", "query",
)  # fmt: skip

DATABASE_SCRIPT = f'''\
#!/usr/bin/env python3
import json
import sys

KNOWN = "a name of the module"


class BazingaDB:
    def __init__(self, db_path, quiet=False):
        self.db_path = db_path

    def create_session(self, session_id, mode, requirements, initial_branch=None, metadata=None):
        return {{"made": session_id}}

    def create_task_group(self, group_id, session_id, name, status="pending", assigned_to=None):
        return {{"made": group_id}}

    def update_task_group(self, group_id, session_id, status=None):
        return None

    def get_session(self, session_id):
        return "state"

{
    "".join(
        f"""
    def {name}(self, *words, **more):
        return "state"
"""
        for name in METHODS
    )
}

def main():
    with open("calls.txt", "a") as file:
        print(json.dumps(sys.argv[1:]), file=file)
    print("state:", *sys.argv[1:])
    sys.exit(7 if "fail" in sys.argv else 0)


if __name__ == "__main__":
    main()
'''

BUILDER_SCRIPT = """\
#!/usr/bin/env python3
import argparse


def build_context_block(conn, session_id, group_id, agent_type, model="sonnet"):
    return "## its own block"


def build_prompt(args):
    print(build_context_block(None, args.session_id, args.group_id, args.agent_type, "sonnet"))


def main():
    parser = argparse.ArgumentParser()
    for name in ("agent-type", "session-id", "group-id", "task-title", "task-requirements", "db", "qa-feedback"):
        parser.add_argument("--" + name, default="")
    build_prompt(parser.parse_args())


if __name__ == '__main__':
    main()
"""


class Tree:
    """A project whose scripts can be switched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / ".claude/skills/bazinga-db/scripts/bazinga_db.py"
        self.builder = folder / ".claude/skills/prompt-builder/scripts/prompt_builder.py"
        (folder / "bazinga").mkdir(parents=True)
        for path, text, mode in ((self.script, DATABASE_SCRIPT, 0o775), (self.builder, BUILDER_SCRIPT, 0o644)):
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(mode)
            os.utime(path, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))

    def state(self) -> dict[str, tuple[str, int, int]]:
        """Everything below `.claude`, with hashes, modes and times."""
        found: dict[str, tuple[str, int, int]] = {}
        for path in [self.folder / ".claude", *sorted((self.folder / ".claude").rglob("*"))]:
            info = path.stat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path.relative_to(self.folder))] = (digest, info.st_mode, info.st_mtime_ns)
        return found
