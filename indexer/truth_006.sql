-- Schema 6: what was purged is kept from coming back, without keeping any of it.

-- One row for each path, session, text or secret that `purge` forgot: a digest keyed with the store's uuid.
-- `shape` is what finding a secret in a text needs beside it: its length, and in which of sixteen heaps its first
-- character lies. Of anything else it is ''.
CREATE TABLE forgotten (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT    NOT NULL CHECK (kind IN ('path', 'session', 'reasoning', 'error', 'strategy', 'skill', 'secret')),
    digest        TEXT    NOT NULL,
    shape         TEXT    NOT NULL DEFAULT '',
    forgotten_at  INTEGER NOT NULL,
    UNIQUE (kind, digest)
) STRICT;
