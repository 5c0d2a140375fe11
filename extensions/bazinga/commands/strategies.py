"""The predecessor's commands for strategies."""

from ctxrank.extensions.bazinga.arguments import Arguments, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Json, failure
from ctxrank.extensions.bazinga.records.views import VIEWS
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.records import strategies
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.config import load_config

_MAX_INSIGHT_CHARS = 500
_MAX_LISTED = 100
_MAX_INCREMENT = 100


def save_strategy(call: BazingaCall, given: Arguments) -> Json:
    """Save what worked, or count it once more; an unknown topic is 'general'."""
    topic = given["topic"].strip().lower()
    if topic not in strategies.TOPICS:
        known = ", ".join(strategies.TOPICS)
        call.complain(f"'{given['topic']}' is not a topic, so it is saved as 'general'. Topics are {known}.")
        topic = "general"
    texts = IncomingTexts(call.mode)
    project = texts.text(given["project"].strip())
    # Redacted before it is cut, so that no half of a secret is left; named by the whole, as there.
    insight = texts.text(given["insight"]).strip()
    name = given.get("--strategy_id") or strategies.strategy_name(project, topic, insight)
    new = strategies.NewStrategy(
        project, topic, insight[:_MAX_INSIGHT_CHARS], given.get("--lang"), given.get("--framework"), name
    )
    saved = strategies.save_strategy(call.store, new, mode=call.mode)
    call.done(f"Saved strategy: {saved.topic} for {saved.project}")
    return {"success": True, "strategy_id": saved.name, "project_id": saved.project, "topic": saved.topic}


def get_strategies(call: BazingaCall, given: Arguments) -> list[Json]:
    """A project's strategies, the most helpful first."""
    topic = given.get("--topic") or None
    if topic is not None and topic not in strategies.TOPICS:
        call.complain(f"Invalid topic '{topic}'. Valid: {', '.join(strategies.TOPICS)}")
        return []
    query = f"""{VIEWS["strategies"]}
         WHERE t.project = ?1 AND (?2 IS NULL OR t.lang IS NULL OR t.lang = ?2)
           AND (?3 IS NULL OR t.framework IS NULL OR t.framework = ?3) AND (?4 IS NULL OR t.topic = ?4)
         ORDER BY t.helpfulness DESC, t.last_seen DESC, t.id DESC LIMIT ?5
    """
    limit = max(1, min(given.number("--limit", 5), _MAX_LISTED))
    lang, framework = given.get("--lang") or None, given.get("--framework") or None
    return call.select(query, given["project"], lang, framework, topic, limit)


def update_strategy_helpfulness(call: BazingaCall, given: Arguments) -> Json:
    """Count a strategy up."""
    increment = max(0, min(whole_number(given.get("increment") or "1", "increment"), _MAX_INCREMENT))
    try:
        counted = strategies.add_helpfulness(call.store, given["strategy_id"], increment)
    except NotFoundError as error:
        raise failure("Strategy not found") from error
    call.done(f"Updated helpfulness: {counted.before} → {counted.after}")
    answer: Json = {"success": True, "strategy_id": counted.name}
    return {**answer, "previous_helpfulness": counted.before, "new_helpfulness": counted.after}


def extract_strategies(call: BazingaCall, given: Arguments) -> Json:
    """Turn what the author of a group's success said of it into strategies."""
    session, group, project = given.positionals
    config = load_config(call.store)
    lang, framework = given.get("--lang"), given.get("--framework")
    try:
        saved = strategies.extract_strategies(
            call.store, session, group, project or None, lang=lang, framework=framework,
            mode=config.redaction_mode, team=config.team,
        )  # fmt: skip
    except NotFoundError as error:
        raise NotFoundError(error.message, "Make it with create-session.") from error
    call.done(f"Extracted {len(saved)} strategies from group {group}")
    answer: Json = {"success": True, "extracted_count": len(saved), "session_id": session}
    return {**answer, "group_id": group, "project_id": project}
