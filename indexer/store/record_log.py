"""The record log is kept by triggers: each change of a record, whatever writes it, is a row with the next number.

Whose changes are logged, and in which table, the catalogue says; the triggers of all kinds are made from one template.
What is no record of a kind of its own (files, usages, orders to forget) has triggers in `migration_010.sql`.
"""

import apsw

from ctxrank.indexer.declarations import Kind

FIRST_SCHEMA = 10  # the first with a record log

_TEMPLATE = """CREATE TRIGGER logged_{kind}_{name} AFTER {event} ON {table} BEGIN
    DELETE FROM record_log WHERE kind = '{kind}' AND number = {row}.id;
    INSERT INTO record_log (kind, number{column}) VALUES ('{kind}', {row}.id{gone});{more}
END"""
_UNCOUNTED = "\n    DELETE FROM origin_counts WHERE kind = '{kind}' AND number = OLD.id;"


def log_changes(connection: apsw.Connection, kind: Kind) -> None:
    """Log each change of a kind's records from now on, and those that are there; done once for each kind."""
    is_logged = "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = ?"
    if connection.execute(is_logged, (f"logged_{kind.name}_made",)).get:
        return
    names = {"kind": kind.name, "table": kind.table.name}
    for name, event in (("made", "INSERT"), ("changed", "UPDATE")):
        connection.execute(_TEMPLATE.format(**names, name=name, event=event, row="NEW", column="", gone="", more=""))
    more = _UNCOUNTED.format(**names) if kind.counts else ""
    removal = {"name": "removed", "event": "DELETE", "row": "OLD", "column": ", gone", "gone": ", 1", "more": more}
    connection.execute(_TEMPLATE.format(**names, **removal))
    query = f"INSERT INTO record_log (kind, number) SELECT '{kind.name}', id FROM {kind.table.name} ORDER BY id"
    connection.execute(query)
