"""What an import does with records of a kind beyond what the catalogue says of their columns.

A kind that needs nothing of the sort is not mentioned here.
"""

from collections.abc import Iterator, Mapping

from ctxrank.indexer.declarations import Value
from ctxrank.indexer.errors import failures, patterns, solutions
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.store import Change


class Hooks:
    """What a kind may add; an import has one of its own for each kind."""

    def complete(self, values: dict[str, Value], fields: Fields) -> None:
        """Fill in what a line does not say. Raises UsageError for a record that cannot be used."""

    def place(self, change: Change, values: dict[str, Value], number: int | None) -> None:
        """Make values fit what is here, before they are written; the record's `number` is None where it is new."""

    def written(self, change: Change, number: int, values: Mapping[str, Value]) -> None:
        """Write what belongs to the record in other tables."""

    def notes(self) -> Iterator[str]:
        """What a person should know about the records that came in."""
        return iter(())


class ReasoningHooks(Hooks):
    """A thought says whether it was redacted, be it on its way in."""

    def complete(self, values: dict[str, Value], fields: Fields) -> None:
        """Refuse an empty thought."""
        content = str(values["content"])
        if not content.strip():
            raise UsageError("its 'content' is empty")
        values["redacted"] = int(bool(values["redacted"]) or content != fields.raw("content"))


class ErrorHooks(Hooks):
    """A pattern has a state that follows from its record, and a signature by which it is recognised."""

    def complete(self, values: dict[str, Value], fields: Fields) -> None:
        """Exports from before schema 3 have no counts, and no text that was signed."""
        confidence = values["confidence"]
        assert isinstance(confidence, float), "it was read as a share"
        confirmations, refutations = patterns.record_of(confidence)
        confirmations = fields.number("confirmations", default=confirmations)
        refutations = fields.number("refutations", default=refutations)
        state = patterns.state_of(confirmations, refutations)
        values.update(confirmations=confirmations, refutations=refutations, state=state)
        values["unit"] = values["unit"] or patterns.title_of(str(values["error_type"]), str(values["message"]))

    def written(self, change: Change, number: int, values: Mapping[str, Value]) -> None:
        """Make it recognisable."""
        solutions.put_signature(change, number, str(values["project"]), str(values["unit"]))


class FailureHooks(Hooks):
    """A failure's signature is computed again: the other store may have another version of the normaliser."""

    def complete(self, values: dict[str, Value], fields: Fields) -> None:
        """Refuse a failure of which nothing can be read."""
        sighting = failures.sighting_of(str(values["error_text"]), 0, None)
        if sighting is None:
            raise UsageError("its 'unit' is empty")
        signature = sighting.signature
        values.update(normaliser_version=signature.normaliser, template=signature.template, instance=signature.instance)


class SkillHooks(Hooks):
    """Outputs of one skill and agent are numbered in a group."""

    def __init__(self) -> None:
        self._renumbered = 0

    def complete(self, values: dict[str, Value], fields: Fields) -> None:
        """An output that a line does not mention is an empty text."""
        if not fields.has("output"):
            values["output"] = '""'

    def place(self, change: Change, values: dict[str, Value], number: int | None) -> None:
        """Give it the next free iteration where its own is taken here."""
        iteration = _free_iteration(change, values, number)
        if number is None and iteration != values["iteration"]:
            self._renumbered += 1
        values["iteration"] = iteration

    def notes(self) -> Iterator[str]:
        """How many iterations were taken."""
        if self._renumbered:
            outputs = "1 skill output" if self._renumbered == 1 else f"{self._renumbered} skill outputs"
            yield f"{outputs} got the next free iteration, as theirs was taken here."


class _Iterations(NamedTuple):
    is_taken: int
    own: int | None
    following: int


def _free_iteration(change: Change, values: Mapping[str, Value], number: int | None) -> Value:
    """The output's iteration if no other output of its kind has it, else the next free one.

    One that is here already keeps the number that it has here.
    """
    of_its_kind = "session_id = :session_id AND skill = :skill AND agent = :agent AND group_id IS :group_id"
    query = f"""
        SELECT EXISTS (SELECT 1 FROM skill_outputs
                        WHERE {of_its_kind} AND iteration = :iteration AND id IS NOT :number),
               (SELECT iteration FROM skill_outputs WHERE {of_its_kind} AND id = :number),
               (SELECT coalesce(max(iteration), 0) + 1 FROM skill_outputs WHERE {of_its_kind})
    """
    found = read_row(change.connection, query, {**values, "number": number}, _Iterations)
    assert found is not None, "a query without a table has a row"
    if not found.is_taken:
        return values["iteration"]
    return found.following if found.own is None else found.own


HOOKS: dict[str, type[Hooks]] = {
    "reasoning": ReasoningHooks,
    "error": ErrorHooks,
    "failure": FailureHooks,
    "skill": SkillHooks,
}
