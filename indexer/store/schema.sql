-- The primary database, ctxrank.db: schema 7. Everything that a store knows is here. The index next to it (index.db)
-- is derived from `documents` and `tombstones` alone and may be deleted at any time.
--
-- A later schema is this file and the numbered files after it, migration_008.sql and so on, in their order. Once
-- released, none of them is edited.
--
-- The comment next to a column says what it holds, in these words:
--
--   text       redacted, any number of lines
--   line       redacted, one line
--   JSON       a JSON value; its strings are redacted, unless the comment says that it comes from us
--   name       one line, compared exactly; refused, not redacted, where it looks like a secret
--   word       one of a fixed list
--   path       with '/', relative to a root unless it says otherwise
--   digest     hexadecimal, of something else
--   list       numbers or digests in a line format of ours
--   time       microseconds since 1970, UTC (INTEGER)
--
-- Ids that tables give out are never given twice (AUTOINCREMENT) where they are shown to users or name a document.


-- THE STORE ITSELF -----------------------------------------------------------------------------------------------

-- One row.
CREATE TABLE store (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    uuid        TEXT    NOT NULL,                   -- name, made at random; an index of another store is rebuilt
    seq         INTEGER NOT NULL,                   -- sequence number of the last change in the change log; never falls
    created_at  INTEGER NOT NULL                    -- time
) STRICT;

CREATE TABLE settings (
    key    TEXT PRIMARY KEY,                        -- name, given by us
    value  TEXT NOT NULL                            -- JSON
) STRICT;

-- Parsed configuration files, so that a query loads no YAML parser.
CREATE TABLE config_cache (
    path        TEXT PRIMARY KEY,                   -- path, absolute
    size_bytes  INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,                   -- nanoseconds, as the file system gives them
    sha256      TEXT    NOT NULL,                   -- digest of the file's bytes
    value       TEXT    NOT NULL                    -- JSON, the parsed file as it is
) STRICT;


-- DOCUMENTS AND THE CHANGE LOG -----------------------------------------------------------------------------------
-- The change log is no table of its own: every document and every tombstone has the sequence number of its last
-- change. An index applies, in order, the rows above the number that it has reached.

-- Everything that can be searched, one row each, whatever its kind.
CREATE TABLE documents (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    seq            INTEGER NOT NULL UNIQUE,         -- sequence number of the change that made the row what it is
    kind           TEXT    NOT NULL,                -- word: package, artifact, passage, reasoning, error, … linked
    record_id      INTEGER,                         -- id in its own table (public id kind:record_id); NULL: a passage
    owner_id       INTEGER REFERENCES documents (id),  -- a passage's parent: its package or artifact
    session_id     INTEGER NOT NULL DEFAULT 0,      -- 0: belongs to no session; never changes
    group_id       INTEGER NOT NULL DEFAULT 0,      -- 0: session-wide
    agent          TEXT    NOT NULL DEFAULT '',     -- name: who produced it
    type           TEXT    NOT NULL DEFAULT '',     -- name: package type, reasoning phase, strategy topic, skill, lang
    priority       TEXT    NOT NULL DEFAULT '',     -- word, as of packages; '': of no package
    title          TEXT    NOT NULL,                -- text
    body           TEXT    NOT NULL,                -- text
    path           TEXT    NOT NULL DEFAULT '',     -- path
    identifiers    TEXT    NOT NULL DEFAULT '',     -- text made from title and body: split identifiers and CJK bigrams
    passage_key    TEXT    NOT NULL DEFAULT '',     -- digest, stable by content: see indexer/text/passages.py
    start_line     INTEGER NOT NULL DEFAULT 0,      -- first line in the file, from 1; 0: no passage
    end_line       INTEGER NOT NULL DEFAULT 0,      -- last line, included
    superseded_by  INTEGER,                         -- record_id of the package that replaces this one
    tokens         INTEGER NOT NULL DEFAULT 0,      -- of the body, by token_counter
    token_counter  TEXT    NOT NULL DEFAULT '',     -- name of the vocabulary that counted, or 'estimate'
    ruleset        INTEGER NOT NULL,                -- version of the redaction rules it was stored under
    created_at     INTEGER NOT NULL                 -- time
) STRICT;
CREATE UNIQUE INDEX documents_public_id ON documents (kind, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX documents_owner ON documents (owner_id, start_line) WHERE owner_id IS NOT NULL;
CREATE INDEX documents_session ON documents (session_id, kind);
CREATE INDEX documents_token_counter ON documents (token_counter);

-- Deleted documents: id and sequence number, no content.
CREATE TABLE tombstones (
    document_id  INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL UNIQUE,           -- sequence number of the deletion
    session_id   INTEGER NOT NULL                   -- as the document had it: part of its row number in the index
) STRICT;

-- One row a transaction that wrote to the change log: a random id at its last sequence number. An index that has
-- another id there followed another history (a restored backup, say) and is rebuilt.
CREATE TABLE history_checkpoints (
    seq         INTEGER PRIMARY KEY,
    history_id  INTEGER NOT NULL
) STRICT;

-- Agents, types and priorities by number: the index's facets are made from these ids, never from text.
CREATE TABLE labels (
    id    INTEGER PRIMARY KEY,
    text  TEXT NOT NULL UNIQUE                      -- name
) STRICT;


-- SESSIONS AND GROUPS --------------------------------------------------------------------------------------------

CREATE TABLE sessions (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,        -- name
    project         TEXT    NOT NULL DEFAULT 'default',  -- name
    mode            TEXT    NOT NULL DEFAULT 'simple' CHECK (mode IN ('simple', 'parallel')),  -- word
    status          TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed', 'failed')),  -- word
    requirements    TEXT    NOT NULL DEFAULT '',    -- text
    initial_branch  TEXT    NOT NULL DEFAULT 'main',  -- text
    metadata        TEXT    NOT NULL DEFAULT '{}',  -- JSON
    skills_config   TEXT,                           -- JSON: the configuration when it was made; NULL: none
    created_at      INTEGER NOT NULL,               -- time
    ended_at        INTEGER                         -- time; NULL: it goes on
) STRICT;

CREATE TABLE groups (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id          INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name                TEXT    NOT NULL,           -- name: case and punctuation count
    title               TEXT    NOT NULL DEFAULT '',  -- line
    status              TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN  -- word
                            ('pending', 'in_progress', 'completed', 'failed', 'approved_pending_merge', 'merging')),
    context_references  TEXT    NOT NULL DEFAULT '[]',  -- JSON from us: a list of package ids
    metadata            TEXT    NOT NULL DEFAULT '{}',  -- JSON: what else an imported group had
    created_at          INTEGER NOT NULL,           -- time
    UNIQUE (session_id, name)
) STRICT;


-- FILES ----------------------------------------------------------------------------------------------------------

-- Folders that hold artifacts. '.' is the project's own, wherever it is moved to.
CREATE TABLE roots (
    id    INTEGER PRIMARY KEY,
    path  TEXT NOT NULL UNIQUE                      -- path, absolute
) STRICT;

-- Files on disk that are, or were, indexed.
CREATE TABLE artifacts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    root_id     INTEGER NOT NULL REFERENCES roots (id),
    path        TEXT    NOT NULL,                   -- path
    state       TEXT    NOT NULL CHECK (state IN ('indexed', 'missing', 'stale', 'skipped')),  -- word
    reason      TEXT    NOT NULL DEFAULT '',        -- line from us: why it is skipped or stale
    size_bytes  INTEGER NOT NULL DEFAULT 0,
    mtime_ns    INTEGER NOT NULL DEFAULT 0,         -- nanoseconds, as the file system gives them
    inode       INTEGER NOT NULL DEFAULT 0,
    sha256      TEXT    NOT NULL DEFAULT '',        -- digest of the bytes on disk
    encoding    TEXT    NOT NULL DEFAULT '',        -- name of the encoding they were read in
    ruleset     INTEGER NOT NULL DEFAULT 0,         -- version of the redaction rules its passages were stored under
    indexed_at  INTEGER NOT NULL,                   -- time
    UNIQUE (root_id, path)
) STRICT;
CREATE INDEX artifacts_sha256 ON artifacts (sha256);


-- PACKAGES -------------------------------------------------------------------------------------------------------

-- What one agent hands to others: a file, and a sentence about it.
CREATE TABLE packages (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id     INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id       INTEGER REFERENCES groups (id),  -- NULL: session-wide
    artifact_id    INTEGER REFERENCES artifacts (id),
    path           TEXT    NOT NULL,                -- path
    type           TEXT    NOT NULL CHECK (type IN  -- word
                       ('research', 'failures', 'decisions', 'handoff', 'investigation')),
    producer       TEXT    NOT NULL,                -- name of an agent
    priority       TEXT    NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'critical')),  -- word
    scope          TEXT    NOT NULL CHECK (scope IN ('group', 'global')),  -- word
    summary        TEXT    NOT NULL,                -- line
    size_bytes     INTEGER,                         -- NULL: the file was not there
    version        INTEGER NOT NULL DEFAULT 1,      -- from 1, of the packages of this path in this session
    supersedes     INTEGER REFERENCES packages (id),
    superseded_by  INTEGER REFERENCES packages (id),
    created_at     INTEGER NOT NULL                 -- time
) STRICT;
CREATE INDEX packages_session ON packages (session_id, superseded_by);
CREATE INDEX packages_artifact ON packages (artifact_id);
CREATE INDEX packages_path ON packages (session_id, path);

-- Who a package is meant for, and who has taken it.
CREATE TABLE package_consumers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    package_id   INTEGER NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    agent        TEXT    NOT NULL,                  -- name
    iteration    INTEGER,                           -- NULL: any iteration
    consumed_at  INTEGER                            -- time; NULL: pending
) STRICT;
CREATE INDEX package_consumers_package ON package_consumers (package_id, agent);

-- What a block has shown, to whom and when.
CREATE TABLE deliveries (
    package_id    INTEGER NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    group_id      INTEGER NOT NULL,                 -- 0: a session-wide request
    agent         TEXT    NOT NULL,                 -- name
    iteration     INTEGER NOT NULL,
    delivered_at  INTEGER NOT NULL,                 -- time
    PRIMARY KEY (package_id, group_id, agent, iteration)
) STRICT, WITHOUT ROWID;


-- MEMORY: REASONING, STRATEGIES, SKILLS, EVENTS ------------------------------------------------------------------

CREATE TABLE reasoning (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id    INTEGER REFERENCES groups (id),     -- NULL: session-wide
    agent       TEXT    NOT NULL,                   -- name of an agent's type
    agent_name  TEXT    NOT NULL DEFAULT '',        -- name: which of several agents of that type
    iteration   INTEGER NOT NULL DEFAULT 0,
    phase       TEXT    NOT NULL CHECK (phase IN  -- word
                    ('understanding', 'approach', 'decisions', 'risks', 'blockers', 'pivot', 'completion')),
    confidence  TEXT    CHECK (confidence IS NULL OR confidence IN ('high', 'medium', 'low')),  -- word
    content     TEXT    NOT NULL,                   -- text
    refs        TEXT    NOT NULL DEFAULT '[]',      -- JSON: a list of what it refers to
    redacted    INTEGER NOT NULL DEFAULT 0 CHECK (redacted IN (0, 1)),  -- 1: something in it was redacted
    created_at  INTEGER NOT NULL                    -- time
) STRICT;
CREATE INDEX reasoning_session ON reasoning (session_id, group_id, created_at);

CREATE TABLE strategies (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL UNIQUE,           -- name: project_topic_hash
    project      TEXT    NOT NULL,                  -- name
    topic        TEXT    NOT NULL CHECK (topic IN  -- word
                     ('implementation', 'architecture', 'methodology', 'general')),
    insight      TEXT    NOT NULL,                  -- text
    helpfulness  INTEGER NOT NULL DEFAULT 0 CHECK (helpfulness >= 0),  -- how often it was said to help
    lang         TEXT,                              -- name of a programming language; NULL: any
    framework    TEXT,                              -- name; NULL: any
    last_seen    INTEGER NOT NULL,                  -- time
    created_at   INTEGER NOT NULL                   -- time
) STRICT;

CREATE TABLE skill_outputs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id    INTEGER REFERENCES groups (id),     -- NULL: session-wide
    agent       TEXT    NOT NULL DEFAULT '',        -- name
    skill       TEXT    NOT NULL,                   -- name
    iteration   INTEGER NOT NULL,
    output      TEXT    NOT NULL,                   -- JSON
    created_at  INTEGER NOT NULL                    -- time
) STRICT;
CREATE INDEX skill_outputs_session ON skill_outputs (session_id, skill, iteration);

-- What happened between agents: who was handed whose reasoning, tokens spent, an orchestrator's own notes.
CREATE TABLE events (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id         INTEGER NOT NULL DEFAULT 0,    -- 0: session-wide
    subtype          TEXT    NOT NULL,              -- name
    payload          TEXT    NOT NULL DEFAULT '{}', -- JSON
    idempotency_key  TEXT,                          -- name: a second event of this key is the first one again
    created_at       INTEGER NOT NULL               -- time
) STRICT;
CREATE INDEX events_session ON events (session_id, subtype, id);
CREATE UNIQUE INDEX events_idempotency ON events (session_id, subtype, group_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;


-- KNOWN ERRORS ---------------------------------------------------------------------------------------------------

-- An error and its solution, with the record of how the solution did.
CREATE TABLE error_patterns (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    project        TEXT    NOT NULL,                -- name
    pattern_hash   TEXT    NOT NULL,                -- digest
    error_type     TEXT    NOT NULL,                -- line
    message        TEXT    NOT NULL,                -- text: the message with its variable parts masked
    context_hints  TEXT    NOT NULL DEFAULT '[]',   -- JSON: a list of texts
    stack_pattern  TEXT    NOT NULL DEFAULT '[]',   -- JSON: a list of texts
    solution       TEXT    NOT NULL,                -- text
    confidence     REAL    NOT NULL DEFAULT 0.5 CHECK (confidence BETWEEN 0 AND 1),  -- +0.1 if it helped, else -0.2
    occurrences    INTEGER NOT NULL DEFAULT 1 CHECK (occurrences >= 1),
    lang           TEXT,                            -- name of a programming language; NULL: any
    ttl_days       INTEGER NOT NULL DEFAULT 90 CHECK (ttl_days > 0),  -- days after last_seen until it expires
    -- sighted: seen with what was tried; confirmed: it worked more often than not; refuted: it did not.
    state          TEXT    NOT NULL DEFAULT 'sighted' CHECK (state IN ('sighted', 'confirmed', 'refuted')),  -- word
    confirmations  INTEGER NOT NULL DEFAULT 0 CHECK (confirmations >= 0),  -- how often the solution helped
    refutations    INTEGER NOT NULL DEFAULT 0 CHECK (refutations >= 0),  -- and did not
    last_seen      INTEGER NOT NULL,                -- time
    created_at     INTEGER NOT NULL,                -- time
    UNIQUE (pattern_hash, project)
) STRICT;
CREATE INDEX error_patterns_project ON error_patterns (project, confidence);

-- What a pattern is recognised by: a pure function of error_text under one version of the normaliser. A newer version
-- computes it again and overwrites the row; until then the older row still answers with what it has.
CREATE TABLE error_signatures (
    pattern_id          INTEGER PRIMARY KEY REFERENCES error_patterns (id) ON DELETE CASCADE,
    normaliser_version  INTEGER NOT NULL,           -- 0: older than any
    template            TEXT    NOT NULL,           -- digest of codes, type and masked message
    instance            TEXT    NOT NULL,           -- digest of the same with the masked parts
    family              TEXT    NOT NULL,           -- word: trace, compiler, test, tool, text
    lang                TEXT    NOT NULL DEFAULT '',  -- word: the programming language that printed it; '': unknown
    headline            TEXT    NOT NULL,           -- text: the masked message
    features            TEXT    NOT NULL,           -- JSON made from error_text: type, codes, values, frames, …
    terms               TEXT    NOT NULL,           -- JSON from us: its rows in error_terms, to remove them by
    error_text          TEXT    NOT NULL            -- text: one error as a tool printed it
) STRICT;
CREATE INDEX error_signatures_template ON error_signatures (template);
CREATE INDEX error_signatures_instance ON error_signatures (instance);
CREATE INDEX error_signatures_normaliser ON error_signatures (normaliser_version);

-- Inverted index of the signatures. A term is a 63-bit hash that includes the project, so that one project's frequent
-- words neither slow down nor weigh in another.
CREATE TABLE error_terms (
    term        INTEGER NOT NULL,
    pattern_id  INTEGER NOT NULL,
    PRIMARY KEY (term, pattern_id)
) STRICT, WITHOUT ROWID;

-- By trigger, because a pattern's deletion cascades to its signature and an index by pattern would double the table.
CREATE TRIGGER error_signatures_removed AFTER DELETE ON error_signatures BEGIN
    DELETE FROM error_terms
     WHERE pattern_id = OLD.pattern_id AND term IN (SELECT value FROM json_each(OLD.terms));
END;

-- Failures as they were seen, known or not: what "the last failure of this group" and "seen before, unsolved" answer
-- from.
CREATE TABLE error_sightings (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id          INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id            INTEGER NOT NULL DEFAULT 0,  -- 0: session-wide
    pattern_id          INTEGER REFERENCES error_patterns (id) ON DELETE SET NULL,  -- the pattern that was recognised
    normaliser_version  INTEGER NOT NULL,
    template            TEXT    NOT NULL,           -- digest, as in error_signatures
    instance            TEXT    NOT NULL,           -- digest, as in error_signatures
    error_text          TEXT    NOT NULL,           -- text; signed again by a newer normaliser
    seen_at             INTEGER NOT NULL,           -- time
    resolved_at         INTEGER                     -- time of a success or a confirmed solution; NULL: not known
) STRICT;
CREATE INDEX error_sightings_group ON error_sightings (session_id, group_id, id);
CREATE INDEX error_sightings_instance ON error_sightings (instance, id);
CREATE INDEX error_sightings_pattern ON error_sightings (pattern_id) WHERE pattern_id IS NOT NULL;

-- Commands that `error run` saw fail and not succeed since: one row a command and folder.
CREATE TABLE failed_commands (
    id           INTEGER PRIMARY KEY,
    command_key  TEXT    NOT NULL UNIQUE,           -- digest of the command, its folder and the project
    command      TEXT    NOT NULL,                  -- line
    folder       TEXT    NOT NULL,                  -- path
    error_text   TEXT    NOT NULL,                  -- text
    git_state    TEXT    NOT NULL,                  -- JSON from us: the commit and the paths that differed from it
    failed_at    INTEGER NOT NULL                   -- time
) STRICT;


-- RECEIPTS -------------------------------------------------------------------------------------------------------

-- What one assembly was asked, what it saw and what it gave: small, and enough to make it again.
CREATE TABLE receipts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT    NOT NULL CHECK (kind IN ('assemble', 'context')),  -- word
    session_id   INTEGER REFERENCES sessions (id) ON DELETE CASCADE,  -- NULL: of linked artifacts alone
    group_id     INTEGER NOT NULL DEFAULT 0,        -- 0: session-wide; -1: a group that was not there
    agent        TEXT    NOT NULL DEFAULT '',       -- name
    iteration    INTEGER NOT NULL DEFAULT 0,
    seq          INTEGER NOT NULL,                  -- sequence number of the store, as the assembly saw it
    inputs       TEXT    NOT NULL,                  -- text: a line each of name, tab, value
    entries      TEXT    NOT NULL,                  -- list: a line each of sign, id, detail, tokens, reason, in tabs
    parts        TEXT    NOT NULL,                  -- list: digest:characters of each part of the text, between spaces
    digest       TEXT    NOT NULL,                  -- digest of the whole text
    tokens       INTEGER NOT NULL,                  -- of the whole text
    created_at   INTEGER NOT NULL                   -- time
) STRICT;
CREATE INDEX receipts_group ON receipts (session_id, group_id, id);


-- IMPORT AND PURGE -----------------------------------------------------------------------------------------------

-- What an import has brought in, row by row, so that a second run brings only what changed.
CREATE TABLE imported_rows (
    source      TEXT    NOT NULL,                   -- word: what kind of source
    kind        TEXT    NOT NULL,                   -- word: what kind of row
    source_key  TEXT    NOT NULL,                   -- name of the row there: its number and what never changes
    digest      TEXT    NOT NULL,                   -- digest of the row as it was when it came
    target_id   INTEGER NOT NULL,                   -- id of the row here that it became
    PRIMARY KEY (source, kind, source_key)
) STRICT, WITHOUT ROWID;

-- What `purge` removed and must not come back, without keeping any of it: a digest keyed with the store's uuid. To find
-- a secret in a text, `prefilter` has its length in characters and in which of sixteen hash buckets its first character
-- is; of anything else it is ''.
CREATE TABLE blocklist (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL CHECK (kind IN  -- word
                    ('path', 'session', 'reasoning', 'error', 'strategy', 'skill', 'secret')),
    digest      TEXT    NOT NULL,                   -- digest of a path, a session's name, a record's text, or a secret
    prefilter   TEXT    NOT NULL DEFAULT '',        -- list: a secret's length and its first character's bucket
    blocked_at  INTEGER NOT NULL,                   -- time
    UNIQUE (kind, digest)
) STRICT;
