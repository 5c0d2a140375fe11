"""Imported settings: what another store's configuration says, kept below what is configured here."""

from collections.abc import Iterable

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.store.config import IMPORTED_SKILLS_CONFIG
from ctxrank.indexer.store.store import Change

SETTING = "setting"

_ALLOWED = (IMPORTED_SKILLS_CONFIG,)


def bring_settings(run: ImportRun, lines: Iterable[Line]) -> None:
    """The settings that may come from elsewhere; of two of one name the last stays."""
    run.bring_lines(SETTING, lines, ("name",), _prepare, _write)


def _prepare(fields: Fields, key: str) -> tuple[str, str]:
    name = fields.choice("name", _ALLOWED)
    if not fields.has("value"):
        raise UsageError("it has no 'value'")
    return name, fields.json("value", empty="{}")


def _write(change: Change, row: tuple[str, str], target: int | None) -> Written:
    change.connection.execute("INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)", row)
    return Written(0)
