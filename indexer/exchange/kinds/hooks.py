"""What an import does with records of a kind beyond what the catalogue says of their columns.

A kind that needs nothing of the sort has the hooks of `Hooks`.
"""

from collections.abc import Mapping

from ctxrank.indexer.declarations import Kind, Row, Value
from ctxrank.indexer.errors import failures, patterns, solutions
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.register import LineIdentity
from ctxrank.indexer.exchange.run import ImportRun
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.store.store import Change


class Hooks:
    """What a kind may add; an import has one of its own for each kind and origin."""

    def __init__(self, run: ImportRun, kind: Kind) -> None:
        self.run = run
        self.kind = kind

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Fill in what a line does not say; returns what it says beyond the columns.

        Raises UsageError for a record that cannot be used.
        """
        return None

    def place(self, change: Change, values: dict[str, Value], before: Row) -> None:
        """Make values fit what is here, before they are written over it."""

    def insert(self, change: Change, values: Mapping[str, Value], said: object) -> int:
        """Write a new record; returns its row id."""
        return insert(change, self.kind, values)

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Write what belongs to the record in other tables."""


class ReasoningHooks(Hooks):
    """A thought says whether it was redacted, be it on its way in."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Refuse an empty thought."""
        content = str(values["content"])
        if not content.strip():
            raise UsageError("its 'content' is empty")
        values["redacted"] = int(bool(values["redacted"]) or content != fields.raw("content"))
        return None


class ErrorHooks(Hooks):
    """A pattern has a state that follows from its record, and a signature by which it is recognised."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Work out its state, and the text that was signed where the line has none."""
        confirmations, refutations = values["confirmations"], values["refutations"]
        assert isinstance(confirmations, int) and isinstance(refutations, int), "they were read as numbers"
        values["state"] = patterns.state_of(confirmations, refutations)
        values["unit"] = values["unit"] or patterns.title_of(str(values["error_type"]), str(values["message"]))
        return None

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Make it recognisable."""
        solutions.put_signature(change, number, str(values["project"]), str(values["unit"]))


class FailureHooks(Hooks):
    """A failure's signature is computed again: the other store may have another version of the normaliser."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> object:
        """Refuse a failure of which nothing can be read."""
        sighting = failures.sighting_of(str(values["error_text"]), 0, None)
        if sighting is None:
            raise UsageError("its 'unit' is empty")
        signature = sighting.signature
        values.update(normaliser_version=signature.normaliser, template=signature.template, instance=signature.instance)
        return None
