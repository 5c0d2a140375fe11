"""`ctxrank strategy`: what worked in a project, kept, counted, and drawn from what agents said at a completion."""

from collections.abc import Iterator
from functools import partial

from ctxrank.cli.actions.given import given_text, note_unknown_group, others_know
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.output.lines import facts, place, text_lines
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.sessions import is_session_wide, project_in_force
from ctxrank.indexer.records.strategies import (
    JUDGES,
    NewStrategy,
    SavedStrategy,
    StoredStrategy,
    add_helpfulness,
    extract_strategies,
    list_strategies,
    normalise_topic,
    save_strategy,
)
from ctxrank.indexer.store.ids import public_id, without_origin
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

_KIND = "strategy"


def save(call: Call, store: Store, text: str | None, insight: str | None, project: str | None, **options: Any) -> Reply:
    """Save a strategy, or count a known one."""
    given = given_text(call.note, text, option=insight)
    whose = project_in_force(store.primary, None, None) if project is None else project
    saved = save_strategy(store, NewStrategy(project=whose, insight=given, **options))
    return Reply(lambda: saved, [_saved_line(call, saved)])


def list_(call: Call, store: Store, project: str | None, topic: str | None, is_full: bool, **options: Any) -> Reply:
    """Read a page of strategies, the most helpful first."""
    topic = None if topic is None else normalise_topic(topic)
    found = cleaned_page(store, _KIND, list_strategies(store.primary, project=project, topic=topic, **options))
    fits = {name: options[name] for name in ("lang", "framework")}
    elsewhere = others_know(store.primary, "strategies", project=project, **fits)
    shown = partial(_stored_lines, is_full=is_full)
    return list_reply(call, found, "strategies", shown, absent=(f"no strategies.{elsewhere}",))


def helpful(call: Call, store: Store, ref: str, increment: int) -> Reply:
    """Count a strategy, given by its id or its name."""
    counted = add_helpfulness(store, without_origin(store.primary, ref), increment)
    return Reply(lambda: counted, [f"{one_line(counted.name)}: helpfulness {counted.before} → {counted.after}"])


def extract(call: Call, store: Store, session: str, group: str | None, project: str | None, **options: Any) -> Reply:
    """Make strategies of what the authors of a session or group said at its completion."""
    saved = extract_strategies(store, session, group, project, **options)
    if not saved:
        note_unknown_group(call, store, session, group)
    nothing = f"nothing to extract: no completion of an agent other than {', '.join(JUDGES)}."
    return list_reply(
        call, saved, "strategies", _saved_line, absent=(nothing,),
        session_id=session, group_id=None if is_session_wide(group) else group, extracted=len(saved),
    )  # fmt: skip


def _saved_line(_: Call, saved: SavedStrategy) -> str:
    done = "Saved" if saved.is_new else "Counted" if saved.is_counted else "Counted before:"
    about = f"{saved.topic} of {one_line(saved.project)}, helpfulness {saved.helpfulness}"
    return f"{done} {public_id(_KIND, saved.id)} ({about})"


def _stored_lines(call: Call, strategy: StoredStrategy, *, is_full: bool) -> Iterator[str]:
    fits = place(strategy.lang, strategy.framework)
    about = facts(
        strategy.project, fits, f"helpfulness {strategy.helpfulness}", f"seen {format_day(strategy.last_seen)}"
    )
    yield f"{call.bold(public_id(_KIND, strategy.id))} {strategy.topic} · {call.dim(about)}"
    yield from text_lines(strategy.insight, is_full=is_full)
