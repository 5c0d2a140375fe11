"""The files of agent runners that `install` writes into, and what of them is ours.

    claude-code    .claude/settings.json (hooks)   .claude/skills/ctxrank/SKILL.md   .mcp.json
    codex          .codex/hooks.json               .agents/skills/ctxrank/SKILL.md   .codex/config.toml
    …              runners.tsv has these and the others, and which events of theirs are hooked, dialects.tsv
    agents-md      AGENTS.md, a section between two comments

An edit is a function from a file's text to its new one, '' for no file. It is a pure function, so that a dry run and a
test see what a run would write. Ours is exactly what an install writes; every byte of the rest stays as it is, and
ours put in and taken out again leaves the bytes that were there before.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence

from ctxrank.cli.agents import json_edit
from ctxrank.cli.agents.dialects import rows_of
from ctxrank.cli.agents.event import LIMITS_S
from ctxrank.cli.agents.json_edit import Names, Way
from ctxrank.indexer.beneath import read_file
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list, object_of
from ctxrank.indexer.text.tables import rows

_SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin")
PLUGIN = os.path.join(_SHIPPED, "claude-code")
_MAX_BYTES = 1024 * 1024
_MARK = "Written by `ctxrank install`"
_SKILL = ("skills", "ctxrank", "SKILL.md")
AGENTS_MD = "agents-md"
Edit = Callable[[str], str]


class RunnerFile(NamedTuple):
    """A file of a runner, and how ours is put into it and taken out of it."""

    path: str
    with_ours: Edit
    without_ours: Edit


class InstallPlace(NamedTuple):
    """Whose files are meant: a project's folder, or the user's home."""

    folder: str
    is_user: bool


class _Runner(NamedTuple):
    """A row of runners.tsv, whose head says what each of these is."""

    name: str
    program: str
    variable: str
    folder: str
    user_folder: str
    hooks: str
    form: str
    skills: str
    servers: str
    user_servers: str
    server_form: str


_RUNNERS = {row[0]: _Runner(*row) for row in rows(__file__, "runners")}
TARGETS = (*_RUNNERS, AGENTS_MD)


def runners_here(place: InstallPlace) -> list[str]:
    """Those whose program or user's folder is on this machine; AGENTS.md where the project has one."""
    home = os.path.expanduser("~")
    names = [
        one.name
        for one in _RUNNERS.values()
        if shutil.which(one.program) or os.path.isdir(os.path.join(home, one.user_folder))
    ]
    has_section = not place.is_user and os.path.exists(os.path.join(place.folder, "AGENTS.md"))
    return [*names, *([AGENTS_MD] if has_section else [])]


def runner_files(name: str, place: InstallPlace, command: str, *, with_mcp: bool) -> list[RunnerFile]:
    """The files of a runner; `command` is how ctxrank is called. Raises UsageError where there are none."""
    if name == AGENTS_MD:
        if place.is_user:
            raise UsageError("AGENTS.md is a project's file.", "Leave --user out.")
        return [_section_file(os.path.join(place.folder, "AGENTS.md"), _shipped(name, "section.md"))]
    runner = _RUNNERS[name]
    home = os.environ.get(runner.variable) if place.is_user and runner.variable else None
    folder = home or os.path.join(place.folder, runner.user_folder if place.is_user else runner.folder)

    def below(cell: str, top: str) -> str:
        return os.path.join(top, cell[1:]) if cell.startswith("/") else os.path.join(folder, cell)

    hooks = _hooks_file(os.path.join(folder, runner.hooks), runner, command)
    skill = os.path.join(below(runner.skills, place.folder), *_SKILL[1:])
    files = [hooks, _own_file(skill, _shipped("claude-code", *_SKILL))]
    if with_mcp:
        server = below(runner.user_servers if place.is_user else runner.servers, home or place.folder)
        servers = _servers_file(server, runner.server_form, shlex.split(command)[0])
        if server != hooks.path:
            return [*files, servers]
        files[0] = _both(hooks, servers)
    return files


def _both(first: RunnerFile, second: RunnerFile) -> RunnerFile:
    """Two edits of one file as one."""

    def with_ours(text: str) -> str:
        return second.with_ours(first.with_ours(text))

    def without_ours(text: str) -> str:
        return first.without_ours(second.without_ours(text))

    return RunnerFile(first.path, with_ours, without_ours)


def _shipped(*parts: str) -> str:
    return read_file(os.path.join(_SHIPPED, *parts), _MAX_BYTES).decode()


# A file of hooks is JSON: {"hooks": {EVENT: [{"matcher": …, "hooks": [{"command": …}]}]}}, or has no inner "hooks".
_HOOKS_GROUP: Names = ("hooks", None, None)
_HANDLER: Names = (*_HOOKS_GROUP, "hooks", None)


def _hooks_file(path: str, runner: _Runner, command: str) -> RunnerFile:
    def is_hook(handler: object) -> bool:
        """Whether a handler is one that an install writes: nothing stands before, after or beside the call."""
        call = handler.get("command", handler.get("bash")) if is_dict(handler) else None
        if not isinstance(call, str):
            return False
        try:
            words = shlex.split(call)
        except ValueError:
            return False
        return words[1:] == ["hook", "--runner", runner.name] and _is_ctxrank(words[0]) and shlex.join(words) == call

    def is_group(group: object) -> bool:
        """Whether a group of an event holds nothing but handlers of ours."""
        handlers = group.get("hooks") if is_dict(group) else None
        return is_list(handlers) and bool(handlers) and all(map(is_hook, handlers))

    if runner.form == "module":
        words = json.dumps([*shlex.split(command), "hook", "--runner", runner.name])
        return _own_file(path, _shipped(runner.name, "ctxrank.js").replace("[/* ctxrank */]", words))
    ours = [
        (("hooks", event, None), group) for event, groups in hooks_of(runner.name, command).items() for group in groups
    ]
    if runner.form.startswith("entries"):
        return _versioned(_json_file(path, ours, ((_HOOKS_GROUP, is_hook),)))
    return _json_file(path, ours, ((_HOOKS_GROUP, is_group), (_HANDLER, is_hook)))


def hooks_of(name: str, command: str) -> Mapping[str, list[object]]:
    """What stands in a runner's file of hooks at each of its events; `command` is how ctxrank is called."""
    form, *words = _RUNNERS[name].form.split()
    if form == "shipped":  # those of the plugin, with the words by which ctxrank is called here
        text = _shipped(name, "hooks", "hooks.json").replace('"ctxrank ', f"{json.dumps(command)[:-1]} ")
        shipped: Mapping[str, Mapping[str, list[object]]] = json.loads(text)
        return shipped["hooks"]
    call, limit, units = words
    hooks: dict[str, list[object]] = {}
    for row in rows_of(name):
        if row.kind == "event":
            limit_s = LIMITS_S[row.ours]
            handler = {"type": "command", call: f"{command} hook --runner {name}", limit: int(limit_s) * int(units)}
            matcher = {"matcher": row.tools} if row.tools else {}
            hooks[row.theirs] = [{**matcher, "hooks": [handler]} if form == "groups" else {**matcher, **handler}]
    return hooks


def _versioned(file: RunnerFile) -> RunnerFile:
    """A file that is refused without its `version`: that comes with the first entry of an empty one, and after it."""

    def with_ours(text: str) -> str:
        if file.with_ours(text) == text:
            return text
        text = without_ours(text)
        entries = file.with_ours(text)
        return entries if text.strip() else json_edit.inserted(entries, ("version",), 1)

    def without_ours(text: str) -> str:
        rest = file.without_ours(text)
        is_all_ours = (
            rest != text and list(json.loads(text)) == ["hooks", "version"] and json.loads(rest) == {"version": 1}
        )
        return json_edit.removed(rest, json_edit.ways(rest, ("version",))[0]) if is_all_ours else rest

    return RunnerFile(file.path, with_ours, without_ours)


def _is_ctxrank(word: object) -> bool:
    """Whether a word calls ctxrank, by its name or by a whole path."""
    return word == "ctxrank" or (isinstance(word, str) and os.path.isabs(word) and os.path.basename(word) == "ctxrank")


def _server(form: str, program: str) -> dict[str, object]:
    """The entry of the MCP server in a runner's form."""
    if form == "opencode":
        return {"type": "local", "command": [program, "mcp"], "enabled": True}
    server: dict[str, object] = {"command": program, "args": ["mcp"]}
    return {"type": "local", **server, "tools": ["*"]} if form == "copilot" else server


def _is_server(server: object, form: str = "") -> bool:
    command = server.get("command") if is_dict(server) else None
    program = command[0] if is_list(command) and command else command
    return isinstance(program, str) and _is_ctxrank(program) and server == _server(form, program)


def _servers_file(path: str, form: str, program: str) -> RunnerFile:
    server = _server(form, program)
    if form == "toml":
        return _toml_server_file(path, server)
    names = ("mcp" if form == "opencode" else "mcpServers", "ctxrank")
    return _json_file(path, [(names, server)], ((names, lambda found: _is_server(found, form)),))


def _another_server(path: str) -> UsageError:
    return UsageError(
        f"{path} has an MCP server 'ctxrank' that an install did not write, and is left as it is.",
        "Rename that one first, or leave --mcp out.",
    )


def _json_file(
    path: str, ours: Sequence[tuple[Names, object]], found_by: tuple[tuple[Names, Callable[[object], bool]], ...]
) -> RunnerFile:
    """A JSON file that has entries of ours below one of its members; `found_by` says where each is, and what it is.

    The first of these is an entry whole.
    """

    def checked(text: str) -> dict[str, object]:
        try:
            value: object = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} is no JSON and is left as it is.", "Repair it, or move it away.") from error
        if not is_dict(value):
            raise UsageError(f"{path} is no JSON object and is left as it is.", "Repair it, or move it away.")
        return _part(value, str(ours[0][0][0]), path)

    def ways_to_ours(text: str, names: Names, is_ours: Callable[[object], bool]) -> list[Way]:
        return [way for way in json_edit.ways(text, names) if is_ours(way[-1].value)]

    def without_ours(text: str) -> str:
        checked(text)
        for names, is_ours in found_by:
            while found := ways_to_ours(text, names, is_ours):
                text = json_edit.removed(text, found[0])
        return text

    def with_ours(text: str) -> str:
        there = checked(text)
        found = [(tuple(child.name for child in way), way[-1].value) for way in ways_to_ours(text, *found_by[0])]
        if len(found) == len(ours) and all(entry in found for entry in ours):
            return text
        for (_, name, *is_element), _ in ours:
            if is_element and not is_list(there.get(str(name), [])):
                raise UsageError(f"{path}: '{name}' is no array, and the file is left as it is.", "Repair it first.")
        text = without_ours(text)
        for names, value in ours:
            if None not in names and json_edit.ways(text, names):
                raise _another_server(path)
            text = json_edit.inserted(text, names, value)
        return text

    return RunnerFile(path, with_ours, without_ours)


# In TOML ours is a table of its own at the end. An edit is one that was tried: it counts where the text then means what
# it should, which it does not where the servers are one inline table.
_TOML_TEXT = r'"(?:[^"\\\r\n]|\\.)*"'
_TOML_TABLE = re.compile(
    r"^# ctxrank: begin\r?\n\[mcp_servers\.ctxrank\]\r?\n"
    rf'command = {_TOML_TEXT}\r?\nargs = \["mcp"\](?:\r?\n# ctxrank: end)?',
    re.MULTILINE,
)


def _toml_server_file(path: str, ours: dict[str, object]) -> RunnerFile:
    # A text and an array of texts are written in TOML as in JSON.
    pairs = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in ours.items()]
    table = "\n".join(("# ctxrank: begin", "[mcp_servers.ctxrank]", *pairs, "# ctxrank: end\n"))

    def means(text: str, server: object, rest: dict[str, object]) -> bool:
        try:
            return _toml_server(text, path) == (server, rest)
        except UsageError:
            return False

    def without_ours(text: str) -> str:
        cuts = [_without_section(text, *found.span()) for found in _TOML_TABLE.finditer(text)]
        if not cuts:
            return text
        server, rest = _toml_server(text, path)
        return next((cut for cut in cuts if _is_server(server) and means(cut, None, rest)), text)

    def with_ours(text: str) -> str:
        if _toml_server(text, path)[0] == ours:
            return text
        text = without_ours(text)
        server, rest = _toml_server(text, path)
        if server is not None:
            raise _another_server(path)
        edited = _with_section(text, table)
        if not means(edited, ours, rest):
            raise UsageError(
                f"{path} has its 'mcp_servers' in a form that cannot be added to, and is left as it is.",
                f"Add this to them by hand: ctxrank = {{ {', '.join(pairs)} }}",
            )
        return edited

    return RunnerFile(path, with_ours, without_ours)


def _toml_server(text: str, path: str) -> tuple[object, dict[str, object]]:
    """The MCP server 'ctxrank' of a TOML file, and the rest of it, its numbers with a point as they are written.

    No servers are the same as an empty table of them. Raises UsageError for what is no TOML.
    """
    import tomllib  # noqa: PLC0415  only an install of an MCP server for Codex reads TOML

    try:
        document = tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no TOML and is left as it is.", "Repair it, or move it away.") from error
    servers = _part(document, "mcp_servers", path)
    server = servers.pop("ctxrank", None)
    return server, {**document, "mcp_servers": servers}


def _part(document: Mapping[str, object] | dict[object, object], name: str, path: str) -> dict[str, object]:
    value = document.get(name, {})
    if not is_dict(value):
        raise UsageError(f"{path}: '{name}' is no object, and the file is left as it is.", "Repair it first.")
    return object_of(value)


# A section of ours in a text: between two comments, at the end, with a blank line before it.


def _section_file(path: str, section: str) -> RunnerFile:
    begin, end = "<!-- ctxrank: begin -->", "<!-- ctxrank: end -->"
    ours = f"{begin}\n{section}{end}\n"

    def without_ours(text: str) -> str:
        start = text.find(begin)
        stop = text.find(end, start)
        return text if start < 0 or stop < 0 else _without_section(text, start, stop + len(end))

    def with_ours(text: str) -> str:
        if ours.removesuffix("\n") in text.replace("\r\n", "\n"):
            return text
        return _with_section(without_ours(text), ours)

    return RunnerFile(path, with_ours, without_ours)


def _with_section(text: str, section: str) -> str:
    """The text with a section after it, which ends with a line end where the text does."""
    newline = "\r\n" if "\r\n" in text else "\n"
    section = section.replace("\n", newline)
    if not text:
        return section
    if text.endswith("\n"):
        return text + newline + section
    return f"{text}{newline}{newline}{section.removesuffix(newline)}"


def _without_section(text: str, start: int, stop: int) -> str:
    """The text without the section from `start` to its last character, and without what parted it from the text."""
    newline = "\r\n" if "\r\n" in text[start:stop] else "\n"
    before, after = text[:start], text[stop:]
    if not after.startswith(newline):
        return before.removesuffix(newline + newline) + after
    is_parted = before.endswith((newline * 2, "\n" + newline))
    return (before.removesuffix(newline) if is_parted else before) + after.removeprefix(newline)


def _own_file(path: str, ours: str) -> RunnerFile:
    """A file that is all ours. Raises UsageError where another program's is in its place."""

    def with_ours(text: str) -> str:
        if text and _MARK not in text:
            raise UsageError(f"{path} is not ctxrank's and is left as it is.", "Move it away first.")
        return ours

    def without_ours(text: str) -> str:
        return "" if _MARK in text else text

    return RunnerFile(path, with_ours, without_ours)
