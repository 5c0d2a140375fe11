-- Schema 10: stores exchange records. What another store made has a negative id that says which store and which number
-- (see indexer/store/ids.py); the log says what an exchange has to take along.

-- The stores whose records came here, by the code in their records' ids.
CREATE TABLE origins (
    code  INTEGER PRIMARY KEY,                      -- the first 32 bits of its uuid, or the next code that was free
    uuid  TEXT NOT NULL UNIQUE                      -- name, of a store
) STRICT;

-- The record log: one row a record, with the number of its last change; `export --since` reads it in order.
CREATE TABLE record_log (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    kind    TEXT    NOT NULL,                       -- word: a kind of the catalogue; forget, of blocklist; usage, of packages
    number  INTEGER NOT NULL,                       -- id in the kind's table
    gone    INTEGER NOT NULL DEFAULT 0,             -- 1: removed; 2: every store has to forget it; 3: by its origin
    UNIQUE (kind, number)
) STRICT;

-- What other stores counted of a record that all of them have; the record's own numbers are the sums.
CREATE TABLE origin_counts (
    kind           TEXT    NOT NULL,                -- word: error, strategy
    number         INTEGER NOT NULL,                -- id in the kind's table
    origin         INTEGER NOT NULL,                -- code of the store that counted
    occurrences    INTEGER NOT NULL,                -- of a strategy: its helpfulness
    confirmations  INTEGER NOT NULL,
    refutations    INTEGER NOT NULL,
    PRIMARY KEY (kind, number, origin)
) STRICT, WITHOUT ROWID;

-- 0: this store's own; else the code of the store that said so.
ALTER TABLE package_consumers ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blocklist ADD COLUMN origin TEXT NOT NULL DEFAULT '';  -- name: uuid of the store whose order it is; '': ours

-- The kinds of records have triggers of one template: see indexer/store/record_log.py.

CREATE TRIGGER logged_forget_made AFTER INSERT ON blocklist BEGIN
    DELETE FROM record_log WHERE kind = 'forget' AND number = NEW.id;
    INSERT INTO record_log (kind, number) VALUES ('forget', NEW.id);
END;
CREATE TRIGGER logged_forget_removed AFTER DELETE ON blocklist BEGIN
    DELETE FROM record_log WHERE kind = 'forget' AND number = OLD.id;
    INSERT INTO record_log (kind, number, gone) VALUES ('forget', OLD.id, 1);
END;
-- A file is a record while it has a document of its own.
CREATE TRIGGER logged_artifact_made AFTER INSERT ON documents WHEN NEW.kind = 'artifact' BEGIN
    DELETE FROM record_log WHERE kind = 'artifact' AND number = NEW.record_id;
    INSERT INTO record_log (kind, number) VALUES ('artifact', NEW.record_id);
END;
CREATE TRIGGER logged_artifact_changed AFTER UPDATE ON documents WHEN NEW.kind = 'artifact' BEGIN
    DELETE FROM record_log WHERE kind = 'artifact' AND number = NEW.record_id;
    INSERT INTO record_log (kind, number) VALUES ('artifact', NEW.record_id);
END;
CREATE TRIGGER logged_artifact_removed AFTER DELETE ON documents WHEN OLD.kind = 'artifact' BEGIN
    DELETE FROM record_log WHERE kind = 'artifact' AND number = OLD.record_id;
    INSERT INTO record_log (kind, number, gone) VALUES ('artifact', OLD.record_id, 1);
END;
-- A package has its file's text.
CREATE TRIGGER logged_text_changed AFTER UPDATE OF sha256, ruleset ON artifacts WHEN NEW.sha256 <> OLD.sha256 OR NEW.ruleset <> OLD.ruleset BEGIN
    DELETE FROM record_log WHERE kind = 'package' AND number IN (SELECT id FROM packages WHERE artifact_id = NEW.id);
    INSERT INTO record_log (kind, number) SELECT 'package', id FROM packages WHERE artifact_id = NEW.id;
    DELETE FROM record_log WHERE kind = 'artifact' AND number = NEW.id AND gone = 0;
    INSERT INTO record_log (kind, number)
        SELECT 'artifact', record_id FROM documents WHERE kind = 'artifact' AND record_id = NEW.id;
END;
-- Who took a package and who was shown it, as this store saw it.
CREATE TRIGGER logged_consumer_made AFTER INSERT ON package_consumers WHEN NEW.consumed_at IS NOT NULL BEGIN
    DELETE FROM record_log WHERE kind = 'usage' AND number = NEW.package_id;
    INSERT INTO record_log (kind, number) VALUES ('usage', NEW.package_id);
END;
CREATE TRIGGER logged_consumer_changed AFTER UPDATE ON package_consumers BEGIN
    DELETE FROM record_log WHERE kind = 'usage' AND number = NEW.package_id;
    INSERT INTO record_log (kind, number) VALUES ('usage', NEW.package_id);
END;
CREATE TRIGGER logged_delivery_made AFTER INSERT ON deliveries BEGIN
    DELETE FROM record_log WHERE kind = 'usage' AND number = NEW.package_id;
    INSERT INTO record_log (kind, number) VALUES ('usage', NEW.package_id);
END;
CREATE TRIGGER logged_delivery_changed AFTER UPDATE ON deliveries BEGIN
    DELETE FROM record_log WHERE kind = 'usage' AND number = NEW.package_id;
    INSERT INTO record_log (kind, number) VALUES ('usage', NEW.package_id);
END;

-- What is here already.
INSERT INTO record_log (kind, number) SELECT 'forget', id FROM blocklist ORDER BY id;
INSERT INTO record_log (kind, number) SELECT 'artifact', record_id FROM documents WHERE kind = 'artifact' ORDER BY record_id;

-- Two indices on documents hold only what is looked for through them. Each had 17 bytes of every document.

-- What belongs to no session, all files, is not looked for by it.
DROP INDEX documents_session;
CREATE INDEX documents_session ON documents (session_id, kind) WHERE session_id > 0;
-- What the vocabulary has counted is not looked for; its name is that of indexer/text/vocabulary.py.
DROP INDEX documents_token_counter;
CREATE INDEX documents_token_counter ON documents (token_counter) WHERE token_counter <> 'o200k_base';
