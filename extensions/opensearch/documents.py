"""A document as the cluster holds it: our own tokens, with our own frequencies, and what a filter asks.

    text         words of title, body and parts of compound words, each with its weighted frequency: `lock|4`
    names        what the text defines: `#open_store` in code, `%Locking` in a heading
    title …      the tokens of each column in their order, for phrases and for words of one column
    kind …       what a scope can ask; `hit_kind` is that of the document that a hit is shown as

`_source` has what a score is made of, and nothing else: the number of the row, its parent, its length in tokens, and
`counts`, its terms with their counts, marked by field and packed as in the forward list of the embedded index:

    " lock|1 databas|17 /queue|128 #open_store|15408 "
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping

from ctxrank.indexer.engine import DEFINITION, HEADING, PATH, below_heading
from ctxrank.indexer.fulltext.forward import (
    BODY_MAX,
    IDENTIFIERS_MAX,
    PATH_MAX,
    TITLE_MAX,
    pack_counts,
)
from ctxrank.indexer.fulltext.index_file import MARKS
from ctxrank.indexer.store.change_log import LoggedDocument
from ctxrank.indexer.store.facets import index_rowid
from ctxrank.indexer.store.wide_settings import WideSettings
from ctxrank.indexer.text.definitions import forms_of, names_in
from ctxrank.indexer.text.tables import json_of

Tokens = Callable[[str], list[str]]

COLUMNS = ("title", "body", "path", "identifiers")
# Grows with the layout: an index of another one is made again.
FORMAT = 2
# A longer word is cut in two by the cluster's tokenizer.
_LONGEST_TERM = 200
# Frequencies are whole numbers there, so they are twice the ranking's weights, and k1 (of index.json) is twice ours.
_TITLE, _BODY, _IDENTIFIERS = 5, 2, 2


def definition(settings: WideSettings, meta: Mapping[str, object]) -> dict[str, object]:
    """What a new index is made of: index.json, and what is configured.

    There a deleted document's version is kept for hours, because an older change that comes later than that would bring
    it back; nothing new is seen before a run of the updater ends, so that a search sees one state of the store.
    """
    made: dict[str, dict[str, object]] = json_of(__file__, "index")
    made["settings"] |= {"number_of_shards": settings.shards, "number_of_replicas": settings.replicas}
    made["mappings"]["_meta"] = meta
    return {**made}


def cut(term: str) -> str:
    """A term as the cluster holds it."""
    return term[:_LONGEST_TERM]


def source_of(document: LoggedDocument, hit_kind: str, tokens: Tokens) -> dict[str, object]:
    """What is sent of a document; `hit_kind` is the kind of its parent, or its own."""
    parts, names = names_in(document.identifiers)
    title, body, path = tokens(document.title), tokens(document.body), tokens(document.path)
    counted = below_heading(document.title, document.body)
    below = body if counted == document.body else tokens(counted)
    part_tokens = tokens(parts)
    identifiers = tokens(document.identifiers) if names.code or names.headings else part_tokens
    in_title, in_body, in_parts = Counter(title), Counter(below), Counter(part_tokens)
    weighted: list[str] = []
    counts: list[str] = []
    for term in {**in_title, **in_body, **in_parts}:
        of_title, of_body = min(in_title[term], TITLE_MAX), min(in_body[term], BODY_MAX)
        of_parts = min(in_parts[term], IDENTIFIERS_MAX)
        held = cut(term)
        weighted.append(f"{held}|{_TITLE * of_title + _BODY * of_body + _IDENTIFIERS * of_parts}")
        counts.append(f"{held}|{pack_counts(of_title, of_body, 0, of_parts)}")
    counts += [
        f"{MARKS[PATH]}{cut(term)}|{pack_counts(0, 0, min(count, PATH_MAX), 0)}"
        for term, count in Counter(path).items()
    ]
    marked = [
        cut(MARKS[field] + name)
        for field, found in ((DEFINITION, names.code), (HEADING, names.headings))
        for name in sorted(forms_of(found))
    ]
    counts += [f"{name}|{pack_counts(0, 0, 0, IDENTIFIERS_MAX)}" for name in marked]
    columns = {"title": title, "body": body, "path": path, "identifiers": identifiers}
    return {
        "text": " ".join(weighted), "names": " ".join(marked),
        **{column: " ".join(map(cut, found)) for column, found in columns.items() if found},
        "kind": document.kind, "hit_kind": hit_kind, "agent": document.agent, "type": document.type,
        "priority": document.priority, "session": document.session_id, "group": document.group_id,
        "row": index_rowid(document.session_id, document.id), "owner": document.owner_id or document.id,
        "length": len(title) + len(below) + len(path) + len(part_tokens),
        "is_current": document.superseded_by is None, "counts": f" {' '.join(counts)} ",
    }  # fmt: skip


def line(value: object) -> bytes:
    """A value as one line of a bulk request."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
