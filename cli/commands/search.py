"""`ctxrank search`: past findings, ranked."""

import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:  # the query path imports only what it runs
    from ctxrank.ranking.retrieval.hits import Hit, SearchResult


@declare.command()
@declare.argument("query", nargs=-1, required=True)
@declare.option("-n", "--limit", default=10, show_default=True, type=declare.Whole(1, 1000), help="How many hits.")
@declare.option(
    "--kind", "kinds", multiple=True, help="package, artifact, reasoning, error, strategy, skill or linked."
)
@declare.option("--session", help="Only of this session.")
@declare.option("--group", help="Only of this group, exactly.")
@declare.option("--agent", help="Only what this agent produced.")
@declare.option("--type", "type_", help="Package type, strategy topic or skill.")
@declare.option("--phase", help="Only reasoning of this phase.")
@declare.option("--priority", help="low, medium, high or critical.")
@declare.option("--path", metavar="GLOB", help="Only files whose path matches.")
@declare.option("--since", metavar="WHEN", help="Not older: 7d, 12h, a date, an ISO time.")
@declare.option("--until", metavar="WHEN", help="Not newer.")
@declare.option("--passages", is_flag=True, help="Each passage is a hit of its own.")
@declare.option("--explain", is_flag=True, help="Show how each score adds up.")
def command(
    call: Call,
    query: tuple[str, ...],
    limit: int,
    kinds: tuple[str, ...],
    session: str | None,
    group: str | None,
    agent: str | None,
    type_: str | None,
    phase: str | None,
    priority: str | None,
    path: str | None,
    since: str | None,
    until: str | None,
    passages: bool,
    explain: bool,
) -> int:
    """Search past findings; QUERY is plain words, '-' reads it from stdin.

    \b
    Words are alternatives: rare ones count most. Also: "a phrase", -without,
    prefix*, title:word, kind:error, group:AUTH, since:7d.

    Example: ctxrank search why is the database locked
    """
    from ctxrank.indexer.clock import now_us, parse_time
    from ctxrank.indexer.store.config import load_config
    from ctxrank.ranking.retrieval.hits import SearchRequest
    from ctxrank.ranking.retrieval.search import search

    text = sys.stdin.read() if query == ("-",) else " ".join(query)
    now = now_us()
    request = SearchRequest(
        text, limit, kinds, session or None, None if group in (None, "", "-") else group, agent, type_, phase,
        priority, path, None if since is None else parse_time(since, now=now),
        None if until is None else parse_time(until, now=now), explain, is_by_passage=passages,
    )  # fmt: skip
    with call.open() as store:
        config = load_config(store)
        result = search(store, request, config)
        for note in (*config.notes, *result.notes):
            call.note(note)
    if call.is_json:
        _print_json(result)
    else:
        _print_text(call, result)
    return 0 if result.hits else 1


def _print_json(result: "SearchResult") -> None:
    from ctxrank.cli.output.envelope import emit_json

    payload: dict[str, object] = {
        "query": result.query,
        "total": result.total,
        "capped": result.is_capped,
        "exact": result.is_exact,
        "hits": [_hit_json(hit) for hit in result.hits],
    }
    if result.reason:
        payload["reason"] = result.reason
    if result.stale:
        payload["stale"] = result.stale
    if result.suggestions:
        payload["suggestions"] = list(result.suggestions)
    if result.notes:
        payload["notes"] = list(result.notes)
    emit_json(payload, outcome=result.outcome, engine=result.engine)


def _hit_json(hit: "Hit") -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    value: dict[str, object] = {
        "id": hit.id, "kind": hit.kind, "title": hit.title, "path": hit.path, "score": hit.score,
        "snippet": hit.snippet, "session_id": hit.session, "group_id": hit.group, "priority": hit.priority or None,
        "created_at": format_us(hit.created_at), "superseded_by": hit.superseded_by, "agent": hit.agent or None,
        "type": hit.type or None, "file_state": hit.file_state or None,
        "passages": [
            {
                "id": f"passage:{p.id}", "heading": p.heading, "start_line": p.start_line, "end_line": p.end_line,
                "snippet": p.snippet, "score": p.score,
            }
            for p in hit.passages
        ],
    }  # fmt: skip
    if hit.explanation is not None:
        value["explanation"] = hit.explanation.as_json()
    return value


def _print_text(call: Call, result: "SearchResult") -> None:
    if result.reason:
        call.note(f"degraded: {result.reason}; these hits are by heuristics.")
    if result.stale:
        call.note(f"stale: the index still lacks {result.stale} changes.")
    if not result.hits:
        call.note(f"nothing found for: {result.query or '(an empty query)'}")
        if result.suggestions:
            call.note(f"did you mean: {', '.join(result.suggestions)}?")
        return
    for place, hit in enumerate(result.hits, start=1):
        _print_hit(call, place, hit)
    if result.hits[0].explanation is not None:
        print(f"exact: {'yes' if result.is_exact else 'likely, not proven'}")
    more = result.total - len(result.hits)
    if more > 0:
        call.note(f"{more}{' or' if result.is_capped else ''} more; -n shows more at once.")


def _print_hit(call: Call, place: int, hit: "Hit") -> None:
    from ctxrank.indexer.clock import format_day

    where = "/".join(part for part in (hit.session, hit.group) if part)
    facts = [hit.id, hit.priority, hit.type, where, format_day(hit.created_at), f"score {hit.score:.3f}"]
    print(f"{place}. {call.bold(_line(hit.title))}")
    print(f"   {call.dim(_line(' · '.join(fact for fact in facts if fact)))}")
    state = {"changed": " (changed since it was indexed)", "missing": " (the file is gone)"}.get(hit.file_state, "")
    if hit.superseded_by:
        state += f" (superseded by {hit.superseded_by})"
    if hit.path:
        lines = f":{hit.passages[0].start_line}" if hit.passages else ""
        print(f"   {_line(hit.path)}{lines}{state}")
    elif state:
        print(f"  {state}")
    print(f"   {_marked(call, hit.snippet)}")
    for passage in hit.passages[1:]:
        print(f"   {call.dim(f'line {passage.start_line}:')} {_marked(call, passage.snippet)}")
    if hit.explanation is not None:
        for line in hit.explanation.lines(2):
            print(line)
    print()


def _line(text: str) -> str:
    from ctxrank.indexer.text.lines import one_line

    return one_line(text)


def _marked(call: Call, snippet: str) -> str:
    """The snippet; on a terminal its marks become emphasis."""
    if not call.is_colored:
        return snippet
    pieces = snippet.split("**")
    return "".join(f"\x1b[1;33m{piece}\x1b[0m" if at % 2 else piece for at, piece in enumerate(pieces))
