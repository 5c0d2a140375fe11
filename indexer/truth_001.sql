-- The truth: everything a store knows. The index beside it (index.db) is derived from
-- `documents` and `tombstones` alone and may be deleted at any time.
-- All moments are microseconds since 1970, UTC. All texts are stored redacted.

CREATE TABLE store (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    uuid        TEXT    NOT NULL,  -- names this store: an index made from another one is rebuilt
    seq         INTEGER NOT NULL,  -- the last change of the feed; grows for ever, never falls
    created_at  INTEGER NOT NULL
) STRICT;

-- One row a writing transaction that touched the feed: a random mark at its last seq. An index
-- whose mark differs followed another history (a restored backup, say) and is rebuilt.
CREATE TABLE feed_marks (
    seq   INTEGER PRIMARY KEY,
    mark  INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    key    TEXT PRIMARY KEY,
    value  TEXT NOT NULL           -- JSON
) STRICT;

-- Parsed configuration files, so that a query loads no YAML parser.
CREATE TABLE config_cache (
    path        TEXT PRIMARY KEY,
    size_bytes  INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,
    sha256      TEXT    NOT NULL,
    value       TEXT    NOT NULL   -- JSON
) STRICT;

CREATE TABLE sessions (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,
    project         TEXT    NOT NULL DEFAULT 'default',
    mode            TEXT    NOT NULL DEFAULT 'simple' CHECK (mode IN ('simple', 'parallel')),
    status          TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'failed')),
    requirements    TEXT    NOT NULL DEFAULT '',
    initial_branch  TEXT    NOT NULL DEFAULT 'main',
    metadata        TEXT    NOT NULL DEFAULT '{}',  -- JSON
    created_at      INTEGER NOT NULL,
    ended_at        INTEGER
) STRICT;

CREATE TABLE groups (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id          INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name                TEXT    NOT NULL,           -- exact: case and punctuation count
    title               TEXT    NOT NULL DEFAULT '',
    status              TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN
                            ('pending', 'in_progress', 'completed', 'failed', 'approved_pending_merge', 'merging')),
    context_references  TEXT    NOT NULL DEFAULT '[]',  -- JSON list of package ids
    metadata            TEXT    NOT NULL DEFAULT '{}',  -- JSON: what an imported group carried beside this
    created_at          INTEGER NOT NULL,
    UNIQUE (session_id, name)
) STRICT;

-- Folders that hold artifacts. '.' is the project's own root, wherever it is moved to.
CREATE TABLE roots (
    id    INTEGER PRIMARY KEY,
    path  TEXT NOT NULL UNIQUE
) STRICT;

-- Files on disk that are, or were, indexed.
CREATE TABLE artifacts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    root_id     INTEGER NOT NULL REFERENCES roots (id),
    path        TEXT    NOT NULL,                   -- relative to the root, with '/'
    state       TEXT    NOT NULL CHECK (state IN ('indexed', 'missing', 'stale', 'skipped')),
    reason      TEXT    NOT NULL DEFAULT '',        -- why it is skipped or stale
    size_bytes  INTEGER NOT NULL DEFAULT 0,
    mtime_ns    INTEGER NOT NULL DEFAULT 0,
    inode       INTEGER NOT NULL DEFAULT 0,
    sha256      TEXT    NOT NULL DEFAULT '',        -- of the bytes on disk
    encoding    TEXT    NOT NULL DEFAULT '',
    ruleset     INTEGER NOT NULL DEFAULT 0,         -- redaction rules its passages were stored under
    indexed_at  INTEGER NOT NULL,
    UNIQUE (root_id, path)
) STRICT;
CREATE INDEX artifacts_sha256 ON artifacts (sha256);

CREATE TABLE packages (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id     INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id       INTEGER REFERENCES groups (id),  -- NULL: session-wide
    artifact_id    INTEGER REFERENCES artifacts (id),
    path           TEXT    NOT NULL,
    type           TEXT    NOT NULL CHECK (type IN ('research', 'failures', 'decisions', 'handoff', 'investigation')),
    producer       TEXT    NOT NULL,
    priority       TEXT    NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'critical')),
    scope          TEXT    NOT NULL CHECK (scope IN ('group', 'global')),
    summary        TEXT    NOT NULL,                -- one line, whole
    size_bytes     INTEGER,                         -- NULL: the file was not there
    version        INTEGER NOT NULL DEFAULT 1,
    supersedes     INTEGER REFERENCES packages (id),
    superseded_by  INTEGER REFERENCES packages (id),
    created_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX packages_session ON packages (session_id, superseded_by);
CREATE INDEX packages_artifact ON packages (artifact_id);
CREATE INDEX packages_path ON packages (session_id, path);

-- Who a package is meant for, and who has taken it.
CREATE TABLE package_consumers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    package_id   INTEGER NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    agent        TEXT    NOT NULL,
    iteration    INTEGER,                           -- NULL: any iteration
    consumed_at  INTEGER                            -- NULL: pending
) STRICT;
CREATE INDEX package_consumers_package ON package_consumers (package_id, agent);

-- What a block has shown, to whom and when: group_id 0 is a session-wide request.
CREATE TABLE deliveries (
    package_id    INTEGER NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    group_id      INTEGER NOT NULL,
    agent         TEXT    NOT NULL,
    iteration     INTEGER NOT NULL,
    delivered_at  INTEGER NOT NULL,
    PRIMARY KEY (package_id, group_id, agent, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE reasoning (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id    INTEGER REFERENCES groups (id),
    agent       TEXT    NOT NULL,
    agent_name  TEXT    NOT NULL DEFAULT '',        -- which of several agents of one type
    iteration   INTEGER NOT NULL DEFAULT 0,
    phase       TEXT    NOT NULL CHECK (phase IN ('understanding', 'approach', 'decisions', 'risks', 'blockers',
                                                  'pivot', 'completion')),
    confidence  TEXT    CHECK (confidence IS NULL OR confidence IN ('high', 'medium', 'low')),
    content     TEXT    NOT NULL,
    refs        TEXT    NOT NULL DEFAULT '[]',      -- JSON list of what it refers to
    redacted    INTEGER NOT NULL DEFAULT 0 CHECK (redacted IN (0, 1)),
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX reasoning_session ON reasoning (session_id, group_id, created_at);

CREATE TABLE error_patterns (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        TEXT    NOT NULL,
    pattern_hash   TEXT    NOT NULL,
    error_type     TEXT    NOT NULL,
    message        TEXT    NOT NULL,                -- the message with its variable parts masked
    context_hints  TEXT    NOT NULL DEFAULT '[]',   -- JSON list
    stack_pattern  TEXT    NOT NULL DEFAULT '[]',   -- JSON list
    solution       TEXT    NOT NULL,
    confidence     REAL    NOT NULL DEFAULT 0.5 CHECK (confidence BETWEEN 0 AND 1),
    occurrences    INTEGER NOT NULL DEFAULT 1 CHECK (occurrences >= 1),
    lang           TEXT,
    ttl_days       INTEGER NOT NULL DEFAULT 90 CHECK (ttl_days > 0),
    last_seen      INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    UNIQUE (pattern_hash, project)
) STRICT;
CREATE INDEX error_patterns_project ON error_patterns (project, confidence);

CREATE TABLE strategies (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL UNIQUE,           -- project_topic_hash
    project      TEXT    NOT NULL,
    topic        TEXT    NOT NULL CHECK (topic IN ('implementation', 'architecture', 'methodology', 'general')),
    insight      TEXT    NOT NULL,
    helpfulness  INTEGER NOT NULL DEFAULT 0 CHECK (helpfulness >= 0),
    lang         TEXT,
    framework    TEXT,
    last_seen    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE skill_outputs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id    INTEGER REFERENCES groups (id),
    agent       TEXT    NOT NULL DEFAULT '',
    skill       TEXT    NOT NULL,
    iteration   INTEGER NOT NULL,
    output      TEXT    NOT NULL,                   -- JSON
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX skill_outputs_session ON skill_outputs (session_id, skill, iteration);

-- Everything searchable, one row each, whatever its kind.
CREATE TABLE documents (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    seq            INTEGER NOT NULL UNIQUE,         -- the change feed: the change that made this row what it is
    kind           TEXT    NOT NULL,                -- package, artifact, passage, reasoning, error, strategy, skill
    number         INTEGER,                         -- id in its own table (public id kind:number); NULL: a passage
    owner_id       INTEGER REFERENCES documents (id),  -- a passage's package or artifact
    session_id     INTEGER NOT NULL DEFAULT 0,      -- 0: belongs to no session; never changes
    group_id       INTEGER NOT NULL DEFAULT 0,      -- 0: session-wide
    agent          TEXT    NOT NULL DEFAULT '',     -- who produced it
    type           TEXT    NOT NULL DEFAULT '',     -- package type, reasoning phase, strategy topic, skill name
    priority       TEXT    NOT NULL DEFAULT '',
    title          TEXT    NOT NULL,
    body           TEXT    NOT NULL,
    path           TEXT    NOT NULL DEFAULT '',
    identifiers    TEXT    NOT NULL DEFAULT '',     -- split identifiers and CJK bigrams of title and body
    passage_key    TEXT    NOT NULL DEFAULT '',     -- stable by content: see indexer/passages.py
    start_line     INTEGER NOT NULL DEFAULT 0,
    end_line       INTEGER NOT NULL DEFAULT 0,
    superseded_by  INTEGER,                         -- number of the package that replaces this one
    tokens         INTEGER NOT NULL DEFAULT 0,      -- of the body, by `counter`
    counter        TEXT    NOT NULL DEFAULT '',
    ruleset        INTEGER NOT NULL,                -- redaction rules it was stored under
    created_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX documents_public_id ON documents (kind, number) WHERE number IS NOT NULL;
CREATE INDEX documents_owner ON documents (owner_id, start_line) WHERE owner_id IS NOT NULL;
CREATE INDEX documents_session ON documents (session_id, kind);
CREATE INDEX documents_counter ON documents (counter);

-- What was a document: id and seq, no content.
CREATE TABLE tombstones (
    document_id  INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL UNIQUE,
    session_id   INTEGER NOT NULL
) STRICT;

-- Agents, types and priorities by number: facets of the index are made from these ids, never from text.
CREATE TABLE labels (
    id    INTEGER PRIMARY KEY,
    text  TEXT NOT NULL UNIQUE
) STRICT;

-- What an import has brought in, row by row, so that a second run brings only what changed.
CREATE TABLE imported_rows (
    source      TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    source_key  TEXT    NOT NULL,
    digest      TEXT    NOT NULL,                   -- of the row as it was when it came
    target_id   INTEGER NOT NULL,
    PRIMARY KEY (source, kind, source_key)
) STRICT, WITHOUT ROWID;
