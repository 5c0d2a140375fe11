-- The table of transcripts, version 1. The comment next to a column says what it holds, in the words of
-- indexer/store/schema.sql. A later version is this file and the numbered files after it.

-- What was said in a runner's sessions, where the setting `hooks.keep` has it kept: each prompt, and what the agent said
-- last before the next one.
CREATE TABLE conversations (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id    INTEGER REFERENCES groups (id),     -- NULL: session-wide
    agent       TEXT    NOT NULL DEFAULT '',        -- name of the agent that said it; '': the person
    title       TEXT    NOT NULL,                   -- line: the session's
    content     TEXT    NOT NULL,                   -- text
    created_at  INTEGER NOT NULL                    -- time
) STRICT;
CREATE INDEX conversations_session ON conversations (session_id);
