"""A stand-in for a checkout of the predecessor: small scripts of our own in the shape that install recognises."""

import hashlib
import os
from pathlib import Path

DATABASE_SCRIPT = """\
#!/usr/bin/env python3
import json
import sys

KNOWN = "a name of the module"


class BazingaDB:
    def __init__(self, db_path, quiet=False):
        self.db_path = db_path

    def get_session(self, session_id):
        return "state"


def main():
    with open("calls.txt", "a") as file:
        print(json.dumps(sys.argv[1:]), file=file)
    print("state:", *sys.argv[1:])
    sys.exit(7 if "fail" in sys.argv else 0)


if __name__ == "__main__":
    main()
"""

# The same, with commands that write to the database beside it as the predecessor's do: whole seconds, rules of its own.
LIVE_SCRIPT = (
    DATABASE_SCRIPT.partition("def main():")[0]
    + """\
def main():
    import os
    import re
    import sqlite3

    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")
    connection = sqlite3.connect(os.path.join(root, "bazinga", "bazinga.db"))
    command, *words = [word for word in sys.argv[1:] if word != "--quiet"]

    def insert(table, **values):
        columns = ", ".join(values)
        query = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({', '.join('?' * len(values))})"
        return connection.execute(query, tuple(values.values())).lastrowid

    with connection:
        if command == "create-session":
            insert("sessions", session_id=words[0], mode=words[1], original_requirements=words[2])
        elif command == "update-session-status":
            query = "UPDATE sessions SET status = ?, end_time = ? WHERE session_id = ?"
            connection.execute(query, (words[1], "2026-11-23T01:02:03.000004", words[0]))
        elif command == "create-task-group":
            insert("task_groups", id=words[0], session_id=words[1], name=words[2])
        elif command == "update-task-group":
            query = "UPDATE task_groups SET status = ? WHERE id = ? AND session_id = ?"
            connection.execute(query, (words[3], *words[:2]))
        elif command == "save-reasoning":
            session, group, agent, phase, content = words
            clean = re.sub("(?i)password: *[^ ]+", "password=REDACTED", content)
            number = insert(
                "orchestration_logs", session_id=session, group_id=group, agent_type=agent, reasoning_phase=phase,
                content=clean, log_type="reasoning", redacted=int(clean != content),
            )
            late = f"+{os.environ.get('LOG_IS_LATE', '0')} seconds"
            query = "UPDATE orchestration_logs SET timestamp = datetime(timestamp, ?) WHERE id = ?"
            connection.execute(query, (late, number))
        elif command == "save-context-package":
            session, group, type_, path, producer, _, priority, summary = words
            insert(
                "context_packages", session_id=session, group_id=group, package_type=type_, file_path=path,
                producer_agent=producer, priority=priority, summary=summary,
            )
        elif command == "save-skill-output":
            insert("skill_outputs", session_id=words[0], skill_name=words[1], output_data=words[2])
        else:
            sys.exit("unknown: " + command)
    print(json.dumps({"success": True, "kept": "there"}))


if __name__ == "__main__":
    main()
"""
)

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

    def __init__(self, folder: Path, script: str = DATABASE_SCRIPT) -> None:
        self.folder = folder
        self.script = folder / ".claude/skills/bazinga-db/scripts/bazinga_db.py"
        self.builder = folder / ".claude/skills/prompt-builder/scripts/prompt_builder.py"
        (folder / "bazinga").mkdir(parents=True)
        for path, text, mode in ((self.script, script, 0o775), (self.builder, BUILDER_SCRIPT, 0o644)):
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
