"""Imported passages: what can be found of a file that is not here.

A passage's key identifies its content, and a scan leaves a passage alone whose key the file has, too. So
a key is taken over only where it is the content's own; in a file that was edited by hand it need not be.
"""

from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_row, read_rows
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.passages import content_digest


class ImportedPassage(NamedTuple):
    """A passage as a document has it: without the file's title in its own."""

    passage_key: str
    title: str
    body: str
    start_line: int
    end_line: int


def read_passages(fields: Fields, file_title: str) -> tuple[ImportedPassage, ...]:
    """The passages of a line, each with a key that no other has. Raises UsageError."""
    found: dict[str, ImportedPassage] = {}
    for place, item in enumerate(fields.objects("passages"), 1):
        title, text = item.text("title", ""), item.text("text")
        key = "" if item.is_missing("key") else item.raw("key")  # it looks like a secret, and is kept where it is none
        digest, _, count = key.partition(".")
        is_counted = not count or (count.isascii() and count.isdigit() and len(count) < 10)
        own = (content_digest(title, text), content_digest(f"{file_title} > {title}", text))
        if key in found or not is_counted or digest not in own:
            key = f"import.{place}"
        found[key] = ImportedPassage(
            key, title, text, item.number("start_line", default=0), item.number("end_line", default=0)
        )
    return tuple(found.values())


def put_passages(change: Change, owner_id: int, path: str, passages: tuple[ImportedPassage, ...]) -> None:
    """Make an owner's passages these, unless they are already."""
    connection = change.connection
    query = "SELECT passage_key, title, body, start_line, end_line FROM documents WHERE owner_id = ? ORDER BY id"
    if list(read_rows(connection, query, (owner_id,), ImportedPassage)) == list(passages):
        return
    documents.remove_owned(change, owner_id)
    query = "SELECT id, session_id, group_id, agent, type, priority, created_at FROM documents WHERE id = ?"
    owner = read_row(connection, query, (owner_id,), artifacts.PassageOwner)
    assert owner is not None, "passages are put for a document that was just written"
    shape = documents.Document("passage", None, "", "", owner.created_at, RULESET_VERSION, path, *owner[:-1])
    documents.put_all(change, (shape._replace(**passage._asdict()) for passage in passages))
