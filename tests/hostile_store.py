"""Texts that try to drive a terminal, break out of a block or hide, and a store in which every text is one."""

import json
from pathlib import Path

import apsw
from disguises import is_hidden
from linked_builders import copy_fixture
from load import load

from ctxrank.cli.main import run
from ctxrank.indexer.light_typing import is_dict, is_list

# A title for the window, colours in both spellings, a line of its own, right-to-left, invisible letters, a fence.
HOSTILE = (
    "\x1b]0;owned\x07\x1b[31m\x9b31m\r\nforged: line\u2028\u202egnp"
    "\u2066\u200b\U000e0041\u034f\u3164\ufe01\U000e0101\u2800\x7f```"
)
# For records that are lines with tabs between their fields: the same without what ends a field.
HOSTILE_FIELD = HOSTILE.replace("\r\n", "").replace("\u2028", "")

_FIELD_COLUMNS = {("receipts", "inputs"), ("receipts", "entries")}
# What a store is found and compared by; a wrong one is damage and not a text.
_LEFT_ALONE = {
    ("store", "uuid"), ("settings", "key"), ("config_cache", "path"), ("roots", "path"), ("linked_trees", "path"),
    ("extensions", "name"),
    ("linked_trees", "scan_state"), ("linked_artifacts", "path"), ("linked_artifacts", "name"),
    ("linked_artifacts", "type"), ("annotations", "name"), ("annotated_files", "path"),
    ("linked_texts", "tokens"), ("linked_texts", "token_counter"), ("receipts", "parts"),
    ("documents", "kind"), ("documents", "token_counter"), ("documents", "passage_key"), ("labels", "text"),
}  # fmt: skip
SIGN = "⚠\ufe0f"


def hidden_in(text: str) -> set[str]:
    """The characters of a text that a terminal obeys or that nobody sees; line ends and tabs are neither.

    The sign before a known issue is the block's own, and its second character is how it is drawn.
    """
    return {char for char in set(text.replace(SIGN, "")) - {"\n", "\t"} if is_hidden(char)}


def hostile_store(folder: Path) -> Path:
    """Fill a folder's store through its commands, then put HOSTILE into every text of it; returns its file."""
    load(str(folder)).close()
    copy_fixture(folder)
    evil = folder / "artifacts" / f"evil{HOSTILE.replace('/', '')}.md"
    evil.write_text(f"# Title {HOSTILE}\n\nwalrus {HOSTILE}\n")
    spec = folder / ".contextia" / "system" / "specs" / "currency.md"
    title = "".join(char for char in HOSTILE_FIELD if char.isprintable() or char in "\u202e\u200b")  # as YAML allows
    spec.write_text(spec.read_text().replace("title: ", f"title: {title} ", 1) + HOSTILE)
    primary = folder / ".ctxrank" / "ctxrank.db"
    base = ["--db", str(primary), "--root", str(folder), "--quiet"]
    session = ["--session", "shop-2026-10", "--group", "AUTH"]
    failure = ["--type", "OSError", "--message", "database is locked"]
    for words in (
        ["index"],
        ["context", "TASK-042"],
        ["reasoning", "save", "Done.", *session, "--agent", "developer", "--phase", "completion"],
        ["skill", "save-output", "lint-check", '{"note": "x"}', *session, "--agent", "developer"],
        ["error", "save", "--project", "shop", "--solution", "wait", *failure],
        ["error", "match", *failure, *session],
        ["assemble", *session, "--agent", "developer", "--task", "token refresh", "--task-id", "TASK-042"],
        ["assemble", *session, "--agent", "qa_expert"],
    ):
        assert run([*base, *words]) == 0, words
    with apsw.Connection(str(primary)) as connection:
        _poison(connection)
    connection.close()
    return primary


def _poison(connection: apsw.Connection) -> None:
    connection.create_scalar_function("poisoned", _poisoned, 1)
    connection.create_scalar_function("poisoned_fields", _poisoned_fields, 1)
    connection.pragma("foreign_keys", False)
    tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        if table.startswith("sqlite_"):
            continue
        for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
            if kind != "TEXT" or (table, column) in _LEFT_ALONE:
                continue
            function = "poisoned_fields" if (table, column) in _FIELD_COLUMNS else "poisoned"
            try:
                connection.execute(f"UPDATE {table} SET {column} = {function}({column}) WHERE {column} IS NOT NULL")
            except apsw.ConstraintError:
                continue  # one of a few words


def _poisoned(*values: "apsw.SQLiteValue") -> str:
    text = str(values[0])
    if text[:1] in ("[", "{"):
        return json.dumps(_with_hostile(json.loads(text)), ensure_ascii=False)
    return f"{text}{HOSTILE}"


def _with_hostile(value: object) -> object:
    if is_dict(value):
        return {key: _with_hostile(inner) for key, inner in value.items()}
    if is_list(value):
        return [_with_hostile(inner) for inner in value]
    return value + HOSTILE if isinstance(value, str) else value


def _poisoned_fields(*values: "apsw.SQLiteValue") -> str:
    text = str(values[0])
    lines = [line.split("\t") for line in text.split("\n")]
    return "\n".join(
        "\t".join([*fields[:-1], fields[-1] + HOSTILE_FIELD]) if fields[1:] else fields[0] for fields in lines
    )
