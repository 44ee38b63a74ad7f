-- What must hold at any time, as far as the rows can tell. Each branch yields an invariant, the record that breaks it and
-- how. An empty answer is the good one.
WITH live AS (
    SELECT * FROM runs WHERE state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING')
),
ended_runs AS (
    SELECT * FROM runs WHERE state IN ('COMPLETED', 'ERROR', 'CANCELLED')
),
entries AS (
    SELECT t.id AS task_id, e.n, e.entry
    FROM tasks t CROSS JOIN LATERAL jsonb_array_elements(t.transitions) WITH ORDINALITY AS e (entry, n)
),
moves AS (
    SELECT task_id, n, entry, lag(entry ->> 'target') OVER (PARTITION BY task_id ORDER BY n) AS previous,
        lead(n) OVER (PARTITION BY task_id ORDER BY n) IS NULL AS newest
    FROM entries WHERE NOT (entry ? 'action')
),
events AS (
    SELECT run_id, count(*) AS n, min(seq) AS first, max(seq) AS last FROM run_events GROUP BY run_id
),
counted AS (
    SELECT 'product' AS kind, id AS product_id, '' AS project_id, '' AS status, FALSE AS failed, archived_at IS NOT NULL AS archived, count(*) AS n
    FROM products GROUP BY id, archived_at IS NOT NULL
    UNION ALL
    SELECT 'project', product_id, id, status, FALSE, archived_at IS NOT NULL, count(*)
    FROM projects GROUP BY product_id, id, status, archived_at IS NOT NULL
    UNION ALL
    SELECT 'task', product_id, project_id, status, failed, archived_at IS NOT NULL, count(*)
    FROM tasks GROUP BY product_id, project_id, status, failed, archived_at IS NOT NULL
),
stored AS (
    SELECT kind, product_id, project_id, status, failed, archived, sum(n) AS n
    FROM totals GROUP BY kind, product_id, project_id, status, failed, archived
)
SELECT 'I1' AS invariant, task_id AS record, 'more than one live run' AS problem FROM live GROUP BY task_id HAVING count(*) > 1
UNION ALL
SELECT 'I1', l.id, 'a live run is not its Task''s live run' FROM live l JOIN tasks t ON t.id = l.task_id
WHERE t.live_run_id IS DISTINCT FROM l.id
UNION ALL
SELECT 'I1', t.id, 'the Task names a live run that is none' FROM tasks t LEFT JOIN live l ON l.id = t.live_run_id
WHERE t.live_run_id IS NOT NULL AND l.id IS NULL
UNION ALL
SELECT 'I2', run_id, 'a launch was claimed twice' FROM run_events WHERE type = 'claimed'
GROUP BY run_id, body ->> 'launch' HAVING count(*) > 1
UNION ALL
SELECT 'I3', id, 'the end of a terminal run does not fit its state' FROM ended_runs
WHERE ended IS NULL OR (state = 'COMPLETED') <> (ended ->> 'kind' = 'completed')
    OR (state = 'CANCELLED') <> (ended ->> 'kind' = 'cancelled' AND state <> 'ERROR')
UNION ALL
SELECT 'I3', r.id, 'the Task shows another end of the run' FROM ended_runs r JOIN tasks t ON t.id = r.task_id
WHERE t.result ->> 'run_id' = r.id AND (t.result ->> 'status' <> r.state OR t.result ->> 'content' <> r.content)
UNION ALL
SELECT 'I3', t.id, 'the Task shows the end of a live run' FROM tasks t JOIN live l ON l.id = t.result ->> 'run_id'
UNION ALL
SELECT 'I3', t.id, 'an attempt ended and the Task that waits for it does not show it'
FROM tasks t JOIN ended_runs r ON r.id = t.job_id JOIN products p ON p.id = t.product_id JOIN projects j ON j.id = t.project_id
WHERE t.status = 'in_progress' AND t.result IS NULL AND t.archived_at IS NULL
    AND r.state <> 'CANCELLED' -- an archived Task is shown nothing of the run that its archiving cancelled
    AND p.cascades = '[]' AND j.cascades = '[]'
UNION ALL
SELECT 'I4', id, 'the next look is too far away' FROM runs
WHERE (state IN ('PENDING', 'LAUNCHING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL AND ended_at IS NOT NULL))
    AND due_at > clock_timestamp() + interval '2 minutes'
UNION ALL
SELECT 'I4', id, 'the next look is too far away' FROM runs
WHERE state = 'RUNNING' AND (due_at > clock_timestamp() + interval '15 minutes' OR due_at > COALESCE(run_until, lease_until))
UNION ALL
SELECT 'I4', id, 'nobody looked at the run for hours' FROM runs
WHERE (state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL))
    AND due_at < clock_timestamp() - interval '3 hours'
UNION ALL
SELECT 'I5', id, 'a result without a claim' FROM runs WHERE result_sha256 IS NOT NULL AND claimed_by IS NULL
UNION ALL
SELECT 'I5', id, 'a result of another launch' FROM runs
WHERE result_sha256 IS NOT NULL AND result_key <> 'runs/' || id || '/' || launch || '/result-' || result_sha256
UNION ALL
SELECT 'I6', id, 'a sandboxed run completed without a stored commit' FROM runs
WHERE state = 'COMPLETED' AND sandboxed AND (prepared_at IS NULL OR COALESCE(checkout ->> 'commit', '') = '')
UNION ALL
SELECT 'I6', r.id, 'the Task shows a result of another commit than its pin' FROM runs r JOIN tasks t ON t.id = r.task_id
WHERE r.state = 'COMPLETED' AND r.sandboxed AND t.result ->> 'run_id' = r.id
    AND (t.checkout IS NULL OR t.checkout ->> 'commit' <> r.checkout ->> 'commit' OR t.checkout ->> 'url' <> r.checkout ->> 'url'
        OR t.checkout ->> 'branch' <> r.checkout ->> 'branch')
UNION ALL
SELECT 'I7', s.run_id, 'a slot without a launch that may run' FROM slots s LEFT JOIN runs r ON r.id = s.run_id
WHERE r.id IS NULL OR r.launch = 0 OR r.stopped_at IS NOT NULL
UNION ALL
SELECT 'I7', r.id, 'a launch that may run without a slot' FROM runs r LEFT JOIN slots s ON s.run_id = r.id
WHERE r.launch > 0 AND r.stopped_at IS NULL AND s.run_id IS NULL
UNION ALL
SELECT 'I7', id, 'its sandbox is not known to have stopped long after the end' FROM ended_runs
WHERE launch > 0 AND stopped_at IS NULL AND ended_at + stop_grace_ms * interval '1 millisecond' < clock_timestamp() - interval '1 hour'
UNION ALL
SELECT 'I8', task_id, 'a transition does not follow the one before' FROM moves
WHERE entry ->> 'from' <> COALESCE(previous, 'backlog')
UNION ALL
SELECT 'I8', m.task_id, 'the status is not the last transition''s' FROM moves m JOIN tasks t ON t.id = m.task_id
WHERE m.newest AND m.entry ->> 'target' <> t.status
UNION ALL
SELECT 'I8', task_id, 'attempts have gaps' FROM entries WHERE entry ? 'attempt'
GROUP BY task_id HAVING count(*) <> max((entry ->> 'attempt')::integer) OR count(DISTINCT entry ->> 'attempt') <> count(*)
UNION ALL
SELECT 'I8', task_id, 'runs have gaps' FROM runs GROUP BY task_id HAVING count(*) <> max(attempt)
UNION ALL
SELECT 'I8', r.id, 'events have gaps' FROM runs r JOIN events e ON e.run_id = r.id
WHERE e.last <> r.event_seq OR e.n <> e.last - e.first + 1
UNION ALL
SELECT 'I9', COALESCE(s.kind, c.kind) || ' ' || COALESCE(s.product_id, c.product_id) || ' ' || COALESCE(s.status, c.status),
    'stored ' || COALESCE(s.n, 0) || ', counted ' || COALESCE(c.n, 0)
FROM stored s FULL JOIN counted c ON c.kind = s.kind AND c.product_id = s.product_id AND c.project_id = s.project_id
    AND c.status = s.status AND c.failed = s.failed AND c.archived = s.archived
WHERE COALESCE(s.n, 0) <> COALESCE(c.n, 0)
UNION ALL
SELECT 'I10', a.routine_id, 'more acceptances than the policy allows' FROM (
    SELECT entry -> 'auto_accept' ->> 'routine_id' AS routine_id, entry -> 'auto_accept' ->> 'policy' AS policy,
        min((entry -> 'auto_accept' ->> 'max_acceptances')::bigint) AS most, count(DISTINCT task_id) AS n
    FROM entries WHERE entry ? 'auto_accept' GROUP BY 1, 2) a
WHERE a.n > a.most
UNION ALL
SELECT 'I10', e.task_id, 'an automatic acceptance that no budget knows' FROM entries e
LEFT JOIN acceptances a ON a.routine_id = e.entry -> 'auto_accept' ->> 'routine_id' AND a.policy = e.entry -> 'auto_accept' ->> 'policy' AND a.record_id = e.task_id
WHERE e.entry ? 'auto_accept' AND a.record_id IS NULL
UNION ALL
SELECT 'I10', r.id, 'the Routine waits for a run that has ended' FROM routines r LEFT JOIN routine_runs x ON x.id = r.live_run_id AND x.status = 'running'
WHERE r.live_run_id IS NOT NULL AND x.id IS NULL
UNION ALL
SELECT 'I10', routine_id, 'two runs of a Routine at once' FROM routine_runs WHERE status = 'running' GROUP BY routine_id HAVING count(*) > 1;
