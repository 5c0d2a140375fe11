-- A team's log in PostgreSQL 15 or newer: one table of records, each in its latest state, and the key of each apart.
--
-- A machine reads the projects that it is a member of, by row security, and writes nothing itself: push(), which
-- log_002.sql has, is the only way in. It takes the origin from the login role, so no member can speak for another, and gives the numbers: the row
-- of the project is locked until the transaction ends, so a number is visible as soon as a later one is.
--
-- ctxrank_log owns all of it and cannot log in. A later version is this file and log_002.sql and so on after it; once
-- released, none of them is edited.

CREATE SCHEMA ctxrank;
GRANT USAGE, CREATE ON SCHEMA ctxrank TO ctxrank_log;
GRANT USAGE ON SCHEMA ctxrank TO PUBLIC;
SET LOCAL ROLE ctxrank_log;
SET LOCAL search_path = ctxrank, pg_temp;

-- One row: which of these files were run.
CREATE TABLE version (id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1), number integer NOT NULL);
INSERT INTO version (number) VALUES (1);

CREATE TABLE projects (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text   NOT NULL UNIQUE CHECK (name <> '' AND length(name) <= 200),
    n         bigint NOT NULL DEFAULT 0,                    -- number of the last change
    history   uuid   NOT NULL DEFAULT gen_random_uuid(),    -- another one after a restore: see restored()
    day_bytes bigint NOT NULL DEFAULT 1073741824            -- what one member may write a day
);

-- Who takes part. A member speaks for one store, which it names when it joins, once.
CREATE TABLE members (
    project    integer NOT NULL REFERENCES projects (id),
    role       name    NOT NULL,
    origin     uuid,                                        -- of its store; NULL: admitted, not joined yet
    applied    bigint  NOT NULL DEFAULT 0,                  -- up to this number it has what others wrote
    forgotten  bigint  NOT NULL DEFAULT 0,                  -- up to this number it has carried out all orders to forget
    seen_at    timestamptz,
    left_at    timestamptz,                                 -- it takes no part any more; what it wrote stays
    day        date    NOT NULL DEFAULT current_date,
    day_bytes  bigint  NOT NULL DEFAULT 0,                  -- what it has written that day
    PRIMARY KEY (project, role),
    UNIQUE (project, origin)
);

-- The records: a register each, the line with the highest seq of its origin wins.
CREATE TABLE records (
    project   integer NOT NULL REFERENCES projects (id),
    n         bigint  NOT NULL,                             -- number of its last change
    origin    uuid    NOT NULL,                             -- the store whose it is
    kind      text    NOT NULL CHECK (length(kind) <= 40),
    key       text    NOT NULL CHECK (length(key) <= 120),  -- its number there; what an order is about
    seq       bigint  NOT NULL CHECK (seq BETWEEN 1 AND (1::bigint << 60) - 1),  -- in the log of its origin
    ruleset   integer NOT NULL,                             -- redaction rules that it was written under
    is_order  boolean NOT NULL,                             -- every replica has to confirm that it was carried out
    line      bytea   NOT NULL CHECK (octet_length(line) <= 8388608),  -- sealed with its key
    digest    bytea   GENERATED ALWAYS AS (sha256(line)) STORED,
    mark      bytea   NOT NULL CHECK (octet_length(mark) = 16),  -- of what the line says, under its key
    PRIMARY KEY (project, kind, key, origin)
);
CREATE UNIQUE INDEX records_in_order ON records (project, n);
CREATE INDEX records_orders ON records (project, n) WHERE is_order;

-- The keys. To forget a record is to delete its key and to rewrite the part of the table that held it. Parts are small,
-- so that little is rewritten, and all keys that a record ever had were in the same one.
CREATE TABLE record_keys (
    project  integer NOT NULL,
    kind     text    NOT NULL,
    key      text    NOT NULL,
    origin   uuid    NOT NULL,
    secret   bytea   NOT NULL CHECK (octet_length(secret) = 32),
    PRIMARY KEY (project, kind, key, origin)
) PARTITION BY HASH (project, kind, key, origin);
DO $$
BEGIN
    FOR part IN 0..7 LOOP
        EXECUTE format('CREATE TABLE record_keys_%s PARTITION OF record_keys FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
                       part, part);
    END LOOP;
END $$;

-- Parts that hold bytes of keys that were replaced or forgotten, and whether the write-ahead log does (part 0).
CREATE TABLE unerased (part oid PRIMARY KEY);


-- ROW SECURITY ---------------------------------------------------------------------------------------------------

CREATE FUNCTION my_projects() RETURNS SETOF integer LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
    SELECT project FROM members WHERE role = session_user AND left_at IS NULL
$$;

ALTER TABLE projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE members ENABLE ROW LEVEL SECURITY;
ALTER TABLE records ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_keys ENABLE ROW LEVEL SECURITY;
-- The subquery is run once a statement, not once a row.
CREATE POLICY of_members ON projects FOR SELECT USING (id = ANY (ARRAY (SELECT my_projects())));
CREATE POLICY of_members ON members FOR SELECT USING (project = ANY (ARRAY (SELECT my_projects())));
CREATE POLICY of_members ON records FOR SELECT USING (project = ANY (ARRAY (SELECT my_projects())));
CREATE POLICY of_members ON record_keys FOR SELECT USING (project = ANY (ARRAY (SELECT my_projects())));
GRANT SELECT ON version, projects, members, records, record_keys TO PUBLIC;


-- WHAT A MEMBER MAY DO -------------------------------------------------------------------------------------------

CREATE FUNCTION my_membership(of_project text) RETURNS members LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    me members;
BEGIN
    SELECT m.* INTO me FROM members AS m JOIN projects AS p ON p.id = m.project
     WHERE p.name = of_project AND m.role = session_user AND m.left_at IS NULL FOR UPDATE OF m;
    IF NOT FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s is no member of %s', session_user, of_project);
    END IF;
    RETURN me;
END $$;

-- Say which store the role speaks for: once, and one that no other member speaks for.
CREATE FUNCTION join_project(of_project text, of_store uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    me members := my_membership(of_project);
BEGIN
    IF me.origin IS NOT NULL AND me.origin <> of_store THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s speaks for another store, %s', session_user, me.origin);
    END IF;
    IF EXISTS (SELECT 1 FROM members WHERE project = me.project AND origin = of_store AND role <> me.role) THEN
        RAISE insufficient_privilege USING MESSAGE = 'another member speaks for this store';
    END IF;
    UPDATE members SET origin = of_store, seen_at = now() WHERE project = me.project AND role = me.role;
END $$;

-- Say how far the member has come. It can say so of itself alone, and nothing that is not here yet.
CREATE FUNCTION report(of_project text, has_applied bigint, has_forgotten bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ctxrank, pg_temp AS $$
DECLARE
    me members := my_membership(of_project);
    last bigint := (SELECT n FROM projects WHERE id = me.project);
BEGIN
    UPDATE members
       SET applied = greatest(applied, least(has_applied, last)),
           forgotten = greatest(forgotten, least(has_forgotten, has_applied, last)), seen_at = now()
     WHERE project = me.project AND role = me.role;
END $$;

CREATE FUNCTION leave_project(of_project text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    me members := my_membership(of_project);
BEGIN
    UPDATE members SET left_at = now() WHERE project = me.project AND role = me.role;
END $$;

-- Rewrite the parts that hold bytes of forgotten keys: what stays is put into files of their own. A transaction of its
-- own, after the one that deleted.
CREATE FUNCTION erase_keys() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    marked oid;
    rewritten integer := 0;
BEGIN
    FOR marked IN SELECT u.part FROM unerased AS u WHERE u.part <> 0 ORDER BY u.part FOR UPDATE SKIP LOCKED LOOP
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', marked::regclass);
        EXECUTE format('CREATE TEMP TABLE kept_keys ON COMMIT DROP AS SELECT * FROM %s', marked::regclass);
        EXECUTE format('TRUNCATE %s', marked::regclass);
        EXECUTE format('INSERT INTO %s SELECT * FROM pg_temp.kept_keys', marked::regclass);
        DROP TABLE pg_temp.kept_keys;
        DELETE FROM unerased WHERE part = marked;
        rewritten := rewritten + 1;
    END LOOP;
    IF rewritten > 0 THEN
        INSERT INTO unerased (part) VALUES (0) ON CONFLICT DO NOTHING;
    END IF;
    RETURN rewritten;
END $$;

-- Get the keys out of the write-ahead log: a new segment, and a checkpoint, after which the older ones are removed
-- (wal_recycle = off). False where the server does not let the log's owner do so.
CREATE FUNCTION erase_wal() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM unerased WHERE part = 0) THEN
        RETURN true;
    END IF;
    DELETE FROM unerased WHERE part = 0;
    PERFORM pg_switch_wal();
    EXECUTE 'CHECKPOINT';
    RETURN current_setting('wal_recycle')::boolean IS FALSE;
EXCEPTION WHEN insufficient_privilege THEN
    RETURN false;
END $$;


-- WHAT ITS ADMINISTRATOR MAY DO ----------------------------------------------------------------------------------

-- After a restore from a backup: every machine then gives and takes everything again.
CREATE FUNCTION restored() RETURNS void LANGUAGE sql SET search_path = ctxrank, pg_temp AS $$
    UPDATE projects SET history = gen_random_uuid();
    UPDATE members SET applied = 0, forgotten = 0;
$$;

-- A machine that is lost: it need not confirm any more, and may do nothing. With `with_records` the keys of all that it
-- wrote are deleted, too; erase_keys() and erase_wal() end that.
CREATE FUNCTION expel(of_project text, of_role name, with_records boolean) RETURNS void LANGUAGE plpgsql
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    who members;
BEGIN
    SELECT m.* INTO STRICT who FROM members AS m JOIN projects AS p ON p.id = m.project
     WHERE p.name = of_project AND m.role = of_role;
    UPDATE members SET left_at = coalesce(left_at, now()) WHERE project = who.project AND role = who.role;
    IF with_records THEN
        WITH deleted AS (
            DELETE FROM record_keys AS k WHERE k.project = who.project AND k.origin = who.origin RETURNING k.tableoid
        )
        INSERT INTO unerased (part) SELECT DISTINCT tableoid FROM deleted ON CONFLICT DO NOTHING;
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ctxrank FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    my_projects(), join_project(text, uuid), report(text, bigint, bigint), leave_project(text), erase_keys(), erase_wal()
TO PUBLIC;
RESET ROLE;
