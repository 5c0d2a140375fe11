"""The predecessor's commands for strategies."""

from ctxrank.cli.bazinga.arguments import whole_number
from ctxrank.cli.bazinga.call import BazingaCall, objects
from ctxrank.cli.bazinga.records.views import VIEWS, rows
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.records.strategies import TOPICS, NewStrategy, add_helpfulness, strategy_name
from ctxrank.indexer.records.strategies import extract_strategies as extract
from ctxrank.indexer.records.strategies import save_strategy as save
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts

_MAX_INSIGHT_CHARS = 500
_MAX_LISTED = 100
_MAX_INCREMENT = 100


def save_strategy(call: BazingaCall) -> int:
    """Save what worked, or count it once more; an unknown topic is 'general'."""
    given = call.read()
    topic = given[1].strip().lower()
    if topic not in TOPICS:
        call.complain(f"'{given[1]}' is not a topic, so it is saved as 'general'. Topics are {', '.join(TOPICS)}.")
        topic = "general"
    texts = IncomingTexts(call.mode)
    project = texts.text(given[0].strip())
    # Redacted before it is cut, so that no half of a secret is left; named by the whole, as there.
    insight = texts.text(given[2]).strip()
    name = given.text("--strategy_id") or strategy_name(project, topic, insight)
    new = NewStrategy(
        project, topic, insight[:_MAX_INSIGHT_CHARS], given.text("--lang"), given.text("--framework"), name
    )
    saved = save(call.store, new, mode=call.mode)
    call.done(f"Saved strategy: {saved.topic} for {saved.project}")
    call.answer({"success": True, "strategy_id": saved.name, "project_id": saved.project, "topic": saved.topic})
    return 0


def get_strategies(call: BazingaCall) -> int:
    """A project's strategies, the most helpful first."""
    given = call.read()
    topic = given.text("--topic") or None
    if topic is not None and topic not in TOPICS:
        call.complain(f"Invalid topic '{topic}'. Valid: {', '.join(TOPICS)}")
        call.answer([])
        return 0
    query = f"""{VIEWS["strategies"]}
         WHERE t.project = ?1 AND (?2 IS NULL OR t.lang IS NULL OR t.lang = ?2)
           AND (?3 IS NULL OR t.framework IS NULL OR t.framework = ?3) AND (?4 IS NULL OR t.topic = ?4)
         ORDER BY t.helpfulness DESC, t.last_seen DESC, t.id DESC LIMIT ?5
    """
    limit = max(1, min(given.number("--limit", 5), _MAX_LISTED))
    values = (given[0], given.text("--lang") or None, given.text("--framework") or None, topic, limit)
    call.answer(objects(rows(call.store.primary, query, values)))
    return 0


def update_strategy_helpfulness(call: BazingaCall) -> int:
    """Count a strategy up."""
    given = call.read()
    increment = max(0, min(whole_number(given.optional(1) or "1", "increment"), _MAX_INCREMENT))
    try:
        counted = add_helpfulness(call.store, given[0], increment)
    except NotFoundError:
        return call.failed("Strategy not found")
    call.done(f"Updated helpfulness: {counted.before} → {counted.after}")
    call.answer(
        {
            "success": True, "strategy_id": counted.name, "previous_helpfulness": counted.before,
            "new_helpfulness": counted.after,
        }
    )  # fmt: skip
    return 0


def extract_strategies(call: BazingaCall) -> int:
    """Turn what agents thought in a group that succeeded into strategies."""
    given = call.read()
    session, group, project = given.positionals
    try:
        saved = extract(
            call.store, session, group, project or None, lang=given.text("--lang"),
            framework=given.text("--framework"), mode=call.mode,
        )  # fmt: skip
    except NotFoundError as error:
        raise NotFoundError(error.message, "Make it with create-session.") from error
    call.done(f"Extracted {len(saved)} strategies from group {group}")
    call.answer(
        {
            "success": True, "extracted_count": len(saved), "session_id": session, "group_id": group,
            "project_id": project,
        }
    )  # fmt: skip
    return 0
