"""`ctxrank list KIND` and `show ID`: one of each for all kinds of records; and what each kind had of its own before.

A kind's own `list` and `show` answer as they did and stand in no help: programs call them.
"""

from ctxrank.cli.commands.options import EXACT_GROUP, FULL, LIMIT, SESSION
from ctxrank.cli.declare import FOUND, AnyOf, Command, Fields, Nullable, OneOf, Whole, argument, by_name, option, page

ERROR_STATE = ("sighted", "confirmed", "refuted")
_PACKAGE_FIELDS = {
    "id": "row",
    "type": "string",
    "producer": "string",
    "priority": ("low", "medium", "high", "critical"),
    "scope": ("group", "global"),
    "summary": "string",
    "size_bytes": "integer?",
    "version": "integer",
    "supersedes": "row?",
    "superseded_by": "row?",
    "created_at": "time",
    "file_state": ("current", "changed", "missing", "elsewhere", None),
    "file_path": "string",
    "session_id": "string",
    "group_id": "string?",
}
_CONSUMER_FIELDS = {"agent": "string", "iteration": "integer?", "consumed_at": "time?"}
_SESSION_FIELDS = {
    "id": "row",
    "project": "string",
    "mode": "string",
    "status": "string",
    "requirements": "string",
    "initial_branch": "string",
    "created_at": "time",
    "ended_at": "time?",
    "session_id": "string",
}
_SESSION_RECORD_FIELDS = {
    "id": "string",
    "kind": "string",
    "agent": "string",
    "title": "string",
    "at": "time",
    "of": "string",
    "group_id": "string?",
}
_GROUP_FIELDS = {"group_id": "string", "title": "string", "status": "string", "context_references": ["integer"]}
_ENTRY_FIELDS = {
    "id": "row",
    "agent": "string",
    "agent_name": "string",
    "iteration": "integer",
    "phase": "string",
    "confidence": "string?",
    "content": "string",
    "references": ["any"],
    "created_at": "time",
    "session_id": "string",
    "group_id": "string?",
    "redacted": "boolean",
}
_HANDOFF_FIELDS = {
    "id": "row",
    "session_id": "string",
    "group_id": "string?",
    "created_at": "time",
    "from_agents": ["string"],
    "to_agent": "string",
    "iteration": "integer",
    "phases": ["string"],
    "reasoning": ["integer"],
    "content_length": "integer",
}
_STRATEGY_FIELDS = {
    "id": "row",
    "name": "string",
    "project": "string",
    "topic": "string",
    "insight": "string",
    "helpfulness": "integer",
    "lang": "string?",
    "framework": "string?",
    "last_seen": "time",
    "created_at": "time",
}
_ERROR_FIELDS = {
    "id": "id:error",
    "project": "string",
    "lang": "string?",
    "error_type": "string",
    "message": "string",
    "solution": "string",
    "state": ERROR_STATE,
    "confirmations": "integer",
    "refutations": "integer",
    "occurrences": "integer",
    "hints": ["string"],
    "last_seen": "time",
    "created_at": "time",
    "expires_at": "time",
    "confidence": "number:4",
    "expired": "boolean",
}
_RECOGNITION_FIELDS = {
    "masked": "string",
    "codes": ["string"],
    "values": ["string"],
    "places": ["string"],
    "unit": "string",
    "sightings": "integer",
}
OUTPUT_FIELDS = {
    "id": "row",
    "session_id": "string",
    "group_id": "string?",
    "agent": "string?",
    "skill": "string",
    "iteration": "integer",
    "created_at": "time",
    "output": "any",
}
_RECEIPT_FIELDS = {
    "id": "integer",
    "kind": ("assemble", "context"),
    "session_id": "string?",
    "group_id": "string?",
    "agent": "string",
    "iteration": "integer",
    "tokens": "integer",
    "digest": "string",
    "created_at": "time",
}
RECEIPT_ENTRY_FIELDS = {
    "id": "string",
    "included": "boolean",
    "detail": "string?",
    "tokens": "integer",
    "reason": "string",
}
_INJECTION_FIELDS = {
    "id": "integer",
    "event": "string",
    "session_id": "string",
    "group_id": "string?",
    "documents": ["string"],
    "tokens": "integer",
    "characters": "integer",
    "receipt": "integer?",
    "created_at": "time",
}

_DOCUMENT_FIELDS = {
    "id": "id", "kind": "string", "title": "string", "body?": "string", "path": "string", "agent": "string",
    "type": "string", "priority": "string", "created_at": "time", "superseded_by": "id:package?", "tokens": "integer",
    "counter": "string",
    "passages?": [
        {"id": "id:passage", "heading": "string", "start_line": "integer", "end_line": "integer", "text": "string"}
    ],
    "file_state": ("current", "changed", "missing", "elsewhere", None), "details": {"*": "string"},
    "session_id": "string?", "group_id": "string?",
}  # fmt: skip

_NEIGHBOUR_FIELDS = [{"id": "string", "title": "string", "how": "string"}]
_RELATED_FIELDS = {
    "versions": [
        {"id": "id", "version": "integer", "summary": "string", "created_at": "time", "superseded_by": "id?"}
    ],
    "taken": [
        {
            "how": ("consumed", "delivered", "awaited"), "agent": "string", "group_id": "string?",
            "iteration": "integer?", "at": "time?",
        }
    ],
    "receipts": [
        {
            "receipt": "integer", "session_id": "string?", "group_id": "string?", "agent": "string",
            "included": "boolean", "detail": "string", "tokens": "integer", "reason": "string", "created_at": "time",
        }
    ],
    "links_to": _NEIGHBOUR_FIELDS, "linked_from": _NEIGHBOUR_FIELDS,
    "sightings": [{"session_id": "string", "group_id": "string?", "seen_at": "time", "resolved_at": "time?"}],
}  # fmt: skip
_RECEIPT = {"receipt": {**_RECEIPT_FIELDS, "inputs": {"*": "string"}, "entries": [RECEIPT_ENTRY_FIELDS]}}
_SESSION = {
    "session": _SESSION_FIELDS,
    "groups": ["string"],
    "documents": {"*": "integer"},
    "records?": [_SESSION_RECORD_FIELDS],
}

OPTIONS = {
    one.name: one
    for one in (
        option("--session", help="Only of this session; groups, reasoning, hand-offs and skills need it."),
        option("--group", help="Only of this group; a package also where it is global."),
        option("--agent", help="Only of this agent: reasoning, skills, receipts."),
        option("--phase", help="Only reasoning of this phase."),
        option("--type", "type_", help="Only packages of this type."),
        option("--priority", help="Only packages of this priority."),
        option("--superseded", is_flag=True, help="Also packages that a newer one replaces."),
        option("--project", help="Only errors and strategies of this project."),
        option("--lang", help="Leave out errors and strategies of other languages."),
        option("--framework", help="Leave out strategies for other frameworks."),
        option("--topic", help="Only strategies of this topic."),
        option("--state", help="Only errors that are sighted, confirmed or refuted."),
        option("--expired", "with_expired", is_flag=True, help="Also expired errors."),
        option("--skill", help="Only outputs of this skill."),
        option("--full", "is_full", is_flag=True, help="The whole texts, not their beginnings."),
        option("-n", "--limit", type=Whole(1), help="How many [default: 50 packages or skills, 20 of the others]."),
    )
}
_ACTIONS = "ctxrank.cli.actions."


def _kind(
    action: str, options: str, answer: Fields, limit: int = 20, needs: str = "", name: str = "list", word: str = ""
) -> Command:
    """A kind's own list: the options that it takes, those that it needs, and the argument it took before."""
    taken = [OPTIONS[one]._replace(required=one == needs) for one in options.split()]
    if limit:
        taken.append(OPTIONS["limit"]._replace(default=limit))
    words = (argument(word, required=False),) if word else ()
    return Command(
        name, _ACTIONS + action, "Answers as 'ctxrank list' does.", (*words, *taken), answer, FOUND, is_old=True
    )


PACKAGES = _kind("packages:list_", "session group type_ priority superseded", page("packages", _PACKAGE_FIELDS), 50)
SESSIONS = _kind("sessions:list_sessions", "", page("sessions", _SESSION_FIELDS))
GROUPS = _kind(
    "sessions:list_groups", "session", {"session_id": "string", **page("groups", _GROUP_FIELDS)}, 0, "session"
)
ERRORS = _kind("errors.known:list_", "project lang state with_expired", page("errors", _ERROR_FIELDS))
STRATEGIES = _kind("strategies:list_", "project lang framework topic is_full", page("strategies", _STRATEGY_FIELDS))
REASONING = Command(
    "get",
    "ctxrank.cli.actions.reasoning:get",
    """Show the reasoning of a session, the newest first.

    Example: ctxrank reasoning get --session S --group AUTH --phase decisions
    """,
    (
        SESSION,
        EXACT_GROUP,
        option("--agent", help="Only of this agent."),
        option("--phase", help="Only of this phase."),
        LIMIT,
        FULL,
    ),
    answer=page("reasoning", _ENTRY_FIELDS),
    exits=FOUND,
)
HANDOFFS = _kind("reasoning:handoffs", "session", page("handoffs", _HANDOFF_FIELDS), needs="session", name="handoffs")
TIMELINE = _kind(
    "reasoning:timeline", "session group is_full", page("reasoning", _ENTRY_FIELDS), 0, "session", "timeline"
)
SKILLS = _kind(
    "skill_outputs:outputs", "session agent group", page("outputs", OUTPUT_FIELDS), 50, "session", "outputs", "skill"
)
RECEIPTS = _kind("receipts:list_", "session group agent", page("receipts", _RECEIPT_FIELDS))
INJECTIONS = _kind("receipts:injections", "session", page("injections", _INJECTION_FIELDS))

# Hooks had no kind of their own.
RECEIPT_LIST = RECEIPTS._replace(
    parameters=(*RECEIPTS.parameters, option("--hook", "of_hooks", is_flag=True, help="What hooks said, instead.")),
    answer=AnyOf(page("receipts", _RECEIPT_FIELDS), page("injections", _INJECTION_FIELDS)),
)

LISTS = {
    "packages": PACKAGES,
    "errors": ERRORS,
    "strategies": STRATEGIES,
    "reasoning": REASONING,
    "sessions": SESSIONS,
    "groups": GROUPS,
    "skills": SKILLS,
    "receipts": RECEIPTS,
    "handoffs": HANDOFFS,
    "timeline": TIMELINE,
    "injections": INJECTIONS,
}


def _shown(action: str, name: str, answer: Fields) -> Command:
    """A kind's own `show`."""
    words = (argument(name, metavar="ID"),)
    return Command("show", _ACTIONS + action, "Answers as 'ctxrank show' does.", words, answer, is_old=True)


PACKAGE_SHOW = _shown("packages:show", "package_id", {"package": _PACKAGE_FIELDS, "consumers": [_CONSUMER_FIELDS]})
ERROR_SHOW = _shown(
    "errors.known:show", "error", {"error": _ERROR_FIELDS, "recognised_by": Nullable(_RECOGNITION_FIELDS)}
)
SESSION_SHOW = _shown("sessions:show_session", "name", _SESSION)._replace(
    parameters=(argument("name"), option("--records", "with_records", is_flag=True, help="Also what it recorded."))
)
RECEIPT_SHOW = _shown("receipts:show", "receipt_id", _RECEIPT)._replace(
    parameters=(argument("receipt_id", type=Whole(), metavar="ID"),)
)

_LIST = Command(
    "list",
    "ctxrank.cli.actions.listing:list_",
    """List records of one kind, the newest or the most helpful first.

    KIND is packages, errors, strategies, reasoning, sessions, groups, skills (what they reported), receipts (of
    assemblies), handoffs (whose reasoning went to whom), timeline (reasoning as Markdown, the oldest first) or
    injections (what hooks put before a model). An option that a kind does not have is refused.

    Example: ctxrank list packages --session S --group AUTH
    """,
    (argument("kind", type=OneOf(tuple(LISTS)), metavar="KIND"), *OPTIONS.values()),
    answer=AnyOf(*(one.answer for one in LISTS.values() if isinstance(one.answer, dict))),
    exits=FOUND,
)

_SHOW = Command(
    "show",
    "ctxrank.cli.actions.documents:show",
    """Show one document by its id, kind:number; a bare number is a package.

    receipt:N is what an assembly was asked, gave and left out; session:NAME a session with its groups.

    Example: ctxrank show package:12 --depth summary
    """,
    (
        argument("document", metavar="ID"),
        option(
            "--depth",
            type=OneOf(("meta", "summary", "full")),
            default="full",
            show_default=True,
            help="meta: its origin; summary: also what it says; full: also its passages.",
        ),
        option(
            "--related",
            "is_related",
            is_flag=True,
            help="Also its versions, who took it, its blocks and links; what a session recorded.",
        ),
    ),
    answer=AnyOf({"document": _DOCUMENT_FIELDS, "related?": _RELATED_FIELDS}, _RECEIPT, _SESSION),
)

COMMANDS = by_name(_LIST, _SHOW)
