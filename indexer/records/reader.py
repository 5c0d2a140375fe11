"""One document as the primary database holds it, for showing."""

from collections.abc import Iterator
from typing import Any

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.freshness import ELSEWHERE, file_state, shown_path
from ctxrank.indexer.store.ids import PACKAGE, SESSION_TITLE, DocumentRef, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import session_label


class ShownPassage(NamedTuple):
    """A passage of a shown document."""

    id: int
    heading: str
    start_line: int
    end_line: int
    text: str


class ShownDocument(NamedTuple):
    """A document with names instead of row ids; `passages` are in the file's order."""

    id: str
    kind: str
    title: str
    body: str
    path: str
    session: str | None
    group: str | None
    agent: str
    type: str
    priority: str
    created_at: int
    superseded_by: int | None
    tokens: int
    counter: str
    passages: tuple[ShownPassage, ...]
    file_state: str = ""  # current, changed, missing, elsewhere; '' for none
    details: tuple[tuple[str, str], ...] = ()  # fields of this kind besides the text, by name
    session_title: str | None = None

    def facts(self) -> list[str]:
        """Where it comes from, in the order a person reads it; some may be ''."""
        where = "/".join(filter(None, (session_label(self.session, self.session_title), self.group)))
        replaced = f"superseded by {public_id(PACKAGE, self.superseded_by)}" if self.superseded_by else ""
        path = f"{self.path} ({ELSEWHERE})" if self.file_state == "elsewhere" else shown_path(self.path)
        moment = format_us(self.created_at)
        return [self.id, self.priority, self.type, self.agent, where, moment, path, replaced]


def read_document(store: Store, ref: DocumentRef, *, with_passages: bool) -> ShownDocument:
    """One document. Raises NotFoundError."""
    number = document_id(store.primary, ref)
    row = store.primary.execute(
        f"""
        SELECT d.kind, d.title, d.body, d.path, s.name, g.name, d.agent, d.type, d.priority, d.created_at,
               d.superseded_by, d.tokens, d.token_counter,
               {SESSION_TITLE}
          FROM documents AS d
          LEFT JOIN sessions AS s ON s.id = d.session_id
          LEFT JOIN groups AS g ON g.id = d.group_id
         WHERE d.id = ?
        """,
        (number,),
    ).fetchone()
    if row is None:
        raise NotFoundError(f"There is no {ref}.", "It was removed a moment ago.")
    passages: tuple[ShownPassage, ...] = ()
    if with_passages:
        query = "SELECT id, title, start_line, end_line, body FROM documents WHERE owner_id = ? ORDER BY start_line, id"
        passages = tuple(read_rows(store.primary, query, (number,), ShownPassage))
    details = tuple(_details(store, ref))
    values: tuple[Any, ...] = (str(ref), *row[:-1], passages, state_of(store, ref), details, row[-1])
    return ShownDocument(*values)


def state_of(store: Store, ref: DocumentRef) -> str:
    """The state of the file of a package or an artifact: see `file_state`."""
    if ref.kind == "artifact":
        return file_state(store, ref.number)
    if ref.kind != PACKAGE:
        return ""
    artifact_id = store.primary.execute("SELECT artifact_id FROM packages WHERE id = ?", (ref.number,)).get
    return file_state(store, artifact_id, ref.number)


# What the own table of a kind adds to the document.
_DETAILS = {
    "reasoning": ("iteration", "confidence", "agent_name", "refs"),
    "strategy": ("project", "helpfulness", "lang", "framework"),
    "error": ("project", "error_type", "message", "lang", "occurrences", "context_hints"),
    "skill": ("iteration",),
}
_LABELS = {"refs": "refers to", "lang": "language"}


def _details(store: Store, ref: DocumentRef) -> Iterator[tuple[str, str]]:
    """What is set of the record's own fields; an empty list is not."""
    if (columns := _DETAILS.get(ref.kind)) is None:
        return
    query = f"SELECT {', '.join(columns)} FROM {KINDS[ref.kind].table.name} WHERE id = ?"
    row = store.primary.execute(query, (ref.number,)).fetchone()
    for name, value in zip(columns, row or (), strict=False):
        if value not in (None, "", "[]"):
            yield _LABELS.get(name, name.replace("_", " ")), str(value)
