"""Stores as older programs left them, with records whose words a migration must not lose."""

import os
from pathlib import Path

import apsw
from builders import word
from promises import Ledger, Shape

from ctxrank.indexer import store as present
from ctxrank.indexer.clock import now_us

LAST = present.SCHEMA_VERSION - 1
_FIRST_WORD = 800_000_000
_RECORDS = 5


def make_old_store(folder: str, schema: int, ledger: Ledger) -> None:
    """A store of an older schema below `folder`: a session with a few entries of reasoning."""
    home = Path(folder) / ".ctxrank"
    home.mkdir(parents=True)
    truth = apsw.Connection(str(home / "ctxrank.db"))
    truth.pragma("journal_mode", "wal")
    sources = Path(present.__file__).parent
    for number in range(1, schema + 1):
        truth.execute((sources / f"truth_{number:03d}.sql").read_text(encoding="utf-8"))
    truth.execute("INSERT INTO roots VALUES (1, '.'); INSERT INTO sessions (name, created_at) VALUES ('S', 5)")
    truth.execute("INSERT INTO store VALUES (1, ?, ?, 0)", (f"old {folder}", _RECORDS))
    truth.execute("INSERT INTO feed_marks VALUES (?, 7)", (_RECORDS,))
    truth.execute("INSERT INTO labels (text) VALUES ('developer'), ('risks')")
    for number in range(1, _RECORDS + 1):
        text = word(_FIRST_WORD + number)
        body, moment = f"An older program wrote {text}.", now_us()
        truth.execute(
            "INSERT INTO reasoning (session_id, agent, phase, content, created_at)"
            " VALUES (1, 'developer', 'risks', ?, ?)",
            (body, moment),
        )
        truth.execute(
            "INSERT INTO documents (seq, kind, number, session_id, agent, type, title, body, ruleset, created_at)"
            " VALUES (?1, 'reasoning', ?1, 1, 'developer', 'risks', 'Risks', ?2, 1, ?3)",
            (number, body, moment),
        )
        ledger.hear({"begin": [[text, [Shape.REASONING.name, "", ""]]]})
        ledger.hear({"done": [text]})
    truth.pragma("application_id", present.APPLICATION_ID)
    truth.pragma("user_version", schema)
    truth.close()
    for name in os.listdir(home):
        os.chmod(home / name, 0o600)
