-- Schema 5: linked artifacts (`.contextia/`) and the annotations in code that name them.

-- Folders that hold a `.contextia`. '.' is the project's own, wherever it is moved to.
CREATE TABLE linked_trees (
    id    INTEGER PRIMARY KEY,
    path  TEXT NOT NULL UNIQUE,
    seen  TEXT NOT NULL DEFAULT ''                  -- path and stat of every file, where all are known to be read
) STRICT;

-- One row a file, also of one that is no artifact (type '') or has no usable id (''): it is not read again
-- while it stays as it is. Ids may repeat; the first in path order is the artifact, `check` names the others.
CREATE TABLE linked (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    tree_id        INTEGER NOT NULL REFERENCES linked_trees (id),
    path           TEXT    NOT NULL,                -- relative to the tree's folder: .contextia/system/…
    size_bytes     INTEGER NOT NULL,
    mtime_ns       INTEGER NOT NULL,
    inode          INTEGER NOT NULL,
    sha256         TEXT    NOT NULL,                -- of the bytes on disk; '' where they could not be read
    ruleset        INTEGER NOT NULL,                -- redaction rules its texts were stored under
    read_at        INTEGER NOT NULL,
    name           TEXT    NOT NULL DEFAULT '',     -- the artifact's own id, SPEC-A-001
    type           TEXT    NOT NULL DEFAULT '',     -- spec, decision, norm, task, identity
    title          TEXT    NOT NULL DEFAULT '',
    status         TEXT    NOT NULL DEFAULT '',
    superseded_by  TEXT    NOT NULL DEFAULT '',
    links          TEXT    NOT NULL DEFAULT '[]',   -- JSON: [[list it stands in, id, line], …]
    globs          TEXT    NOT NULL DEFAULT '[]',   -- JSON: a spec's paths, a norm's scope
    problems       TEXT    NOT NULL DEFAULT '[]',   -- JSON: [[rule, line, message], …]
    UNIQUE (tree_id, path)
) STRICT;

-- The three levels of detail, as a block shows them; apart, so that reading the graph reads no text.
CREATE TABLE linked_texts (
    linked_id  INTEGER PRIMARY KEY REFERENCES linked (id) ON DELETE CASCADE,
    meta       TEXT NOT NULL,
    summary    TEXT NOT NULL,
    full       TEXT NOT NULL,
    tokens     TEXT NOT NULL,                       -- of the three, by `counter`: "12 80 400"
    counter    TEXT NOT NULL
) STRICT;
CREATE INDEX linked_texts_counter ON linked_texts (counter);

-- Every file in which annotations were looked for, so that one that stays as it is is not read again.
CREATE TABLE annotated_files (
    id          INTEGER PRIMARY KEY,
    tree_id     INTEGER NOT NULL REFERENCES linked_trees (id),
    path        TEXT    NOT NULL,
    size_bytes  INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    read_at     INTEGER NOT NULL,
    UNIQUE (tree_id, path)
) STRICT;

CREATE TABLE annotations (
    file_id  INTEGER NOT NULL REFERENCES annotated_files (id) ON DELETE CASCADE,
    line     INTEGER NOT NULL,
    tag      TEXT    NOT NULL,                      -- spec, decision, norm, test
    name     TEXT    NOT NULL,                      -- the artifact's id
    part     TEXT    NOT NULL DEFAULT ''            -- what follows it after a dot
) STRICT;
CREATE INDEX annotations_file ON annotations (file_id, line);
