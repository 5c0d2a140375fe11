"""`ctxrank search`: past findings, ranked."""

from ctxrank.cli.declare import ENGINE, EXPLANATION, FOUND, TEAM, Command, OneOf, Whole, argument, by_name, option

HIT_FIELDS = {
    "id": "id", "kind": "string", "title": "string", "path": "string", "score": "number?", "snippet": "string",
    "session_id": "string?", "group_id": "string?", "priority": "string?", "created_at": "time",
    "superseded_by": "id?", "agent": "string?", "type": "string?",
    "file_state": ("current", "changed", "missing", "elsewhere", None),
    "passages": [
        {
            "id": "id:passage", "heading": "string", "start_line": "integer", "end_line": "integer",
            "snippet": "string", "score": "number", "match_line": "integer",
            "lines": [{"number": "integer", "text": "string", "marks": [["integer"]]}],
        }
    ],
    "folded?": [{"id": "id", "path": "string"}],
    "explanation?": EXPLANATION, "marks?": [["integer"]],
    "shares?": {
        "words": "number:6", "together": "number:6", "priority": "number:6", "group": "number:6", "recency": "number:6",
        "terms": [{"term": "string", "value": "number:6"}],
    },
}  # fmt: skip
_FACET_FIELDS = [{"value": "string", "count": "integer"}]
_SEARCH = Command(
    "search",
    "ctxrank.cli.actions.search:search",
    """Search past findings; QUERY is plain words, '-' reads it from stdin.

    \b
    Any of the words may match: rare ones count most. Also: "a phrase", -without,
    prefix*, title:word, kind:error, group:AUTH, since:7d, -path:docs/*.
    Pasted text (several lines, code, stdin) is read as plain words.
    A filter that is given twice means any of its values.

    Example: ctxrank search why is the database locked
    """,
    (
        argument("query", nargs=-1, required=True),
        option("-n", "--limit", type=Whole(1, 1000), default=10, show_default=True, help="How many hits."),
        option(
            "--kind", "kinds", multiple=True, help="package, artifact, reasoning, error, strategy, skill or linked."
        ),
        option("--session", "sessions", multiple=True, help="Only of this session."),
        option("--group", "groups", multiple=True, help="Only of this group, exactly."),
        option("--agent", "agents", multiple=True, help="Only what this agent produced."),
        option("--type", "types", multiple=True, help="Package type, strategy topic or skill."),
        option("--phase", "phases", multiple=True, help="Only reasoning of this phase."),
        option("--priority", "priorities", multiple=True, help="low, medium, high or critical."),
        option("--path", "paths", multiple=True, metavar="GLOB", help="Only files whose path matches."),
        option("--since", metavar="WHEN", help="Not older: 7d, 12h, a date, an ISO time."),
        option("--until", metavar="WHEN", help="Not newer."),
        option("--plain", is_flag=True, help="Read all of QUERY as words; quotes and minus signs have no meaning."),
        option("--syntax", is_flag=True, help="Read QUERY as query syntax, also from stdin or on several lines."),
        option("--passages", is_flag=True, help="Each passage is a hit of its own."),
        option("--all", "is_unfolded", is_flag=True, help="Also show hits that are nearly the same as a better one."),
        option("--explain", is_flag=True, help="Show how each score adds up."),
        option(
            "--facets", is_flag=True, help="With --json: also count what was found by kind, session, priority, age."
        ),
        option("--fresh", is_flag=True, help="Before the search, index files that have changed."),
        option(
            "--format",
            "format_",
            type=OneOf(("text", "compact", "json", "jsonl")),
            default="text",
            show_default=True,
            help="compact: a line of at most 60 tokens a hit; jsonl: a line of JSON a hit.",
        ),
    ),
    answer={
        "engine": ENGINE,
        "query": "string",
        "total": "integer",
        "has_more": "boolean",
        "capped": "boolean",
        "exact": "boolean",
        "hits": [HIT_FIELDS],
        "relaxed?": "boolean",
        "reason?": "string",
        "stale?": "integer",
        "corrections?": [{"typed": "string", "used": ["string"]}],
        "unknown?": ["string"],
        "suggestions?": ["string"],
        "notes?": ["string"],
        "facets?": {
            "counted": "integer",
            "kind": _FACET_FIELDS,
            "session": _FACET_FIELDS,
            "priority": _FACET_FIELDS,
            "since": _FACET_FIELDS,
        },
        "team?": TEAM,
        "out_of_date?": [{"path": "string", "state": ("changed", "missing")}],
    },
    exits=FOUND,
    line=HIT_FIELDS,
)
COMMANDS = by_name(_SEARCH)
