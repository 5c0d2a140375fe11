-- The index, index.db: a pure function of the change log in ctxrank.db. Delete it and the next call rebuilds it.
-- There are no migrations: another `fingerprint` or an older `format` rebuilds it, and a newer format is left alone. So
-- these two columns, and `store_uuid`, keep their names in every version.
-- rowid of `fts` and `forward` = session_id << 32 | document id, so that a session is one range.

-- One row.
CREATE TABLE state (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    store_uuid    TEXT    NOT NULL,     -- name: the uuid of the store that it indexes
    fingerprint   TEXT    NOT NULL,     -- line from us: tokenizer, columns, splitter; any difference rebuilds
    format        INTEGER NOT NULL,     -- of this layout; grows: an older one rebuilds, a newer one is not touched
    applied_seq   INTEGER NOT NULL,     -- sequence number of the change log: every change up to it is in the index
    history_id    INTEGER NOT NULL,     -- of the store's history_checkpoints at applied_seq
    generation    INTEGER NOT NULL,     -- random: another one means that the index was emptied in between
    documents     INTEGER NOT NULL,     -- how many it has
    texts         INTEGER NOT NULL,     -- how many of them are more than the title of a file: the ranking counts these
    total_length  INTEGER NOT NULL      -- tokens of these
) STRICT;

-- `body` first: a position in the first column is written without the column's number, which is two bytes less for nearly
-- every term of every document, a fifth of the whole table.
CREATE VIRTUAL TABLE fts USING fts5(
    body, title, path, identifiers, scope,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Bytes of terms and positions that FTS5 gathers before it writes a segment: a batch of changes makes one, not twelve.
INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216);
-- A merge in steps goes on with whatever is left of two segments.
INSERT INTO fts (fts, rank) VALUES ('usermerge', 2);

-- Term statistics: FTS5's own bm25() walks every posting list to count it.
CREATE TABLE terms (
    id    INTEGER PRIMARY KEY,
    -- text: as the index holds it, stemmed; with the mark of its field, if that is another than the words of texts: / of
    -- a path, # of what code defines, % of a heading. See indexer/fulltext/index_file.py.
    term  TEXT    NOT NULL UNIQUE,
    df    INTEGER NOT NULL,             -- document frequency: how many documents hold it
    -- How many of them are the titles of files alone. Their passages have the text, and the ranking counts a file once.
    titles INTEGER NOT NULL DEFAULT 0,
    -- Impact bounds: the length in tokens of the shortest document in each bucket of term frequency (up to 1, 2, 3, 5,
    -- 8, and more); NULL: none. See indexer/fulltext/impact_bounds.py.
    min_length_tf_1     INTEGER,
    min_length_tf_2     INTEGER,
    min_length_tf_3     INTEGER,
    min_length_tf_5     INTEGER,
    min_length_tf_8     INTEGER,
    min_length_tf_more  INTEGER
) STRICT;

-- The terms by their trigrams: what is spelt nearly like a word, and what has letters inside. Which terms are in it:
-- `has_trigrams` in indexer/fulltext/dictionary.py. One whose df has fallen to 0 stays in both tables and is skipped.
CREATE VIRTUAL TABLE term_trigrams USING fts5(
    term,
    content = 'terms', content_rowid = 'id',
    tokenize = 'trigram'
);
INSERT INTO term_trigrams (term_trigrams, rank) VALUES ('hashsize', 16777216);
INSERT INTO term_trigrams (term_trigrams, rank) VALUES ('usermerge', 2);

-- Forward index, document to terms: scoring a candidate needs no text. See indexer/fulltext/forward.py for the layout.
CREATE TABLE forward (
    id        INTEGER PRIMARY KEY,      -- rowid of `fts`
    owner_id  INTEGER NOT NULL,         -- rowid of the document a hit is shown as
    length    INTEGER NOT NULL,         -- tokens in all text columns
    is_title  INTEGER NOT NULL,         -- bool: the title of a file, whose text is in rows of its own
    terms     BLOB    NOT NULL          -- ids of its terms and their counts in each column
) STRICT;
