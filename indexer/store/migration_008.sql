-- Schema 8: a store has a token, by which the user's state folder knows it (see indexer/store/trust.py).

ALTER TABLE store ADD COLUMN token TEXT NOT NULL DEFAULT '';    -- name, 128 random bits; is never exported or shown
UPDATE store SET token = lower(hex(randomblob(16)));
