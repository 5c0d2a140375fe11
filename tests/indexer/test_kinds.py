"""Which kinds and tables the catalogue means by each of its questions, and which a user may ask for."""

from pathlib import Path

import apsw
import pytest
from builders import make_store
from tables import each_row

from ctxrank.indexer.catalogue import (
    KINDS,
    aging_kinds,
    chosen_kinds,
    document_kinds,
    exported_kinds,
    file_tables,
    folder_tables,
    kinds_of,
    kinds_with_documents,
    record_of,
    tables,
)
from ctxrank.indexer.declarations import Column, LostRecord, Meaning, declared
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store.facets import KINDS as FOUND_KINDS
from ctxrank.indexer.store.settings import TTL_KINDS

_LOST = LostRecord(5, 2, 0, "qa_expert", "x", "high", "A title", "A body", "a.md", 3, 77)


def test_what_is_found_ages_and_is_exported_is_said_by_the_kinds() -> None:
    with_documents = [kind.name for kind in kinds_with_documents()]
    assert (
        set(document_kinds())
        == set(FOUND_KINDS) - {"linked", "conversation"}
        == {*with_documents, "artifact", "passage"}
    )
    assert set(TTL_KINDS) <= set(aging_kinds()) <= set(exported_kinds())
    assert not {"session", "group"} & {*aging_kinds(), *exported_kinds()}
    assert [name for name, kind in KINDS.items() if kind.is_container] == ["session", "group"]
    assert [name for name, kind in KINDS.items() if kind.is_file] == ["artifact"]


@each_row(
    "kinds, allowed, has_session, chosen",
    [
        ((), ("package", "error"), False, ("package", "error")),
        (("error", "package"), ("package", "error"), False, ("package", "error")),
        (("error",), ("package", "error"), False, ("error",)),
        ((), ("session", "package", "error"), True, ("session", "package")),
        (("package",), ("session", "package", "error"), True, ("package",)),
    ],
)
def test_kinds_are_chosen_in_their_order(
    kinds: tuple[str, ...], allowed: tuple[str, ...], has_session: bool, chosen: tuple[str, ...]
) -> None:
    assert chosen_kinds(KINDS, kinds, allowed, "a kind", has_session=has_session) == chosen


def test_a_kind_that_is_none_or_of_no_session_is_refused() -> None:
    with pytest.raises(UsageError, match="'rumour' is not what ages"):
        chosen_kinds(KINDS, ("rumour",), ("package",), "what ages", has_session=False)
    with pytest.raises(UsageError, match="'error' belongs to no session"):
        chosen_kinds(KINDS, ("error",), ("package", "error"), "x", has_session=True)


@each_row(
    "kind, wanted",
    [
        ("package", {"session_id": 2, "group_id": None, "summary": "A body", "scope": "global", "path": "a.md"}),
        ("reasoning", {"session_id": 2, "group_id": None, "content": "A body", "agent": "qa_expert"}),
        ("strategy", {"insight": "A body"}),
    ],
)
def test_a_record_is_made_again_as_far_as_its_document_says(kind: str, wanted: dict[str, object]) -> None:
    row = record_of(KINDS[kind], _LOST)
    assert {name: row.get(name) for name in wanted} == wanted and (row["id"], row["created_at"]) == (5, 77)
    in_group = record_of(KINDS[kind], _LOST._replace(group_id=4))
    assert in_group.get("group_id") == (4 if "group_id" in row else None)


def test_the_tables_of_folders_and_files_are_found_by_their_columns(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        assert [table.name for table in folder_tables(store.primary)] == ["roots"]
        assert [(table.name, column.name) for table, column in file_tables(store.primary)] == [("artifacts", "root_id")]
        assert kinds_of(store.primary) == KINDS
        names = [table.name for table in tables()]
        assert len(names) == len(set(names)) and {"packages", "documents", "settings"} <= set(names)


def test_what_a_column_says_of_itself() -> None:
    redacted = [Column("a", meaning).is_redacted for meaning in (Meaning.TEXT, Meaning.LINE, Meaning.JSON)]
    assert redacted == [True] * 3 and not Column("a", Meaning.NAME).is_redacted
    assert not Column("a", Meaning.TEXT, is_ours=True).is_redacted
    assert not Column("a", Meaning.TEXT, source="t.c").is_redacted
    assert (Column("a", Meaning.TEXT, key="b").exported_as, Column("a", Meaning.TEXT).exported_as) == ("b", "a")


@each_row(
    "replacement, holds, sound, broken",
    [
        ("'[]'", "", ("[]", '[1, ["a"]]'), ("{}", "1", "[", "null")),
        ("'[]'", "integer", ("[]", "[1, 2]"), ("[[1]]", '["1"]', "[1, null]", "{}")),
        ("'{}'", "", ("{}", '{"a": 1}'), ("[]", '"a"')),
        ("""'{"a": "", "b": []}'""", "text array", ('{"a": "x", "b": [], "c": "y"}',), ("{}", '{"a": "", "b": ""}')),
        ("""'{"a": ""}'""", "text array", ('{"a": "", "b": ["c"]}',), ('{"a": "", "b": [1]}', '{"a": "", "b": 1}')),
        ("""'["", []]'""", "", ('["", [], 1]',), ('["", ""]', '[""]', "[]")),
        ("json_quote(a)", "", ("1", "{}", "[]", "null"), ("{", "a")),
        ("NULL", "", ("1", "{}"), ("{",)),
    ],
)
def test_json_is_broken_where_it_is_not_what_the_column_says(
    replacement: str, holds: str, sound: tuple[str, ...], broken: tuple[str, ...]
) -> None:
    column = Column("a", Meaning.JSON, replacement=replacement)
    is_broken = (column._replace(holds=holds) if holds else column).is_broken
    query = f"SELECT {is_broken} FROM (SELECT ? AS a)"
    found = {text: next(apsw.Connection("").execute(query, (text,)))[0] for text in (*sound, *broken)}
    assert found == dict.fromkeys(sound, 0) | dict.fromkeys(broken, 1)
    assert next(apsw.Connection("").execute(query, (None,))) == (None,)


def test_a_table_is_declared_in_rows() -> None:
    rows = ("apart|t|key", "|a|text", "|b|number|source x.y|least 2", "|c_id|reference|refers_to cs|none 0")
    kinds, (table,) = declared(row.split("|") for row in rows)
    assert not kinds and (table.name, table.key, table.columns[1].least) == ("t", "", 2)
    assert [column.name for column in table.stored] == ["a", "c_id"] and [one.name for one in table.redacted] == ["a"]
    found = table.reference_to("cs")
    assert found is not None and (found.name, found.none) == ("c_id", 0)
    assert table.reference_to("t") is None and table.column("b") is None


def test_a_kind_is_declared_with_its_tables() -> None:
    rows = ("kind|x|is_exported no|counts a b", "document|body|type a", "table|xs", "|a|name|may_be_blank", "part|ps")
    kinds, apart = declared((row.split("|") for row in rows), {"x": {"title": str}})
    kind = kinds["x"]
    assert not apart and (kind.is_exported, kind.counts, kind.is_file) == (False, ("a", "b"), False)
    assert kind.document is not None and (kind.document.body, kind.document.title) == ("body", str)
    assert kind.table.columns[0].may_be_blank and [part.name for part in kind.parts] == ["ps"]
    with pytest.raises(TypeError, match="is_nothing"):
        declared([["kind", "x", "is_nothing"], ["table", "xs"]])
    with pytest.raises(ValueError, match="'rumour' is not a valid Meaning"):
        declared([["apart", "t"], ["", "a", "rumour"]])
