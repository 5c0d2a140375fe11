"""One document as the primary database holds it, for showing."""

from collections.abc import Iterator

from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.freshness import ELSEWHERE, file_state
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.store import Store


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

    def facts(self) -> list[str]:
        """Where it comes from, in the order a person reads it; some may be ''."""
        where = "/".join(part for part in (self.session, self.group) if part)
        replaced = f"superseded by {public_id(PACKAGE, self.superseded_by)}" if self.superseded_by else ""
        path = f"{self.path} ({ELSEWHERE})" if self.file_state == "elsewhere" else self.path
        return [
            self.id, self.priority, self.type, self.agent, where, format_us(self.created_at), path, replaced,
        ]  # fmt: skip

    def as_json(self) -> dict[str, object]:
        """The document as JSON, with the names that other answers use."""
        value = self._asdict()
        value["session_id"] = value.pop("session")
        value["group_id"] = value.pop("group")
        value["created_at"] = format_us(self.created_at)
        value["superseded_by"] = public_id(PACKAGE, self.superseded_by) if self.superseded_by else None
        value["file_state"] = self.file_state or None
        value["details"] = dict(self.details)
        value["passages"] = [passage._asdict() | {"id": public_id("passage", passage.id)} for passage in self.passages]
        return value


def read_document(store: Store, ref: DocumentRef, *, with_passages: bool) -> ShownDocument:
    """One document. Raises NotFoundError."""
    number = document_id(store.primary, ref)
    row = store.primary.execute(
        """
        SELECT d.kind, d.title, d.body, d.path, s.name, g.name, d.agent, d.type, d.priority, d.created_at,
               d.superseded_by, d.tokens, d.token_counter
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
        passages = tuple(
            ShownPassage(*passage)
            for passage in store.primary.execute(
                "SELECT id, title, start_line, end_line, body FROM documents WHERE owner_id = ?"
                " ORDER BY start_line, id",
                (number,),
            )
        )
    kind, title, body, path, session, group, agent, type_, priority, created_at, superseded_by, tokens, counter = row
    return ShownDocument(
        str(ref), kind, title, body, path, session, group, agent, type_, priority, created_at, superseded_by, tokens,
        counter, passages, state_of(store, ref), tuple(_details(store, ref)),
    )  # fmt: skip


def state_of(store: Store, ref: DocumentRef) -> str:
    """The state of the file of a package or an artifact: see `file_state`."""
    if ref.kind == "artifact":
        return file_state(store, ref.number)
    if ref.kind != PACKAGE:
        return ""
    artifact_id = store.primary.execute("SELECT artifact_id FROM packages WHERE id = ?", (ref.number,)).get
    return file_state(store, artifact_id, ref.number)


# What the own table of a kind adds to the document: (label, column).
_DETAILS = {
    "reasoning": (
        "reasoning",
        (("iteration", "iteration"), ("confidence", "confidence"), ("agent name", "agent_name"), ("refers to", "refs")),
    ),
    "strategy": (
        "strategies",
        (("project", "project"), ("helpfulness", "helpfulness"), ("language", "lang"), ("framework", "framework")),
    ),
    "error": (
        "error_patterns",
        (
            ("project", "project"), ("error type", "error_type"), ("message", "message"), ("language", "lang"),
            ("occurrences", "occurrences"), ("context hints", "context_hints"),
        ),
    ),
    "skill": ("skill_outputs", (("iteration", "iteration"),)),
}  # fmt: skip


def _details(store: Store, ref: DocumentRef) -> Iterator[tuple[str, str]]:
    """What is set of the record's own fields; an empty list is not."""
    table, fields = _DETAILS.get(ref.kind, ("", ()))
    if not fields:
        return
    columns = ", ".join(column for _, column in fields)
    row = store.primary.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (ref.number,)).fetchone()
    for (name, _), value in zip(fields, row or (), strict=False):
        if value not in (None, "", "[]"):
            yield name, str(value)
