-- A team's log, second version: a key is deleted only for an order that is in the log, and a line whose key is lost
-- without one is given again.

SET LOCAL ROLE ctxrank_log;
SET LOCAL search_path = ctxrank, pg_temp;
UPDATE version SET number = 2;

-- Whether a record, as `number@store`, was ordered to be forgotten: by removing it in the store whose it is, or by a line
-- of its own from another. `by_store` is whose order counts, NULL for any.
CREATE FUNCTION is_ordered(of_project integer, of_kind text, of_record text, by_store uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = ctxrank, pg_temp AS $$
    SELECT EXISTS (
        SELECT 1 FROM records AS o
         WHERE o.project = of_project AND o.is_order AND o.origin = coalesce(by_store, o.origin)
           AND ((o.kind = 'removed ' || of_kind AND o.key = of_record)
                OR (o.kind = of_kind AND o.key = split_part(of_record, '@', 1)
                    AND o.origin::text = split_part(of_record, '@', 2)))
    )
$$;
REVOKE ALL ON FUNCTION is_ordered(integer, text, text, uuid) FROM PUBLIC;

-- Write records, in the given order; returns the number of the last change. What is not later than what is here is left
-- out, unless its key is lost and no order says so: it is given again, as after a restore. The keys of `gone_` are those
-- of records that this member has ordered to be forgotten; a key for which no order of its own is here stays.
CREATE OR REPLACE FUNCTION push(
    of_project text, kinds text[], keys text[], seqs bigint[], rulesets integer[], orders boolean[], lines bytea[],
    secrets bytea[], marks bytea[], gone_kinds text[], gone_keys text[], gone_of uuid[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ctxrank, pg_temp AS $$
DECLARE
    me members := my_membership(of_project);
    given integer := cardinality(kinds);
    size bigint := (SELECT coalesce(sum(octet_length(line)), 0) FROM unnest(lines) AS line);
    last bigint;
BEGIN
    IF me.origin IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s has not joined %s', session_user, of_project);
    END IF;
    IF given > 1000 OR cardinality(gone_kinds) > 1000 THEN
        RAISE program_limit_exceeded USING MESSAGE = 'more than 1000 records at once';
    END IF;
    UPDATE members SET day = current_date, seen_at = now(),
                       day_bytes = size + CASE WHEN day = current_date THEN day_bytes ELSE 0 END
     WHERE project = me.project AND role = me.role RETURNING day_bytes INTO size;
    IF size > (SELECT p.day_bytes FROM projects AS p WHERE p.id = me.project) THEN
        RAISE program_limit_exceeded USING MESSAGE = format('%s has written its bytes of the day', session_user);
    END IF;
    UPDATE projects SET n = n + given WHERE id = me.project RETURNING n INTO last;

    WITH written AS (
        INSERT INTO records AS r (project, n, origin, kind, key, seq, ruleset, is_order, line, mark)
        SELECT me.project, last - given + row.place, me.origin, row.kind, row.key, row.seq, row.ruleset, row.is_order,
               row.line, row.mark
          FROM unnest(kinds, keys, seqs, rulesets, orders, lines, marks) WITH ORDINALITY
               AS row (kind, key, seq, ruleset, is_order, line, mark, place)
            ON CONFLICT (project, kind, key, origin) DO UPDATE
           SET n = excluded.n, seq = excluded.seq, ruleset = excluded.ruleset, is_order = excluded.is_order,
               line = excluded.line, mark = excluded.mark
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
    SELECT DISTINCT keyed.tableoid FROM keyed JOIN written USING (kind, key) WHERE written.is_replaced
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
    INSERT INTO unerased (part) SELECT DISTINCT tableoid FROM deleted ON CONFLICT DO NOTHING;
    PERFORM pg_notify('ctxrank', of_project || ' ' || last);
    RETURN last;
END $$;
GRANT EXECUTE ON FUNCTION
    push(text, text[], text[], bigint[], integer[], boolean[], bytea[], bytea[], bytea[], text[], text[], uuid[])
TO PUBLIC;
RESET ROLE;
