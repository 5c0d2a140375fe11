"""Imported records that have no file: what agents thought, learned and did."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ctxrank.indexer.catalogue import Kind
from ctxrank.indexer.errors import failures, patterns, solutions
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.simple import SimpleImport
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import Writer, Written, kept_here
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import reasoning, skill_outputs, strategies
from ctxrank.indexer.store.store import Change

REASONING, ERROR, FAILURE, STRATEGY = "reasoning", "error", "failure", "strategy"
SKILL, EVENT = "skill", "event"

Row = TypeVar("Row")


class _Placed(NamedTuple):
    """A record of a session and perhaps of a group, both by name; the rest of it is `entry`'s business."""

    session: str
    group: str | None
    created_at: int


class _Thought(NamedTuple):
    place: _Placed
    entry: reasoning.Reasoning


class _KnownError(NamedTuple):
    pattern: patterns.ErrorPattern
    unit: str  # what its signature is made from


class _Failure(NamedTuple):
    place: _Placed
    error: tuple[str | None, str | None]  # project and hash of the error that it is
    sighting: failures.Sighting


class _Output(NamedTuple):
    place: _Placed
    entry: skill_outputs.SkillOutput


class _Event(NamedTuple):
    place: _Placed
    subtype: str
    payload: str
    idempotency_key: str | None


class RecordImport:
    """Brings in one kind after the other; their sessions must be here."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._run = arrivals.run
        self._renumbered = 0

    def bring(self, kind: Kind, lines: Iterable[Line]) -> None:
        """Bring in what is new or changed of a kind; one that has no reader here is read by its columns alone."""
        if kind.name == REASONING:
            self._bring(kind, lines, self._prepare_reasoning, self._write_reasoning)
        elif kind.name == ERROR:
            self._bring(kind, lines, self._prepare_error, self._write_error)
        elif kind.name == FAILURE:
            self._bring(kind, lines, self._prepare_failure, self._write_failure)
        elif kind.name == STRATEGY:
            self._bring(kind, lines, self._prepare_strategy, self._write_strategy)
        elif kind.name == SKILL:
            self._bring(kind, lines, self._prepare_skill, self._write_skill)
        elif kind.name == EVENT:
            self._bring(kind, lines, self._prepare_event, self._write_event)
        else:
            SimpleImport(self._arrivals, kind).bring(lines)

    def _bring(
        self, kind: Kind, lines: Iterable[Line], prepare: Callable[[Fields, str], Row], write: Writer[Row]
    ) -> None:
        self._arrivals.bring(kind.name, lines, identity=kind.identity, prepare=prepare, write=write)

    def _prepare_reasoning(self, fields: Fields, key: str) -> _Thought:
        place = _placed(fields)
        content = fields.text("content")
        entry = reasoning.Reasoning(
            session_id=0, group_id=None,  # known once the lock is held
            agent=fields.agent("agent"), phase=fields.choice("phase", reasoning.PHASES), content=content,
            created_at=place.created_at, agent_name=fields.line("agent_name", ""),
            iteration=fields.number("iteration", default=0),
            confidence=fields.optional_choice("confidence", reasoning.CONFIDENCES),
            refs=fields.json_list("references"),
            is_redacted=fields.flag("redacted") or content != fields.raw("content"),
        )  # fmt: skip
        if not entry.content.strip():
            raise UsageError("its 'content' is empty")
        return _Thought(place, entry)

    def _write_reasoning(self, change: Change, row: _Thought, target: int | None) -> Written:
        session_id, group_id = self._place(change, row.place)
        entry = row.entry._replace(session_id=session_id, group_id=group_id)
        if target is not None:
            return Written(target, is_change=reasoning.replace(change, target, entry))
        query = "SELECT id FROM reasoning WHERE session_id = ? AND group_id IS ? AND created_at = ? AND content = ?"
        twin = self._arrivals.twin(change, REASONING, session_id, query, (group_id, entry.created_at, entry.content))
        if twin is not None:
            return Written(twin, is_change=False)
        return Written(self._arrivals.claim(REASONING, reasoning.insert(change, entry)))

    def _prepare_error(self, fields: Fields, key: str) -> _KnownError:
        confidence = fields.share("bazinga_confidence", 0.5)
        # Exports from before schema 3 have no counts, and no text that was signed.
        confirmations, refutations = patterns.record_of(confidence)
        pattern = patterns.ErrorPattern(
            project=fields.word("project"), pattern_hash=fields.word("pattern_hash"),
            error_type=fields.line("error_type"), message=fields.text("message"), solution=fields.text("solution"),
            last_seen=fields.moment("last_seen"), created_at=fields.moment("created_at"),
            context_hints=fields.json_list("context_hints"), stack_pattern=fields.json_list("stack_pattern"),
            confidence=confidence,
            occurrences=fields.number("occurrences", least=1, default=1), lang=fields.optional_word("lang"),
            ttl_days=fields.number("ttl_days", least=1, default=90),
            confirmations=fields.number("confirmations", default=confirmations),
            refutations=fields.number("refutations", default=refutations),
        )  # fmt: skip
        return _KnownError(pattern, fields.text("unit", "") or patterns.title_of(pattern.error_type, pattern.message))

    def _write_error(self, change: Change, known: _KnownError, target: int | None) -> Written:
        """An error pattern; of one that is here too, the one seen last is kept."""
        pattern = known.pattern
        found = change.connection.execute(
            "SELECT id, last_seen FROM error_patterns WHERE pattern_hash = ? AND project = ?",
            (pattern.pattern_hash, pattern.project),
        ).fetchone()
        kept = kept_here(found, target, pattern.last_seen)
        if kept is not None:
            return kept
        number = patterns.upsert(change, pattern)
        solutions.put_signature(change, number, pattern.project, known.unit)
        return Written(number)

    def _prepare_failure(self, fields: Fields, key: str) -> _Failure:
        seen_at = fields.moment("seen_at")
        place = _Placed(fields.word("session"), fields.optional_word("group"), seen_at)
        sighting = failures.sighting_of(fields.text("unit"), seen_at, fields.optional_moment("resolved_at"))
        if sighting is None:
            raise UsageError("its 'unit' is empty")
        return _Failure(place, (fields.optional_word("error_project"), fields.optional_word("error_hash")), sighting)

    def _write_failure(self, change: Change, row: _Failure, target: int | None) -> Written:
        """A failure as it was seen, with the error that it was recognised as, where that is here."""
        seen = row.sighting
        if target is not None:
            return Written(target, is_change=failures.say_over(change, target, seen.resolved_at))
        session_id, group_id = self._place(change, row.place)
        query = "SELECT id FROM error_sightings WHERE session_id = ? AND group_id = ? AND seen_at = ? AND instance = ?"
        identity = (group_id or 0, seen.seen_at, seen.signature.instance)
        twin = self._arrivals.twin(change, FAILURE, session_id, query, identity)
        if twin is not None:
            return Written(twin, is_change=False)
        found = change.connection.execute(
            "SELECT id FROM error_patterns WHERE project = ? AND pattern_hash = ?", row.error
        ).fetchone()
        pattern_id = None if found is None else int(found[0])
        return Written(
            self._arrivals.claim(FAILURE, failures.insert(change, session_id, group_id or 0, seen, pattern_id))
        )

    def _prepare_strategy(self, fields: Fields, key: str) -> strategies.Strategy:
        return strategies.Strategy(
            name=fields.word("name"), project=fields.word("project"),
            topic=fields.choice("topic", strategies.TOPICS), insight=fields.text("insight"),
            last_seen=fields.moment("last_seen"), created_at=fields.moment("created_at"),
            helpfulness=fields.number("helpfulness", default=0), lang=fields.optional_word("lang"),
            framework=fields.optional_word("framework"),
        )  # fmt: skip

    def _write_strategy(self, change: Change, strategy: strategies.Strategy, target: int | None) -> Written:
        """A strategy; of one that is here too, the one seen last is kept."""
        found = change.connection.execute(
            "SELECT id, last_seen FROM strategies WHERE name = ?", (strategy.name,)
        ).fetchone()
        kept = kept_here(found, target, strategy.last_seen)
        if kept is not None:
            return kept
        return Written(strategies.upsert(change, strategy))

    def _prepare_skill(self, fields: Fields, key: str) -> _Output:
        place = _placed(fields)
        entry = skill_outputs.SkillOutput(
            session_id=0, group_id=None,  # known once the lock is held
            agent=fields.agent("agent", ""), skill=fields.line("skill"), iteration=fields.number("iteration"),
            output=fields.json("output", empty="null" if fields.has("output") else '""'), created_at=place.created_at,
        )  # fmt: skip
        return _Output(place, entry)

    def _write_skill(self, change: Change, row: _Output, target: int | None) -> Written:
        session_id, group_id = self._place(change, row.place)
        entry = row.entry._replace(session_id=session_id, group_id=group_id)
        if target is not None:
            entry = entry._replace(iteration=skill_outputs.free_iteration(change, entry, own_id=target))
            return Written(target, is_change=skill_outputs.replace(change, target, entry))
        # By its output, too: the twin may have got another number on its way in.
        query = """
            SELECT id FROM skill_outputs
             WHERE session_id = ?1 AND skill = ?2 AND created_at = ?3 AND group_id IS ?4
               AND (iteration = ?5 OR output = ?6)
             ORDER BY iteration <> ?5, id
        """
        identity = (entry.skill, entry.created_at, group_id, entry.iteration, entry.output)
        twin = self._arrivals.twin(change, SKILL, session_id, query, identity)
        if twin is not None:
            return Written(twin, is_change=False)
        iteration = skill_outputs.free_iteration(change, entry)
        if iteration != entry.iteration:
            self._renumbered += 1
        number = skill_outputs.insert(change, entry._replace(iteration=iteration))
        return Written(self._arrivals.claim(SKILL, number))

    def notes(self) -> Iterator[str]:
        """What a person should know about the records that came in."""
        if self._renumbered:
            outputs = "1 skill output" if self._renumbered == 1 else f"{self._renumbered} skill outputs"
            yield f"{outputs} got the next free iteration, as theirs was taken here."

    def _prepare_event(self, fields: Fields, key: str) -> _Event:
        return _Event(
            _placed(fields), fields.line("subtype"), fields.json("payload", empty="{}"),
            fields.optional_word("idempotency_key"),
        )  # fmt: skip

    def _write_event(self, change: Change, row: _Event, target: int | None) -> Written:
        """An event; of two with one idempotency key the first stays."""
        connection = change.connection
        if target is not None:
            connection.execute("UPDATE events SET payload = ? WHERE id = ?", (row.payload, target))
            return Written(target, is_change=bool(connection.changes()))
        session_id, group_id = self._place(change, row.place)
        query = """
            SELECT id FROM events
             WHERE session_id = ? AND subtype = ? AND group_id = ?
               AND (idempotency_key = ? OR (created_at = ? AND payload = ?))
        """
        identity = (row.subtype, group_id or 0, row.idempotency_key, row.place.created_at, row.payload)
        twin = self._arrivals.twin(change, EVENT, session_id, query, identity)
        if twin is not None:
            return Written(twin, is_change=False)
        values = (session_id, group_id or 0, row.subtype, row.payload, row.idempotency_key, row.place.created_at)
        connection.execute(
            "INSERT OR IGNORE INTO events (session_id, group_id, subtype, payload, idempotency_key, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            values,
        )
        if not connection.changes():
            raise UsageError("another event has its idempotency key")
        return Written(self._arrivals.claim(EVENT, connection.last_insert_rowid()))

    def _place(self, change: Change, place: _Placed) -> tuple[int, int | None]:
        """The row ids of a record's session and group. Raises UsageError where the session is not there."""
        session_id = self._arrivals.session_id(change, place.session)
        return session_id, self._run.group_id(change, session_id, place.group, place.created_at)


def _placed(fields: Fields) -> _Placed:
    return _Placed(fields.word("session"), fields.optional_word("group"), fields.moment("created_at"))
