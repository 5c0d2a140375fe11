-- A team's log, third version: what a member may do to the others is bounded by the server, whatever its session says.
--
-- ctxrank_member is the group of all roles that take part; PUBLIC keeps the version's number. A reader is a member of a
-- project that may not write there. Days are the server's, in UTC; a lock that is not had in seconds is given up.

SET LOCAL ROLE ctxrank_log;
SET LOCAL search_path = ctxrank, pg_temp;
UPDATE version SET number = 3;

ALTER TABLE members ADD COLUMN may_write boolean NOT NULL DEFAULT true;
ALTER TABLE members ALTER COLUMN day SET DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date;
-- When what it had open was ended, because it held a lock for longer than a statement may take.
ALTER TABLE members ADD COLUMN held_at timestamptz;
-- What the line unpacks to, as its machine declares it; one that unpacks to more is refused where it is pulled.
ALTER TABLE records ADD COLUMN size integer NOT NULL DEFAULT 8388608 CHECK (size BETWEEN 0 AND 8388608);

-- Parts of record_keys with bytes of replaced or forgotten keys, by name (a dump keeps no oid), and 'wal'.
ALTER TABLE unerased RENAME TO unerased_oids;
CREATE TABLE unerased (part text PRIMARY KEY);
INSERT INTO unerased
SELECT DISTINCT coalesce(c.relname, 'wal') FROM unerased_oids AS u LEFT JOIN pg_class AS c ON c.oid = u.part;
DROP TABLE unerased_oids;


-- JOINING --------------------------------------------------------------------------------------------------------

-- The code that lets a role say once which store it speaks for.
CREATE TABLE join_codes (
    project integer     NOT NULL,
    role    name        NOT NULL,
    digest  bytea       NOT NULL,
    until   timestamptz NOT NULL,
    store   uuid,                                           -- the one that it is for; NULL: any that nobody speaks for
    PRIMARY KEY (project, role),
    FOREIGN KEY (project, role) REFERENCES members (project, role) ON DELETE CASCADE
);

-- Admit a role, or admit it again; whether it has to join with the code, which takes the place of an earlier one.
CREATE FUNCTION admit(of_project text, of_role name, is_writer boolean, code text, of_store uuid) RETURNS boolean
LANGUAGE sql
SET search_path = ctxrank, pg_temp AS $$
    INSERT INTO members AS m (project, role, may_write) SELECT id, of_role, is_writer FROM projects WHERE name = of_project
        ON CONFLICT (project, role) DO UPDATE SET left_at = NULL, may_write = is_writer;
    INSERT INTO join_codes (project, role, digest, until, store)
    SELECT m.project, m.role, sha256(convert_to(code, 'UTF8')), clock_timestamp() + interval '1 day', of_store
      FROM members AS m JOIN projects AS p ON p.id = m.project
     WHERE p.name = of_project AND m.role = of_role AND m.origin IS NULL
        ON CONFLICT (project, role) DO UPDATE
       SET digest = excluded.digest, until = excluded.until, store = excluded.store;
    SELECT m.origin IS NULL FROM members AS m JOIN projects AS p ON p.id = m.project
     WHERE p.name = of_project AND m.role = of_role
$$;

-- Say which store the role speaks for: once, with its code, and one that no other role speaks for in any project.
DROP FUNCTION join_project(text, uuid);
CREATE FUNCTION join_project(of_project text, of_store uuid, code text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    me members := my_membership(of_project);
BEGIN
    IF me.origin <> of_store THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s speaks for another store, %s', session_user, me.origin);
    END IF;
    IF EXISTS (SELECT 1 FROM members
                WHERE origin = of_store AND role <> me.role AND (project = me.project OR left_at IS NULL)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'another member speaks for this store';
    END IF;
    IF me.origin IS NULL THEN
        DELETE FROM join_codes AS c
         WHERE c.project = me.project AND c.role = me.role AND c.digest = sha256(convert_to(code, 'UTF8'))
           AND c.until > clock_timestamp() AND coalesce(c.store, of_store) = of_store;
        IF NOT FOUND THEN
            RAISE insufficient_privilege USING MESSAGE = format(
                'no code that admits this role with the store %s, or it is older than a day', of_store);
        END IF;
    END IF;
    UPDATE members SET origin = of_store, seen_at = now() WHERE project = me.project AND role = me.role;
END $$;


-- WRITING --------------------------------------------------------------------------------------------------------

-- As in the second version, but: sizes are declared, a reader is refused, the day is the server's, and a row counts as
-- what the log keeps of it, or an eighth of what it unpacks to.
DROP FUNCTION push(
    text, text[], text[], bigint[], integer[], boolean[], bytea[], bytea[], bytea[], text[], text[], uuid[]
);
CREATE FUNCTION push(
    of_project text, kinds text[], keys text[], seqs bigint[], rulesets integer[], orders boolean[], lines bytea[],
    secrets bytea[], marks bytea[], sizes integer[], gone_kinds text[], gone_keys text[], gone_of uuid[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    me members := my_membership(of_project);
    given integer := cardinality(kinds);
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    written bigint;
    last bigint;
BEGIN
    IF me.origin IS NULL OR NOT me.may_write THEN
        RAISE insufficient_privilege USING MESSAGE = format(
            CASE WHEN me.origin IS NULL THEN '%s has not joined %s' ELSE '%s reads %s, and does not write' END,
            session_user, of_project);
    END IF;
    IF me.held_at > clock_timestamp() - interval '1 hour' THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s held locks, and may write again in an hour', session_user);
    END IF;
    IF greatest(given, cardinality(keys), cardinality(lines), cardinality(gone_kinds), cardinality(gone_keys),
                cardinality(gone_of)) > 1000 THEN
        RAISE program_limit_exceeded USING MESSAGE = 'more than 1000 records at once';
    END IF;
    SELECT 500 + coalesce(sum(500 + greatest(octet_length(row.line), row.size / 8)), 0) INTO written
      FROM unnest(lines, sizes) AS row (line, size);
    UPDATE members SET day = greatest(day, today), seen_at = now(),
                       day_bytes = written + CASE WHEN day >= today THEN day_bytes ELSE 0 END
     WHERE project = me.project AND role = me.role RETURNING day_bytes INTO written;
    IF written > (SELECT p.day_bytes FROM projects AS p WHERE p.id = me.project) THEN
        RAISE program_limit_exceeded USING MESSAGE = format('%s has written its bytes of the day', session_user);
    END IF;
    UPDATE projects SET n = n + given WHERE id = me.project RETURNING n INTO last;

    WITH written AS (
        INSERT INTO records AS r (project, n, origin, kind, key, seq, ruleset, is_order, line, mark, size)
        SELECT me.project, last - given + row.place, me.origin, row.kind, row.key, row.seq, row.ruleset, row.is_order,
               row.line, row.mark, row.size
          FROM unnest(kinds, keys, seqs, rulesets, orders, lines, marks, sizes) WITH ORDINALITY
               AS row (kind, key, seq, ruleset, is_order, line, mark, size, place)
            ON CONFLICT (project, kind, key, origin) DO UPDATE
           SET n = excluded.n, seq = excluded.seq, ruleset = excluded.ruleset, is_order = excluded.is_order,
               line = excluded.line, mark = excluded.mark, size = excluded.size
         WHERE excluded.seq > r.seq
            OR (excluded.seq = r.seq
                AND NOT EXISTS (SELECT 1 FROM record_keys AS k
                                 WHERE (k.project, k.kind, k.key, k.origin) = (r.project, r.kind, r.key, r.origin))
                AND (r.is_order OR NOT is_ordered(
                        r.project, r.kind, CASE WHEN r.key LIKE '%@%' THEN r.key ELSE r.key || '@' || r.origin END,
                        NULL)))
        RETURNING r.kind, r.key, r.xmax <> 0 AS is_replaced
    ), keyed AS (
        INSERT INTO record_keys AS k (project, kind, key, origin, secret)
        SELECT me.project, row.kind, row.key, me.origin, row.secret
          FROM unnest(kinds, keys, secrets) AS row (kind, key, secret)
          JOIN written ON written.kind = row.kind AND written.key = row.key
            ON CONFLICT (project, kind, key, origin) DO UPDATE SET secret = excluded.secret
        RETURNING k.tableoid, k.kind, k.key
    )
    INSERT INTO unerased (part)
    SELECT DISTINCT c.relname FROM keyed JOIN written USING (kind, key) JOIN pg_class AS c ON c.oid = keyed.tableoid
     WHERE written.is_replaced
        ON CONFLICT DO NOTHING;

    -- What was ordered to be forgotten: the record itself, and what others said of it under its name.
    WITH gone AS (
        SELECT row.kind, row.key, row.of FROM unnest(gone_kinds, gone_keys, gone_of) AS row (kind, key, of)
         WHERE is_ordered(me.project, row.kind, row.key || '@' || row.of, me.origin)
    ), deleted AS (
        DELETE FROM record_keys AS k USING gone
         WHERE k.project = me.project AND k.kind = gone.kind
           AND ((k.key = gone.key AND k.origin = gone.of AND gone.of <> me.origin) OR k.key = gone.key || '@' || gone.of)
           AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.is_order  -- what is ordered reaches every member
                              AND (r.project, r.kind, r.key, r.origin) = (k.project, k.kind, k.key, k.origin))
        RETURNING k.tableoid
    )
    INSERT INTO unerased (part)
    SELECT DISTINCT c.relname FROM deleted JOIN pg_class AS c ON c.oid = deleted.tableoid ON CONFLICT DO NOTHING;
    PERFORM pg_notify('ctxrank', of_project || ' ' || last);
    RETURN last;
END $$;


-- HOLDING LOCKS --------------------------------------------------------------------------------------------------

-- What no transaction of a machine takes: each is one statement, which it ends after 120 s.
CREATE FUNCTION longest_transaction() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '130 seconds' $$;

-- End the sessions of members that have held a lock of the log for longer than that; how many. Who held one that stops
-- others from writing may not write for an hour. A machine that met a lock calls it, and tries once more.
CREATE FUNCTION end_holders() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    holder record;
    ended integer := 0;
BEGIN
    FOR holder IN
        SELECT a.pid, a.usename, bool_or(l.mode <> 'AccessShareLock') AS is_strong
          FROM pg_stat_activity AS a JOIN pg_locks AS l ON l.pid = a.pid JOIN pg_class AS c ON c.oid = l.relation
         WHERE a.datname = current_database() AND l.database = a.datid AND c.relnamespace = 'ctxrank'::regnamespace
           AND a.xact_start < clock_timestamp() - longest_transaction() AND a.pid <> pg_backend_pid()
           AND a.usename IN (SELECT role FROM members)
         GROUP BY a.pid, a.usename
    LOOP
        IF NOT pg_terminate_backend(holder.pid, 2000) THEN
            CONTINUE;
        END IF;
        ended := ended + 1;
        BEGIN
            UPDATE members SET held_at = clock_timestamp() WHERE holder.is_strong AND role = holder.usename;
        EXCEPTION WHEN lock_not_available THEN
            NULL;  -- it holds its own row again, by another session: that is ended in its turn
        END;
    END LOOP;
    RETURN ended;
END $$;


-- CONFIRMING -----------------------------------------------------------------------------------------------------

-- As before; below 0 it takes back that it has carried out orders.
CREATE OR REPLACE FUNCTION report(of_project text, has_applied bigint, has_forgotten bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ctxrank, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    me members := my_membership(of_project);
    last bigint := (SELECT n FROM projects WHERE id = me.project);
BEGIN
    UPDATE members
       SET applied = greatest(applied, least(has_applied, last)),
           forgotten = CASE WHEN has_forgotten < 0 THEN 0
                            ELSE greatest(forgotten, least(has_forgotten, has_applied, last)) END, seen_at = now()
     WHERE project = me.project AND role = me.role;
END $$;


-- FORGETTING -----------------------------------------------------------------------------------------------------

-- Rewrite the parts that hold bytes of forgotten keys, in a transaction of its own after the one that deleted. A part
-- that others hold is left for the next call, and -1 says so.
CREATE OR REPLACE FUNCTION erase_keys() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
    marked text;
    rewritten integer := 0;
BEGIN
    IF EXISTS (SELECT 1 FROM members WHERE role = session_user AND held_at > clock_timestamp() - interval '1 hour') THEN
        RETURN -1;
    END IF;
    FOR marked IN SELECT u.part FROM unerased AS u WHERE u.part <> 'wal' ORDER BY u.part FOR UPDATE SKIP LOCKED LOOP
        BEGIN
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', marked);
            EXECUTE format('CREATE TEMP TABLE kept_keys ON COMMIT DROP AS SELECT * FROM %I', marked);
            EXECUTE format('TRUNCATE %I', marked);
            EXECUTE format('INSERT INTO %I SELECT * FROM pg_temp.kept_keys', marked);
            DROP TABLE pg_temp.kept_keys;
            DELETE FROM unerased WHERE part = marked;
            INSERT INTO unerased (part) VALUES ('wal') ON CONFLICT DO NOTHING;
            rewritten := rewritten + 1;
        EXCEPTION WHEN lock_not_available THEN
            RETURN -1;
        END;
    END LOOP;
    RETURN rewritten;
END $$;

-- Get the keys out of the write-ahead log: a new segment, and a checkpoint, after which the older ones are removed
-- (wal_recycle = off). False where the server does not let the log's owner do so, or keeps the segments.
CREATE OR REPLACE FUNCTION erase_wal() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
    DELETE FROM unerased WHERE part = 'wal';
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    PERFORM pg_switch_wal();
    EXECUTE 'CHECKPOINT';
    RETURN current_setting('wal_recycle')::boolean IS FALSE;
EXCEPTION WHEN insufficient_privilege OR lock_not_available THEN
    RETURN false;
END $$;


-- WHAT ITS ADMINISTRATOR MAY DO ----------------------------------------------------------------------------------

-- After a restore from a backup: every machine then gives and takes everything again; a code may have been used.
CREATE OR REPLACE FUNCTION restored() RETURNS void LANGUAGE sql SET search_path = ctxrank, pg_temp AS $$
    UPDATE projects SET history = gen_random_uuid();
    UPDATE members SET applied = 0, forgotten = 0;
    DELETE FROM join_codes;
$$;

-- As before; and first what the role has open is ended, with the locks that it holds.
CREATE OR REPLACE FUNCTION expel(of_project text, of_role name, with_records boolean) RETURNS void LANGUAGE plpgsql
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    who members;
BEGIN
    SELECT m.* INTO STRICT who FROM members AS m JOIN projects AS p ON p.id = m.project
     WHERE p.name = of_project AND m.role = of_role;
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = of_role AND datname = current_database();
    UPDATE members SET left_at = coalesce(left_at, now()) WHERE project = who.project AND role = who.role;
    IF with_records THEN
        WITH deleted AS (
            DELETE FROM record_keys AS k WHERE k.project = who.project AND k.origin = who.origin RETURNING k.tableoid
        )
        INSERT INTO unerased (part)
        SELECT DISTINCT c.relname FROM deleted JOIN pg_class AS c ON c.oid = deleted.tableoid ON CONFLICT DO NOTHING;
    END IF;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA ctxrank FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ctxrank FROM PUBLIC;
GRANT SELECT ON version TO PUBLIC;
GRANT SELECT ON projects, members, records, record_keys TO ctxrank_member;
GRANT EXECUTE ON FUNCTION
    my_projects(), join_project(text, uuid, text), report(text, bigint, bigint), leave_project(text),
    push(text, text[], text[], bigint[], integer[], boolean[], bytea[], bytea[], bytea[], integer[], text[], text[],
         uuid[]),
    erase_keys(), erase_wal(), end_holders()
TO ctxrank_member;
RESET ROLE;
