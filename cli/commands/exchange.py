"""`ctxrank import` and `export`: what another store knows, and this one as JSON Lines."""

from ctxrank.cli.declare import IMPORTED, Command, Group, OneOf, Path, Whole, argument, by_name, option
from ctxrank.cli.main import load_command
from ctxrank.indexer.exceptions import UsageError

# Commands that are found by name: each in a room of its own, which an installation may leave out.
_ELSEWHERE = {"bazinga": "ctxrank.extensions.bazinga.import_command"}


def _found(name: str, module: str) -> Command:
    """The command that a module declares; where that is not installed, one whose action cannot be imported either."""
    try:
        found = load_command(name, module)
    except UsageError:
        return Command(name, f"{module}:absent", "Not installed.", (argument("words", nargs=-1),))
    assert isinstance(found, Command)
    return found


_IMPORT_JSONL = Command(
    "jsonl",
    "ctxrank.cli.actions.upkeep.exchange:import_jsonl",
    """Import a file that 'ctxrank export' wrote ('-' for stdin), all of it or what is new.

    Sessions and groups are joined by project and name, and everything is redacted before it is stored. What another
    store made keeps its number and its own text: package:12@9f3c27ab. No file here is read for it, whatever its path.
    What was removed or purged there goes here, too. A line that cannot be used is reported with its number. A second
    run imports only what is new. The exit code is 5 for a file that was cut off or edited; what could be read was
    imported.

    Example: ctxrank import jsonl shop.jsonl
    """,
    (
        argument("file", type=Path(), metavar="FILE"),
        option(
            "--from-origin",
            "from_origins",
            multiple=True,
            metavar="ORIGIN",
            help="Only what this store made: the first 8 digits of its uuid, or more.",
        ),
    ),
    answer=IMPORTED,
    exits={0: "done", 5: "the file was cut off or edited; what could be read was imported"},
)
_IMPORT_TRANSCRIPTS = Command(
    "transcripts",
    "ctxrank.extensions.transcripts.importing:import_transcripts",
    """Bring in what is new in an agent runner's transcripts: failures and what ended them, decisions, last messages.

    Only of sessions in this project's folder, and redacted. What comes in is unconfirmed: a search finds it, no prompt
    is given it. A fix is what the same failure ended after in two sessions; until then it "ran next, unconfirmed".

    Example: ctxrank import transcripts --dry-run
    """,
    (
        argument("folder", type=Path(), metavar="[DIR]", required=False),
        option(
            "--runner",
            type=OneOf(("claude-code",)),
            default="claude-code",
            show_default=True,
            help="Whose transcripts they are.",
        ),
        option(
            "--since", default="90d", show_default=True, metavar="WHEN", help="Nothing older: 7d, a date, an ISO time."
        ),
        option("--dry-run", is_flag=True, help="Say what would come in; write nothing."),
    ),
    answer={
        "folder": "string",
        "runner": "string",
        "dry_run": "boolean",
        "files": "integer",
        "sessions": "integer",
        "failures": "integer",
        "repaired": "integer",
        "fixes": "integer",
        "entries": "integer",
        "of_other_projects": "integer",
        "too_old": "integer",
        "lines_skipped": "integer",
    },
)
_IMPORT = Group(
    "import",
    "Import a BAZINGA database, an export of ours, or transcripts of a runner.",
    (*(_found(name, module) for name, module in _ELSEWHERE.items()), _IMPORT_JSONL, _IMPORT_TRANSCRIPTS),
)
_EXPORT = Command(
    "export",
    "ctxrank.cli.actions.upkeep.exchange:export",
    """Print the store as JSON Lines, with the passages of files, for 'ctxrank import jsonl'.

    The first line is a header, the last one an end line with counts. Error patterns, strategies and files
    belong to no session and are left out with --session. What other stores made is left out, unless --all-origins
    relays it. The header's "seq" is what the next --since begins behind.

    Example: ctxrank export --session S -o shop.jsonl
    """,
    (
        option("--session", "sessions", multiple=True, help="Only this session, with its groups."),
        option(
            "--kind", "kinds", multiple=True, help="Only package, reasoning, error, strategy, skill, event or artifact."
        ),
        option(
            "-o",
            "--output",
            type=Path(),
            metavar="FILE",
            help="Write to a file, atomically [default: stdout].",
        ),
        option("--force", is_flag=True, help="Replace FILE if it is there."),
        option("--since", type=Whole(0), metavar="SEQ", help="Only what changed, or was removed, after this number."),
        option("--all-origins", is_flag=True, help="Also what other stores made: a relay."),
    ),
    answer={"file": "string", "records": "integer", "seq": "integer"},
)

COMMANDS = by_name(_IMPORT, _EXPORT)
