-- Schema 13: a finding follows the code that it is about.

-- What a finding names of the project, as it was when the finding was saved or indexed, and where and how it is now.
CREATE TABLE anchors (
    id           INTEGER PRIMARY KEY,
    document_id  INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    kind         TEXT    NOT NULL CHECK (kind IN ('line', 'name', 'quote', 'command', 'setting', 'path')),  -- word
    name         TEXT    NOT NULL,                  -- line: as the finding names it
    path         TEXT    NOT NULL,                  -- path, and the lines of it, as they were
    start_line   INTEGER NOT NULL,
    end_line     INTEGER NOT NULL,
    fingerprint  TEXT    NOT NULL,                  -- list: checksums of these lines, and of those before and after them
    commit_id    TEXT    NOT NULL,                  -- digest: the commit that was checked out; '': none
    made_at      INTEGER NOT NULL,                  -- time
    -- same; moved: the same text at another place; changed; gone
    state        TEXT    NOT NULL CHECK (state IN ('same', 'moved', 'changed', 'gone')),  -- word
    now_path     TEXT    NOT NULL,                  -- path, and the lines of it, where it is or was last
    now_start    INTEGER NOT NULL,
    now_end      INTEGER NOT NULL,
    differing    INTEGER NOT NULL,                  -- how many lines differ
    changed_by   TEXT    NOT NULL DEFAULT '',       -- digest: the commit that changed it; '': none, or not known
    changed_at   INTEGER,                           -- time of that commit
    held_at      INTEGER NOT NULL,                  -- time: when its text was last found as it was
    size_bytes   INTEGER NOT NULL,                  -- of its file when it was last looked at; -1: there was none
    mtime_ns     INTEGER NOT NULL,
    UNIQUE (document_id, kind, name)
) STRICT;
CREATE INDEX anchors_path ON anchors (now_path);
