"""The search page: what a query finds, its filters as chips, and what each score is made of."""

from collections.abc import Iterable, Iterator

from ctxrank.extensions.web import lately_page
from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.rendering import plural, words_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.anchors import drifted_findings
from ctxrank.indexer.records.related import MOST as MOST_SHOWN
from ctxrank.ranking.retrieval.query import Filter, Query, is_pasted, parse_query
from ctxrank.ranking.retrieval.snippets import is_code

LIMIT, MOST = 10, 100
PARTS, FACETS = words_of("part"), words_of("facet")  # of a score, with a colour each on every page; of a query
EXAMPLES = ("type:decisions since:7d", "kind:error timeout", "retry -path:docs/*", '"connection reset" since:30d')


class Chip(NamedTuple):
    """A filter of the query, and the query without it."""

    text: str
    without: str


class Segment(NamedTuple):
    """A part of a score as a bar shows it; `start` and `value` are shares of 1."""

    name: str
    label: str
    start: float
    value: float


class FacetValue(NamedTuple):
    """A value of a facet: how many have it, and the query with it, or without it where it is chosen."""

    value: str
    documents: int
    query: str
    is_chosen: bool


def values(ask: Commands, given: Parameters) -> Json:
    """What the page shows of a query; of none, where to begin."""
    typed = given("q")
    query = Query() if is_pasted(typed) else parse_query(typed)
    common: Json = {
        "q": typed, "chips": [Chip(str(one), str(_without(query, one))) for one in query.filters], "examples": EXAMPLES,
    }  # fmt: skip
    if not typed:
        return common | {"found": None, **lately_page.values(ask)}
    limit = min(given.whole("n") or LIMIT, MOST)
    is_drifted_alone = bool(given("drifted"))
    found = ask("search", query=(typed,), limit=MOST if is_drifted_alone else limit, explain=True, facets=True)
    hits = found.fields.get("hits", [])
    with ask.open() as store:
        drifted = {one.id for one in drifted_findings(store)}
    hits = [hit for hit in hits if hit["id"] in drifted or not is_drifted_alone]
    for hit in hits:
        hit["is_drifted"] = hit["id"] in drifted
        hit["segments"] = segments(hit.get("shares") or {})
        hit["is_code"] = bool(hit["passages"]) and is_code(hit["path"])
    chosen = (given.whole("at") or 1) - 1
    if chosen < len(hits):
        hits[chosen]["given"] = who_got(ask, hits[chosen]["id"])
    return common | {
        "found": found.fields, "hits": hits, "took": found.milliseconds, "notes": list(_notes(found.fields)),
        "facets": list(_facets(query, (found.fields.get("facets") or {}))), "chosen": chosen,
        "drifted": sum(hit["is_drifted"] for hit in hits), "is_drifted_alone": is_drifted_alone,
        "more": min(limit + LIMIT, MOST) if limit < MOST and found.fields.get("has_more") else 0,
    }  # fmt: skip


def who_got(ask: Commands, id_: str) -> str:
    """Which agents were given a finding, in a sentence."""
    related = ask("show", document=id_, depth="meta", is_related=True).fields["related"]
    taken, receipts = related.get("taken", []), related.get("receipts", [])
    held = [one for one in receipts if one["included"]]
    agents = {one["agent"] for one in held} | {one["agent"] for one in taken if one["at"]}
    consumers = {one["agent"] for one in taken if one["how"] == "consumed" and one["at"]}
    if not agents:
        return "Not given to an agent yet."
    consumed = f", consumed by {len(consumers)}" if consumers else ""
    least = "at least " if len(receipts) >= MOST_SHOWN else ""
    in_receipts = (
        f" In {least}{plural(len(held), 'block')}{'' if len(held) == len(receipts) else f' of {len(receipts)}'}."
    )
    return f"Given to {plural(len(agents), 'agent')}{consumed}.{in_receipts if receipts else ''}"


def _notes(found: Json) -> Iterator[str]:
    """What a person has to know of the answer; what only a command line can do is left out."""
    if found.get("reason"):
        yield f"The index cannot answer ({found['reason']}): these are found by heuristics."
    if found.get("stale"):
        yield f"{found['stale']} changes are not in the index yet."
    for one in found.get("corrections", []):
        yield f"Also searched for {', '.join(map(str, one['used']))}, for “{one['typed']}”."
    corrected = {one["typed"] for one in found.get("corrections", [])}
    if unknown := [f"“{word}”" for word in found.get("unknown", []) if word not in corrected]:
        yield f"Not found in any document: {', '.join(unknown)}."
    yield from map(str, found.get("notes", []))


def segments(shares: Json) -> list[Segment]:
    """The parts of a score one after another; what is nothing is left out."""
    values = ((name, label, shares.get(name) or 0) for name, label in PARTS.items())
    return in_a_row(part for part in values if part[2] >= 0.0005)


def in_a_row(parts: Iterable[tuple[str, str, float]]) -> list[Segment]:
    """Name, label and share of each part, each beginning where the one before ends."""
    made: list[Segment] = []
    for name, label, value in parts:
        made.append(Segment(name, label, made[-1].start + made[-1].value if made else 0.0, value))
    return made


def _facets(query: Query, counted: Json) -> Iterator[tuple[str, list[FacetValue]]]:
    for field, label in FACETS.items():
        found = {Filter(field, one["value"]): int(one["count"]) for one in counted.get(field, [])}
        chosen = [one for one in query.filters if one.field == field and not one.is_excluded]
        found |= {one: 0 for one in chosen if one not in found}
        if found:
            yield label, [_facet_value(query, one, number) for one, number in found.items()]


def _facet_value(query: Query, one: Filter, count: int) -> FacetValue:
    is_chosen = one in query.filters
    other = _without(query, one) if is_chosen else query._replace(filters=(*query.filters, one))
    return FacetValue(one.value, count, str(other), is_chosen)


def _without(query: Query, one: Filter) -> Query:
    return query._replace(filters=tuple(other for other in query.filters if other != one))
