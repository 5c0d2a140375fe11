"""`ctxrank search`: past findings, ranked."""

import os
from collections.abc import Iterable, Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.clock import format_day, format_us, now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.freshness import ELSEWHERE
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.retrieval.hits import Hit, PassageHit, SearchRequest
from ctxrank.ranking.retrieval.search import search as search_store
from ctxrank.ranking.retrieval.snippets import MARK, is_code

if TYPE_CHECKING:
    from ctxrank.cli.sharing import Sharing
    from ctxrank.indexer.store.out_of_date import OutOfDate
    from ctxrank.indexer.store.store import Store
    from ctxrank.ranking.retrieval.hits import SearchResult
    from ctxrank.ranking.retrieval.snippets import SnippetLine, Span

_NAMED_FILES = 5


def search(
    call: Call,
    query: tuple[str, ...],
    limit: int,
    kinds: tuple[str, ...],
    sessions: tuple[str, ...],
    groups: tuple[str, ...],
    agents: tuple[str, ...],
    types: tuple[str, ...],
    phases: tuple[str, ...],
    priorities: tuple[str, ...],
    paths: tuple[str, ...],
    since: str | None,
    until: str | None,
    plain: bool,
    syntax: bool,
    passages: bool,
    is_unfolded: bool,
    explain: bool,
    facets: bool,
    fresh: bool,
    format_: str,
) -> Reply:
    """Search the store, after indexing what has changed if asked to; 1 where nothing is found."""
    if plain and syntax:
        raise UsageError("--plain and --syntax exclude each other.", "Give one of them.")
    form = call.form(format_)
    is_stdin = query == ("-",)
    now = now_us()
    request = SearchRequest(
        _from_stdin(call) if is_stdin else " ".join(query), limit, kinds,
        session=tuple(filter(None, sessions)), group=tuple(one for one in groups if one not in ("", "-")),
        agent=agents, type=types, phase=phases, priority=priorities, path=paths,
        since=None if since is None else parse_time(since, now=now),
        until=None if until is None else parse_time(until, now=now),
        is_explained=explain, is_by_passage=passages, is_plain=plain or (is_stdin and not syntax), is_syntax=syntax,
        has_facets=facets, is_folded=not is_unfolded,
    )  # fmt: skip
    with call.open() as store:
        config = load_config(store)
        if fresh:
            from ctxrank.cli.actions.upkeep.index import index_for_search  # noqa: PLC0415  a query indexes no files

            index_for_search(call, store, config.redaction_mode)
            if config.team_log is not None:
                _sharing().make_fresh(call, store)
                config = load_config(store)
        result = search_store(store, request, config)
        out_of_date = _out_of_date(store, result)
        root = store.location.root
        for note in (*config.notes, *result.notes):
            call.note(note)
    return Reply(
        lambda: (
            _as_json(result)
            | ({"out_of_date": [file._asdict() for file in out_of_date]} if out_of_date else {})
            | _team_json(config)
        ),
        _lines(call, result, form, root),
        outcome=result.outcome,
        engine=result.engine,
        exit_code=0 if result.hits else 1,
        text_notes=(*_text_notes(result), *_freshness_notes(out_of_date), *_team_notes(config)),
        form=form,
    )


def _team_json(config: Config) -> dict[str, object]:
    """How up to date the team's memory is; nothing for a store without a team."""
    if config.team_log is None:
        return {}
    return {"team": _sharing().as_json(config.team_log)}


def _team_notes(config: Config) -> tuple[str, ...]:
    """The same in words, where the log is away or this store is behind it."""
    if config.team_log is None or not (config.team_log.behind or config.team_log.trouble):
        return ()
    return (f"{_sharing().sentence(config.team_log)}.",)


def _sharing() -> "Sharing":
    from ctxrank.cli.sharing import sharing  # noqa: PLC0415  only a store with a team has one

    return sharing("team")


def _from_stdin(call: Call) -> str:
    from ctxrank.cli.actions.given import MAX_QUERY_BYTES, decoded, read_given  # noqa: PLC0415  start-up: rare

    return decoded(read_given("-", MAX_QUERY_BYTES), call.note)


def _out_of_date(store: "Store", result: "SearchResult") -> "list[OutOfDate]":
    """The files of the hits that are not as they were indexed; of an answer without hits, some that may have had one.

    So may they where other words stood in for those that the index lacks.

    A bounded look at files that the store knows: an answer walks through no folder.
    """
    changed = {hit.path: hit.file_state for hit in result.hits if hit.file_state in ("changed", "missing")}
    if result.hits and not changed and not (result.corrections and result.unknown):
        return []
    from ctxrank.indexer.store.out_of_date import OutOfDate, files_out_of_date  # noqa: PLC0415  most hits are current

    return [OutOfDate(*file) for file in changed.items()] or files_out_of_date(store)


def _freshness_notes(files: "list[OutOfDate]") -> Iterator[str]:
    if files:
        named = ", ".join(f"{file.path} ({file.state})" for file in files[:_NAMED_FILES])
        more = f" and {len(files) - _NAMED_FILES} more" if len(files) > _NAMED_FILES else ""
        yield f"out of date: {named}{more}; 'ctxrank index' takes in what has changed, and so does 'search --fresh'."


def _as_json(result: "SearchResult") -> dict[str, object]:
    payload: dict[str, object] = {
        "query": result.query,
        "total": result.total,
        "has_more": _hidden(result) > 0 or result.is_capped,
        "capped": result.is_capped,
        "exact": result.is_exact,
        "hits": [_hit_json(hit) for hit in result.hits],
    }
    if result.is_relaxed:
        payload["relaxed"] = True
    if result.reason:
        payload["reason"] = result.reason
    if result.stale:
        payload["stale"] = result.stale
    if result.corrections:
        payload["corrections"] = [{"typed": one.typed, "used": list(one.used)} for one in result.corrections]
    if result.unknown:
        payload["unknown"] = list(result.unknown)
    if result.suggestions:
        payload["suggestions"] = list(result.suggestions)
    if result.notes:
        payload["notes"] = list(result.notes)
    if result.facets is not None:
        fields = result.facets.fields.items()
        payload["facets"] = {
            "counted": result.facets.counted,
            **{name: [{"value": value, "count": count} for value, count in values] for name, values in fields},
        }
    return payload


def _hit_json(hit: Hit) -> dict[str, object]:
    value: dict[str, object] = {
        "id": hit.id, "kind": hit.kind, "title": hit.title, "path": hit.path, "score": hit.score,
        "snippet": hit.snippet, "session_id": hit.session, "group_id": hit.group, "priority": hit.priority or None,
        "created_at": format_us(hit.created_at), "superseded_by": hit.superseded_by, "agent": hit.agent or None,
        "type": hit.type or None, "file_state": hit.file_state or None,
        "passages": [
            {
                "id": public_id("passage", p.id), "heading": p.heading, "start_line": p.start_line,
                "end_line": p.end_line, "snippet": p.snippet, "score": p.score, "match_line": p.match_line,
                "lines": [
                    {"number": line.number, "text": line.text, "marks": [list(span) for span in line.marks]}
                    for line in _shown_lines(place, p)
                ],
            }
            for place, p in enumerate(hit.passages)
        ],
    }  # fmt: skip
    if hit.folded:
        value["folded"] = [{"id": one.id, "path": one.path} for one in hit.folded]
    if hit.explanation is not None:
        value["explanation"] = hit.explanation.as_json()
        value["marks"] = [list(span) for span in hit.marks]
    if hit.shares is not None:
        shares = hit.shares._asdict()
        shares["terms"] = [{"term": term, "value": round(value, 6)} for term, value in hit.shares.terms]
        value["shares"] = {name: round(one, 6) if isinstance(one, float) else one for name, one in shares.items()}
    return value


def _text_notes(result: "SearchResult") -> Iterator[str]:
    """What the JSON says by its fields."""
    if result.reason:
        by = "by heuristics" if result.engine == "heuristic" else "of the index that is here"
        yield f"degraded: {result.reason}; these hits are {by}."
    if result.stale:
        yield f"stale: {result.stale} changes are not in the index yet."
    for typed, used in result.corrections:
        yield f"also searched for: {', '.join(used)} (for '{one_line(typed)}')."
    if not result.hits:
        if not result.query:
            yield "nothing was asked. 'ctxrank search WORDS' finds what has any of the words, 'kind:error' all errors."
            return
        yield f"nothing found for: {result.query}"
        if result.suggestions:
            yield f"did you mean: {', '.join(result.suggestions)}?"
        else:
            yield "fewer words or filters find more, 'pre*' takes any ending; 'ctxrank index' takes in new files."
        return
    explained = {one.typed for one in result.corrections}
    if unknown := [f"'{one_line(word)}'" for word in result.unknown if word not in explained]:
        yield f"in no document: {', '.join(unknown)}."
    more = _hidden(result)
    if more > 0:
        yield f"{more}{' or' if result.is_capped else ''} more; -n shows more at once."
    if any(hit.folded for hit in result.hits):
        yield "hits that are like a better one are folded; --all shows them."


def _hidden(result: "SearchResult") -> int:
    """How many matched that are neither hits nor folded under one."""
    return result.total - sum(1 + len(hit.folded) for hit in result.hits)


def _lines(call: Call, result: "SearchResult", form: str, root: str) -> Iterable[str]:
    if form == "text":
        return _text_lines(call, result, root)
    if form == "compact":
        from ctxrank.cli.actions.compact_hits import compact_line  # noqa: PLC0415  counts tokens, which text does not

        return map(compact_line, result.hits)
    from ctxrank.cli.output.envelope import as_json_line  # noqa: PLC0415  text needs no JSON library

    return (as_json_line(_hit_json(hit)) for hit in result.hits)


def _text_lines(call: Call, result: "SearchResult", root: str) -> Iterator[str]:
    for place, hit in enumerate(result.hits, start=1):
        yield from _hit_lines(call, place, hit, root)


_FILE_STATES = {
    "changed": " (changed since it was indexed)", "missing": " (the file is gone)", "elsewhere": f" ({ELSEWHERE})",
}  # fmt: skip


def _hit_lines(call: Call, place: int, hit: Hit, root: str) -> Iterator[str]:
    where = "/".join(part for part in (hit.session, hit.group) if part)
    score = "" if hit.score is None else f"score {hit.score:.3f}"
    facts = [hit.id, hit.priority, hit.type, where, format_day(hit.created_at), score]
    yield f"{place}. {call.bold(one_line(hit.title))}"
    yield f"   {call.dim(one_line(' · '.join(fact for fact in facts if fact)))}"
    state = _FILE_STATES.get(hit.file_state, "")
    if hit.superseded_by:
        state += f" (superseded by {hit.superseded_by})"
    if hit.path:
        line = f":{hit.passages[0].match_line}" if hit.passages else ""
        yield f"   {call.linked(f'{one_line(hit.path)}{line}', os.path.join(root, hit.path))}{state}"
    elif state:
        yield f"  {state}"
    if hit.passages and is_code(hit.path):
        yield from _code_lines(call, hit)
    else:
        yield f"   {_marked(call, hit.snippet, hit.marks, MARK)}"
        for passage in hit.passages[1:]:
            text = _marked(call, passage.snippet, passage.marks, MARK)
            yield f"   {call.dim(f'line {passage.match_line}:')} {text}"
    if hit.folded:
        yield f"   {call.dim(f'+{len(hit.folded)} like it')}"
    if hit.explanation is not None:
        yield from hit.explanation.lines(2)
    yield ""


def _code_lines(call: Call, hit: Hit) -> Iterator[str]:
    """The best lines of code as they are, `57:` where something matched and `58-` around it, as grep writes them."""
    shown = [line for place, passage in enumerate(hit.passages) for line in _shown_lines(place, passage)]
    width = max((len(str(line.number)) for line in shown), default=0)
    for line in shown:
        number = f"{line.number:>{width}}{':' if line.marks else '-'}"
        yield f"   {call.dim(number)} {_marked(call, line.text, line.marks)}".rstrip()


def _shown_lines(place: int, passage: PassageHit) -> tuple["SnippetLine", ...]:
    """All lines of the best passage, and of others the one that matched."""
    return tuple(line for line in passage.lines if place == 0 or line.number == passage.match_line)


def _marked(call: Call, text: str, marks: "tuple[Span, ...]", mark: str = "") -> str:
    """The text; on a terminal what is marked is emphasised, without the marks around it."""
    if not call.is_colored:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in marks:
        pieces += [text[at:start], f"\x1b[1;33m{text[start + len(mark) : end - len(mark)]}\x1b[0m"]
        at = end
    return "".join([*pieces, text[at:]])
