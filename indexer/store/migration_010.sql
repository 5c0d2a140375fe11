-- Schema 10: two indices on documents hold only what is looked for through them. Each had 17 bytes of every document.

-- What belongs to no session, all files, is not looked for by it.
DROP INDEX documents_session;
CREATE INDEX documents_session ON documents (session_id, kind) WHERE session_id > 0;
-- What the vocabulary has counted is not looked for; its name is that of indexer/text/vocabulary.py.
DROP INDEX documents_token_counter;
CREATE INDEX documents_token_counter ON documents (token_counter) WHERE token_counter <> 'o200k_base';
