-- The index: a pure function of the feed in ctxrank.db. Delete it and the next call rebuilds it.
-- rowid of `fts` and `forward` = session_id << 32 | document id, so that a session is one range.

CREATE TABLE state (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    store_uuid    TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,     -- schema, tokenizer, splitter: any difference rebuilds
    format        INTEGER NOT NULL,     -- grows; a program older than this does not touch the file
    applied_seq   INTEGER NOT NULL,     -- every change up to here is in the index
    mark          INTEGER NOT NULL,     -- of the feed at applied_seq
    generation    INTEGER NOT NULL,     -- random: another one means that the index was emptied in between
    documents     INTEGER NOT NULL,
    total_length  INTEGER NOT NULL      -- tokens of all documents, for the average length
) STRICT;

-- `body` first: a position in the first column is written without the column's number, which is two bytes less for nearly
-- every term of every document, a fifth of the whole table.
CREATE VIRTUAL TABLE fts USING fts5(
    body, title, path, identifiers, scope,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Bytes of terms and positions that FTS5 gathers before it writes a segment: a batch of the follower makes one, not twelve.
INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216);
-- A merge in steps goes on with whatever is left of two segments.
INSERT INTO fts (fts, rank) VALUES ('usermerge', 2);

-- Term statistics: FTS5's own bm25() walks every posting list to count it.
CREATE TABLE terms (
    id    INTEGER PRIMARY KEY,
    term  TEXT    NOT NULL UNIQUE,      -- as the index holds it, stemmed
    df    INTEGER NOT NULL,             -- documents that hold it
    -- The shortest document that has it up to so many times, in tokens: see indexer/fulltext/prominence.py.
    shortest_1     INTEGER NOT NULL DEFAULT 32767,
    shortest_2     INTEGER NOT NULL DEFAULT 32767,
    shortest_3     INTEGER NOT NULL DEFAULT 32767,
    shortest_5     INTEGER NOT NULL DEFAULT 32767,
    shortest_8     INTEGER NOT NULL DEFAULT 32767,
    shortest_more  INTEGER NOT NULL DEFAULT 32767
) STRICT;

-- Document to terms: scoring a candidate needs no text. See indexer/fulltext/forward.py for the layout.
CREATE TABLE forward (
    id        INTEGER PRIMARY KEY,      -- rowid of `fts`
    owner_id  INTEGER NOT NULL,         -- rowid of the document a hit is shown as
    length    INTEGER NOT NULL,         -- tokens in all text columns
    terms     BLOB    NOT NULL
) STRICT;
