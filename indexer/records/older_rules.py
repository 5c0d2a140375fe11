"""Records as they are shown: what was stored under older redaction rules is redacted again, as a search does."""

from collections.abc import Callable, Iterable

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.declarations import Meaning
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, is_tuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page, read_column
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.store import Store

if TYPE_CHECKING:
    from typing import TypeVar

    Row = TypeVar("Row")


def cleaner_of(store: Store, rulesets: Iterable[int]) -> Callable[[str], str]:
    """What redacts texts again that were stored under these rules; where all are today's, what leaves them."""
    if min(rulesets, default=RULESET_VERSION) >= RULESET_VERSION:
        return str
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  most rules are today's

    return IncomingTexts(load_config(store).redaction_mode).text


def cleaned_page(store: Store, kind: str, found: "Page[Row]") -> "Page[Row]":
    """Records of a kind with their texts as today's rules leave them."""
    query = """
        SELECT record_id FROM documents
         WHERE kind = ? AND ruleset < ? AND record_id IN (SELECT value FROM json_each(?))
    """
    rows: list[Any] = list(found)
    older = set(read_column(store.primary, query, (kind, RULESET_VERSION, id_list(row.id for row in rows)), int))
    if not older:
        return found
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  as above

    texts = IncomingTexts(load_config(store).redaction_mode)

    def clean(value: Any, meaning: Meaning) -> object:
        if is_tuple(value):  # of JSON that was read
            return tuple(texts.text(str(one)) for one in value)
        return texts.json(value, empty="[]") if meaning is Meaning.JSON else texts.text(value)

    columns = {column.name.removeprefix("context_"): column.meaning for column in KINDS[kind].table.redacted}
    for at, row in enumerate(rows):
        if row.id in older:
            named = ((name, meaning) for name, meaning in columns.items() if name in row._fields)
            rows[at] = row._replace(**{name: clean(getattr(row, name), meaning) for name, meaning in named})
    return Page(rows, found.total)
