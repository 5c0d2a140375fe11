"""The catalogue says what each table holds; whoever handles records of all kinds reads it there."""

from pathlib import Path

import apsw

from ctxrank.indexer import catalogue
from ctxrank.indexer.catalogue import Meaning
from ctxrank.indexer.store import facets
from ctxrank.indexer.store.config import TTL_KINDS
from ctxrank.indexer.store.migrations import PRESENT


def undeclared(connection: apsw.Connection) -> list[str]:
    """What the schema and the catalogue do not both have, and texts that are declared as numbers."""
    declared = {(table.name, column.name): column.meaning for table in catalogue.tables() for column in table.stored}
    query = """
        SELECT t.name, c.name, c.type
          FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
         WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
    """
    there = {(str(table), str(column)): str(type_) for table, column, type_ in connection.execute(query)}
    numeric = (Meaning.NUMBER, Meaning.TIME, Meaning.FLAG, Meaning.REFERENCE)
    return sorted(
        [f"{table}.{column} is not declared" for table, column in there.keys() - declared.keys()]
        + [f"{table}.{column} is not there" for table, column in declared.keys() - there.keys()]
        + [
            f"{table}.{column} is {type_} and declared as {declared[table, column].value}"
            for (table, column), type_ in there.items()
            if (table, column) in declared and (type_ == "TEXT") == (declared[table, column] in numeric)
        ]
    )


def schema() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute((Path(PRESENT.sql_folder) / "schema.sql").read_text())
    return connection


def test_every_column_of_the_schema_is_declared() -> None:
    connection = schema()
    assert undeclared(connection) == []
    query = "SELECT count(*) FROM pragma_table_list AS t, pragma_table_info(t.name) AS c WHERE c.type = 'TEXT'"
    assert connection.execute(f"{query} AND t.name NOT LIKE 'sqlite_%'").get == 121


def test_a_text_column_that_nobody_declared_fails() -> None:
    connection = schema()
    connection.execute("ALTER TABLE reasoning ADD COLUMN mood TEXT; ALTER TABLE events DROP COLUMN payload")
    connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
    assert undeclared(connection) == [
        "events.payload is not there",
        "notes.body is not declared",
        "notes.id is not declared",
        "reasoning.mood is not declared",
    ]


def test_references_and_keys_are_those_of_the_schema() -> None:
    connection = schema()
    query = """
        SELECT t.name, f."from", f."table", f.on_delete = 'CASCADE'
          FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS f
    """
    there = {(str(a), str(b), str(c), bool(d)) for a, b, c, d in connection.execute(query)}
    declared = {
        (table.name, column.name, column.refers_to, column.is_owner)
        for table in catalogue.tables()
        for column in table.stored
        if column.refers_to and column.none is None
    }
    assert declared == there
    query = "SELECT name FROM pragma_table_info(?) WHERE pk AND type = 'INTEGER'"
    for table in catalogue.tables():
        keys = [str(key) for (key,) in connection.execute(query, (table.name,))]
        assert (table.key in keys) if table.key else len(keys) != 1, table.name


def test_what_the_store_itself_knows_of_kinds_is_what_the_catalogue_says() -> None:
    assert set(catalogue.document_kinds()) == set(facets.KINDS)
    assert catalogue.aging_kinds() == TTL_KINDS
