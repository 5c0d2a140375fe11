"""Blocks and an agent's memory for tests, each in one call."""

from typing import Any

from written import Reasoning, Strategy, write

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.errors.lookup import put_signature
from ctxrank.indexer.records.sessions import require_group, require_session
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest, Assembly

TODAY = 20_000 * DAY_US  # a day for `as_of`, so that recency is arithmetic


def block_for(store: Store, agent: str = "developer", *, config: Config | None = None, **values: Any) -> Assembly:
    """The assembly of session S and group G as of TODAY; values are the fields of an AssembleRequest."""
    request = AssembleRequest("S", agent, "G", as_of=TODAY)._replace(**values)
    return assemble(store, request, Config() if config is None else config)


def files_for(store: Store, agent: str = "developer", **values: Any) -> list[str]:
    """The paths of the packages in the block, in order."""
    return [package.path for package in block_for(store, agent, **values).packages]


def think(
    store: Store,
    agent: str,
    phase: str,
    content: str,
    *,
    session: str = "S",
    group: str | None = "G",
    created_at: int = TODAY,
    iteration: int = 0,
) -> int:
    """An entry of reasoning, in a session and group made on the way."""
    with store.write() as change:
        session_id = require_session(change, session, create=True).id
        group_id = None if group is None else require_group(change, session_id, group)
        entry = Reasoning(session_id, group_id, agent, phase, content, created_at, iteration=iteration)
        return write(change, entry)


def know_error(
    store: Store,
    message: str,
    solution: str = "Restart it.",
    *,
    confidence: float = 0.9,
    project: str = "default",
    lang: str | None = None,
    occurrences: int = 3,
    last_seen: int = TODAY,
    ttl_days: int = 90,
) -> int:
    """A known error of type E with its solution, and the record that this confidence stands for."""
    pattern = patterns.ErrorPattern(project, message, "E", message, solution, last_seen, last_seen)
    pattern = pattern._replace(confidence=confidence, lang=lang, occurrences=occurrences, ttl_days=ttl_days)
    confirmations, refutations = patterns.record_of(confidence)
    pattern = pattern._replace(confirmations=confirmations, refutations=refutations)
    with store.write() as change:
        number = patterns.upsert(change, pattern)
        put_signature(change, number, project, f"E: {message}")
    return number


def learn(
    store: Store,
    insight: str,
    *,
    project: str = "default",
    helpfulness: int = 0,
    lang: str | None = None,
    framework: str | None = None,
    last_seen: int = TODAY,
) -> int:
    """A strategy of topic `general`."""
    strategy = Strategy(insight, project, "general", insight, last_seen, TODAY)
    with store.write() as change:
        return write(change, strategy._replace(helpfulness=helpfulness, lang=lang, framework=framework))
