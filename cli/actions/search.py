"""`ctxrank search`: past findings, ranked."""

import os
from collections.abc import Iterable, Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.command_table import CORE, command_table
from ctxrank.cli.declare import Extended
from ctxrank.indexer.bounds import MAX_QUERY_BYTES
from ctxrank.indexer.clock import format_day, now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.facets import KINDS
from ctxrank.indexer.store.freshness import STATE_MARKS, in_checkout, shown_path
from ctxrank.indexer.store.ids import PACKAGE
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, session_label
from ctxrank.ranking.retrieval.hits import Hit, SearchRequest, SearchResult
from ctxrank.ranking.retrieval.search import search as search_store
from ctxrank.ranking.retrieval.snippets import MARK, Span, is_code, marked

if TYPE_CHECKING:
    from ctxrank.cli.sharing import Sharing
    from ctxrank.indexer.store.out_of_date import OutOfDate
    from ctxrank.indexer.store.team_log import TeamState


def search(call: Call, store: Store, query: tuple[str, ...], format_: str, fresh: bool, **options: Any) -> Reply:
    """Search the store, after indexing what has changed if asked to; 1 where nothing is found."""
    plain, syntax, now = options["plain"], options["syntax"], now_us()
    if plain and syntax:
        raise UsageError("--plain and --syntax exclude each other.", "Give one of them.")
    form = call.form(format_)
    is_stdin = query == ("-",)
    since, until = (None if one is None else parse_time(one, now=now) for one in (options["since"], options["until"]))
    text = " ".join(query)
    if is_stdin:
        from ctxrank.cli.actions.given import given_text  # noqa: PLC0415  start-up: rare

        text = given_text(call.note, "-", max_bytes=MAX_QUERY_BYTES)
    request = SearchRequest(
        text, options["limit"], options["kinds"],
        session=tuple(one for one in options["sessions"] if one),
        group=tuple(one for one in options["groups"] if one not in ("", "-")),
        agent=options["agents"], type=options["types"], phase=options["phases"], priority=options["priorities"],
        path=options["paths"], since=since, until=until, is_explained=options["explain"],
        is_by_passage=options["passages"], is_plain=plain or (is_stdin and not syntax), is_syntax=syntax,
        has_facets=options["facets"], is_folded=not options["is_unfolded"],
    )  # fmt: skip
    config = load_config(store)
    if fresh:
        from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date  # noqa: PLC0415  a query indexes no files
        from ctxrank.cli.output.progress import progress_bar  # noqa: PLC0415  as above

        with progress_bar("indexing", call) as advance:
            bring_up_to_date(store, progress=advance)
        if config.team_log is not None:
            _sharing().make_fresh(call, store)
            config = load_config(store)
    result = search_store(store, request, config)
    out_of_date = _out_of_date(store, result)
    root = store.location.root
    for note in (*config.notes, *result.notes):
        call.note(note)
    team = config.team_log
    # How many matched that are neither hits nor folded under one.
    hidden = result.total - sum(1 + len(hit.folded) for hit in result.hits)
    result = result._replace(hits=tuple(map(_with_shown_lines, result.hits)))
    return Reply(
        lambda: Extended(
            result,
            {
                "has_more": hidden > 0 or result.is_capped,
                "hits": [_marked_where_explained(hit) for hit in result.hits],
                "facets": result.facets and {"counted": result.facets.counted, **result.facets.fields},
                "team": None if team is None else _sharing().as_json(team),
                "out_of_date": out_of_date or None,
            },
        ),
        _lines(call, result.hits, form, root),
        outcome=result.outcome,
        engine=result.engine,
        exit_code=0 if result.hits else 1,
        text_notes=tuple(_text_notes(result, hidden, out_of_date, team)),
        form=form,
    )


def _with_shown_lines(hit: Hit) -> Hit:
    """The hit with all lines of its best passage, and of others the one that matched."""
    passages = hit.passages[1:]
    ones = (one._replace(lines=tuple(at for at in one.lines if at.number == one.match_line)) for one in passages)
    return hit._replace(passages=(*hit.passages[:1], *ones)) if passages else hit


def _marked_where_explained(hit: Hit) -> Hit | Extended:
    return hit._replace(marks=()) if hit.explanation is None else Extended(hit, {"marks": hit.marks})


def _sharing() -> "Sharing":
    from ctxrank.cli.sharing import sharing  # noqa: PLC0415  only a store with a team has one

    return sharing("team")


def _out_of_date(store: Store, result: SearchResult) -> "list[OutOfDate]":
    """The files of the hits that are not as they were indexed; of an answer without hits, some that may have had one.

    So may they where other words stood in for those that the index lacks.

    A bounded look at files that the store knows: an answer walks through no folder.
    """
    changed = {hit.path: hit.file_state for hit in result.hits if hit.file_state in ("changed", "missing")}
    if result.hits and not changed and not (result.corrections and result.unknown):
        return []
    from ctxrank.indexer.store.out_of_date import OutOfDate, files_out_of_date  # noqa: PLC0415  most hits are current

    return [OutOfDate(*file) for file in changed.items()] or files_out_of_date(store)


def _text_notes(result: SearchResult, hidden: int, files: "list[OutOfDate]", team: "TeamState | None") -> Iterator[str]:
    """What the JSON says by its fields."""
    if result.reason:
        by = "by heuristics" if result.engine == "heuristic" else "of the index that is here"
        yield f"degraded: {result.reason}; these hits are {by}."
    if result.stale:
        yield f"stale: {result.stale} changes are not in the index yet."
    for typed, used in result.corrections:
        yield f"also searched for: {', '.join(used)} (for '{one_line(typed)}')."
    if result.hits:
        explained = {one.typed for one in result.corrections}
        explained |= {word for word in result.unknown if word.isdigit() and f":{word}" in result.query}  # a line's
        if unknown := [f"'{one_line(word)}'" for word in result.unknown if word not in explained]:
            yield f"in no document: {', '.join(unknown)}."
        if hidden > 0:
            yield f"{hidden}{' or' if result.is_capped else ''} more; -n shows more at once."
        if any(hit.folded for hit in result.hits):
            yield "hits that are like a better one are folded; --all shows them."
    elif not result.query:
        yield "nothing was asked. 'ctxrank search WORDS' finds what has any of the words, 'kind:error' all errors."
    else:
        yield f"nothing found for: {result.query}"
        kind, _, number = result.query.partition(":")
        if kind in KINDS and number[:1].isdecimal():
            yield f"'ctxrank show {result.query}' shows a record by its id."
        elif result.suggestions:
            yield f"did you mean: {', '.join(result.suggestions)}?"
        else:
            yield "fewer words or filters find more, 'pre*' takes any ending; 'ctxrank index' takes in new files."
    if files:
        from ctxrank.indexer.store.out_of_date import named  # noqa: PLC0415  most hits are current

        kept = {hit.path for hit in result.hits if hit.kind == PACKAGE and hit.file_state == "missing"}
        step = "; 'ctxrank index' takes in what has changed, and so does 'search --fresh'"
        yield f"out of date: {named(files)}{step if any(file.path not in kept for file in files) else ''}."
    if team is not None and (team.behind or team.trouble):  # the log is away or this store is behind it
        yield f"{_sharing().sentence(team)}."


def _lines(call: Call, hits: tuple[Hit, ...], form: str, root: str) -> Iterable[str]:
    if form == "text":
        return (line for place, hit in enumerate(hits, start=1) for line in _hit_lines(call, place, hit, root))
    if form == "compact":
        from ctxrank.cli.actions.compact_hits import compact_line  # noqa: PLC0415  counts tokens, which text does not

        return map(compact_line, hits)
    from ctxrank.cli.output.envelope import as_json  # noqa: PLC0415  text needs no JSON library
    from ctxrank.cli.output.shaped import shaped  # noqa: PLC0415  as above

    fields = command_table(CORE, "search").fields("hit")
    return (as_json(shaped(fields, _marked_where_explained(hit))) for hit in hits)


def _hit_lines(call: Call, place: int, hit: Hit, root: str) -> Iterator[str]:
    score = "" if hit.score is None else f"score {hit.score:.3f}"
    where = "/".join(filter(None, (session_label(hit.session, hit.session_title), hit.group)))
    about = (hit.id, hit.whose, hit.priority, hit.type, where, format_day(hit.created_at), score)
    yield f"{place}. {call.bold(one_line(hit.title))}"
    yield f"   {call.dim(one_line(' · '.join(dict.fromkeys(filter(None, about)))))}"
    state = STATE_MARKS.get(hit.file_state, "")
    if hit.superseded_by:
        state += f" (superseded by {hit.superseded_by})"
    if shown_path(hit.path):
        line = f":{hit.passages[0].match_line}" if hit.passages else ""
        state += f" ({in_checkout(hit.checkout)})" if hit.checkout else ""
        yield f"   {call.linked(f'{one_line(hit.path)}{line}', os.path.join(hit.checkout or root, hit.path))}{state}"
    elif state:
        yield f"  {state}"
    if hit.passages and is_code(hit.path):
        yield from _code_lines(call, hit)
    elif hit.snippet:  # a filter alone finds files without one
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
    shown = [line for passage in hit.passages for line in passage.lines]
    width = max((len(str(line.number)) for line in shown), default=0)
    for line in shown:
        number = f"{line.number:>{width}}{':' if line.marks else '-'}"
        yield f"   {call.dim(number)} {_marked(call, line.text, line.marks)}".rstrip()


def _marked(call: Call, text: str, marks: tuple[Span, ...], mark: str = "") -> str:
    """The text; on a terminal what is marked is emphasised, without the marks around it."""
    return marked(text, marks, mark, "\x1b[1;33m", "\x1b[0m") if call.is_colored else text
