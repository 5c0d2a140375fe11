"""`ctxrank import transcripts`: what happened in a runner's sessions becomes memory, without anybody having saved it.

Kept are failures with what was done until they were over, decisions, and what agents said last. All of it is redacted
and unconfirmed: a search finds it, and no prompt is given it. A fix is what the same failure ended after in at least
two sessions; until then it is what "ran next, unconfirmed". Each file is read on from where the last import ended.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from ctxrank.cli.agents.event import CODEX
from ctxrank.cli.agents.messages import keep_text
from ctxrank.cli.agents.session import HookCall, group_id, group_of, role_of
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.extensions.transcripts.conversations import (
    Place,
    is_prompt_of_person,
    keep_said,
    prune_conversations,
    title_of,
)
from ctxrank.extensions.transcripts.reading import Story, TranscriptFailure, TranscriptReader
from ctxrank.extensions.transcripts.steps import Said, Where
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.clock import DAY_US, now_us, parse_time
from ctxrank.indexer.errors.failure_text import read_failure_text
from ctxrank.indexer.errors.failures import Sighting, see
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.indexer.errors.solutions import RAN_NEXT, NewKnownError, confirm, pattern_of, save_error
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.paths import without_secret
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.privacy.retention import UNCONFIRMED_DAYS, prune_unconfirmed
from ctxrank.indexer.records.conversations import entitle, note_changed
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.injections import injected_lines
from ctxrank.indexer.records.reasoning import NewReasoning
from ctxrank.indexer.records.sessions import (
    NewSession,
    Session,
    create_session,
    find_session,
    has_session,
    project_in_force,
)
from ctxrank.indexer.records.unconfirmed import unconfirmed_name
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.blocklist import SESSION, Blocklist
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.connection import put_setting, read_column, read_setting, read_value, size_of
from ctxrank.indexer.store.hook_settings import CONVERSATIONS, HookSettings, hook_settings
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.lines import one_line

REPAIR = "transcript_repair"
TRANSCRIPT = "transcript"  # what came from one says so by its agent's name
_MAX_BACK_BYTES = 32 * 1024 * 1024
_REPAIRS_COMPARED = 20_000
_LEAST_SESSIONS = 2
_LEAST_SHARE = 0.5  # of a failure's repairs that have an action
_LEAST_LIFT = 3.0  # times as often as in the repairs of other failures
_LEAST_OTHERS = 5
_MAX_ACTIONS_SHOWN = 3
_MOST_CONFIRMATIONS = 5
_LEFT_OUT = {
    "of_other_projects": "steps of other projects",
    "too_old": "older steps",
    "purged": "steps of purged sessions",
    "lines_skipped": "lines that are no transcript's",
    "files_unread": "files that cannot be read",
}
_COUNTS = ("files", "sessions", "failures", "repaired", "fixes", "entries", *_LEFT_OUT)
_SAME_FAILURE_US = 60_000_000  # a hook saw it then, too


class _Failure(NamedTuple):
    """A failure as the store holds it: redacted, cut out and signed."""

    signature: Signature
    unit: str
    secrets: frozenset[str]
    instances: tuple[str, ...]  # of all errors in its output: a hook may have recognised another one


class Known(NamedTuple):
    """A repair of the store: whose failure it ended, in which session, after which actions (key, text)."""

    instance: str
    session_id: int
    actions: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...] = ()  # of other agents of the session


def import_transcripts(call: Call, store: Store, folder: str | None, runner: str, since: str, dry_run: bool) -> Reply:
    """Bring in what is new in the transcripts of this project."""
    oldest = parse_time(since, now=now_us())
    config = load_config(store)
    settings = hook_settings(config.hooks)
    if not settings.learn:
        reason = "This project keeps nothing of its sessions (hooks.learn is off)."
        raise UsageError(reason, "Switch it on to import.")
    place = folder or _default_folder(runner, os.path.realpath(store.location.root))
    importer = _Importer(store, config, settings, oldest, runner)
    files = list(_files(place))
    ends = list(accumulate(map(size_of, files)))
    with progress_bar("reading bytes", call) as advance:
        for path, end in zip(files, ends, strict=True):
            importer.bring(path, is_dry_run=dry_run)
            if advance is not None:
                advance(end, ends[-1])
    if not dry_run:
        importer.finish()
    counts = importer.counts
    return Reply(
        lambda: {"folder": place, "runner": runner, "dry_run": dry_run, **counts},
        _lines(place, counts, is_dry_run=dry_run),
    )


def on_session_end(call: HookCall) -> None:
    """Bring in what a session has added to its transcript, and drop what is too old to be kept unasked."""
    path = call.event.text("transcript_path")
    if not call.settings.learn:
        return
    oldest = now_us() - UNCONFIRMED_DAYS * DAY_US
    importer = _Importer(call.store, call.config, call.settings, oldest, call.event.runner)
    if os.path.isfile(path):
        of_subagents = os.path.join(path.removesuffix(".jsonl"), "subagents")
        for one in (path, *(_files(of_subagents) if os.path.isdir(of_subagents) else ())):
            importer.bring(one, is_dry_run=False)
    importer.finish()


def _lines(place: str, counts: dict[str, int], *, is_dry_run: bool) -> Iterator[str]:
    verb = "Would bring in" if is_dry_run else "Brought in"
    yield f"{verb} from {counts['files']} files in {one_line(place)}"
    ended = f"{counts['repaired']} of them with what ran until they were over"
    yield f"   {counts['failures']} failures, {ended}, and {counts['entries']} messages"
    if counts["fixes"]:
        yield f"   {counts['fixes']} fixes are confirmed: the same failure ended after them in two sessions or more."
    left = [f"{counts[name]} {what}" for name, what in _LEFT_OUT.items() if counts[name]]
    if left:
        yield f"   left out: {', '.join(left)}"


def _default_folder(runner: str, top: str) -> str:
    """Where a runner keeps the sessions of a folder; Codex those of all. Raises UsageError where there are none."""
    user = os.path.expanduser("~")
    if runner == CODEX:
        place = os.path.join(os.environ.get("CODEX_HOME") or os.path.join(user, ".codex"), "sessions")
    else:
        home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(user, ".claude")
        name = "".join(character if character.isascii() and character.isalnum() else "-" for character in top)
        place = os.path.join(home, "projects", name)
    if not os.path.isdir(place):
        raise UsageError(f"There are no transcripts of this project in {place}.", "Name the folder that holds them.")
    return place


def _files(place: str) -> list[str]:
    """The transcripts of a folder and the folders in it, the oldest first; or the one file that is named."""
    if os.path.isfile(place):
        return [place]
    if not os.path.isdir(place):
        raise UsageError(f"There is no folder {place}.", "Name the folder that holds the transcripts.")
    found = [str(path) for path in Path(place).rglob("*.jsonl") if path.is_file()]
    return sorted(found, key=lambda path: (os.stat(path).st_mtime_ns, path))


class _Importer:
    """One import: what all its files share, and what it counts."""

    def __init__(self, store: Store, config: Config, settings: HookSettings, oldest: int, runner: str) -> None:
        self._store = store
        self._runner = runner
        self._config = config
        self._mode = config.redaction_mode
        self._settings = settings
        self._top = os.path.realpath(store.location.root)
        self._oldest = oldest
        self._project = project_in_force(store.primary, None, None)
        self._blocklist = Blocklist(store.primary)
        self._injected = injected_lines(store.primary)
        self._sessions: dict[str, Session] = {}
        self._repaired: dict[str, _Failure] = {}  # by instance: those that this import ended
        self._sightings: set[int] = set()  # those that have their failure in this import
        self.counts = dict.fromkeys(_COUNTS, 0)

    def bring(self, path: str, *, is_dry_run: bool) -> None:
        """Bring in what is new in a file, and remember how far it was read; a runner may have removed it by now."""
        key = f"{TRANSCRIPT}:{digest_of(os.path.realpath(path))}"
        begins, _, ended = (read_setting(self._store.primary, key) or "").partition(" ")
        seen = int(ended) if ended.isdecimal() else 0
        start = int(begins) if begins.isdecimal() else 0
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < seen:  # another file by now
                    start = seen = 0
                if size == seen:
                    return
                reader = TranscriptReader(file, start)
                if reader.folder is not None and not is_inside(self._top, os.path.normpath(reader.folder)):
                    return  # of another project, as most are where Codex keeps all of them
                story = self._story(reader)
        except OSError:
            self.counts["files_unread"] += 1
            return
        self.counts["files"] += 1
        self.counts["lines_skipped"] += reader.skipped
        if is_dry_run:
            self.counts["failures"] += len(story.failures())
            self.counts["repaired"] += sum(failed.is_over and bool(failed.actions) for failed in story.failures())
            self.counts["entries"] += len(story.messages)
            return
        # What an earlier import brought in is read again where a failure or a call of that time still waits.
        for failed in (one for one in story.failures() if one.end > seen):
            with suppress(UsageError):  # it was purged, or its session has a name that none can have
                self._keep_failure(failed)
        for message in (one for one in story.messages if one.end > seen):
            with suppress(UsageError):  # as above
                self._keep_message(message)
        with suppress(UsageError):  # as above
            self._keep_conversation(story, seen)
        waiting = [place for place in (reader.unanswered(), story.waits_from()) if place is not None]
        resume = min(waiting, default=reader.offset)
        if reader.offset - resume > _MAX_BACK_BYTES:
            resume = reader.offset
        with self._store.write() as change:
            put_setting(change.connection, key, f"{resume} {reader.offset}")

    def _story(self, reader: TranscriptReader) -> Story:
        """What is new in a file, of this project and not too old."""
        story = Story()
        for step in reader.steps():
            session = step.where.session
            if not (session and session.isprintable() and is_inside(self._top, os.path.normpath(step.where.cwd))):
                self.counts["of_other_projects"] += 1
            elif self._blocklist.holds(SESSION, session):
                self.counts["purged"] += 1
            elif step.at_us < self._oldest:
                self.counts["too_old"] += 1
            else:
                story.add(step)
        story.finish()
        return story

    def _session(self, where: Where) -> Session:
        """The runner's session, made if it is new."""
        known = self._sessions.get(where.session)
        if known is None:
            with self._store.write() as change:
                if not has_session(change.connection, where.session):
                    create_session(change, NewSession(where.session, self._project))
                    self.counts["sessions"] += 1
            known = self._sessions[where.session] = find_session(self._store.primary, where.session)
        return known

    def _keep_failure(self, told: TranscriptFailure) -> None:
        """Keep a failure as a sighting, and what was done until it was over."""
        failure = self._failure(told.call.output)
        if failure is None:
            return
        session = self._session(told.call.where)
        texts = IncomingTexts(self._mode, failure.secrets)
        shown_actions = [(action.key, texts.line(action.shown)) for action in told.actions if told.is_over]
        payload = {
            "instance": failure.signature.instance,
            "command": texts.line(told.command)[:200],
            "actions": shown_actions,
            "others": [(action.key, texts.line(action.shown)) for action in told.others],
        }
        with self._store.write() as change:
            group = group_id(change, session.id, group_of(told.call.where.branch))
            sighted = self._sighted(change, session, failure, told.call.at_us)
            is_new, resolved_at = sighted is None, None
            if told.is_over:
                said = json.dumps(payload, ensure_ascii=False)
                is_new = record_event(change, session.id, group, REPAIR, said, idempotency_key=told.call.id).is_new
                resolved_at = told.call.at_us + 1
            if sighted is not None:
                query = "UPDATE error_sightings SET resolved_at = max(seen_at, ?) WHERE id = ? AND resolved_at IS NULL"
                change.connection.execute(query, (resolved_at, sighted))
            elif is_new:
                sighting = Sighting(failure.signature, failure.unit, told.call.at_us, resolved_at)
                pattern = pattern_of(change.connection, failure.signature, self._project)
                sighted = see(change, session.id, group or 0, sighting, pattern)
                is_new = sighted is not None
            if sighted is not None:
                self._sightings.add(sighted)
        if is_new:
            self.counts["failures"] += 1
            if shown_actions and not is_summary(failure.signature.message):
                self.counts["repaired"] += 1
                self._repaired[failure.signature.instance] = failure
                last = ", then ".join(text for _, text in shown_actions[-_MAX_ACTIONS_SHOWN:])
                self._save(failure, f"{RAN_NEXT}{last}")

    def _sighted(self, change: Change, session: Session, failure: _Failure, at_us: int) -> int | None:
        """The sighting that the failure has already: of an earlier import, or as a hook saw it. One has one failure."""
        query = """
            SELECT id FROM error_sightings
             WHERE session_id = ? AND instance IN (SELECT value FROM json_each(?)) AND abs(seen_at - ?3) < ?
             ORDER BY abs(seen_at - ?3)
        """
        values = (session.id, json.dumps(failure.instances), at_us, _SAME_FAILURE_US)
        found = read_column(change.connection, query, values, int)
        return next((number for number in found if number not in self._sightings), None)

    def _failure(self, output: str) -> _Failure | None:
        read = read_failure_text(output.encode("utf-8", "replace"), self._mode)
        if read.trouble or not (units := error_units(read.text)):
            return None
        signatures = [sign(unit) for unit in units]
        return _Failure(signatures[0], units[0].text, read.secrets, tuple(one.instance for one in signatures))

    def _save(self, failure: _Failure, solution: str, *, is_final: bool = False) -> int:
        new = NewKnownError(failure.unit, solution, self._project, is_counted=True, secrets=failure.secrets)
        new = new._replace(is_proposal=not is_final, is_final=is_final)
        return save_error(self._store, new, mode=self._mode).id

    def _keep_message(self, message: Said) -> None:
        where = message.where
        role = role_of(self._config, self._settings, where.agent or "main")
        session, agent = self._session(where), unconfirmed_name(TRANSCRIPT)
        files = json.dumps([name for name in message.files if not name.startswith("..")])
        entry = NewReasoning(session.name, group_of(where.branch), role, "", "", agent)
        entry = entry._replace(references=files, created_at=message.at_us)
        phases = () if message.is_last else ("decisions",)
        kept = keep_text(self._store, session, entry, message.text, self._injected, phases)
        self.counts["entries"] += kept

    def _keep_conversation(self, story: Story, seen: int) -> None:
        """Entitle sessions by their first prompts, note what they changed, and keep what was said if asked to."""
        prompts = [one for one in story.prompts if is_prompt_of_person(one)]
        is_kept = self._settings.keep == CONVERSATIONS
        for prompt in {one.where.session: one for one in reversed(prompts)}.values():
            if is_kept or has_session(self._store.primary, prompt.where.session):
                name = self._session(prompt.where).name
                with self._store.write() as change:
                    entitle(change, name, self._runner, title_of(prompt.text, self._mode))
        for where, paths in story.changed.items():
            if has_session(self._store.primary, where.session):
                session = self._session(where)
                with self._store.write() as change:
                    note_changed(change, session.id, self._names(where, paths))
        answers = [one for one in story.messages if one.is_last and not one.where.agent]
        for said in sorted((*prompts, *answers), key=lambda one: one.end) if is_kept else ():
            if said.end > seen:
                self._keep_said(said)

    def _names(self, where: Where, paths: Iterable[str]) -> list[str]:
        """Files by their paths from the root, without those that lie elsewhere or whose path holds a secret."""
        joined = (os.path.join(where.cwd, path) for path in paths)
        whole = (os.path.realpath(path) for path in joined if path.isprintable())
        names = (os.path.relpath(path, self._top) for path in whole if is_inside(self._top, path))
        return [name for name in names if without_secret(name, self._mode) == name]

    def _keep_said(self, said: Said) -> None:
        session = self._session(said.where)
        agent = "" if said.is_prompt else role_of(self._config, self._settings, "main")
        title = find_session(self._store.primary, session.name).title or ""
        with self._store.write() as change:
            group = group_id(change, session.id, group_of(said.where.branch))
            keep_said(change, said, Place(session.id, group, agent, title), self._injected, self._mode)

    def finish(self) -> None:
        """Learn what each failure of this import has ended after in two sessions or more; drop what is too old."""
        repairs = list(self._repairs()) if self._repaired else []
        for instance, failure in self._repaired.items():
            if fix := fix_of(instance, repairs):
                with suppress(UsageError):  # the error was purged
                    self._learn(failure, fix, repairs)
        prune_unconfirmed(self._store)
        prune_conversations(self._store)

    def _learn(self, failure: _Failure, fix: list[tuple[str, str]], repairs: list[Known]) -> None:
        """Keep a fix, confirmed by each repair that has it, unless a person said another one."""
        solution = ", then ".join(text for _, text in fix)
        id_ = self._save(failure, f"{RAN_NEXT}{solution}")
        primary = self._store.primary
        known = read_value(primary, "SELECT solution FROM error_patterns WHERE id = ?", (id_,), str) or ""
        if known.startswith(RAN_NEXT):
            id_ = self._save(failure, solution, is_final=True)
        elif known != solution:
            return
        keys = {key for key, _ in fix}
        seen = sum(
            repair.instance == failure.signature.instance
            and keys <= {key for key, _ in (*repair.actions, *repair.others)}
            for repair in repairs
        )
        confirmed = read_value(primary, "SELECT confirmations FROM error_patterns WHERE id = ?", (id_,), int) or 0
        for _ in range(min(seen, _MOST_CONFIRMATIONS) - confirmed):
            confirm(self._store, id_, has_helped=True)
        self.counts["fixes"] += 1

    def _repairs(self) -> Iterator[Known]:
        query = """
            SELECT e.session_id, e.payload
              FROM events AS e
              JOIN sessions AS s ON s.id = e.session_id
             WHERE e.subtype = ? AND s.project = ?
             ORDER BY e.created_at DESC, e.id DESC LIMIT ?
        """
        for session_id, payload in self._store.primary.execute(query, (REPAIR, self._project, _REPAIRS_COMPARED)):
            value: object = json.loads(str(payload))
            if is_dict(value):
                own, others = (_pairs(value.get(name)) for name in ("actions", "others"))
                yield Known(str(value.get("instance")), int(session_id), own, others)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    pairs = [pair for pair in (value if is_list(value) else ()) if is_list(pair) and len(pair) == 2]
    return tuple((str(key), str(text)) for key, text in pairs)


def fix_of(instance: str, repairs: Iterable[Known]) -> list[tuple[str, str]]:
    """The actions (key, text) that ended a failure in several sessions and few other failures; empty for none.

    An action counts where it is in half of the failure's repairs, and three times as often as in those of others: what
    is done all the time helps nothing. Of those that count, the most frequent ones are the fix. Where the agent that
    failed did nothing of the kind, those of the session's other agents are looked at, too. There is none where other
    actions ended the same failure in two other sessions: one message has several causes.
    """
    repairs = list(repairs)
    with_others = [repair._replace(actions=(*repair.actions, *repair.others)) for repair in repairs]
    return _common(instance, repairs) or _common(instance, with_others)


def _in_sessions(repairs: list[Known]) -> bool:
    return len({repair.session_id for repair in repairs}) >= _LEAST_SESSIONS


def _common(instance: str, repairs: list[Known]) -> list[tuple[str, str]]:
    own = [repair for repair in repairs if repair.instance == instance]
    others = [repair for repair in repairs if repair.instance != instance]
    elsewhere = Counter(key for repair in others for key, _ in repair.actions)
    texts: dict[str, str] = {}
    for repair in own:
        texts |= dict(repair.actions)
    having = {key: [repair for repair in own if any(key == one for one, _ in repair.actions)] for key in texts}
    found: dict[str, int] = {}
    rare: dict[str, list[Known]] = {}  # in some repairs, and hardly in those of other failures
    for key, repairs_with in having.items():
        usual = elsewhere[key] / len(others) if len(others) >= _LEAST_OTHERS else 0.0
        share = len(repairs_with) / len(own)
        if not _in_sessions(repairs_with) or share < _LEAST_LIFT * usual:
            continue
        rare[key] = repairs_with
        if share >= _LEAST_SHARE:
            found[key] = len(repairs_with)
    if not found:
        return []
    most = max(found.values())
    first = having[next(key for key, count in found.items() if count == most)]
    if any(_in_sessions([repair for repair in repairs_with if repair not in first]) for repairs_with in rare.values()):
        return []  # the message is of two failures that each have a remedy of their own
    chosen: list[tuple[str, str]] = []
    for key in sorted((key for key, count in found.items() if count == most), key=lambda key: -len(texts[key])):
        shown = texts[key].partition(": ")[2].rstrip("`").lstrip("`")
        if not (shown and any(shown in text for _, text in chosen)):  # a line of an edit that is there whole
            chosen.append((key, texts[key]))
    order = list(found)
    return sorted(chosen, key=lambda action: order.index(action[0]))[:_MAX_ACTIONS_SHOWN]
