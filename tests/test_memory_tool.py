"""The memory tool: each command, its errors in the words of the API's documentation, and what of it the store knows."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

import ctxrank
from ctxrank.indexer.records.injections import list_injections

_NOTE = "# Locks\n\nA read that becomes a write fails at once in WAL mode.\nUse BEGIN IMMEDIATE.\n"


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[ctxrank.MemoryTool]:
    with ctxrank.create_store(str(tmp_path)) as store:
        yield ctxrank.MemoryTool(store, session="shop")


def _said(tool: ctxrank.MemoryTool, command: str, **fields: object) -> str:
    """What a command answers that goes well."""
    result = tool.call({"command": command, **fields})
    assert not result.is_error, result
    return result.content


def _error(tool: ctxrank.MemoryTool, command: str, **fields: object) -> str:
    result = tool.call({"command": command, **fields})
    assert result.is_error
    return result.content


def test_what_is_created_is_viewed_listed_and_found(tool: ctxrank.MemoryTool) -> None:
    path = "/memories/queue/locks.md"
    assert _said(tool, "create", path=path, file_text=_NOTE) == f"File created successfully at: {path}"
    assert _said(tool, "view", path=path).startswith(
        f"Here's the content of {path} with line numbers:\n     1\t# Locks\n     2\t\n     3\tA read"
    )
    assert _said(tool, "view", path=path, view_range=[4, -1]).splitlines()[1] == "     4\tUse BEGIN IMMEDIATE."
    size = "0.1K"
    listed = _said(tool, "view", path="/memories").splitlines()
    assert listed[0].startswith("Here're the files and directories up to 2 levels deep in /memories, excluding hidden")
    assert listed[1:] == [f"{size}\t/memories", f"{size}\t/memories/queue/", f"{size}\t{path}"]
    found = _said(tool, "view", path="/memories/search/read becomes write")
    assert "package:1\t/memories/queue/locks.md" in found and "not instructions" in found


def test_what_is_hidden_is_listed_where_it_is_asked_for_alone(tool: ctxrank.MemoryTool) -> None:
    for path in ("a", ".b/c", "node_modules/d"):
        _said(tool, "create", path=f"/memories/{path}", file_text="text")
    assert _said(tool, "view", path="/memories").splitlines()[1:] == ["0.0K\t/memories", "0.0K\t/memories/a"]
    assert "/memories/.b/c" in _said(tool, "view", path="/memories/.b")


def test_an_edit_is_the_next_version(tool: ctxrank.MemoryTool) -> None:
    path = "/memories/locks.md"
    _said(tool, "create", path=path, file_text=_NOTE)
    edited = _said(tool, "str_replace", path=path, old_str="IMMEDIATE", new_str="EXCLUSIVE")
    assert edited.startswith("The memory file has been edited.") and "     4\tUse BEGIN EXCLUSIVE." in edited
    assert _said(tool, "insert", path=path, insert_line=0, insert_text="first\n") == f"The file {path} has been edited."
    assert [line[7:] for line in _said(tool, "view", path=path).splitlines()[1:3]] == ["first", "# Locks"]
    assert _said(tool, "view", path="/memories").count("\n") == 2


def test_a_rename_takes_the_text_along_and_a_delete_leaves_nothing(tool: ctxrank.MemoryTool, tmp_path: Path) -> None:
    _said(tool, "create", path="/memories/a/x.md", file_text=_NOTE)
    moved = _said(tool, "rename", old_path="/memories/a", new_path="/memories/b")
    assert moved == "Successfully renamed /memories/a to /memories/b"
    assert "Use BEGIN" in _said(tool, "view", path="/memories/b/x.md")
    assert _said(tool, "delete", path="/memories/b") == "Successfully deleted /memories/b"
    assert _said(tool, "view", path="/memories").splitlines()[1:] == ["0.0K\t/memories"]
    with ctxrank.open_store(str(tmp_path / ".ctxrank")) as store:
        assert ctxrank.search(store, "read becomes write").hits == ()


_GONE = "Error: The path /memories/x does not exist"
_THERE = "Error: The destination /memories/a already exists"
_RANGE = "Error: Invalid `view_range` parameter: [3, 1]. It should be within the range [1, 3]"
_OTHERS = "Error: Path must start with /memories, got: /memories_of_others/x"
_MISSING = "Error: The path /memories/x does not exist. Please provide a valid path."


@each_row(
    "command, fields, said",
    [
        ("view", {"path": "/memories/x"}, _MISSING),
        ("str_replace", {"path": "/memories/x", "old_str": "a", "new_str": "b"}, _MISSING),
        ("insert", {"path": "/memories/x", "insert_line": 0, "insert_text": "b"}, _MISSING),
        ("delete", {"path": "/memories/x"}, _GONE),
        (
            "rename",
            {"old_path": "/memories/x", "new_path": "/memories/y"},
            "Error: The path /memories/x does not exist",
        ),
        (
            "rename",
            {"old_path": "/memories/a", "new_path": "/memories/a"},
            "Error: The destination /memories/a already exists",
        ),
        ("create", {"path": "/memories/a", "file_text": "x"}, "Error: File /memories/a already exists"),
        ("create", {"path": "/memories/a/b", "file_text": "x"}, "Error: File /memories/a already exists"),
        (
            "rename",
            {"old_path": "/memories/a", "new_path": "/memories/a/b"},
            "Error: The destination /memories/a/b already exists",
        ),
        (
            "create",
            {"path": "/memories/n", "file_text": "\n"},
            "Error: A file with no text cannot be kept: /memories/n",
        ),
        (
            "str_replace",
            {"path": "/memories/a", "old_str": "one\ntwo\none", "new_str": ""},
            "Error: A file with no text cannot be kept: /memories/a",
        ),
        (
            "create",
            {"path": "/memories/search/a", "file_text": "x"},
            "Error: Path /memories/search/a is the answer of a search",
        ),
        ("delete", {"path": "/memories"}, "Error: Cannot delete /memories itself"),
        (
            "str_replace",
            {"path": "/memories/a", "old_str": "zebra", "new_str": ""},
            "Error: No replacement was performed, old_str `zebra` did not appear verbatim in /memories/a.",
        ),
        (
            "str_replace",
            {"path": "/memories/a", "old_str": "one", "new_str": ""},
            "Error: No replacement was performed. Multiple occurrences of old_str `one` in lines: 1, 3. "
            "Please ensure it is unique",
        ),
        (
            "insert",
            {"path": "/memories/a", "insert_line": 9, "insert_text": ""},
            "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 3]",
        ),
        (
            "view",
            {"path": "/memories/a", "view_range": [3, 1]},
            "Error: Invalid `view_range` parameter: [3, 1]. It should be within the range [1, 3]",
        ),
        (
            "view",
            {"path": "/memories/a", "view_range": [4, 5]},
            "Error: Invalid `view_range` parameter: [4, 5]. It should be within the range [1, 3]",
        ),
        ("view", {"path": "/etc/passwd"}, "Error: Path must start with /memories, got: /etc/passwd"),
        ("view", {"path": "/memories/../x"}, "Error: Path /memories/../x would escape /memories directory"),
        ("view", {"path": "/memories/%2e%2e/x"}, "Error: Path /memories/%2e%2e/x would escape /memories directory"),
        (
            "view",
            {"path": "/memories_of_others/x"},
            "Error: Path must start with /memories, got: /memories_of_others/x",
        ),
        ("view", {"path": 3}, "Error: `path` is missing or no text"),
        ("remember", {}, "Error: Unknown command: remember"),
    ],
)
def test_what_goes_wrong_is_said_as_the_documentation_has_it(
    tool: ctxrank.MemoryTool, command: str, fields: dict[str, object], said: str
) -> None:
    if not tool.call({"command": "view", "path": "/memories/a"}).content.startswith("Here's"):
        _said(tool, "create", path="/memories/a", file_text="one\ntwo\none")
    assert _error(tool, command, **fields) == said


def test_of_many_places_the_first_are_named(tool: ctxrank.MemoryTool) -> None:
    _said(tool, "create", path="/memories/b", file_text="\nab a" * 30)
    said = _error(tool, "str_replace", path="/memories/b", old_str="\na", new_str="")
    assert f"lines: {', '.join(map(str, range(1, 21)))} and more. Please" in said


def test_a_secret_is_neither_kept_nor_shown(tool: ctxrank.MemoryTool, tmp_path: Path) -> None:
    secret = "ghp_" + secrets.token_hex(18)
    _said(tool, "create", path="/memories/a", file_text=f"the token is {secret}\n")
    assert secret not in _said(tool, "view", path="/memories/a")
    stored = b"".join(path.read_bytes() for path in (tmp_path / ".ctxrank").rglob("*") if path.is_file())
    assert secret.encode() not in stored


def test_what_was_viewed_is_noted(tool: ctxrank.MemoryTool, tmp_path: Path) -> None:
    _said(tool, "create", path="/memories/a", file_text=_NOTE)
    _said(tool, "view", path="/memories/a")
    with ctxrank.open_store(str(tmp_path / ".ctxrank")) as store:
        (noted,) = list_injections(store.primary, "shop", 10)
        assert (noted.injection.event, noted.injection.ids) == ("memory", ("package:1",))


def test_a_session_has_its_own_files(tool: ctxrank.MemoryTool, tmp_path: Path) -> None:
    _said(tool, "create", path="/memories/a", file_text=_NOTE)
    with ctxrank.open_store(str(tmp_path / ".ctxrank")) as store:
        other = ctxrank.MemoryTool(store, session="another")
        assert other.call({"command": "view", "path": "/memories/a"}).is_error


@given(
    text=st.text(alphabet="ab \n#", min_size=1, max_size=200).filter(str.strip),
    name=st.sampled_from(("a-b", "a_b", "a/b")),
)
@settings(max_examples=examples(30))
def test_a_text_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    with ctxrank.create_store(str(tmp_path_factory.mktemp("memory"))) as store:
        tool = ctxrank.MemoryTool(store)
        _said(tool, "create", path=f"/memories/{name}", file_text=text)
        shown = _said(tool, "view", path=f"/memories/{name}").split("\n")[1:]
        assert "\n".join(line[7:] for line in shown) == text
