"""What a runner's transcript tells: failures and what was done until they were over, decisions, and last messages.

    reader = TranscriptReader(open_file, offset)
    for step in reader.steps(): story.add(step)
    story.failures()     what failed, what was done until the same command succeeded
    story.messages       what agents said last, and where they named decisions
    story.prompts        what the person said
    story.changed        the files that were written

One JSON object a line, as Claude Code writes them: `type`, `timestamp`, `sessionId`, `cwd`, `gitBranch`, and a
`message` of texts, tool calls and tool results; rollouts.py reads those of Codex. Lines may be megabytes, and the last
one may be cut off: it waits for the next time. Nothing here opens a store, and nothing of a text is kept but what the
store will hold.
"""

import json
import os
import re
from collections.abc import Iterator
from typing import BinaryIO

from ctxrank.cli.agents.event import text_of
from ctxrank.cli.agents.failures import COMMAND_TOOLS
from ctxrank.cli.agents.injected_text import public_part
from ctxrank.cli.agents.shell_line import is_looking, simple_commands
from ctxrank.extensions.transcripts.command_form import adds_to, has_form_of, includes
from ctxrank.extensions.transcripts.rollouts import rollout_of, steps_of
from ctxrank.extensions.transcripts.steps import Called, Said, Where, moment_of, output_of
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.light_typing import NamedTuple, is_list, object_of
from ctxrank.indexer.text.digests import digest_of

MAX_LINE_BYTES = 64 * 1024 * 1024
_EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_PATHS = ("file_path", "notebook_path", "path")
_MAX_OPEN = 20  # failures of one agent that wait for a success
_MAX_ACTIONS = 60  # between a failure and its success
_MAX_LINES = 24  # of one edit
_MAX_FILES = 50  # that are named of a session
_MAX_SHOWN = 240  # characters of a command or an edit
# The numbers of a moment: digits that are no part of a version or a name; or a long hexadecimal id.
_MOMENTARY = re.compile(r"(?<![\w.=@-])(?:\d{3,}|(?=[0-9a-f]*\d)[0-9a-f]{10,})(?![\w.-])|(?<=:)\d{4,5}(?![\w.])")


class Action(NamedTuple):
    """Something that changed the world: its key is the same for the same action elsewhere."""

    key: str
    shown: str


class TranscriptReader:
    """The steps of one file from an offset on; `offset` is then where the next reading begins."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self.offset = offset
        self.skipped = 0
        self._calls: dict[str, tuple[str, dict[str, object], int]] = {}
        self._file.seek(0)
        self._rollout = rollout_of(self._file.readline(MAX_LINE_BYTES))

    @property
    def folder(self) -> str | None:
        """The folder of a session of Codex, whose file says it once; None for other files."""
        return None if self._rollout is None else self._rollout.cwd

    def unanswered(self) -> int | None:
        """Where the first call stands that has no result yet."""
        return min((offset for _, _, offset in self._calls.values()), default=None)

    def steps(self) -> Iterator[Said | Called]:
        """What the complete lines say; what is no line of a transcript is counted."""
        self._file.seek(self.offset)
        telling = b'"message"' if self._rollout is None else b'"item_completed"'
        while line := self._file.readline(MAX_LINE_BYTES):
            if not line.endswith(b"\n"):
                if len(line) < MAX_LINE_BYTES:
                    return  # it is being written
                self.skipped += 1
                while line and not line.endswith(b"\n"):
                    self.offset += len(line)
                    line = self._file.readline(MAX_LINE_BYTES)
                self.offset += len(line)
                continue
            start = self.offset
            self.offset += len(line)
            if telling in line:
                yield from self._of_line(line, start)

    def _of_line(self, line: bytes, start: int) -> Iterator[Said | Called]:
        try:
            fields = object_of(json.loads(line))
        except (ValueError, RecursionError):
            self.skipped += 1
            return
        if self._rollout is not None:
            yield from steps_of(fields, self._rollout, start, self.offset)
            return
        kind, message = fields.get("type"), object_of(fields.get("message"))
        at_us = moment_of(fields.get("timestamp"))
        if kind not in ("user", "assistant") or fields.get("isMeta") is True or at_us is None:
            return
        agent = text_of(fields.get("agentId")) or ("sidechain" if fields.get("isSidechain") is True else "")
        session, cwd, branch = (text_of(fields.get(name)) for name in ("sessionId", "cwd", "gitBranch"))
        where = Where(session, cwd, branch, agent)
        content = message.get("content")
        if isinstance(content, str):
            yield Said(where, at_us, content, kind == "user", self.offset)
            return
        for part in map(object_of, content if is_list(content) else ()):
            match part.get("type"):
                case "text":
                    yield Said(where, at_us, text_of(part.get("text")), kind == "user", self.offset)
                case "tool_use":
                    name, given = text_of(part.get("name")), object_of(part.get("input"))
                    self._calls[text_of(part.get("id"))] = (name, given, start)
                case "tool_result":
                    id_ = text_of(part.get("tool_use_id"))
                    tool, given, begun = self._calls.pop(id_, ("", {}, start))
                    failed = part.get("is_error") is True
                    output = output_of(part.get("content")) if failed or tool in COMMAND_TOOLS else ""
                    yield Called(where, at_us, id_, tool, given, output, failed, begun, self.offset)
                case _:
                    pass


class TranscriptFailure:
    """A command that failed, and what was done since: by its own agent, and by others of the session.

    It is over when the command succeeds, or fails otherwise.
    """

    def __init__(self, call: Called, command: str) -> None:
        self.call = call
        self.command = command
        self.end = call.end  # where what is known of it ends in the file
        self.is_over = False
        self.actions: list[Action] = []
        self.others: list[Action] = []

    def fails_again(self, call: Called) -> bool:
        """Whether another run failed for the same reason, be it said so or only printed: what was done did not help."""
        output = self.call.output
        is_same = bool(call.output) and (output == call.output or instance_of(output) == instance_of(call.output))
        if is_same:
            self.actions.clear()
            self.others.clear()
        return is_same

    def finish(self, by: Called) -> "TranscriptFailure":
        """It is over: each action counts once, and what its own agent did is no other's."""
        own, others = ({action.key: action for action in given} for given in (self.actions, self.others))
        self.actions, self.others = list(own.values()), [one for key, one in others.items() if key not in own]
        self.end, self.is_over = by.end, True
        return self


def instance_of(output: str) -> str:
    """What a failure is known by; the same for the same error elsewhere. '' where nothing can be read of it."""
    units = error_units(output)
    return sign(units[0]).instance if units else ""


_Waiting = dict[tuple[str, str], TranscriptFailure]  # by folder and command


def _who(where: Where) -> tuple[str, str]:
    """One agent of one session: what it does follows on what it did."""
    return where.session, where.agent


class Story:
    """Collects steps, of one file after another, into what is worth keeping."""

    def __init__(self) -> None:
        self._ended: list[TranscriptFailure] = []
        self.messages: list[Said] = []
        self.prompts: list[Said] = []
        self.changed: dict[Where, dict[str, None]] = {}  # files that were written, by who wrote them
        self._open: dict[str, _Waiting] = {}  # by session
        self._last: dict[tuple[str, str], Said] = {}
        self._files: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, step: Said | Called) -> None:
        """Take one step in."""
        if isinstance(step, Said):
            self._add_said(step)
        elif step.tool in COMMAND_TOOLS:
            self._add_command(step)
        else:
            self._add_file(step)

    def _waiting(self) -> list[TranscriptFailure]:
        return [one for waiting in self._open.values() for one in waiting.values()]

    def failures(self) -> list[TranscriptFailure]:
        """What failed: first what is over, then what has not succeeded since."""
        return [*self._ended, *self._waiting()]

    def waits_from(self) -> int | None:
        """Where the first failure stands that waits for a success."""
        return min((one.call.offset for one in self._waiting()), default=None)

    def finish(self) -> None:
        """What was said last in each place is a message."""
        for who in list(self._last):
            self._keep_last(who)

    def _add_said(self, said: Said) -> None:
        if said.is_prompt:
            self.prompts.append(said)
            self._keep_last(_who(said.where))
            return
        if "ecision" in said.text:  # a line of it may be a heading of decisions; most texts have no such word
            self.messages.append(said)
        self._last[_who(said.where)] = said

    def _keep_last(self, who: tuple[str, str]) -> None:
        said = self._last.pop(who, None)
        if said is not None:
            self.messages.append(said._replace(is_last=True, files=tuple(self._files.pop(who, ()))))

    def _add_command(self, call: Called) -> None:
        whole = public_part(text_of(call.given.get("command"))).strip()
        folder, parts = simple_commands(whole, call.where.cwd)
        self._last.pop(_who(call.where), None)  # what is said between two tools is no last message
        if not parts:
            return
        waiting = self._open.setdefault(call.where.session, {})
        if not call.has_failed:
            for part in parts:
                self._add_success(waiting, folder, part, call)
            return
        key = (folder, parts[-1])
        for other, known in waiting.items():
            if other[0] == folder and has_form_of(parts[-1], other[1]) and known.fails_again(call):
                return
        if key in waiting:
            self._ended.append(waiting.pop(key).finish(call))
        waiting[key] = TranscriptFailure(call, whole)
        if len(waiting) > _MAX_OPEN:
            del waiting[next(iter(waiting))]

    def _add_success(self, waiting: "_Waiting", folder: str, part: str, call: Called) -> None:
        """Take in a command that succeeded: it ends what failed as the same command, or in another form of it."""
        ended = [
            key
            for key, known in waiting.items()
            if key[0] == folder and (key[1] == part or includes(part, key[1], known.call.output))
        ]
        action = Action(digest_of(f"run\0{_MOMENTARY.sub('#', part)}", 8), f"`{_short(part)}`")
        for key in ended:
            known = waiting[key]
            if known.fails_again(call):  # it only looked like a success
                continue
            if adds_to(part, key[1]):
                known.actions.append(action)
            self._ended.append(waiting.pop(key).finish(call))
        if not ended and not is_looking(part):
            self._note(call.where, action, part)

    def _add_file(self, call: Called) -> None:
        path = next((text for name in _PATHS if (text := text_of(call.given.get(name)))), "")
        if not path or call.has_failed:
            return
        who = _who(call.where)
        self._last.pop(who, None)
        name = os.path.relpath(path, call.where.cwd) if os.path.isabs(path) and os.path.isabs(call.where.cwd) else path
        files = self._files.setdefault(who, {})
        if len(files) < _MAX_FILES:
            files.setdefault(name)
        if call.tool in _EDITING:
            self.changed.setdefault(call.where, {}).setdefault(path)
        for old, new in _edits(call):
            base = os.path.basename(name)
            changed = _changed_lines(old, new)
            action = Action(digest_of(f"edit\0{base}\0{changed}", 8), f"edit {name}{_shown_change(old, changed)}")
            self._note(call.where, action, "")
            lines = changed.split("\n")
            # What else is changed at the same time differs each time: each line may be what helped.
            for line in lines[:_MAX_LINES] if len(lines) > 1 else ():
                if any(map(str.isalnum, line)):
                    shown = f"edit {name}: `{_short(line)}`"
                    self._note(call.where, Action(digest_of(f"edit\0{base}\0{line}", 8), shown), "")

    def _note(self, where: Where, action: Action, command: str) -> None:
        for (_, failed), waiting in self._open.get(where.session, {}).items():
            is_own = waiting.call.where.agent == where.agent
            actions = waiting.actions if is_own else waiting.others
            if failed != command and len(actions) < _MAX_ACTIONS:
                actions.append(action)


def _edits(call: Called) -> Iterator[tuple[str, str]]:
    """(old, new) of each change that a tool made to a file; '' for the old text of a file that was written whole."""
    if call.tool not in _EDITING:
        return
    inner = call.given.get("edits")
    for one in map(object_of, inner) if is_list(inner) else (call.given,):
        new = text_of(one.get("new_string")) or text_of(one.get("content")) or text_of(one.get("new_source"))
        yield text_of(one.get("old_string")), new


def _changed_lines(old: str, new: str) -> str:
    """The lines of the new text that the old one has not."""
    known = {line.strip() for line in old.split("\n")}
    return "\n".join(line.strip() for line in new.split("\n") if line.strip() and line.strip() not in known)


def _shown_change(old: str, changed: str) -> str:
    if not changed:
        return ""
    before = f"`{_short(old)}` → " if old.strip() and len(old) <= _MAX_SHOWN else ""
    return f": {before}`{_short(changed)}`"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"
