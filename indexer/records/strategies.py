"""Strategies: what worked, kept for a project and counted each time it worked again.

save_strategy(store, NewStrategy("shop", "methodology", "Write the failing test first."))      helpfulness 1
save_strategy(store, NewStrategy("shop", "methodology", "Write the failing test first."))      helpfulness 2
extract_strategies(store, "shop-2026-11", "AUTH", "shop")      from what the author of a success said of it
"""

import re

import apsw

from ctxrank.indexer.agents import Team
from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError, require_word
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.records.sessions import find_session, is_session_wide, project_in_force
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page, require_value
from ctxrank.indexer.store.ids import IS_ACCEPTED
from ctxrank.indexer.store.rows import Value, list_where, read_where
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Change, Store
from ctxrank.indexer.text.lines import is_one_line

TOPICS = ("implementation", "architecture", "methodology", "general")
EXTRACTED_TOPIC = "implementation"
# Who judges or arranges what others made: the author of a success is none of these.
JUDGES = ("qa_expert", "tech_lead", "project_manager", "orchestrator")
# A session is not a stream of lessons: only those of its newest groups become strategies.
EXTRACTED_AT_ONCE = 5
MAX_INCREMENT = 100
_FITTING = ("lang", "framework")  # one that names none fits every one


class NewStrategy(NamedTuple):
    """What a strategy is saved from; a `name` of None is made from its project, topic and insight."""

    project: str
    topic: str
    insight: str
    lang: str | None = None
    framework: str | None = None
    name: str | None = None


class SavedStrategy(NamedTuple):
    """A strategy after it was saved or counted once more; `is_new` if this call made it, `is_counted` if it counted."""

    id: int
    name: str
    project: str
    topic: str
    helpfulness: int
    is_new: bool
    is_counted: bool = True


class StoredStrategy(NamedTuple):
    """A strategy as it is stored; `name` is project_topic_hash, and a `lang` or `framework` of None fits all."""

    id: int
    name: str
    project: str
    topic: str
    insight: str
    helpfulness: int
    lang: str | None
    framework: str | None
    last_seen: int
    created_at: int


class Helpfulness(NamedTuple):
    """How helpful a strategy was and is."""

    name: str
    before: int
    after: int


def save_strategy(store: Store, new: NewStrategy) -> SavedStrategy:
    """Save a strategy and make it findable; one that is known is counted as helpful once more.

    Raises UsageError (which names what is allowed), LockedError.
    """
    prepared = _prepared(new, load_config(store).redaction_mode)
    with store.write() as change:
        saved = _count(change, prepared)
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return saved


def strategy_name(project: str, topic: str, insight: str) -> str:
    """The name of a redacted insight: the same on every machine, so that saving it again finds it."""
    import hashlib  # noqa: PLC0415  start-up: most calls hash nothing

    return f"{project}_{topic}_{hashlib.sha256(insight.encode()).hexdigest()[:16]}"


def normalise_topic(text: str) -> str:
    """`" General "` → `"general"`. Raises UsageError, which names the topics."""
    return require_word(text.strip().lower(), TOPICS, "a topic", "Topics", text.strip())


def _prepared(new: NewStrategy, mode: RedactionMode) -> StoredStrategy:
    """The strategy as it is stored: checked, redacted, named. Raises UsageError for the first bad value."""
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  start-up: writing only

    texts = IncomingTexts(mode).of_record((new.insight, new.project, new.name or ""))
    topic = normalise_topic(new.topic)
    project = texts.text(new.project.strip())
    if not project:
        raise UsageError("A strategy needs a project.", "Name the one it worked in, such as shop.")
    insight = texts.text(new.insight).strip()
    if not insight:
        raise UsageError("There is no strategy to save: the insight is empty.", "Say what worked.")
    lang, framework = (texts.text((value or "").strip()) or None for value in (new.lang, new.framework))
    name = texts.text((new.name or "").strip()) or strategy_name(project, topic, insight)
    for value in (project, lang, framework, name):
        if value is not None and not is_one_line(value):
            raise UsageError(f"{value!a} is not a name.", "Choose one line of printable characters.")
    now = now_us()
    return StoredStrategy(0, name, project, topic, insight, 1, lang, framework, now, now)


def _count(change: Change, strategy: StoredStrategy, said_at: int | None = None) -> SavedStrategy:
    """Count the strategy of this name once more, or write it; what a known one says stays.

    What was said before it was last seen (`said_at`, None: now) was counted then.
    """
    known = read_where(change.connection, "strategies", StoredStrategy, {"name": strategy.name})
    if known is None:
        number = insert(change, KINDS["strategy"], {**strategy._asdict(), "id": None})
        return _saved(strategy._replace(id=number), is_new=True)
    if said_at is not None and known.last_seen >= said_at:
        return _saved(known, is_new=False, is_counted=False)
    # Not INSERT … ON CONFLICT, which uses up an id at every conflict. The transaction has the write lock already,
    # so no other write intervenes. An insight that works in a second language applies to all languages.
    change.connection.execute(
        """
        UPDATE strategies
           SET helpfulness = helpfulness + 1, last_seen = max(last_seen, ?2),
               lang = CASE WHEN ?3 IS NULL OR lower(lang) = lower(?3) THEN lang END,
               framework = CASE WHEN ?4 IS NULL OR lower(framework) = lower(?4) THEN framework END
         WHERE name = ?1
        """,
        (strategy.name, strategy.last_seen, strategy.lang, strategy.framework),
    )
    return _saved(known._replace(helpfulness=known.helpfulness + 1), is_new=False)


def _saved(strategy: StoredStrategy, *, is_new: bool, is_counted: bool = True) -> SavedStrategy:
    return SavedStrategy(*strategy[:4], strategy.helpfulness, is_new, is_counted)


def extract_strategies(
    store: Store,
    session: str,
    group: str | None,
    project: str | None,
    *,
    lang: str | None = None,
    framework: str | None = None,
) -> list[SavedStrategy]:
    """Turn what the authors of a success said at its completion into strategies, all or none of them.

    Of each group that is the newest completion of an agent that is no judge: earlier tries, plans and verdicts are
    none, nor is what a store that is not accepted said. A completion counts once, however often this is called. A
    session-wide group means all groups, a `project` of None the session's own, or the store's. Raises NotFoundError,
    UsageError, LockedError.
    """
    owner = find_session(store.primary, session)
    group = None if is_session_wide(group) else group
    project = project_in_force(store.primary, project, session)
    prepared: dict[str, tuple[StoredStrategy, int]] = {}
    config = load_config(store)
    # Oldest first: of equally helpful strategies, the one that was seen last comes first.
    for content, said_at in reversed(_last_completions(store.primary, owner.id, group, config.team)):
        if content.strip():
            strategy = _prepared(NewStrategy(project, EXTRACTED_TOPIC, content, lang, framework), config.redaction_mode)
            prepared[strategy.name] = strategy, said_at
    if not prepared:
        return []
    with store.write() as change:
        saved = [_count(change, strategy, said_at) for strategy, said_at in prepared.values()]
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return saved


def _last_completions(
    primary: apsw.Connection, session_id: int, group: str | None, team: Team
) -> list[tuple[str, int]]:
    """The newest completion of an author in each of the newest groups, with its moment, the newest first."""
    judges = team.with_roles(JUDGES)
    query = f"""
        SELECT content, created_at
          FROM (SELECT r.id, r.content, r.created_at,
                       row_number() OVER (PARTITION BY r.group_id ORDER BY r.created_at DESC, r.id DESC) AS place
                  FROM reasoning AS r
                  LEFT JOIN groups AS g ON g.id = r.group_id
                 WHERE r.session_id = ? AND r.phase = 'completion' AND (? IS NULL OR g.name = ?)
                   AND r.agent NOT IN ({", ".join("?" * len(judges))}) AND {IS_ACCEPTED.format("r.id")})
         WHERE place = 1
         ORDER BY created_at DESC, id DESC LIMIT ?
    """
    return list(primary.execute(query, (session_id, group, group, *judges, EXTRACTED_AT_ONCE)))


def list_strategies(
    primary: apsw.Connection,
    *,
    project: str | None = None,
    lang: str | None = None,
    framework: str | None = None,
    topic: str | None = None,
    limit: int = -1,
) -> Page[StoredStrategy]:
    """Strategies, the most helpful first; those that name no language or framework fit every one."""
    wanted: dict[str, Value] = {
        "project": project,
        "topic": None if topic is None else topic.strip().lower(),
        "its_lang": lang,
        "its_framework": framework,
    }
    fits = [f"(:its_{name} IS NULL OR t.{name} IS NULL OR lower(t.{name}) = lower(:its_{name}))" for name in _FITTING]
    order = "t.helpfulness DESC, t.last_seen DESC, t.id DESC"
    return list_where(primary, "strategies", StoredStrategy, wanted, *fits, order=order, limit=limit)


def add_helpfulness(store: Store, ref: str, increment: int = 1) -> Helpfulness:
    """Count a strategy up, which means that it was seen to work now, or down, but not below 0.

    `ref` is its name, `strategy:3` or `3`.
    Raises NotFoundError, LockedError, and UsageError for an increment beyond ±MAX_INCREMENT.
    """
    if not -MAX_INCREMENT <= increment <= MAX_INCREMENT:
        raise UsageError(
            f"{increment} is more than a strategy is counted by at once.",
            f"Give a whole number from -{MAX_INCREMENT} to {MAX_INCREMENT}.",
        )
    with store.write() as change:
        name = ref.strip()  # which goes before a number, because any text can be one
        found = read_where(change.connection, "strategies", StoredStrategy, {"name": name})
        if found is None and (number := re.fullmatch(r"(?:strategy:)?(-?\d{1,19})", name)):
            found = read_where(change.connection, "strategies", StoredStrategy, {"id": number[1]})
        if found is None:
            raise NotFoundError(f"There is no strategy '{name}'.", "'ctxrank list strategies' shows what there is.")
        query = """
            UPDATE strategies
               SET helpfulness = max(helpfulness + ?1, 0),
                   last_seen = CASE WHEN ?1 > 0 THEN max(last_seen, ?2) ELSE last_seen END
             WHERE id = ?3
            RETURNING helpfulness
        """
        after = require_value(change.connection, query, (increment, now_us(), found.id), int)
        return Helpfulness(found.name, found.helpfulness, after)
