"""What the predecessor's agents learned: reasoning, error patterns, strategies and skill outputs."""

import json
from collections.abc import Iterable

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors import patterns, solutions
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.ledger import digest_of, row_key
from ctxrank.indexer.exchange.run import ImportRun, Incoming, Written, kept_here
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.predecessor.rows import ErrorRow, ReasoningRow, SkillRow, StrategyRow
from ctxrank.indexer.records import reasoning, skill_outputs, strategies
from ctxrank.indexer.store.store import Change

REASONING, ERROR, STRATEGY, SKILL = "reasoning", "error", "strategy", "skill"
UNKNOWN_ERROR = "Unknown"


class _Signature(NamedTuple):
    """What an error pattern is recognised by; hints and stack are JSON lists."""

    error_type: str
    message: str
    context_hints: str
    stack_pattern: str


class LessonImport:
    """Brings in what is searched by itself and belongs to no package."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run
        self._texts = run.texts

    def bring_reasoning(self, rows: Iterable[ReasoningRow]) -> None:
        """Reasoning, each entry with its phase."""
        incoming = (
            Incoming(row_key(row.id, row.session, row.created_at), str(row.id), digest_of(row), row) for row in rows
        )
        self._run.bring(REASONING, incoming, self._write_reasoning)

    def _write_reasoning(self, change: Change, row: ReasoningRow, target: int | None) -> Written:
        if not row.phase:
            raise UsageError("it has no phase")
        session_id = self._run.session_id(row.session)
        content = self._texts.text(row.content)
        entry = reasoning.Reasoning(
            session_id=session_id,
            group_id=self._run.group_id(change, session_id, row.group, row.created_at),
            agent=self._texts.agent(row.agent),
            phase=self._texts.word(row.phase),
            content=content,
            created_at=row.created_at or now_us(),
            agent_name=self._texts.line(row.agent_name),
            iteration=row.iteration,
            confidence=None if row.confidence is None else self._texts.word(row.confidence),
            refs=self._texts.json_list(row.references),
            is_redacted=row.is_redacted or content != row.content,
        )
        if target is not None:
            return Written(target, is_change=reasoning.replace(change, target, entry))
        return Written(reasoning.insert(change, entry))

    def bring_errors(self, rows: Iterable[ErrorRow]) -> None:
        """Error patterns; of one that is here too, the one seen last is kept."""
        incoming = (
            Incoming(
                row_key(None, row.pattern_hash, row.project),
                self._texts.line(row.pattern_hash),
                digest_of(row),
                row,
            )
            for row in rows
        )
        self._run.bring(ERROR, incoming, self._write_error)

    def _write_error(self, change: Change, row: ErrorRow, target: int | None) -> Written:
        signature = self._signature(row.signature)
        pattern = patterns.ErrorPattern(
            project=self._texts.word(row.project),
            pattern_hash=self._texts.word(row.pattern_hash),
            error_type=signature.error_type,
            message=signature.message,
            solution=self._texts.text(row.solution),
            last_seen=row.last_seen or now_us(),
            created_at=row.created_at or now_us(),
            context_hints=signature.context_hints,
            stack_pattern=signature.stack_pattern,
            bazinga_confidence=min(max(row.confidence, 0.0), 1.0),
            occurrences=max(row.occurrences, 1),
            lang=None if row.lang is None else self._texts.word(row.lang),
            ttl_days=max(row.ttl_days, 1),
        )
        confirmations, refutations = patterns.record_of(pattern.bazinga_confidence)
        pattern = pattern._replace(confirmations=confirmations, refutations=refutations)
        found = change.connection.execute(
            "SELECT id, last_seen FROM error_patterns WHERE pattern_hash = ? AND project = ?",
            (pattern.pattern_hash, pattern.project),
        ).fetchone()
        kept = kept_here(found, target, pattern.last_seen)
        if kept is not None:
            return kept
        number = patterns.upsert(change, pattern)
        failure = patterns.title_of(pattern.error_type, pattern.message)
        solutions.put_signature(change, number, pattern.project, failure)
        return Written(number)

    def _signature(self, text: str) -> _Signature:
        """The parts of a signature; one that cannot be read is a message as it stands."""
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return _Signature(UNKNOWN_ERROR, self._texts.line(text), "[]", "[]")
        parts = {str(key): part for key, part in value.items()}
        return _Signature(
            self._texts.line(str(parts.get("error_type") or UNKNOWN_ERROR)),
            self._texts.line(str(parts.get("message_pattern") or "")),
            self._texts.json_list(json.dumps(parts.get("context_hints"))),
            self._texts.json_list(json.dumps(parts.get("stack_pattern"))),
        )

    def bring_strategies(self, rows: Iterable[StrategyRow]) -> None:
        """Strategies; of one that is here too, the one seen last is kept."""
        incoming = (Incoming(row_key(None, row.name), self._texts.line(row.name), digest_of(row), row) for row in rows)
        self._run.bring(STRATEGY, incoming, self._write_strategy)

    def _write_strategy(self, change: Change, row: StrategyRow, target: int | None) -> Written:
        topic = row.topic.strip().lower()
        strategy = strategies.Strategy(
            name=self._texts.word(row.name),
            project=self._texts.word(row.project),
            topic=topic if topic in strategies.TOPICS else "general",
            insight=self._texts.text(row.insight),
            last_seen=row.last_seen or now_us(),
            created_at=row.created_at or now_us(),
            helpfulness=max(row.helpfulness, 0),
            lang=None if row.lang is None else self._texts.word(row.lang),
            framework=None if row.framework is None else self._texts.word(row.framework),
        )
        found = change.connection.execute(
            "SELECT id, last_seen FROM strategies WHERE name = ?", (strategy.name,)
        ).fetchone()
        kept = kept_here(found, target, strategy.last_seen)
        if kept is not None:
            return kept
        return Written(strategies.upsert(change, strategy))

    def bring_skills(self, rows: Iterable[SkillRow]) -> None:
        """Skill outputs, every invocation."""
        incoming = (
            Incoming(row_key(row.id, row.session, row.created_at), str(row.id), digest_of(row), row) for row in rows
        )
        self._run.bring(SKILL, incoming, self._write_skill)

    def _write_skill(self, change: Change, row: SkillRow, target: int | None) -> Written:
        session_id = self._run.session_id(row.session)
        entry = skill_outputs.SkillOutput(
            session_id=session_id,
            group_id=self._run.group_id(change, session_id, row.group, row.created_at),
            agent=self._texts.agent(row.agent),
            skill=self._texts.line(row.skill),
            iteration=row.iteration,
            output=self._texts.json(row.output, empty='""'),
            created_at=row.created_at or now_us(),
        )
        if target is not None:
            return Written(target, is_change=skill_outputs.replace(change, target, entry))
        return Written(skill_outputs.insert(change, entry))
