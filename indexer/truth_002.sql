-- Schema 2: events, skills configuration by session, and the predecessor's confidence in a field of its own.

-- What happened between agents: who was handed whose reasoning, tokens spent, an orchestrator's own notes.
CREATE TABLE events (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id         INTEGER NOT NULL DEFAULT 0,    -- 0: session-wide
    subtype          TEXT    NOT NULL,
    payload          TEXT    NOT NULL DEFAULT '{}', -- JSON
    idempotency_key  TEXT,                          -- a second event of this key is the first one again
    created_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX events_session ON events (session_id, subtype, id);
CREATE UNIQUE INDEX events_idempotency ON events (session_id, subtype, group_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- The skills configuration that was in force when the session was made, JSON; NULL: none was.
ALTER TABLE sessions ADD COLUMN skills_config TEXT;

-- Moved by ±0.1 steps, as the predecessor's commands do.
ALTER TABLE error_patterns RENAME COLUMN confidence TO bazinga_confidence;
