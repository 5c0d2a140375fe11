-- Schema 11: extensions own their tables.

-- The extensions that own tables in this store, and the version of these. Each has its SQL files in its own folder. Where
-- one is not installed, its tables are never passed over: what would have to look at them refuses.
CREATE TABLE extensions (
    id       INTEGER PRIMARY KEY,
    name     TEXT    NOT NULL UNIQUE,               -- name of the extension's folder
    version  INTEGER NOT NULL                       -- number of its last SQL file that was run
) STRICT;
