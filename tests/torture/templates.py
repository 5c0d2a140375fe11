"""What the harness imports: an export and a predecessor's database, made once and given new words for each import."""

import os
import shutil
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import apsw
from builders import word
from predecessor import SESSION as BAZINGA_SESSION
from predecessor import PredecessorDb
from promises import Shape

from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy

_STORE, _SESSION = "template-store", "template-session"
# One record each; an import gives every one of them a word of its own.
WORDS = {
    word(900_000_001 + number): shape
    for number, shape in enumerate((Shape.REASONING, Shape.REASONING, Shape.STRATEGY, Shape.SKILL, Shape.REASONING))
}


def make_templates(folder: str) -> None:
    """Write export.jsonl and bazinga.db into this folder."""
    _make_export(folder)
    _make_bazinga(folder)


def export_with(folder: str, words: dict[str, str], name: str, path: str) -> None:
    """Write the export as another store would have it, of another session."""
    with open(os.path.join(folder, "export.jsonl"), encoding="utf-8") as file:
        text = file.read().replace(_STORE, str(uuid5(NAMESPACE_OID, name))).replace(_SESSION, name)
    for old, fresh in words.items():
        text = text.replace(old, fresh)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def bazinga_with(folder: str, words: dict[str, str], session: str, path: str) -> None:
    """Write the predecessor's database with other words and another session."""
    shutil.copy(os.path.join(folder, "bazinga.db"), path)
    connection = apsw.Connection(path)
    try:
        for table, columns in _BAZINGA_COLUMNS.items():
            for column in columns:
                for old, fresh in (*words.items(), (BAZINGA_SESSION, session)):
                    connection.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (old, fresh))
    finally:
        connection.close()


_BAZINGA_COLUMNS = {
    "sessions": ("session_id",),
    "orchestration_logs": ("session_id", "content"),
    "strategies": ("strategy_id", "insight"),
    "skill_outputs": ("session_id", "output_data"),
}


def _make_export(folder: str) -> None:
    with create_store(folder) as store:
        with store.write() as change:
            create_session(change, NewSession(_SESSION))
        for text, shape in WORDS.items():
            if shape is Shape.REASONING:
                save_reasoning(store, NewReasoning(_SESSION, None, "developer", "risks", f"It is about {text}."))
            elif shape is Shape.STRATEGY:
                save_strategy(store, NewStrategy("shop", "methodology", f"Look at {text} first.", name=f"shop_{text}"))
            else:
                save_skill_output(store, _SESSION, "lint-check", f'{{"found": "{text}"}}')
        uuid = str(store.primary.execute("SELECT uuid FROM store").get)
        lines = "".join(export_lines(store)).replace(uuid, _STORE)
    shutil.rmtree(os.path.join(folder, ".ctxrank"))
    with open(os.path.join(folder, "export.jsonl"), "w", encoding="utf-8") as file:
        file.write(lines)


def _make_bazinga(folder: str) -> None:
    db = PredecessorDb(Path(folder) / "bazinga.db")
    db.add_session()
    for text, shape in WORDS.items():
        if shape is Shape.REASONING:
            db.add_reasoning(f"It is about {text}.")
        elif shape is Shape.STRATEGY:
            db.add_strategy(f"shop_{text}", insight=f"Look at {text} first.")
        else:
            db.add_skill_output(f'{{"found": "{text}"}}')
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
