"""Files are opened in one place: who opens one otherwise is named here, with the reason.

`indexer/beneath.py` opens what a project, a repository or a shared folder holds: beneath a root, regular files alone,
without waiting, and no more of them than the caller takes.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrank.indexer.extensions import EXTENSIONS

HOUSE = Path(__file__).parent.parent
OPENING = {"open", "mkstemp", "fdopen", "read_text", "read_bytes", "write_text", "write_bytes"}

PERMITTED = {
    # what the program itself makes, with O_EXCL or O_NOFOLLOW
    "indexer/care/new_file.py save_what_can_be_read": "makes the new database of a repair, and syncs it",
    "indexer/care/new_file.py touch": "makes the copy that a repair keeps, in a folder that was just made",
    "indexer/care/replacement.py _alone": "locks the shared memory of a store, as SQLite has opened it",
    "indexer/fulltext/bulk_catch_up.py LockFile.__enter__": "a lock file in the store: never read",
    "indexer/store/connection.py _create_private": "makes a database before SQLite does, for its mode",
    "indexer/store/store.py make_folder": "makes the .gitignore of a store's folder",
    "extensions/transcripts/importing.py _Importer.bring": "a transcript in a folder that the user named, line by line",
    "cli/loopback.py made_token": "makes the file of a token in the store, for its user alone",
    "indexer/store/one_process.py only_one": "a lock file in the store: one line at most is read",
    "indexer/machine.py switched_off": "the file of root alone, looked at before; only root can exchange it",
    "indexer/store/one_process.py held": "as above",
    "indexer/files/git.py _write": "makes files in a folder that was just made",
    "extensions/team/snapshot.py bring_snapshot": "a snapshot that the user named, line by line, each bounded",
    "extensions/team/schema.py _migrate": "the program's own SQL files",
    "cli/agents/log.py note_failure": "adds a line to the hook's log in the user's own state folder",
    "extensions/bazinga/arguments.py data": "the program's own tables",
    "extensions/bazinga/commands/block.py context_block": "makes the file that --output-file names",
    "extensions/bazinga/switch/steps.py _write": "makes a file beside the script whose place it takes",
    "extensions/bazinga/switch/placed_switch.py command_of_ctxrank": "what install noted beside this very file",
    "extensions/bazinga/place.py _open_file": "makes a database where the predecessor would",
    "indexer/store/known_stores.py alone_in": "a folder of the user's own, to lock it",
    # what the user's own state folder holds: opened without following a link or waiting, and its owner is checked
    "indexer/store/location.py read_state": "whether the user trusts a store: on each call",
    # what is installed with the program, or is the system's
    "indexer/fulltext/index_file.py _recognise": "the program's own schema.sql",
    "cli/completion.py _script": "as above",
    "indexer/errors/parse/tables.py _lines": "as above",
    "indexer/text/tables.py read_kept": "what the program itself has compiled and read, where Python keeps its code",
    "cli/entry.py OwnModules.find_spec": "the bytecode of its own modules, where Python keeps it",
    "indexer/text/vocabulary_image.py kept_image": "what the program itself has made, beside Python's code of it",
    "indexer/text/tables.py _read": "the program's own tables",
    "indexer/store/migrations.py _read_sql": "the program's own SQL files",
    "indexer/owners.py apply_schema": "an installed extension's own SQL files",
    "indexer/systems.py sync_path": "what was just made, to sync it",
    "indexer/systems.py whole_file": "makes a file beside the one whose place it takes",
    "indexer/systems.py _mounts": "the system's list of mounts",
    "indexer/systems.py bound_memory": "the system's sizes of this process",
    "cli/click_commands.py LazyGroup.format_commands": "writes help, and no file",
    "cli/streams.py _nowhere": "the null device",
    "extensions/web/application.py _static_files": "what this package itself ships",
    "extensions/web/command.py _open": "no file: the browser",
    "extensions/web/error_story.py story": "no file: a store",
    "extensions/web/finding_page.py values": "no file: a store",
    "extensions/web/lately_page.py values": "no file: a store",
    "extensions/web/search_page.py values": "no file: a store",
    "extensions/mcp/mcp.py serve_stdio": "stdin and stdout themselves, and the null device in their place",
    "cli/actions/errors/passthrough.py _is_in_foreground": "the terminal",
    "extensions/opensearch/settings.py password_of": "the file that the user's own configuration names",
    # what the user names on the command line, which may be a pipe or a link
    "cli/actions/given.py read_given_start": "a file that the user named, bounded",
    "cli/actions/upkeep/exchange.py _opened": "the file of an import, read line by line, each bounded",
    "indexer/errors/parse/capture.py capture_file": "a file that the user named: its beginning and its end",
    "extensions/evaluation/collection.py _numbered": "a test collection that the user named",
    "indexer/care/primary_checks.py is_foreign": "the first bytes of a database, before SQLite opens it",
    "extensions/bazinga/database/source.py _with_log": "a database that the user named, and its copy",
    "extensions/bazinga/database/source.py _has_packages": "as above",
    "extensions/bazinga/database/source.py read_damaged": "makes the database that what can be read goes into",
    "extensions/salvage/pages.py PageFile.__init__": "the copy of a database that a repair has just made",
}


def opens(path: Path) -> Iterator[str]:
    """Where a module opens a file: the module and the function."""
    shown = path.relative_to(HOUSE).as_posix()

    def visit(node: ast.AST, place: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            name = place
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{place}.{child.name}" if place else child.name
            if isinstance(child, ast.Call) and is_opening(child.func):
                yield f"{shown} {name}"
            yield from visit(child, name)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), "")


def is_opening(function: ast.expr) -> bool:
    """Whether a call opens a file; `call.open` and a pool open a store, and `root.open` is the one function."""
    if isinstance(function, ast.Name):
        return function.id in {"open", "mkstemp"}
    if not isinstance(function, ast.Attribute) or function.attr not in OPENING:
        return False
    return ast.unparse(function.value) not in {"call", "self._call", "self", "self.pool", "root"}


@pytest.mark.slow
@pytest.mark.needs(*EXTENSIONS)
def test_a_file_is_opened_by_the_one_function_or_with_a_reason() -> None:
    rooms = ("ctxrank", "indexer", "ranking", "cli", "extensions")
    modules = [path for room in rooms for path in sorted((HOUSE / room).rglob("*.py"))]
    found = {place for path in modules if path.name != "beneath.py" for place in opens(path)}
    assert found == set(PERMITTED)


@pytest.mark.parametrize("text", ["open('a')", "os.open('a', 0)", "Path('a').read_bytes()", "tempfile.mkstemp()"])
def test_each_way_to_open_a_file_is_noticed(text: str) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and is_opening(call.func)
