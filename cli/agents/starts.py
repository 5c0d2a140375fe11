"""SessionStart: what is new since the last session here, and what still fails.

What was kept unasked is not said here either: see prompts.py.
"""

from collections.abc import Iterator
from os.path import basename

from ctxrank.cli.agents.session import HookCall, origin_of
from ctxrank.cli.agents.stops import take_in_notes
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.records.cloned_notes import is_unused_clone, where_from
from ctxrank.indexer.records.injections import COMPACTION, Injection
from ctxrank.indexer.records.sessions import IS_OWN
from ctxrank.indexer.store.allowed_roots import removed_worktrees
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.freshness import shown_path
from ctxrank.indexer.store.ids import IS_ACCEPTED, PACKAGE, public_id
from ctxrank.indexer.text.lines import one_line, shorten
from ctxrank.ranking.context.floor import is_outdated
from ctxrank.ranking.retrieval.cleaning import cleaned

START_TOKENS = 200
_NEWS = 5
_SUMMARY_CHARS = 140
_PROGRAMS, _PROGRAM_CHARS = 3, 20
_Package = tuple[int, int, str, str, str, int]  # its number, its document's, priority, path, summary, rule set


def on_start(call: HookCall) -> str:
    """What is new since this project's last session, and what still fails; '' where nothing is.

    Notes that others have written are taken in first, those of a fresh clone as well.
    """
    if removed_worktrees(call.store.location, call.store.primary):
        from ctxrank.indexer.files.scan import forget_removed_worktrees  # noqa: PLC0415  once for each

        forget_removed_worktrees(call.store)
    take_in_notes(call)
    if is_outdated(call.store):
        from ctxrank.ranking.context.floor_measurement import start_measuring  # noqa: PLC0415  once in a store's growth

        start_measuring(call.store)
    if call.event.text("source") in ("compact", "clear"):
        call.note(Injection(COMPACTION, (), 0, 0), "")
    primary, project = call.store.primary, call.project
    query = f"""
        SELECT id, created_at FROM sessions AS s
         WHERE project IN (?, 'default') AND name <> ? AND {IS_OWN} ORDER BY created_at DESC, id DESC LIMIT 1
    """
    last: tuple[int, int] | None = primary.execute(query, (project, call.event.session)).fetchone()
    began = 0 if last is None else last[1]
    shown = call.shown
    failures = "" if shown or last is None else _open_failures(call, *last)
    new = _new_packages(call, project, began)
    news = [_news(call, one) for one in new if last is not None or where_from(primary, one[0])]
    items = [("", failures)] * bool(failures) + [item for item in news if item[0] not in shown]
    since = "In this repository" if last is None else f"Since the last session here ({format_day(began)})"
    return call.say(f"{since}:\n", items, START_TOKENS)


def _new_packages(call: HookCall, project: str, since: int) -> Iterator[_Package]:
    query = f"""
        SELECT p.id, d.id, p.priority, p.path, p.summary, d.ruleset
          FROM packages AS p
          JOIN sessions AS s ON s.id = p.session_id
          JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE s.project IN (?, 'default') AND p.created_at >= ? AND p.superseded_by IS NULL
           AND {IS_ACCEPTED.format("p.id")}
         ORDER BY CASE p.priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END,
                  p.created_at DESC, p.id DESC
         LIMIT ?
    """
    return call.store.primary.execute(query, (project, since, _NEWS))


def _news(call: HookCall, package: _Package) -> tuple[str, str]:
    number, document_id, priority, file, said, ruleset = package
    id_ = public_id(PACKAGE, number)
    path, primary = one_line(shown_path(file)), call.store.primary
    if is_unused_clone(primary, number):  # it is named, and not shown
        return "", f"* {path} ({id_}), which {where_from(primary, number)}"
    summary = one_line(cleaned(said, ruleset, call.config.redaction_mode))
    facts = ", ".join(filter(None, (id_, origin_of(call.store, document_id, number))))
    name = f"{path}: " if path else ""  # a text is in no file: its summary says what it is
    return id_, f"* **[{priority.upper()}]** {name}{shorten(summary, _SUMMARY_CHARS)} ({facts})"


def _open_failures(call: HookCall, session_id: int, began: int) -> str:
    """What failed in the last session and is not over: how many, and which programs; nothing of what was printed."""
    primary = call.store.primary
    query = "SELECT count(DISTINCT instance) FROM error_sightings WHERE session_id = ? AND resolved_at IS NULL"
    count = read_value(primary, query, (session_id,), int) or 0
    if not count:
        return ""
    query = "SELECT command FROM failed_commands WHERE failed_at >= ? ORDER BY failed_at DESC LIMIT ?"
    commands = read_column(primary, query, (began, _PROGRAMS), str)
    programs = ", ".join(dict.fromkeys(f"`{name}`" for command in commands if (name := _program(command))))
    failures = f"{count} failures of that session are" if count > 1 else "1 failure of that session is"
    return f"* {failures} still open{f': {programs}' if programs else ''}.\n"


def _program(command: str) -> str:
    """The program of a command and what it was told to do, where these are plain words: `make test`."""
    from ctxrank.cli.agents.shell_line import simple_commands, words_of  # noqa: PLC0415  only after a failure

    _, parts = simple_commands(command, "")
    words = list(map(basename, words_of(parts[-1])[:2])) if parts else []
    is_plain = [word.replace("-", "").replace("_", "").replace(".", "").isalnum() for word in words]
    return " ".join(word[:_PROGRAM_CHARS] for word in words[: [*is_plain, False].index(False)])
