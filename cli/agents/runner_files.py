"""The files of agent runners that `install` writes into, and what of them is ours.

    claude-code    .claude/settings.json (hooks)   .claude/skills/ctxrank/SKILL.md   .mcp.json
    codex          .codex/hooks.json               .agents/skills/ctxrank/SKILL.md   .codex/config.toml
    agents-md      AGENTS.md, a section between two comments

An edit is a function from a file's text to its new one, '' for no file. It is a pure function, so that a dry run and a
test see what a run would write. Ours is exactly what an install writes; every byte of the rest stays as it is, and
ours put in and taken out again leaves the bytes that were there before.
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from ctxrank.cli.agents import json_edit
from ctxrank.cli.agents.json_edit import Names, Way
from ctxrank.indexer.beneath import read_file
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list

_SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin")
PLUGIN = os.path.join(_SHIPPED, "claude-code")
_MAX_BYTES = 1024 * 1024
_MARK = "<!-- Written by `ctxrank install`"
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


def runner_files(runner: str, place: InstallPlace, command: str, *, with_mcp: bool) -> list[RunnerFile]:
    """The files of a runner; `command` is how ctxrank is called. Raises UsageError where there are none."""
    if runner == "agents-md":
        if place.is_user:
            raise UsageError("AGENTS.md is a project's file.", "Leave --user out.")
        return [_section_file(os.path.join(place.folder, "AGENTS.md"), _shipped("agents-md", "section.md"))]
    hooks, skill, mcp = _paths(runner, place)
    files = [_hooks_file(hooks, runner, command), _skill_file(skill)]
    server: dict[str, object] = {"command": shlex.split(command)[0], "args": ["mcp"]}
    in_json = ("mcpServers", "ctxrank")
    if with_mcp and runner == "codex":
        files.append(_toml_server_file(mcp, server))
    elif with_mcp:
        files.append(_json_file(mcp, [(in_json, server)], ((in_json, _is_server),)))
    return files


def _paths(runner: str, place: InstallPlace) -> tuple[str, str, str]:
    """Where a runner has its hooks, its skill of ours, and its MCP servers."""
    join, is_codex = os.path.join, runner == "codex"
    home = os.environ.get("CODEX_HOME" if is_codex else "CLAUDE_CONFIG_DIR") if place.is_user else None
    folder = home or join(place.folder, ".codex" if is_codex else ".claude")
    skill = join("skills", "ctxrank", "SKILL.md")
    if is_codex:
        return join(folder, "hooks.json"), join(place.folder, ".agents", skill), join(folder, "config.toml")
    mcp = join(home or place.folder, ".claude.json" if place.is_user else ".mcp.json")
    return join(folder, "settings.json"), join(folder, skill), mcp


def _shipped(*parts: str) -> str:
    return read_file(os.path.join(_SHIPPED, *parts), _MAX_BYTES).decode()


# A file of hooks is JSON: {"hooks": {EVENT: [{"matcher": …, "hooks": [{"command": …}]}]}}.
_HOOKS_GROUP: Names = ("hooks", None, None)
_HANDLER: Names = (*_HOOKS_GROUP, "hooks", None)


def _hooks_file(path: str, runner: str, command: str) -> RunnerFile:
    def is_hook(handler: object) -> bool:
        """Whether a handler is one that an install writes: nothing stands before, after or beside the call."""
        call = handler.get("command") if is_dict(handler) else None
        if not isinstance(call, str):
            return False
        try:
            words = shlex.split(call)
        except ValueError:
            return False
        return words[1:] == ["hook", "--runner", runner] and _is_ctxrank(words[0]) and shlex.join(words) == call

    def is_group(group: object) -> bool:
        """Whether a group of an event holds nothing but handlers of ours."""
        handlers = group.get("hooks") if is_dict(group) else None
        return is_list(handlers) and bool(handlers) and all(map(is_hook, handlers))

    # Those of the plugin, with the words by which ctxrank is called here.
    text = _shipped(runner, "hooks", "hooks.json").replace('"ctxrank ', f"{json.dumps(command)[:-1]} ")
    shipped: Mapping[str, Mapping[str, list[object]]] = json.loads(text)
    ours = [(("hooks", event, None), group) for event, groups in shipped["hooks"].items() for group in groups]
    return _json_file(path, ours, ((_HOOKS_GROUP, is_group), (_HANDLER, is_hook)))


def _is_ctxrank(word: object) -> bool:
    """Whether a word calls ctxrank, by its name or by a whole path."""
    return word == "ctxrank" or (isinstance(word, str) and os.path.isabs(word) and os.path.basename(word) == "ctxrank")


def _is_server(server: object) -> bool:
    ours = {"command": "ctxrank", "args": ["mcp"]}
    return is_dict(server) and {**server, "command": "ctxrank"} == ours and _is_ctxrank(server.get("command"))


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
    return {str(key): item for key, item in value.items()}


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


def _skill_file(path: str) -> RunnerFile:
    """A file that is all ours. Raises UsageError where another program's is in its place."""

    def with_ours(text: str) -> str:
        if text and _MARK not in text:
            raise UsageError(f"{path} is not ctxrank's and is left as it is.", "Move it away first.")
        return _shipped("claude-code", "skills", "ctxrank", "SKILL.md")

    def without_ours(text: str) -> str:
        return "" if _MARK in text else text

    return RunnerFile(path, with_ours, without_ours)
