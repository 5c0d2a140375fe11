"""One document as the primary database holds it, for showing."""

from collections.abc import Iterator

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.older_rules import cleaner_of
from ctxrank.indexer.store.documents import document_id
from ctxrank.indexer.store.freshness import STATE_MARKS, FileStates, shown_path
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.parents import ParentDocument, StoredPassage, passages_of_parent, read_parents
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import session_label


class ShownDocument(NamedTuple):
    """A document with names instead of row ids, and its passages in the file's order."""

    document: ParentDocument
    id: str
    tokens: int
    counter: str
    passages: list[StoredPassage]
    file_state: str  # current, changed, missing, elsewhere; '' for none
    details: dict[str, str]  # fields of this kind besides the text, by name

    def facts(self) -> list[str]:
        """Where it comes from, in the order a person reads it; some may be ''."""
        of = self.document
        where = "/".join(filter(None, (session_label(of.session, of.session_title), of.group)))
        replaced = f"superseded by {public_id(PACKAGE, of.superseded_by)}" if of.superseded_by else ""
        path = shown_path(of.path) + STATE_MARKS.get(self.file_state, "")
        return [self.id, of.priority, of.type, of.agent, where, format_us(of.created_at), path, replaced]


def read_document(store: Store, ref: DocumentRef, *, with_passages: bool) -> ShownDocument:
    """One document, as today's redaction rules leave its texts. Raises NotFoundError."""
    number = document_id(store.primary, ref)
    found = read_parents(store.primary, [number]).get(number)
    if found is None:
        raise NotFoundError(f"There is no {ref}.", "It was removed a moment ago.")
    ((tokens, counter),) = store.primary.execute("SELECT tokens, token_counter FROM documents WHERE id = ?", (number,))
    passages, _ = passages_of_parent(store.primary, number) if with_passages else ([], [])
    clean = cleaner_of(store, [found.ruleset, *(one.ruleset for one in passages)])
    found = found._replace(title=clean(found.title), body=clean(found.body))
    passages = [one._replace(heading=clean(one.heading), body=clean(one.body)) for one in passages]
    details = {name: clean(detail) for name, detail in _details(store, ref)}
    return ShownDocument(found, str(ref), tokens, counter, passages, state_of(store, ref), details)


def state_of(store: Store, ref: DocumentRef) -> str:
    """The state of the file of a package or an artifact: see freshness.py."""
    if ref.kind == "artifact":
        return FileStates(store).of(ref.number)
    if ref.kind != PACKAGE:
        return ""
    artifact_id = store.primary.execute("SELECT artifact_id FROM packages WHERE id = ?", (ref.number,)).get
    return FileStates(store).of(artifact_id, ref.number)


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
