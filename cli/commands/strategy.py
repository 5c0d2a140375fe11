"""`ctxrank strategy`: what worked in a project, kept, counted, and drawn from what agents thought."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.records.strategies import SavedStrategy, StoredStrategy

_SHOWN_CHARACTERS = 300


@declare.group()
def command() -> None:
    """Strategies: what worked in a project, the most helpful first."""


@command.command()
@declare.argument("text", required=False)
@declare.option("--insight", metavar="TEXT", help="The text, instead of the argument.")
@declare.option("--project", default="default", show_default=True, help="The project it worked in.")
@declare.option("--topic", required=True, help="implementation, architecture, methodology or general.")
@declare.option("--lang", help="Only for this language [default: all].")
@declare.option("--framework", help="Only for this framework [default: all].")
def save(
    call: Call,
    text: str | None,
    insight: str | None,
    project: str,
    topic: str,
    lang: str | None,
    framework: str | None,
) -> None:
    """Save what worked; '-' reads TEXT from stdin. One that is known is counted as helpful once more.

    Example: ctxrank strategy save --project shop --topic methodology "Write the failing test first"
    """
    from ctxrank.cli.commands.given_text import given_text
    from ctxrank.indexer.records.strategies import NewStrategy, save_strategy
    from ctxrank.indexer.store.config import load_config

    new = NewStrategy(project, topic, given_text(call.note, text, option=insight), lang, framework)
    with call.open() as store:
        saved = save_strategy(store, new, mode=load_config(store).redaction_mode)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(_saved_json(saved))
    else:
        _print_saved(saved)


@command.command("list")
@declare.option("--project", help="Only of this project.")
@declare.option("--lang", help="Only those that fit this language.")
@declare.option("--framework", help="Only those that fit this framework.")
@declare.option("--topic", help="Only of this topic.")
@declare.option("-n", "--limit", default=20, show_default=True, type=declare.Whole(1), help="How many.")
@declare.option("--full", "is_full", is_flag=True, help="The whole texts, not their beginnings.")
def list_(
    call: Call,
    project: str | None,
    lang: str | None,
    framework: str | None,
    topic: str | None,
    limit: int,
    is_full: bool,
) -> int:
    """List strategies, the most helpful first; those that name no language or framework fit every one.

    Example: ctxrank strategy list --project shop --lang python
    """
    from ctxrank.indexer.records.strategies import list_strategies, normalise_topic

    with call.open() as store:
        found = list_strategies(
            store.truth, project=project, lang=lang, framework=framework,
            topic=None if topic is None else normalise_topic(topic), limit=limit + 1,
        )  # fmt: skip
    strategies = found[:limit]
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "total": len(strategies), "has_more": len(found) > limit,
                "strategies": [_strategy_json(strategy) for strategy in strategies],
            },
            outcome="matched" if strategies else "no_match",
        )  # fmt: skip
    else:
        for strategy in strategies:
            _print_strategy(call, strategy, is_full=is_full)
        if len(found) > limit:
            call.note("there are more; -n shows more at once.")
    if not strategies:
        call.note("no strategies.")
    return 0 if strategies else 1


@command.command()
@declare.argument("ref", metavar="ID")
@declare.option(
    "--by", "increment", default=1, show_default=True, type=declare.Whole(), help="How much; below 0 takes back."
)
def helpful(call: Call, ref: str, increment: int) -> None:
    """Count a strategy as helpful once more, by its id (strategy:3, 3) or its name; never below 0.

    Example: ctxrank strategy helpful strategy:3
    """
    from ctxrank.indexer.records.strategies import add_helpfulness

    with call.open() as store:
        counted = add_helpfulness(store, ref, increment)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"name": counted.name, "before": counted.before, "after": counted.after})
    else:
        print(f"{shown(counted.name)}: helpfulness {counted.before} → {counted.after}")


@command.command()
@declare.option("--session", required=True, help="The session whose work succeeded.")
@declare.option("--group", help="Only from this group, exactly; none means all.")
@declare.option("--project", help="Whose strategies they become [default: the session's project].")
@declare.option("--lang", help="Only for this language [default: all].")
@declare.option("--framework", help="Only for this framework [default: all].")
def extract(
    call: Call, session: str, group: str | None, project: str | None, lang: str | None, framework: str | None
) -> int:
    """Make strategies of what agents thought in a session or group that succeeded.

    The newest five entries are taken: completions become implementation strategies, decisions architecture,
    approaches methodology. Each call is one more success: run again, it counts the same strategies once more.

    Example: ctxrank strategy extract --session S --group AUTH --lang python
    """
    from ctxrank.cli.commands.known_groups import note_unknown_group
    from ctxrank.indexer.records.sessions import find_session, is_session_wide
    from ctxrank.indexer.records.strategies import TOPIC_OF_PHASE, extract_strategies
    from ctxrank.indexer.store.config import load_config

    with call.open() as store:
        mode = load_config(store).redaction_mode
        saved = extract_strategies(store, session, group, project, lang=lang, framework=framework, mode=mode)
        if not saved:
            note_unknown_group(call, store, find_session(store.truth, session), group)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {
                "session_id": session, "group_id": None if is_session_wide(group) else group, "extracted": len(saved),
                "strategies": [_saved_json(strategy) for strategy in saved],
            },
            outcome="matched" if saved else "no_match",
        )  # fmt: skip
    else:
        for strategy in saved:
            _print_saved(strategy)
    if not saved:
        call.note(f"nothing to extract: no reasoning in the phases {', '.join(TOPIC_OF_PHASE)}.")
    return 0 if saved else 1


def _print_saved(saved: "SavedStrategy") -> None:
    done = "Saved" if saved.is_new else "Counted"
    print(f"{done} strategy:{saved.id} ({saved.topic} of {shown(saved.project)}, helpfulness {saved.helpfulness})")


def _print_strategy(call: Call, strategy: "StoredStrategy", *, is_full: bool) -> None:
    from ctxrank.indexer.clock import format_day
    from ctxrank.indexer.text.lines import printable

    fits = "/".join(part for part in (strategy.lang, strategy.framework) if part)
    facts = [strategy.project, fits, f"helpfulness {strategy.helpfulness}", f"seen {format_day(strategy.last_seen)}"]
    print(
        f"{call.bold(f'strategy:{strategy.id}')} {strategy.topic} · {call.dim(shown(' · '.join(filter(None, facts))))}"
    )
    if is_full:
        for line in printable(strategy.insight).split("\n"):
            print(f"   {line}".rstrip())
        return
    text = shown(strategy.insight)
    print(f"   {text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3].rstrip() + '...'}")


def _saved_json(saved: "SavedStrategy") -> dict[str, object]:
    value: dict[str, object] = saved._asdict()
    value["new"] = value.pop("is_new")
    return value


def _strategy_json(strategy: "StoredStrategy") -> dict[str, object]:
    from ctxrank.indexer.clock import format_us

    value: dict[str, object] = strategy._asdict()
    value["last_seen"] = format_us(strategy.last_seen)
    value["created_at"] = format_us(strategy.created_at)
    return value
