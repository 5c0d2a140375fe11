-- Schema 9: a team may have types of packages of its own, so the CHECK on packages.type goes. A constraint changes no
-- row, so the statement is edited where it is kept (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of
-- Table Schema Changes"): a table that is dropped to be made again would take the rows with it that belong to its own.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema
   SET sql = replace(sql, ' CHECK (type IN  -- word
                       (''research'', ''failures'', ''decisions'', ''handoff'', ''investigation'')),', ',')
 WHERE type = 'table' AND name = 'packages';
-- What follows changes the schema's number, so that other connections read it again.
CREATE TABLE schema_9 (id INTEGER PRIMARY KEY) STRICT;
DROP TABLE schema_9;
PRAGMA writable_schema = RESET;
