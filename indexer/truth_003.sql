-- Schema 3: errors are known by signatures, patterns have a record, failures are remembered by who saw them.

-- sighted: seen with what was tried; confirmed: it worked more often than not; refuted: it did not.
ALTER TABLE error_patterns ADD COLUMN state TEXT NOT NULL DEFAULT 'sighted'
    CHECK (state IN ('sighted', 'confirmed', 'refuted'));
ALTER TABLE error_patterns ADD COLUMN confirmations INTEGER NOT NULL DEFAULT 0 CHECK (confirmations >= 0);
ALTER TABLE error_patterns ADD COLUMN refutations INTEGER NOT NULL DEFAULT 0 CHECK (refutations >= 0);

-- What a pattern is recognised by: a pure function of `unit` under one normaliser. A newer normaliser signs `unit`
-- again and writes over the row; until then an older row still answers with what it has.
CREATE TABLE error_signatures (
    pattern_id  INTEGER PRIMARY KEY REFERENCES error_patterns (id) ON DELETE CASCADE,
    normaliser  INTEGER NOT NULL,
    template    TEXT    NOT NULL,                   -- fingerprint of codes, type and masked message
    instance    TEXT    NOT NULL,                   -- the same with what was masked
    family      TEXT    NOT NULL,                   -- trace, compiler, test, tool, text
    language    TEXT    NOT NULL DEFAULT '',
    headline    TEXT    NOT NULL,                   -- the masked message
    features    TEXT    NOT NULL,                   -- JSON: type, codes, values, frames, details, message
    terms       TEXT    NOT NULL,                   -- JSON list of the numbers in error_terms, so that they can be removed
    unit        TEXT    NOT NULL                    -- redacted text that was signed
) STRICT;
CREATE INDEX error_signatures_template ON error_signatures (template);
CREATE INDEX error_signatures_instance ON error_signatures (instance);
CREATE INDEX error_signatures_normaliser ON error_signatures (normaliser);

-- Which signatures hold a term. A term is a 63-bit hash that includes the project, so that one project's
-- frequent words neither slow down nor weigh in another.
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

-- Failures as they were seen, known or not: what "the last failure of this group" and "seen before, unsolved" answer from.
CREATE TABLE error_sightings (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    group_id    INTEGER NOT NULL DEFAULT 0,         -- 0: session-wide
    pattern_id  INTEGER REFERENCES error_patterns (id) ON DELETE SET NULL,  -- what was recognised in it
    normaliser  INTEGER NOT NULL,
    template    TEXT    NOT NULL,
    instance    TEXT    NOT NULL,
    unit        TEXT    NOT NULL,                   -- redacted; signed again by a newer normaliser
    seen_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX error_sightings_group ON error_sightings (session_id, group_id, id);
CREATE INDEX error_sightings_instance ON error_sightings (instance, id);
CREATE INDEX error_sightings_pattern ON error_sightings (pattern_id) WHERE pattern_id IS NOT NULL;

-- A confidence that was moved by +0.1 and -0.2 from 0.5 says how often its solution helped and did not.
UPDATE error_patterns
   SET confirmations = max(0, CAST(round((bazinga_confidence - 0.5) * 10) AS INTEGER)),
       refutations = max(0, CAST(round((0.5 - bazinga_confidence) * 5) AS INTEGER))
 WHERE confirmations = 0 AND refutations = 0;
UPDATE error_patterns
   SET state = CASE WHEN confirmations > 0 THEN 'confirmed' WHEN refutations > 0 THEN 'refuted' ELSE 'sighted' END;

-- Normaliser 0 is older than any: the next call that matches or saves signs these units.
INSERT OR IGNORE INTO error_signatures (pattern_id, normaliser, template, instance, family, language, headline,
                                        features, terms, unit)
SELECT id, 0, '', '', 'text', '', '', '{}', '[]',
       CASE WHEN error_type IN ('', 'Unknown') OR message LIKE error_type || '%' THEN message
            ELSE error_type || ': ' || message END
  FROM error_patterns;

-- When the failure was over: its command succeeded, or a solution was confirmed. NULL: nobody has said so.
ALTER TABLE error_sightings ADD COLUMN resolved_at INTEGER;

-- What `error run` saw fail and not succeed since: one row a command and folder.
CREATE TABLE failed_commands (
    id           INTEGER PRIMARY KEY,
    command_key  TEXT    NOT NULL UNIQUE,  -- fingerprint of the command, its folder and the project
    command      TEXT    NOT NULL,         -- redacted, on one line
    folder       TEXT    NOT NULL,         -- relative to the root
    unit         TEXT    NOT NULL,         -- the error, redacted
    tree         TEXT    NOT NULL,         -- JSON: the commit and what differed from it
    failed_at    INTEGER NOT NULL
) STRICT;
