"""The records of an export: what each line says of a session, a package or a reasoning entry.

Each reader is a query and the object made of a row: names for row ids, ISO times, JSON as the value it is.
"""

import json
from collections.abc import Iterator

import apsw

from ctxrank.indexer.clock import format_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION

# Errors come before the failures that name them.
EXPORTED_KINDS = ("package", "reasoning", "error", "failure", "strategy", "skill", "event", "artifact")
OF_A_SESSION = ("package", "reasoning", "failure", "skill", "event")

Fields = dict[str, object]


class Choice(NamedTuple):
    """Which records are wanted: kinds, and sessions by row id (empty for all)."""

    kinds: tuple[str, ...]
    session_ids: tuple[int, ...]


class RecordReader:
    """Reads records out of one snapshot, as what a line says of them."""

    def __init__(self, truth: apsw.Connection, choice: Choice, texts: IncomingTexts) -> None:
        self._truth = truth
        self._choice = choice
        self._texts = texts
        self._sessions = json.dumps(choice.session_ids)

    def records(self) -> Iterator[tuple[str, Fields]]:
        """All records that were asked for, each with the name of its kind."""
        readers = {
            "package": self._packages, "reasoning": self._reasoning, "error": self._errors,
            "failure": self._failures, "strategy": self._strategies, "skill": self._skills,
            "event": self._events, "artifact": self._artifacts,
        }  # fmt: skip
        if set(self._choice.kinds) & set(OF_A_SESSION):
            yield from (("session", fields) for fields in self._read_sessions())
            yield from (("group", fields) for fields in self._groups())
        for kind in self._choice.kinds:
            yield from ((kind, fields) for fields in readers[kind]())

    def _rows(self, query: str, session_column: str = "") -> Iterator[tuple[object, ...]]:
        """The rows of a query, of the wanted sessions alone where it is about sessions."""
        if not session_column or not self._choice.session_ids:
            return iter(self._truth.execute(query.replace("{wanted}", "1")))
        wanted = f"{session_column} IN (SELECT value FROM json_each(?))"
        return iter(self._truth.execute(query.replace("{wanted}", wanted), (self._sessions,)))

    def _read_sessions(self) -> Iterator[Fields]:
        query = """
            SELECT s.name, s.project, s.mode, s.status, s.requirements, s.initial_branch, s.metadata,
                   s.skills_config, s.created_at, s.ended_at
              FROM sessions AS s WHERE {wanted} ORDER BY s.id
        """
        for name, project, mode, status, requirements, branch, metadata, skills, created, ended in self._rows(
            query, "s.id"
        ):
            yield {
                "name": name, "project": project, "mode": mode, "status": status,
                "requirements": self._clean(requirements), "initial_branch": self._clean(branch),
                "metadata": self._clean_json(metadata), "skills_config": self._clean_json(skills),
                "created_at": _moment(created), "ended_at": _moment(ended),
            }  # fmt: skip

    def _groups(self) -> Iterator[Fields]:
        query = """
            SELECT s.name, g.name, g.title, g.status, g.context_references, g.metadata, g.created_at
              FROM groups AS g JOIN sessions AS s ON s.id = g.session_id
             WHERE {wanted} ORDER BY g.id
        """
        for session, name, title, status, references, metadata, created in self._rows(query, "s.id"):
            yield {
                "session": session, "name": name, "title": self._clean(title), "status": status,
                "context_references": _value(references), "metadata": self._clean_json(metadata),
                "created_at": _moment(created),
            }  # fmt: skip

    def _packages(self) -> Iterator[Fields]:
        query = """
            SELECT p.id, s.name, g.name, p.type, p.path, p.producer, p.priority, p.scope, p.summary, d.title,
                   p.size_bytes, p.version, p.supersedes, p.superseded_by, p.created_at, d.id, d.ruleset
              FROM packages AS p
              JOIN sessions AS s ON s.id = p.session_id
              LEFT JOIN groups AS g ON g.id = p.group_id
              LEFT JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
             WHERE {wanted} ORDER BY p.id
        """
        for row in self._rows(query, "p.session_id"):
            (id_, session, group, type_, path, producer, priority, scope, summary, title,
             size_bytes, version, supersedes, superseded_by, created, document_id, ruleset) = row  # fmt: skip
            yield {
                "id": id_, "session": session, "group": group, "type": type_, "path": path, "producer": producer,
                "priority": priority, "scope": scope, "summary": self._current(summary, ruleset),
                "title": self._current(title, ruleset), "size_bytes": size_bytes, "version": version,
                "supersedes": supersedes, "superseded_by": superseded_by, "created_at": _moment(created),
                "consumers": self._consumers(id_), "deliveries": self._deliveries(id_),
                "passages": self._passages(document_id),
            }  # fmt: skip

    def _consumers(self, package_id: object) -> list[Fields]:
        query = "SELECT agent, iteration, consumed_at FROM package_consumers WHERE package_id = ? ORDER BY id"
        return [
            {"agent": agent, "iteration": iteration, "consumed_at": _moment(consumed)}
            for agent, iteration, consumed in self._truth.execute(query, (_number(package_id),))
        ]

    def _deliveries(self, package_id: object) -> list[Fields]:
        query = """
            SELECT g.name, v.agent, v.iteration, v.delivered_at
              FROM deliveries AS v LEFT JOIN groups AS g ON g.id = v.group_id
             WHERE v.package_id = ? ORDER BY v.delivered_at, g.name, v.agent, v.iteration
        """
        return [
            {"group": group, "agent": agent, "iteration": iteration, "delivered_at": _moment(delivered)}
            for group, agent, iteration, delivered in self._truth.execute(query, (_number(package_id),))
        ]

    def _passages(self, owner_id: object) -> list[Fields]:
        query = """
            SELECT passage_key, title, body, start_line, end_line, ruleset
              FROM documents WHERE owner_id = ? ORDER BY start_line, id
        """
        return [
            {
                "key": key, "title": self._current(title, ruleset), "text": self._current(body, ruleset),
                "start_line": start, "end_line": end,
            }
            for key, title, body, start, end, ruleset in self._truth.execute(query, (_number(owner_id),))
        ]  # fmt: skip

    def _reasoning(self) -> Iterator[Fields]:
        query = """
            SELECT r.id, s.name, g.name, r.agent, r.agent_name, r.iteration, r.phase, r.confidence, r.content, r.refs,
                   r.redacted, r.created_at, d.ruleset
              FROM reasoning AS r
              JOIN sessions AS s ON s.id = r.session_id
              LEFT JOIN groups AS g ON g.id = r.group_id
              LEFT JOIN documents AS d ON d.kind = 'reasoning' AND d.record_id = r.id
             WHERE {wanted} ORDER BY r.id
        """
        for row in self._rows(query, "r.session_id"):
            (id_, session, group, agent, agent_name, iteration, phase, confidence, content, refs, redacted,
             created, ruleset) = row  # fmt: skip
            yield {
                "id": id_, "session": session, "group": group, "agent": agent, "agent_name": agent_name,
                "iteration": iteration, "phase": phase, "confidence": confidence,
                "content": self._current(content, ruleset), "references": self._current_json(refs, ruleset),
                "redacted": bool(redacted), "created_at": _moment(created),
            }  # fmt: skip

    def _errors(self) -> Iterator[Fields]:
        query = """
            SELECT e.id, e.project, e.pattern_hash, e.error_type, e.message, e.context_hints, e.stack_pattern,
                   e.solution, e.confidence, e.state, e.confirmations, e.refutations, s.error_text, e.occurrences,
                   e.lang, e.ttl_days, e.last_seen, e.created_at, d.ruleset
              FROM error_patterns AS e
              LEFT JOIN error_signatures AS s ON s.pattern_id = e.id
              LEFT JOIN documents AS d ON d.kind = 'error' AND d.record_id = e.id
             ORDER BY e.id
        """
        for row in self._rows(query):
            (id_, project, pattern_hash, error_type, message, hints, stack, solution, confidence, state, confirmations,
             refutations, unit, occurrences, lang, ttl_days, last_seen, created, ruleset) = row  # fmt: skip
            yield {
                "id": id_, "project": project, "pattern_hash": pattern_hash, "error_type": error_type,
                "message": self._current(message, ruleset), "context_hints": self._current_json(hints, ruleset),
                "stack_pattern": self._current_json(stack, ruleset), "solution": self._current(solution, ruleset),
                "bazinga_confidence": confidence, "state": state, "confirmations": confirmations,
                "refutations": refutations, "unit": self._current(unit, ruleset), "occurrences": occurrences,
                "lang": lang, "ttl_days": ttl_days,
                "last_seen": _moment(last_seen), "created_at": _moment(created),
            }  # fmt: skip

    def _failures(self) -> Iterator[Fields]:
        """Failures as they were seen; the error that one was recognised as is named by its project and hash."""
        query = """
            SELECT f.id, s.name, g.name, e.project, e.pattern_hash, f.error_text, f.seen_at, f.resolved_at
              FROM error_sightings AS f
              JOIN sessions AS s ON s.id = f.session_id
              LEFT JOIN groups AS g ON g.id = f.group_id
              LEFT JOIN error_patterns AS e ON e.id = f.pattern_id
             WHERE {wanted} ORDER BY f.id
        """
        for id_, session, group, project, pattern_hash, unit, seen, resolved in self._rows(query, "f.session_id"):
            yield {
                "id": id_, "session": session, "group": group, "error_project": project, "error_hash": pattern_hash,
                "unit": self._clean(unit), "seen_at": _moment(seen), "resolved_at": _moment(resolved),
            }  # fmt: skip

    def _strategies(self) -> Iterator[Fields]:
        query = """
            SELECT t.id, t.name, t.project, t.topic, t.insight, t.helpfulness, t.lang, t.framework, t.last_seen,
                   t.created_at, d.ruleset
              FROM strategies AS t
              LEFT JOIN documents AS d ON d.kind = 'strategy' AND d.record_id = t.id
             ORDER BY t.id
        """
        for row in self._rows(query):
            (id_, name, project, topic, insight, helpfulness, lang, framework, last_seen, created, ruleset) = row
            yield {
                "id": id_, "name": name, "project": project, "topic": topic,
                "insight": self._current(insight, ruleset), "helpfulness": helpfulness, "lang": lang,
                "framework": framework, "last_seen": _moment(last_seen), "created_at": _moment(created),
            }  # fmt: skip

    def _skills(self) -> Iterator[Fields]:
        query = """
            SELECT o.id, s.name, g.name, o.agent, o.skill, o.iteration, o.output, o.created_at, d.ruleset
              FROM skill_outputs AS o
              JOIN sessions AS s ON s.id = o.session_id
              LEFT JOIN groups AS g ON g.id = o.group_id
              LEFT JOIN documents AS d ON d.kind = 'skill' AND d.record_id = o.id
             WHERE {wanted} ORDER BY o.id
        """
        for id_, session, group, agent, skill, iteration, output, created, ruleset in self._rows(query, "o.session_id"):
            yield {
                "id": id_, "session": session, "group": group, "agent": agent, "skill": skill,
                "iteration": iteration, "output": self._current_json(output, ruleset), "created_at": _moment(created),
            }  # fmt: skip

    def _events(self) -> Iterator[Fields]:
        query = """
            SELECT e.id, s.name, g.name, e.subtype, e.payload, e.idempotency_key, e.created_at
              FROM events AS e
              JOIN sessions AS s ON s.id = e.session_id
              LEFT JOIN groups AS g ON g.id = e.group_id
             WHERE {wanted} ORDER BY e.id
        """
        for id_, session, group, subtype, payload, key, created in self._rows(query, "e.session_id"):
            yield {
                "id": id_, "session": session, "group": group, "subtype": subtype,
                "payload": self._clean_json(payload), "idempotency_key": key, "created_at": _moment(created),
            }  # fmt: skip

    def _artifacts(self) -> Iterator[Fields]:
        """Files that are found as themselves; those of packages are in the packages' passages."""
        query = """
            SELECT a.path, d.title, a.size_bytes, d.created_at, d.id, d.ruleset
              FROM documents AS d JOIN artifacts AS a ON a.id = d.record_id
             WHERE d.kind = 'artifact' ORDER BY a.id
        """
        for path, title, size_bytes, created, document_id, ruleset in self._rows(query):
            yield {
                "path": path, "title": self._current(title, ruleset), "size_bytes": size_bytes,
                "created_at": _moment(created), "passages": self._passages(document_id),
            }  # fmt: skip

    def _clean(self, text: object) -> str:
        """A text of a record that does not say under which rules it was stored."""
        return self._texts.text(str(text))

    def _clean_json(self, text: object) -> object:
        return None if text is None else _value(self._texts.json(str(text), empty="null"))

    def _current(self, text: object, ruleset: object) -> object:
        """A text as today's rules leave it; what was stored under them is clean already."""
        return text if text is None or _number(ruleset) >= RULESET_VERSION else self._clean(text)

    def _current_json(self, text: object, ruleset: object) -> object:
        return _value(text) if _number(ruleset) >= RULESET_VERSION else self._clean_json(text)


def _value(text: object) -> object:
    """Stored JSON as the value it is; what cannot be written as JSON again stays a text."""
    try:
        value: object = json.loads(str(text))
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return str(text)
    return value


def _moment(moment_us: object) -> str | None:
    return None if moment_us is None else format_us(int(str(moment_us)))


def _number(value: object) -> int:
    """A row id or a version; 0 for none, which no row has."""
    return value if isinstance(value, int) else 0
