-- The tables of links, version 1. The comment next to a column says what it holds, in the words of
-- indexer/store/schema.sql. A later version is this file and the numbered files after it.

-- Folders that hold a `.contextia`. '.' is the project's own, wherever it is moved to. `scan_state` is the redaction
-- rules that the files were read under.
CREATE TABLE linked_trees (
    id          INTEGER PRIMARY KEY,
    path        TEXT NOT NULL UNIQUE,               -- path, absolute
    scan_state  TEXT NOT NULL DEFAULT ''            -- list of lines, see above; '': read them all
) STRICT;

-- One row a file, also of one that is no artifact (type '') or has no usable id (name ''): it is not read again while
-- it stays as it is. Names may repeat; the first in path order is the artifact, `check` reports the others.
CREATE TABLE linked_artifacts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    tree_id        INTEGER NOT NULL REFERENCES linked_trees (id),
    path           TEXT    NOT NULL,                -- path, relative to the tree's folder: .contextia/system/…
    size_bytes     INTEGER NOT NULL,
    mtime_ns       INTEGER NOT NULL,                -- nanoseconds, as the file system gives them
    inode          INTEGER NOT NULL,
    sha256         TEXT    NOT NULL,                -- digest of the bytes on disk; '' where they could not be read
    ruleset        INTEGER NOT NULL,                -- version of the redaction rules its texts were stored under
    read_at        INTEGER NOT NULL,                -- time
    name           TEXT    NOT NULL DEFAULT '',     -- name: the artifact's own id, SPEC-A-001
    type           TEXT    NOT NULL DEFAULT '',     -- word: spec, decision, norm, task, identity
    title          TEXT    NOT NULL DEFAULT '',     -- line
    status         TEXT    NOT NULL DEFAULT '',     -- name
    superseded_by  TEXT    NOT NULL DEFAULT '',     -- name of another artifact
    links          TEXT    NOT NULL DEFAULT '[]',   -- JSON of names: [[list, id, line], …]
    globs          TEXT    NOT NULL DEFAULT '[]',   -- JSON of patterns of paths: a spec's paths, a norm's scope
    problems       TEXT    NOT NULL DEFAULT '[]',   -- JSON: [[rule, line, message], …]
    UNIQUE (tree_id, path)
) STRICT;

-- The three levels of detail, as a block shows them; in a table of their own, so that reading the graph reads no text.
CREATE TABLE linked_texts (
    linked_id      INTEGER PRIMARY KEY REFERENCES linked_artifacts (id) ON DELETE CASCADE,
    meta           TEXT NOT NULL,                   -- text
    summary        TEXT NOT NULL,                   -- text
    full           TEXT NOT NULL,                   -- text
    tokens         TEXT NOT NULL,                   -- list of the three counts, by token_counter: "12 80 400"
    token_counter  TEXT NOT NULL                    -- name, as in documents
) STRICT;
CREATE INDEX linked_texts_token_counter ON linked_texts (token_counter);

-- Every file in which annotations were looked for, so that one that stays as it is is not read again.
CREATE TABLE annotated_files (
    id          INTEGER PRIMARY KEY,
    tree_id     INTEGER NOT NULL REFERENCES linked_trees (id),
    path        TEXT    NOT NULL,                   -- path, relative to the tree's folder
    size_bytes  INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,                   -- nanoseconds, as the file system gives them
    inode       INTEGER NOT NULL,
    read_at     INTEGER NOT NULL,                   -- time
    UNIQUE (tree_id, path)
) STRICT;

-- Annotations in code that name an artifact: @spec SPEC-A-001.part
CREATE TABLE annotations (
    file_id  INTEGER NOT NULL REFERENCES annotated_files (id) ON DELETE CASCADE,
    line     INTEGER NOT NULL,                      -- from 1
    tag      TEXT    NOT NULL,                      -- word: spec, decision, norm, test
    name     TEXT    NOT NULL,                      -- name: the artifact's own id
    part     TEXT    NOT NULL DEFAULT ''            -- name: what follows the id after a dot
) STRICT;
CREATE INDEX annotations_file ON annotations (file_id, line);
