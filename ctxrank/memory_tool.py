"""The memory tool of the Anthropic API (`memory_20250818`) over a store: a file below /memories is a finding.

    tool = ctxrank.MemoryTool(store, session="shop")
    result = tool.call(block.input)        # of a tool_use block whose name is "memory"
    {"type": "tool_result", "tool_use_id": block.id, **result._asdict()}

A file is a package whose text is in the store, redacted as each is; an edit is its next version. So search, blocks and
hooks find what the model wrote down. A folder is there where a file below it is. What a view shows is noted, as what
a hook shows is (`ctxrank list injections`). /memories/search/WORDS is the answer of a search of the whole store. The
words of answers and errors are those of the API's documentation.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from itertools import islice

from ctxrank.cli.agents.injected_text import tokens_of
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_list
from ctxrank.indexer.privacy.removal import remove_records, unchecked_references
from ctxrank.indexer.records.injections import Injection, note_injection
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.records.reader import read_document
from ctxrank.indexer.records.sessions import session_id_of
from ctxrank.indexer.store.connection import read_column, read_map
from ctxrank.indexer.store.freshness import TEXT_PATH
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import REFERENCE_LINE, one_line, shorten
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

ROOT = "/memories"
_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_SEARCH = f"{ROOT}/search/"
_DEPTH = 2
_HITS = 5
_SNIPPET_LINES = 2  # on either side of an edit
_SUMMARY_CHARS = 200
_NAMED_PLACES = 20  # of a text that is to be replaced, and is there more than once
_MISSING = "The path {} does not exist. Please provide a valid path."


class MemoryResult(NamedTuple):
    """What a call answers: fields of a tool_result block."""

    content: str
    is_error: bool = False


class MemoryTool:
    """Answers the calls of the tool `memory` from one session of a store."""

    def __init__(self, store: Store, *, session: str = "memory", producer: str = "developer") -> None:
        self._store = store
        self._session = session
        self._producer = producer

    def call(self, command: Mapping[str, object]) -> MemoryResult:
        """Carry out one command: the `input` of a tool_use block. What goes wrong is a result that says so."""
        try:
            name = _text(command, "command")
            if name not in _COMMANDS:
                raise UsageError(f"Unknown command: {name}")
            content: str = getattr(self, f"_{name}")(command)
        except CtxrankError as error:
            return MemoryResult(f"Error: {error.message} {error.hint}".strip(), True)
        return MemoryResult(content)

    def _view(self, command: Mapping[str, object]) -> str:
        path = _path(command)
        if path.startswith(_SEARCH):
            return self._found(path.removeprefix(_SEARCH))
        files = self._files()
        if path not in files:
            return self._listed(path, files)
        lines = self._file(path).split("\n")
        begin, end = _range(command.get("view_range"), len(lines))
        shown = f"Here's the content of {path} with line numbers:\n{_numbered(lines, begin, end)}"
        return self._noted(shown, (public_id(PACKAGE, files[path]),))

    def _listed(self, path: str, files: Mapping[str, int]) -> str:
        """The files and folders below a path, two levels deep, with their size."""
        sizes = {ROOT: 0} if path == ROOT else {}
        for file in _below(files, path):
            names = file.removeprefix(f"{path}/").split("/")
            if file != path and any(name.startswith(".") or name == "node_modules" for name in names):
                continue
            size = len(self._text_of(files[file]).encode())
            for depth in range(min(len(names), _DEPTH) + 1):
                place = "/".join((path, *names[:depth])) + "/" * (0 < depth < len(names))
                sizes[place] = sizes.get(place, 0) + size
        if not sizes:
            raise UsageError(_MISSING.format(path))
        rows = "\n".join(f"{size / 1024:.1f}K\t{place}" for place, size in sorted(sizes.items()))
        heading = f"Here're the files and directories up to {_DEPTH} levels deep in {path}"
        return f"{heading}, excluding hidden items and node_modules:\n{rows}"

    def _found(self, words: str) -> str:
        hits = search(self._store, SearchRequest(words, limit=_HITS)).hits
        lines = [f"{hit.id}\t{one_line(hit.title)}\n{shorten(one_line(hit.snippet), _SUMMARY_CHARS)}" for hit in hits]
        return self._noted("\n".join([REFERENCE_LINE, *lines]), tuple(hit.id for hit in hits))

    def _create(self, command: Mapping[str, object]) -> str:
        path = _path(command)
        if taken := [path] if path == ROOT else _meeting(self._files(), path):
            raise UsageError(f"File {min(taken, key=len)} already exists")
        self._save(path, _text(command, "file_text"))
        return f"File created successfully at: {path}"

    def _str_replace(self, command: Mapping[str, object]) -> str:
        path, old, new = _path(command), _text(command, "old_str"), _text(command, "new_str")
        text = self._file(path)
        found = islice(re.finditer(f"(?={re.escape(old)})", text), _NAMED_PLACES + 1) if old else ()
        places = [text.count("\n", 0, one.start()) + 1 for one in found]
        if not places:
            raise UsageError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        if places[1:]:
            named = ", ".join(map(str, places[:_NAMED_PLACES])) + " and more" * (len(places) > _NAMED_PLACES)
            where = f"Multiple occurrences of old_str `{old}` in lines: {named}"
            raise UsageError(f"No replacement was performed. {where}. Please ensure it is unique")
        self._save(path, text.replace(old, new))
        lines, first = self._file(path).split("\n"), places[0]
        last = min(first + new.count("\n") + _SNIPPET_LINES, len(lines))
        snippet = _numbered(lines, max(first - _SNIPPET_LINES, 1), last)
        return f"The memory file has been edited. Here is the snippet showing the change:\n{snippet}"

    def _insert(self, command: Mapping[str, object]) -> str:
        path, at, new = _path(command), command.get("insert_line"), _text(command, "insert_text")
        lines = self._file(path).split("\n")
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= len(lines):
            said = f"Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file"
            raise UsageError(f"{said}: [0, {len(lines)}]")
        self._save(path, "\n".join([*lines[:at], new.removesuffix("\n"), *lines[at:]]))
        return f"The file {path} has been edited."

    def _delete(self, command: Mapping[str, object]) -> str:
        path = _path(command)
        going = _below(self._files(), path)
        if path == ROOT or not going:
            raise UsageError(f"The path {path} does not exist" if path != ROOT else f"Cannot delete {ROOT} itself")
        self._remove(going)
        return f"Successfully deleted {path}"

    def _rename(self, command: Mapping[str, object]) -> str:
        old, new = _path(command, "old_path"), _path(command, "new_path")
        files = self._files()
        moved = _below(files, old)
        if not moved:
            raise UsageError(f"The path {old} does not exist")
        if _meeting(files, new) or f"{new}/".startswith(f"{old}/"):
            raise UsageError(f"The destination {new} already exists")
        for file in moved:
            self._save(new + file.removeprefix(old), self._file(file))
        self._remove(moved)
        return f"Successfully renamed {old} to {new}"

    def _files(self) -> Mapping[str, int]:
        """The paths of the session's files, each with its package."""
        query = """
            SELECT substr(p.path, ?3), p.id
              FROM packages AS p
              JOIN sessions AS s ON s.id = p.session_id
             WHERE s.name = ?1 AND p.superseded_by IS NULL AND p.path LIKE ?2 || '/%'
        """
        values = (self._session, f"{TEXT_PATH}{ROOT}", len(TEXT_PATH) + 1)
        return read_map(self._store.primary, query, values, str, int)

    def _file(self, path: str) -> str:
        """The text of a file, as today's rules leave it."""
        number = self._files().get(path)
        if number is None:
            raise UsageError(_MISSING.format(path))
        return self._text_of(number)

    def _text_of(self, number: int) -> str:
        passages = read_document(self._store, DocumentRef(PACKAGE, number), with_passages=True).passages
        return "".join(passage.body for passage in passages)

    def _save(self, path: str, text: str) -> None:
        if path.startswith(_SEARCH):
            raise UsageError(f"Path {path} is the answer of a search")
        if not text.strip():
            raise UsageError(f"A file with no text cannot be kept: {path}")
        line = next((line for line in text.split("\n") if line.strip(" #")), path)
        summary = shorten(one_line(line).strip(" #"), _SUMMARY_CHARS)
        new = NewPackage(self._session, None, "research", f"{TEXT_PATH}{path}", self._producer, summary, title=path)
        save_package(self._store, new, text=text, create_session=True)

    def _remove(self, paths: list[str]) -> None:
        """Take files out of the store, with their earlier versions."""
        query = """
            SELECT p.id FROM packages AS p JOIN sessions AS s ON s.id = p.session_id WHERE s.name = ? AND p.path = ?
        """
        with unchecked_references(self._store.primary), self._store.write() as change:
            for path in paths:
                values = (self._session, f"{TEXT_PATH}{path}")
                remove_records(change, PACKAGE, read_column(change.connection, query, values, int))
        self._store.catch_up()

    def _noted(self, text: str, ids: tuple[str, ...]) -> str:
        with self._store.write() as change:
            session_id = session_id_of(change.connection, self._session)
            if session_id is not None:
                note_injection(change, session_id, None, Injection("memory", ids, tokens_of(text), len(text)), text)
        return text


def _below(files: Iterable[str], path: str) -> list[str]:
    """The file of a path, or those of a folder."""
    return [file for file in files if file == path or file.startswith(f"{path}/")]


def _meeting(files: Iterable[str], path: str) -> list[str]:
    """The same, and a file that has the place of one of the path's folders."""
    return [file for file in files if f"{path}/".startswith(f"{file}/") or file.startswith(f"{path}/")]


def _text(command: Mapping[str, object], name: str) -> str:
    value = command.get(name)
    if not isinstance(value, str):
        raise UsageError(f"`{name}` is missing or no text")
    return value


def _path(command: Mapping[str, object], name: str = "path") -> str:
    """A path below /memories, in its shortest form. Raises UsageError for one that leads elsewhere."""
    path = _text(command, name)
    parts = path.split("/")
    if not path.startswith(ROOT) or parts[1] != ROOT[1:]:
        raise UsageError(f"Path must start with {ROOT}, got: {path}")
    if ".." in parts or "%" in path or "\\" in path or not path.isprintable():
        raise UsageError(f"Path {path} would escape {ROOT} directory")
    return posixpath.normpath(path)


def _range(given: object, count: int) -> tuple[int, int]:
    """The first and the last line that are asked for, of so many; -1 is the last one."""
    if given is None:
        return 1, count
    begin, end = given if is_list(given) and len(given) == 2 else (0, 0)
    end = count if end == -1 else end
    if not (isinstance(begin, int) and isinstance(end, int) and 1 <= begin <= min(end, count)):
        raise UsageError(f"Invalid `view_range` parameter: {given}. It should be within the range [1, {count}]")
    return begin, min(end, count)


def _numbered(lines: list[str], begin: int, end: int) -> str:
    return "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(begin, end + 1))
