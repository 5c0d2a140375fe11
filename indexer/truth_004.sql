-- Schema 4: receipts.

-- What one assembly was asked, what it saw and what it gave: small, and enough to make it again.
CREATE TABLE receipts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT    NOT NULL CHECK (kind IN ('assemble', 'context')),
    session_id   INTEGER REFERENCES sessions (id) ON DELETE CASCADE,  -- NULL: of linked artifacts alone
    group_id     INTEGER NOT NULL DEFAULT 0,        -- 0: session-wide; -1: a group that was not there
    agent        TEXT    NOT NULL DEFAULT '',
    iteration    INTEGER NOT NULL DEFAULT 0,
    seq          INTEGER NOT NULL,                  -- of the store, as the assembly saw it
    inputs       TEXT    NOT NULL,                  -- a line each: name, tab, value
    entries      TEXT    NOT NULL,                  -- a line each: sign, id, detail, tokens, reason, between tabs
    parts        TEXT    NOT NULL,                  -- of the text: digest:characters, between spaces
    digest       TEXT    NOT NULL,                  -- of the whole text
    tokens       INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_group ON receipts (session_id, group_id, id);
