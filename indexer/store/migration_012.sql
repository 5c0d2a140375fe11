-- Schema 12: origins have rights. What another store made is said unasked, and its orders are obeyed, as was decided here.

ALTER TABLE origins ADD COLUMN who TEXT NOT NULL DEFAULT '';             -- name: its role in a team's log, or what a person calls it
ALTER TABLE origins ADD COLUMN state TEXT NOT NULL DEFAULT 'asked';      -- word: asked, accepted, refused, revoked
ALTER TABLE origins ADD COLUMN decided_by TEXT NOT NULL DEFAULT '';      -- word: log, import, person
ALTER TABLE origins ADD COLUMN decided_at INTEGER NOT NULL DEFAULT 0;    -- time
ALTER TABLE origins ADD COLUMN is_told INTEGER NOT NULL DEFAULT 0;       -- flag: `status` has listed it

-- Orders to forget that other stores gave, each with what became of it.
CREATE TABLE orders (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    origin      TEXT    NOT NULL,                   -- name: uuid of the store that gave it
    record      TEXT    NOT NULL,                   -- word: forget, by a digest; removed, by a record's key
    kind        TEXT    NOT NULL,                   -- word: path, session, secret or a kind of the catalogue
    key         TEXT    NOT NULL,                   -- digest, or number@uuid of the record
    prefilter   TEXT    NOT NULL DEFAULT '',        -- list: of a secret, as in blocklist
    came_by     TEXT    NOT NULL,                   -- word: log, file
    came_at     INTEGER NOT NULL,                   -- time
    touched     INTEGER NOT NULL,                   -- number of records that it removes or changes here
    state       TEXT    NOT NULL,                   -- word: done, waiting, agreed, declined
    UNIQUE (origin, record, kind, key)
) STRICT;

-- What was removed, by whom; no text of it.
CREATE TABLE removals (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    removed_at  INTEGER NOT NULL,                   -- time
    origin      TEXT    NOT NULL,                   -- name: uuid of the store that removed it or ordered so; '': this one
    order_id    INTEGER,                            -- number of the order, in orders
    kind        TEXT    NOT NULL,                   -- word: what the rows are counted as
    removed     INTEGER NOT NULL                    -- number of rows
) STRICT;

-- Whoever came into a store that follows a log is taken to have come through it; others are asked about.
UPDATE origins SET state = 'accepted', decided_by = 'log', decided_at = CAST(unixepoch('subsec') * 1000000 AS INTEGER)
 WHERE EXISTS (SELECT 1 FROM settings WHERE key = 'team_log' AND value <> '');

-- What is not accepted has confirmed nothing here.
CREATE TEMP TABLE unvouched AS
    SELECT number, sum(confirmations) AS confirmations, sum(refutations) AS refutations
      FROM origin_counts WHERE kind = 'error' AND origin IN (SELECT code FROM origins WHERE state <> 'accepted')
     GROUP BY number HAVING sum(confirmations) > 0 OR sum(refutations) > 0;
UPDATE error_patterns
   SET confirmations = max(0, error_patterns.confirmations - u.confirmations),
       refutations = max(0, error_patterns.refutations - u.refutations)
  FROM temp.unvouched AS u WHERE u.number = error_patterns.id;
UPDATE error_patterns
   SET confidence = min(max(round(0.5 + 0.1 * confirmations - 0.2 * refutations, 4), 0.1), 1.0),
       state = CASE WHEN confirmations = refutations
                      OR (confirmations - refutations) * (confirmations - refutations) < confirmations + refutations
                    THEN 'sighted' WHEN confirmations > refutations THEN 'confirmed' ELSE 'refuted' END
 WHERE id IN (SELECT number FROM temp.unvouched);
DROP TABLE temp.unvouched;
