-- The predecessor's tables, as views over ours: its names, its columns, its text moments. Each view begins with its
-- name and the order in which its rows were made there, and ends in its FROM and JOINs, so that a reader adds a WHERE.
-- moment(x) is written for strftime('%Y-%m-%d %H:%M:%S', x / 1000000, 'unixepoch').

-- view sessions by s.id
SELECT s.name AS session_id, moment(s.created_at) AS start_time, moment(s.ended_at) AS end_time,
       s.mode, s.requirements AS original_requirements, s.status, s.initial_branch,
       CASE WHEN s.metadata LIKE '"%' THEN s.metadata ->> '$'
            WHEN s.project <> 'default' AND s.metadata ->> '$.project_id' IS NULL
            THEN json_set(s.metadata, '$.project_id', s.project)
            ELSE nullif(s.metadata, '{}') END AS metadata,
       moment(s.created_at) AS created_at
  FROM main.sessions AS s

-- view task_groups by g.id
SELECT g.name AS id, s.name AS session_id, coalesce(nullif(g.title, ''), g.name) AS name, g.status,
       g.metadata ->> '$.assigned_to' AS assigned_to,
       coalesce(g.metadata ->> '$.revision_count', 0) AS revision_count,
       g.metadata ->> '$.last_review_status' AS last_review_status,
       g.metadata ->> '$.feature_branch' AS feature_branch, g.metadata ->> '$.merge_status' AS merge_status,
       g.metadata ->> '$.complexity' AS complexity,
       coalesce(g.metadata ->> '$.initial_tier', 'Developer') AS initial_tier,
       nullif(g.context_references, '[]') AS context_references, g.metadata ->> '$.specializations' AS specializations,
       coalesce(g.metadata ->> '$.item_count', 1) AS item_count,
       coalesce(g.metadata ->> '$.security_sensitive', 0) AS security_sensitive,
       coalesce(g.metadata ->> '$.qa_attempts', 0) AS qa_attempts,
       coalesce(g.metadata ->> '$.tl_review_attempts', 0) AS tl_review_attempts,
       g.metadata ->> '$.component_path' AS component_path,
       coalesce(g.metadata ->> '$.review_iteration', 1) AS review_iteration,
       coalesce(g.metadata ->> '$.no_progress_count', 0) AS no_progress_count,
       coalesce(g.metadata ->> '$.blocking_issues_count', 0) AS blocking_issues_count,
       g.metadata ->> '$.speckit_task_ids' AS speckit_task_ids, moment(g.created_at) AS created_at,
       coalesce(g.metadata ->> '$.updated_at',
                moment(g.created_at)) AS updated_at
  FROM main.groups AS g
  JOIN main.sessions AS s ON s.id = g.session_id

-- view context_packages by p.id < 0, abs(p.id)
SELECT p.id, s.name AS session_id, g.name AS group_id, p.type AS package_type, p.path AS file_path,
       p.producer AS producer_agent, p.priority,
       CASE WHEN length(p.summary) > 200 THEN substr(p.summary, 1, 197) || '...' ELSE p.summary END AS summary,
       p.size_bytes, p.version, p.supersedes AS supersedes_id, p.scope, moment(p.created_at) AS created_at
  FROM main.packages AS p
  JOIN main.sessions AS s ON s.id = p.session_id
  LEFT JOIN main.groups AS g ON g.id = p.group_id

-- view context_package_consumers by c.id
SELECT c.id, c.package_id, c.agent AS agent_type, moment(c.consumed_at) AS consumed_at,
       coalesce(c.iteration, 1) AS iteration
  FROM main.package_consumers AS c

-- view consumption_scope by d.delivered_at, d.package_id
SELECT scope_id(s.name, coalesce(g.name, ''), d.agent, d.iteration, d.package_id) AS scope_id,
       s.name AS session_id, coalesce(g.name, '') AS group_id, d.agent AS agent_type, d.iteration,
       d.package_id, moment(d.delivered_at) AS consumed_at
  FROM main.deliveries AS d
  JOIN main.packages AS p ON p.id = d.package_id
  JOIN main.sessions AS s ON s.id = p.session_id
  LEFT JOIN main.groups AS g ON g.id = d.group_id

-- view error_patterns by e.id < 0, abs(e.id)
SELECT e.pattern_hash, e.project AS project_id,
       json_object('error_type', e.error_type, 'message_pattern', e.message,
                   'context_hints', json(e.context_hints), 'stack_pattern', json(e.stack_pattern))
           AS signature_json,
       e.solution, round(e.confidence, 4) AS confidence, e.occurrences, e.lang,
       moment(e.last_seen) AS last_seen, moment(e.created_at) AS created_at, e.ttl_days
  FROM main.error_patterns AS e

-- view strategies by t.id < 0, abs(t.id)
SELECT t.name AS strategy_id, t.project AS project_id, t.topic, t.insight, t.helpfulness, t.lang,
       t.framework, moment(t.last_seen) AS last_seen, moment(t.created_at) AS created_at
  FROM main.strategies AS t

-- view orchestration_logs by 3, 8, 1
SELECT r.id, s.name AS session_id, moment(r.created_at) AS timestamp, r.iteration,
       r.agent AS agent_type, nullif(r.agent_name, '') AS agent_id, r.content, 'reasoning' AS log_type,
       r.phase AS reasoning_phase, r.confidence AS confidence_level,
       nullif(r.refs, '[]') AS references_json, r.redacted, coalesce(g.name, 'global') AS group_id,
       NULL AS event_subtype, NULL AS event_payload, NULL AS idempotency_key
  FROM main.reasoning AS r
  JOIN main.sessions AS s ON s.id = r.session_id
  LEFT JOIN main.groups AS g ON g.id = r.group_id
 UNION ALL
SELECT v.id, s.name, moment(v.created_at), NULL, 'system', NULL,
       'Event: ' || v.subtype, 'event', NULL, NULL, NULL, 0, coalesce(g.name, 'global'),
       v.subtype, v.payload, v.idempotency_key
  FROM main.events AS v
  JOIN main.sessions AS s ON s.id = v.session_id
  LEFT JOIN main.groups AS g ON g.id = v.group_id
 WHERE v.subtype <> 'token_usage'

-- view skill_outputs by o.id < 0, abs(o.id)
SELECT o.id, s.name AS session_id, moment(o.created_at) AS timestamp, o.skill AS skill_name,
       o.output AS output_data, nullif(o.agent, '') AS agent_type, g.name AS group_id, o.iteration
  FROM main.skill_outputs AS o
  JOIN main.sessions AS s ON s.id = o.session_id
  LEFT JOIN main.groups AS g ON g.id = o.group_id

-- view token_usage by v.id < 0, abs(v.id)
SELECT v.id, s.name AS session_id, moment(v.created_at) AS timestamp,
       v.payload ->> '$.agent_type' AS agent_type,
       v.payload ->> '$.agent_id' AS agent_id,
       v.payload ->> '$.tokens_estimated' AS tokens_estimated
  FROM (SELECT * FROM main.events WHERE subtype = 'token_usage') AS v
  JOIN main.sessions AS s ON s.id = v.session_id

-- view agent_reasoning by r.id < 0, abs(r.id)
SELECT r.id, s.name AS session_id, coalesce(g.name, 'global') AS group_id, r.agent AS agent_type,
       nullif(r.agent_name, '') AS agent_id, r.iteration, r.phase, r.content, r.confidence,
       nullif(r.refs, '[]') AS references_json, r.redacted, moment(r.created_at) AS created_at
  FROM main.reasoning AS r
  JOIN main.sessions AS s ON s.id = r.session_id
  LEFT JOIN main.groups AS g ON g.id = r.group_id

-- view configuration by key
SELECT 'skills_config' AS key, c.value, NULL AS updated_at
  FROM main.settings AS c
 WHERE c.key = (SELECT k.key FROM main.settings AS k
                 WHERE k.key IN ('skills_config', 'imported_skills_config')
                 ORDER BY k.key = 'skills_config' DESC LIMIT 1)
