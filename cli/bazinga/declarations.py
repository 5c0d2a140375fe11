"""The predecessor's commands as data: what each takes, in the words of its usage.

    _command("events", "get-events", "<session> [subtype] [limit]", "--limit", help="Events of a session.")

`<needed>` arguments come first, `[left out]` ones after them. Each family is a module, imported when one of its
commands is called; a command's function has its name, with underscores.
"""

from ctxrank.cli.bazinga.arguments import Declaration, Unknown
from ctxrank.cli.declare import Command, NoJson, argument, option
from ctxrank.indexer.light_typing import NamedTuple

_JSON = NoJson("the predecessor's own JSON")


class Row(NamedTuple):
    """A command in the words of its usage."""

    family: str
    name: str
    usage: str
    flags: str
    help: str
    unknown: Unknown


def _command(
    family: str, name: str, usage: str = "", flags: str = "", *, unknown: Unknown = Unknown.REFUSED, help: str
) -> Row:
    return Row(family, name, usage, flags, help, unknown)


def declaration_of(row: Row) -> Declaration:
    """The command declared as ours are; only for the one that is called, of forty."""
    arguments = [
        argument(_identifier(word[1:-1]), metavar=word[1:-1], required=word[0] == "<") for word in row.usage.split()
    ]
    options = [option(flag, metavar="VALUE", help=_FLAGS[flag]) for flag in row.flags.split()]
    action = f"ctxrank.cli.bazinga.commands.{row.family}:{row.name.replace('-', '_')}"
    return Declaration(Command(row.name, action, row.help, (*arguments, *options), answer=_JSON), row.unknown)


def _identifier(word: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in word)


_FLAGS = {
    "--agent": "Only this agent, or the agent that reported it.",
    "--agent_id": "Which of several agents of one kind.",
    "--agent_type": "Only this agent.",
    "--complexity": "1 to 10.",
    "--component-path": "Where the group works.",
    "--confidence": "high, medium or low.",
    "--content-file": "Read the content from this file.",
    "--context_hints": "A JSON array: where the error happens.",
    "--format": "Another form of the answer.",
    "--framework": "The framework.",
    "--group": "The task group.",
    "--group-id": "The task group.",
    "--group_id": "Only this group.",
    "--idempotency-key": "A known key gives the first event again.",
    "--initial_branch": "The branch the session started on.",
    "--initial_tier": "The tier that the group starts on.",
    "--item_count": "How many items the group has.",
    "--iteration": "Number of the attempt.",
    "--lang": "The language.",
    "--limit": "How many.",
    "--metadata": "A JSON object.",
    "--min_confidence": "Only patterns of at least this confidence.",
    "--payload-file": "Read the payload from this file.",
    "--phase": "Only this phase.",
    "--references": "A JSON array.",
    "--since": "Minutes that count as recent.",
    "--specializations": "A JSON array.",
    "--stack_pattern": "A JSON array.",
    "--strategy_id": "Its id.",
    "--topic": "Only this topic.",
}
_IGNORED, _ANYWHERE, _ENDLESS = Unknown.IGNORED, Unknown.POSITIONAL, Unknown.DROPPED

_ALL = (
    _command(
        "sessions", "create-session", "<session> <mode> <requirements>", "--initial_branch --metadata",
        help="Make a session, or answer with the one of this name.",
    ),
    _command("sessions", "get-session", "<session>", unknown=_IGNORED, help="One session."),
    _command("sessions", "list-sessions", "[limit]", unknown=_IGNORED, help="The newest sessions."),
    _command(
        "sessions", "create-task-group", "<group> <session> <name> [status] [assigned_to]",
        "--specializations --item_count --component-path --initial_tier --complexity", unknown=_ANYWHERE,
        help="Make a task group, or change the one of this name.",
    ),
    _command(
        "sessions", "dashboard-snapshot", "<session>", unknown=_IGNORED,
        help="A session with its groups, tokens and last log entries.",
    ),
    _command(
        "events", "save-event", "<session> <subtype> [payload]", "--payload-file --idempotency-key --group-id",
        help="Save an event once.",
    ),
    _command("events", "get-events", "<session> [subtype] [limit]", "--limit", help="Events of a session."),
    _command(
        "events", "log-tokens", "<session> <agent> <tokens> [agent_id]", unknown=_IGNORED,
        help="Note what an agent has used, as an event.",
    ),
    _command(
        "events", "token-summary", "<session> [by]", unknown=_IGNORED, help="What a session's agents have used."
    ),
    _command(
        "packages", "save-context-package",
        "<session> <group|global> <type> <file_path> <producer> <consumers_json> <priority> <summary>",
        unknown=_IGNORED, help="Save a package of a session's artifact.",
    ),
    _command(
        "packages", "get-context-packages", "<session> <group> <agent> [limit]", unknown=_IGNORED,
        help="What waits for an agent, the most important first.",
    ),
    _command(
        "packages", "mark-context-consumed", "<package_id> <agent> [iteration]", unknown=_IGNORED,
        help="Record that a designated agent has taken a package.",
    ),
    _command(
        "packages", "update-context-references", "<group> <session> <ids_json>", unknown=_IGNORED,
        help="Name the packages that a group may see next to its own.",
    ),
    _command(
        "packages", "save-consumption", "<session> <group> <agent> <iteration> <package_id>", unknown=_IGNORED,
        help="Record that an agent was given a package at an iteration, once.",
    ),
    _command(
        "packages", "get-consumption", "<session>", "--group_id --agent_type --limit", unknown=_IGNORED,
        help="What a session's agents were given, the newest first.",
    ),
    _command(
        "errors", "save-error-pattern", "<project> <error_type> <message> <solution>",
        "--lang --context_hints --stack_pattern", help="Save what fixed an error, or count it once more.",
    ),
    _command(
        "errors", "get-error-patterns", "<project>", "--lang --min_confidence --limit",
        help="A project's patterns that have not expired, the most trusted first.",
    ),
    _command(
        "errors", "update-error-confidence", "<pattern_hash> <project> <success|failure>", unknown=_IGNORED,
        help="Trust a pattern more, or less.",
    ),
    _command(
        "errors", "cleanup-error-patterns", "[project]", unknown=_IGNORED,
        help="Remove expired patterns.",
    ),
    _command(
        "strategies", "save-strategy", "<project> <topic> <insight>", "--lang --framework --strategy_id",
        unknown=_IGNORED, help="Save what worked, or count it once more.",
    ),
    _command(
        "strategies", "get-strategies", "<project>", "--lang --framework --topic --limit", unknown=_IGNORED,
        help="A project's strategies, the most helpful first.",
    ),
    _command(
        "strategies", "update-strategy-helpfulness", "<strategy_id> [increment]", unknown=_IGNORED,
        help="Count a strategy up.",
    ),
    _command(
        "strategies", "extract-strategies", "<session> <group> <project>", "--lang --framework", unknown=_IGNORED,
        help="Turn what agents thought in a group that succeeded into strategies.",
    ),
    _command(
        "reasoning", "save-reasoning", "<session> <group|global> <agent> <phase> [content]",
        "--agent_id --iteration --confidence --references --content-file",
        help="Save what an agent thought in one phase.",
    ),
    _command(
        "reasoning", "get-reasoning", "<session>", "--group_id --agent_type --phase --limit --format",
        help="Entries of a session, the newest first.",
    ),
    _command(
        "reasoning", "reasoning-timeline", "<session>", "--group_id --format",
        help="Entries of a session in the order they were saved.",
    ),
    _command(
        "reasoning", "check-mandatory-phases", "<session> <group> <agent>", unknown=_IGNORED,
        help="Whether an agent has documented what it must; 1 if not.",
    ),
    _command(
        "skills", "save-skill-output", "<session> <skill> <json>", "--agent --group", unknown=_ENDLESS,
        help="Save what a skill reported.",
    ),
    _command(
        "skills", "get-skill-output", "<session> <skill>", "--agent", unknown=_ENDLESS,
        help="What a skill reported last, or null.",
    ),
    _command(
        "skills", "get-latest-skill-output", "<session> <skill>", "--agent", unknown=_ENDLESS,
        help="The same as get-skill-output.",
    ),
    _command(
        "skills", "get-skill-output-all", "<session> <skill>", "--agent", unknown=_ENDLESS,
        help="Everything a skill reported, the newest first.",
    ),
    _command(
        "skills", "check-skill-evidence", "<session> <skill1,skill2,…>", "--agent --since", unknown=_ENDLESS,
        help="Which of some skills have a recent output.",
    ),
    _command("upkeep", "query", "<sql>", help="Run one SELECT over the predecessor's tables."),
    _command("upkeep", "integrity-check", help="Whether SQLite finds the store sound."),
    _command("upkeep", "recover-db", help="Check the store, and rebuild its index where that cannot answer."),
    _command("upkeep", "diagnose-group-ids", help="Groups whose names the predecessor's rules refuse; --fix renames."),
    _command("upkeep", "detect-paths", unknown=_IGNORED, help="Where this call looks, without making anything."),
    _command("upkeep", "help", help="The commands by family."),
    _command("switch", "install", help="Switch the project's BAZINGA over: state stays, context moves here."),
    _command("switch", "uninstall", help="Give the project's BAZINGA back every byte."),
    _command("block", "context-block", help="Print what an agent should know from before."),
)  # fmt: skip

COMMANDS = {row.name: row for row in _ALL}
