"""Commands that failed and have not succeeded since, with what the folder was like then.

remember(change, FailedCommand(key, "make test", ".", unit, tree, failed_at))
note_ran(change, key, ["pip install pyyaml"])
recall(store.primary, key)        until the command succeeds and `forget` is called
"""

from collections.abc import Collection

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_row, read_value
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.light_json import dumps, loads
from ctxrank.indexer.text.lines import one_line

# What has not succeeded by then was given up, or fixed in another way.
KEPT_FOR_US = 14 * DAY_US
_KEPT = 500
_MOST_RAN = 3  # of each, the last
_MAX_COMMAND_CHARS = 200


class TreeState(NamedTuple):
    """A folder when a command failed: its commit ('' outside git), what differed from it, and what of that was gone."""

    commit: str = ""
    differing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class FailedCommand(NamedTuple):
    """A command that failed in a folder below the root; `unit` is the error, redacted like the command.

    `ran` are the commands that succeeded since: the last of those that may have helped, redacted.
    """

    key: str
    command: str
    folder: str
    unit: str
    tree: TreeState
    failed_at: int
    ran: tuple[str, ...] = ()


def shown_command(command: str, mode: RedactionMode) -> str:
    """A command's line as it is kept: redacted, and bounded."""
    text = one_line(redact(command.replace("\0", "\ufffd"), mode).text)  # a rule may need the line's end
    return text if len(text) <= _MAX_COMMAND_CHARS else f"{text[:_MAX_COMMAND_CHARS]}…"


def remember(change: Change, failed: FailedCommand) -> None:
    """Keep a failure over the command's last one; the oldest go where there are many.

    The folder is kept as it was at the first failure since the last success: what fixed it began to change there.
    A failure that was purged with its error is not kept.
    """
    connection = change.connection
    tree = dumps(failed.tree, ensure_ascii=True)
    known = recall(connection, failed.key, now=failed.failed_at)
    if (known is not None and known.unit == failed.unit) or change.blocklist.holds("error", failed.unit):
        return
    connection.execute(
        """
        INSERT OR REPLACE INTO failed_commands (command_key, command, folder, error_text, git_state, failed_at)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (failed.key, failed.command, failed.folder, failed.unit, tree, failed.failed_at),
    )
    connection.execute(
        """
        DELETE FROM failed_commands
         WHERE failed_at < ? OR id <= (SELECT id FROM failed_commands ORDER BY id DESC LIMIT 1 OFFSET ?)
        """,
        (failed.failed_at - KEPT_FOR_US, _KEPT),
    )


def recall(primary: apsw.Connection, key: str, *, now: int) -> FailedCommand | None:
    """The failure of a command that has not succeeded since; None where there is none, or it was long ago."""
    query = """
        SELECT command_key, command, folder, error_text, git_state, failed_at FROM failed_commands
         WHERE command_key = ? AND failed_at >= ?
    """
    return read_row(primary, query, (key, now - KEPT_FOR_US), _stored)


def _stored(key: str, command: str, folder: str, unit: str, git_state: str, failed_at: int) -> FailedCommand:
    commit, differing, missing, *ran = loads(git_state)
    tree = TreeState(commit, tuple(differing), tuple(missing))
    return FailedCommand(key, command, folder, unit, tree, failed_at, tuple(ran))


def note_ran(change: Change, key: str, commands: Collection[str]) -> None:
    """Keep what succeeded after a failure; no commands: it failed again as before, so that nothing of them helped."""
    query = "SELECT git_state FROM failed_commands WHERE command_key = ?"
    commit, differing, missing, *ran = loads(read_value(change.connection, query, (key,), str) or '["", [], []]')
    ran = list(dict.fromkeys((*ran, *commands)))[-_MOST_RAN:] if commands else []
    state = dumps((commit, differing, missing, *ran), ensure_ascii=True)
    change.connection.execute("UPDATE failed_commands SET git_state = ? WHERE command_key = ?", (state, key))


def forget(change: Change, key: str) -> None:
    """The command has succeeded."""
    change.connection.execute("DELETE FROM failed_commands WHERE command_key = ?", (key,))
