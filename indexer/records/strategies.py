"""Strategies: what worked, kept for a project and counted each time it worked again.

save_strategy(store, NewStrategy("shop", "methodology", "Write the failing test first."))      helpfulness 1
save_strategy(store, NewStrategy("shop", "methodology", "Write the failing test first."))      helpfulness 2
extract_strategies(store, "shop-2026-11", "AUTH", "shop")      from what agents thought in a group that succeeded
"""

import re

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import find_session, is_session_wide, project_in_force
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import Page, read_page, read_row, read_rows, require_value
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Change, Store, atomic
from ctxrank.indexer.text.lines import is_one_line

TOPICS = ("implementation", "architecture", "methodology", "general")
# Which phases of reasoning become a strategy, and its topic then.
TOPIC_OF_PHASE = {"completion": "implementation", "decisions": "architecture", "approach": "methodology"}
# One success is not a stream of lessons: only the newest of it become strategies.
EXTRACTED_AT_ONCE = 5
MAX_INCREMENT = 100


class Strategy(NamedTuple):
    """One insight, redacted already; `name` is project_topic_hash."""

    name: str
    project: str
    topic: str
    insight: str
    last_seen: int
    created_at: int
    helpfulness: int = 0
    lang: str | None = None
    framework: str | None = None


class NewStrategy(NamedTuple):
    """What a strategy is saved from; a `name` of None is made from its project, topic and insight."""

    project: str
    topic: str
    insight: str
    lang: str | None = None
    framework: str | None = None
    name: str | None = None


class SavedStrategy(NamedTuple):
    """A strategy after it was saved or counted once more; `is_new` if this call made it."""

    id: int
    name: str
    project: str
    topic: str
    helpfulness: int
    is_new: bool


class StoredStrategy(NamedTuple):
    """A stored strategy as it is listed; a `lang` or `framework` of None fits all."""

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


def save_strategy(store: Store, new: NewStrategy, *, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> SavedStrategy:
    """Save a strategy and make it findable; one that is known is counted as helpful once more.

    Raises UsageError (which names what is allowed), LockedError.
    """
    prepared = _prepared(new, mode)
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
    topic = text.strip().lower()
    if topic not in TOPICS:
        raise UsageError(f"'{text.strip()}' is not a topic.", f"Topics are {', '.join(TOPICS)}.")
    return topic


def _prepared(new: NewStrategy, mode: RedactionMode) -> Strategy:
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
    return Strategy(name, project, topic, insight, now, now, 1, lang, framework)


def _count(change: Change, strategy: Strategy) -> SavedStrategy:
    """Count the strategy of this name once more, or write it; what a known one says stays."""
    # Not INSERT … ON CONFLICT, which uses up an id at every conflict. The transaction has the write lock already,
    # so no other write intervenes. An insight that works in a second language applies to all languages.
    row = change.connection.execute(
        """
        UPDATE strategies
           SET helpfulness = helpfulness + 1, last_seen = max(last_seen, ?2),
               lang = CASE WHEN ?3 IS NULL OR lower(lang) = lower(?3) THEN lang END,
               framework = CASE WHEN ?4 IS NULL OR lower(framework) = lower(?4) THEN framework END
         WHERE name = ?1
        RETURNING id, project, topic, helpfulness
        """,
        (strategy.name, strategy.last_seen, strategy.lang, strategy.framework),
    ).fetchone()
    if row is None:
        number = upsert(change, strategy)
        return SavedStrategy(number, strategy.name, strategy.project, strategy.topic, strategy.helpfulness, is_new=True)
    number, project, topic, helpfulness = row
    return SavedStrategy(number, strategy.name, project, topic, helpfulness, is_new=False)


@atomic
def upsert(change: Change, strategy: Strategy) -> int:
    """Write a strategy, over the one of the same name if there is one; returns its id.

    Raises UsageError for one that was purged.
    """
    change.connection.execute(
        """
        INSERT INTO strategies (name, project, topic, insight, last_seen, created_at, helpfulness, lang, framework)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (name) DO UPDATE
           SET insight = excluded.insight, last_seen = excluded.last_seen, helpfulness = excluded.helpfulness,
               lang = excluded.lang, framework = excluded.framework
        """,
        strategy,
    )
    number = require_value(change.connection, "SELECT id FROM strategies WHERE name = ?", (strategy.name,), int)
    _put_document(change, number, strategy)
    return number


def _put_document(change: Change, number: int, strategy: Strategy) -> None:
    documents.put(
        change,
        documents.Document(
            kind="strategy", number=number, title=f"{strategy.topic} strategy", body=strategy.insight,
            type=strategy.topic, created_at=strategy.created_at, ruleset=RULESET_VERSION, source=strategy.insight,
        ),
    )  # fmt: skip


def extract_strategies(
    store: Store,
    session: str,
    group: str | None,
    project: str | None,
    *,
    lang: str | None = None,
    framework: str | None = None,
    mode: RedactionMode = RedactionMode.PATTERN_ONLY,
) -> list[SavedStrategy]:
    """Turn the newest completions, decisions and approaches of a group into strategies, all or none of them.

    Each call is one more success: what is known is counted once, however often it was said. A session-wide
    group means all groups, a `project` of None the session's own, or the store's. Raises NotFoundError, UsageError,
    LockedError.
    """
    owner = find_session(store.primary, session)
    group = None if is_session_wide(group) else group
    project = project_in_force(store.primary, project, session)
    prepared: dict[str, Strategy] = {}
    # Oldest first: of equally helpful strategies, the one that was seen last comes first.
    for phase, content in reversed(_newest_lessons(store.primary, owner.id, group)):
        if content.strip():
            new = NewStrategy(project, TOPIC_OF_PHASE[phase], content, lang, framework)
            strategy = _prepared(new, mode)
            prepared.setdefault(strategy.name, strategy)
    if not prepared:
        return []
    with store.write() as change:
        saved = [_count(change, strategy) for strategy in prepared.values()]
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return saved


class _Lesson(NamedTuple):
    phase: str
    content: str


def _newest_lessons(primary: apsw.Connection, session_id: int, group: str | None) -> list[_Lesson]:
    """The newest entries that hold a strategy; of two that say the same, the newer."""
    query = f"""
        SELECT r.phase, r.content
          FROM reasoning AS r
          LEFT JOIN groups AS g ON g.id = r.group_id
         WHERE r.session_id = ?1 AND (?2 IS NULL OR g.name = ?2)
           AND r.phase IN ({", ".join(f"'{phase}'" for phase in TOPIC_OF_PHASE)})
         GROUP BY r.phase, r.content
         ORDER BY max(r.created_at) DESC, max(r.id) DESC LIMIT ?3
    """
    return list(read_rows(primary, query, (session_id, group, EXTRACTED_AT_ONCE), _Lesson))


def list_strategies(
    primary: apsw.Connection,
    *,
    project: str | None = None,
    lang: str | None = None,
    framework: str | None = None,
    topic: str | None = None,
    limit: int = -1,
    offset: int = 0,
) -> Page[StoredStrategy]:
    """Strategies, the most helpful first; those that name no language or framework fit every one."""
    query = """
        SELECT id, name, project, topic, insight, helpfulness, lang, framework, last_seen, created_at
          FROM strategies
         WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR lang IS NULL OR lower(lang) = lower(?2))
           AND (?3 IS NULL OR framework IS NULL OR lower(framework) = lower(?3)) AND (?4 IS NULL OR topic = ?4)
         ORDER BY helpfulness DESC, last_seen DESC, id DESC
    """
    values = (project, lang, framework, None if topic is None else topic.strip().lower())
    return read_page(primary, query, values, StoredStrategy, limit=limit, offset=offset)


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
        found = _find(change.connection, ref.strip())
        query = """
            UPDATE strategies
               SET helpfulness = max(helpfulness + ?1, 0),
                   last_seen = CASE WHEN ?1 > 0 THEN max(last_seen, ?2) ELSE last_seen END
             WHERE id = ?3
            RETURNING helpfulness
        """
        after = require_value(change.connection, query, (increment, now_us(), found.id), int)
        return Helpfulness(found.name, found.helpfulness, after)


class _Counted(NamedTuple):
    id: int
    name: str
    helpfulness: int


def _find(primary: apsw.Connection, ref: str) -> _Counted:
    """A strategy; a name goes before a number, because any text can be one."""
    number = re.fullmatch(r"(?:strategy:)?(-?\d{1,19})", ref)
    query = "SELECT id, name, helpfulness FROM strategies WHERE name = ?1 OR id = ?2 ORDER BY name = ?1 DESC LIMIT 1"
    found = read_row(primary, query, (ref, int(number[1]) if number else None), _Counted)
    if found is None:
        raise NotFoundError(f"There is no strategy '{ref}'.", "'ctxrank strategy list' shows what there is.")
    return found
