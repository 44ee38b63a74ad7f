CREATE TABLE IF NOT EXISTS products (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    purpose     text,
    user_id     text,
    metadata    jsonb NOT NULL,
    cascades    jsonb NOT NULL,
    revision    bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz,
    archived_at timestamptz
);

CREATE INDEX ASYNC IF NOT EXISTS products_by_created ON products (created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS products_by_updated ON products (COALESCE(updated_at, created_at), id);

CREATE TABLE IF NOT EXISTS projects (
    id              text PRIMARY KEY,
    product_id      text NOT NULL REFERENCES products (id),
    name            text NOT NULL,
    outcome         text,
    status          text NOT NULL CHECK (status IN ('proposed', 'active', 'done', 'cancelled')),
    target_date     bigint,
    user_id         text,
    transitions     jsonb NOT NULL,
    open_id         text UNIQUE CHECK (open_id = id),
    cascades        jsonb NOT NULL,
    product_archive integer NOT NULL,
    revision        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz,
    archived_at     timestamptz,
    CHECK ((open_id IS NOT NULL) = (status IN ('proposed', 'active')))
);

CREATE INDEX ASYNC IF NOT EXISTS projects_by_created ON projects (created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS projects_by_updated ON projects (COALESCE(updated_at, created_at), id);

CREATE INDEX ASYNC IF NOT EXISTS projects_by_product ON projects (product_id, created_at, id);

CREATE TABLE IF NOT EXISTS sources (
    id             text PRIMARY KEY,
    product_id     text NOT NULL REFERENCES products (id),
    type           text NOT NULL CHECK (type IN ('git', 'markdown', 'website')),
    reference      text NOT NULL,
    credential_ref text,
    config         jsonb NOT NULL,
    user_id        text,
    revision       bigint NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz,
    archived_at    timestamptz
);

CREATE INDEX ASYNC IF NOT EXISTS sources_by_product ON sources (product_id, created_at, id);

CREATE TABLE IF NOT EXISTS tasks (
    id              text PRIMARY KEY,
    product_id      text NOT NULL REFERENCES products (id),
    project_id      text NOT NULL REFERENCES projects (id),
    open_project_id text REFERENCES projects (open_id),
    title           text NOT NULL,
    brief           text,
    evidence        jsonb,
    origin          text NOT NULL CHECK (origin IN ('human', 'routine', 'product_manager')),
    routine_id      text,
    dedupe_key      text,
    status          text NOT NULL CHECK (status IN ('backlog', 'ready', 'in_progress', 'in_review', 'done', 'cancelled')),
    user_id         text,
    transitions     jsonb NOT NULL,
    executor_type   text CHECK (executor_type IN ('agent', 'team', 'workflow')),
    executor_id     text,
    accepted_by     text,
    accepted_at     timestamptz,
    session_id      text NOT NULL,
    job_id          text,
    live_run_id     text,
    checkout        jsonb,
    result          jsonb,
    failed          boolean NOT NULL,
    product_archive integer NOT NULL,
    project_archive integer NOT NULL,
    revision        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz,
    archived_at     timestamptz,
    UNIQUE (product_id, dedupe_key),
    CHECK ((open_project_id IS NOT NULL) = (status NOT IN ('done', 'cancelled'))),
    CHECK (open_project_id = project_id)
);

CREATE INDEX ASYNC IF NOT EXISTS tasks_by_created ON tasks (created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS tasks_by_updated ON tasks (COALESCE(updated_at, created_at), id);

CREATE INDEX ASYNC IF NOT EXISTS tasks_by_product ON tasks (product_id, created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS tasks_by_project ON tasks (project_id, created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS tasks_by_status ON tasks (status, created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS tasks_by_failed ON tasks (created_at, id) WHERE failed;

CREATE UNIQUE INDEX ASYNC IF NOT EXISTS tasks_by_session ON tasks (session_id);

CREATE TABLE IF NOT EXISTS runs (
    id             text PRIMARY KEY,
    task_id        text NOT NULL REFERENCES tasks (id),
    product_id     text NOT NULL,
    attempt        integer NOT NULL,
    session_id     text NOT NULL,
    user_id        text,
    started_by     text,
    executor_type  text NOT NULL CHECK (executor_type IN ('agent', 'team', 'workflow')),
    executor_id    text NOT NULL,
    sandboxed      boolean NOT NULL,
    state          text NOT NULL CHECK (state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING', 'COMPLETED', 'ERROR', 'CANCELLED')),
    input_key      text NOT NULL,
    input_sha256   text NOT NULL,
    source_id      text,
    checkout       jsonb,
    due_at         timestamptz NOT NULL,
    start_until    timestamptz NOT NULL,
    run_until      timestamptz,
    stop_grace_ms  bigint NOT NULL,
    launch         integer NOT NULL,
    launch_token   text,
    launch_hash    text,
    token_until    timestamptz,
    calling_until  timestamptz,
    sandbox_handle text,
    claimed_by     text,
    claimed_at     timestamptz,
    session_hash   text,
    lease_until    timestamptz,
    cancel_at      timestamptz,
    prepared_at    timestamptz,
    stopped_at     timestamptz,
    stop_reason    text,
    event_batches  integer NOT NULL,
    event_seq      bigint NOT NULL,
    result_key     text,
    result_sha256  text,
    content        text NOT NULL,
    content_type   text,
    ended          jsonb,
    usage          jsonb,
    artifacts      jsonb NOT NULL,
    sandbox        jsonb,
    waiting_reason text,
    waiting_since  timestamptz,
    ended_at       timestamptz,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz,
    UNIQUE (task_id, attempt),
    CHECK (state <> 'PENDING' OR launch = 0),
    CHECK ((ended_at IS NOT NULL) = (state IN ('COMPLETED', 'ERROR', 'CANCELLED')))
);

CREATE UNIQUE INDEX ASYNC IF NOT EXISTS runs_live ON runs (task_id) WHERE state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING');

CREATE INDEX ASYNC IF NOT EXISTS runs_pending ON runs (created_at, id) WHERE state = 'PENDING';

CREATE INDEX ASYNC IF NOT EXISTS runs_due ON runs (due_at) WHERE state IN ('PENDING', 'LAUNCHING', 'RUNNING', 'CANCELLING') OR (launch > 0 AND stopped_at IS NULL);

CREATE TABLE IF NOT EXISTS run_events (
    run_id text NOT NULL,
    seq    bigint NOT NULL,
    at     timestamptz NOT NULL,
    type   text NOT NULL,
    body   jsonb NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE IF NOT EXISTS slots (
    slot     integer PRIMARY KEY,
    run_id   text NOT NULL UNIQUE,
    taken_at timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS wiki_pages (
    namespace  text NOT NULL,
    path       text NOT NULL,
    version    integer NOT NULL,
    size_bytes integer NOT NULL,
    content    text NOT NULL,
    user_id    text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, path)
);

CREATE TABLE IF NOT EXISTS wiki_versions (
    namespace  text NOT NULL,
    path       text NOT NULL,
    version    integer NOT NULL,
    content    text NOT NULL,
    user_id    text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, path, version)
);

CREATE TABLE IF NOT EXISTS counts (
    kind       text NOT NULL CHECK (kind IN ('product', 'project', 'task')),
    product_id text NOT NULL,
    project_id text NOT NULL,
    status     text NOT NULL,
    failed     boolean NOT NULL,
    archived   boolean NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (kind, product_id, project_id, status, failed, archived)
);

CREATE TABLE IF NOT EXISTS count_deltas (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('product', 'project', 'task')),
    product_id text NOT NULL,
    project_id text NOT NULL,
    status     text NOT NULL,
    failed     boolean NOT NULL,
    archived   boolean NOT NULL,
    n          bigint NOT NULL
);

CREATE VIEW totals AS
SELECT kind, product_id, project_id, status, failed, archived, n FROM counts
UNION ALL
SELECT kind, product_id, project_id, status, failed, archived, n FROM count_deltas;

CREATE INDEX ASYNC IF NOT EXISTS count_deltas_by_product ON count_deltas (kind, product_id);

CREATE TABLE IF NOT EXISTS routines (
    id              text PRIMARY KEY,
    product_id      text NOT NULL REFERENCES products (id),
    user_id         text NOT NULL,
    name            text NOT NULL,
    template        text CHECK (template IN ('refresh', 'intake', 'summary')),
    executor_type   text NOT NULL CHECK (executor_type IN ('agent', 'team', 'workflow')),
    executor_id     text NOT NULL,
    instructions    text NOT NULL,
    cron_expr       text,
    timezone        text NOT NULL,
    enabled         boolean NOT NULL,
    disabled_reason text,
    next_run_at     timestamptz,
    policy          jsonb,
    fingerprint     text,
    policy_ends_at  timestamptz,
    budget          bigint,
    granted_by      jsonb,
    authority       jsonb NOT NULL,
    live_run_id     text,
    last_run        jsonb,
    revision        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    UNIQUE (user_id, name)
);

CREATE INDEX ASYNC IF NOT EXISTS routines_by_created ON routines (created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS routines_by_product ON routines (product_id, created_at, id);

CREATE INDEX ASYNC IF NOT EXISTS routines_due ON routines (next_run_at, id) WHERE enabled AND next_run_at IS NOT NULL;

CREATE INDEX ASYNC IF NOT EXISTS routines_granting ON routines (created_at, id) WHERE enabled AND policy IS NOT NULL;

CREATE TABLE IF NOT EXISTS routine_runs (
    id           text PRIMARY KEY,
    routine_id   text NOT NULL REFERENCES routines (id),
    product_id   text NOT NULL,
    user_id      text,
    status       text NOT NULL CHECK (status IN ('running', 'success', 'failed', 'skipped', 'cancelled')),
    run_id       text UNIQUE,
    session_id   text,
    message      text NOT NULL,
    authority    jsonb NOT NULL,
    claimed_by   text,
    lease_until  timestamptz,
    start_until  timestamptz NOT NULL,
    triggered_at timestamptz NOT NULL,
    completed_at timestamptz,
    error        text,
    output       jsonb,
    CHECK ((completed_at IS NULL) = (status = 'running'))
);

CREATE INDEX ASYNC IF NOT EXISTS routine_runs_by_routine ON routine_runs (routine_id, triggered_at, id);

CREATE INDEX ASYNC IF NOT EXISTS routine_runs_live ON routine_runs (triggered_at, id) WHERE status = 'running';

CREATE TABLE IF NOT EXISTS automation_runs (
    id           text PRIMARY KEY,
    status       text NOT NULL CHECK (status IN ('success', 'failed', 'cancelled')),
    triggered_at timestamptz NOT NULL,
    completed_at timestamptz NOT NULL,
    error        text,
    output       jsonb NOT NULL
);

CREATE INDEX ASYNC IF NOT EXISTS automation_runs_by_end ON automation_runs (completed_at, id);

CREATE TABLE IF NOT EXISTS streaks (
    id            text PRIMARY KEY,
    task_id       text NOT NULL REFERENCES tasks (id),
    product_id    text NOT NULL,
    reason        text NOT NULL,
    count         bigint NOT NULL,
    task_revision bigint NOT NULL,
    active        boolean NOT NULL,
    triggered_at  timestamptz NOT NULL,
    completed_at  timestamptz NOT NULL
);

CREATE INDEX ASYNC IF NOT EXISTS streaks_by_task ON streaks (task_id, triggered_at, id);

CREATE INDEX ASYNC IF NOT EXISTS streaks_active ON streaks (triggered_at, id) WHERE active;

CREATE INDEX ASYNC IF NOT EXISTS streaks_by_end ON streaks (completed_at, id);

CREATE TABLE IF NOT EXISTS acceptances (
    routine_id  text NOT NULL,
    policy      text NOT NULL,
    record_id   text NOT NULL,
    accepted_at timestamptz NOT NULL,
    PRIMARY KEY (routine_id, policy, record_id)
);

CREATE TABLE IF NOT EXISTS claims (
    name          text PRIMARY KEY,
    holder        text NOT NULL,
    claimed_until timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS deliveries (
    product_id   text NOT NULL,
    run_id       text NOT NULL,
    channel      text NOT NULL,
    destination  text NOT NULL,
    snapshot     jsonb NOT NULL,
    delivered_at timestamptz NOT NULL,
    PRIMARY KEY (product_id, run_id)
);

CREATE INDEX ASYNC IF NOT EXISTS deliveries_by_time ON deliveries (product_id, delivered_at);

CREATE TABLE IF NOT EXISTS blob_garbage (
    key        text PRIMARY KEY,
    created_at timestamptz NOT NULL
);

CREATE INDEX ASYNC IF NOT EXISTS tasks_proposed ON tasks (routine_id, created_at, id) WHERE status = 'backlog' AND origin = 'routine' AND archived_at IS NULL
    AND NOT transitions @> '[{"target": "ready"}]';

CREATE INDEX ASYNC IF NOT EXISTS tasks_to_recover ON tasks (created_at, id) WHERE status = 'in_progress' AND result IS NULL AND archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_finished ON tasks (product_id, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL AND status IN ('done', 'cancelled');

CREATE INDEX ASYNC IF NOT EXISTS tasks_waiting ON tasks (COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL AND (status IN ('backlog', 'in_review') OR failed);

CREATE INDEX ASYNC IF NOT EXISTS tasks_waiting_by_product ON tasks (product_id, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL AND (status IN ('backlog', 'in_review') OR failed);

CREATE INDEX ASYNC IF NOT EXISTS runs_to_clean ON runs (ended_at, id) WHERE ended_at IS NOT NULL AND input_key <> '';

CREATE TABLE IF NOT EXISTS decisions (
    id         text PRIMARY KEY,
    decision   text NOT NULL,
    reasoning  text,
    context    text,
    outcome    text,
    user_id    text,
    agent_id   text,
    session_id text,
    created_at timestamptz NOT NULL
);

CREATE INDEX ASYNC IF NOT EXISTS decisions_by_created ON decisions (created_at, id);

CREATE TABLE IF NOT EXISTS idempotency_keys (
    user_id    text NOT NULL,
    key        text NOT NULL,
    request    text NOT NULL,
    status     integer NOT NULL,
    answer     text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, key)
);

CREATE INDEX ASYNC IF NOT EXISTS idempotency_keys_by_created ON idempotency_keys (created_at);

CREATE TABLE IF NOT EXISTS cascades (
    parent     text NOT NULL CHECK (parent IN ('product', 'project')),
    parent_id  text NOT NULL,
    child      text NOT NULL CHECK (child IN ('project', 'task')),
    after_at   timestamptz,
    after_id   text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (parent, parent_id, child)
);

CREATE INDEX ASYNC IF NOT EXISTS cascades_by_created ON cascades (created_at);

CREATE INDEX ASYNC IF NOT EXISTS tasks_shown ON tasks (created_at, id) WHERE archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_shown_by_updated ON tasks (COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_shown_by_product ON tasks (product_id, created_at, id) WHERE archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_shown_by_product_updated ON tasks (product_id, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_shown_by_status ON tasks (status, created_at, id) WHERE archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_shown_by_status_updated ON tasks (status, COALESCE(updated_at, created_at), id) WHERE archived_at IS NULL;

CREATE INDEX ASYNC IF NOT EXISTS tasks_all_by_updated ON tasks (COALESCE(updated_at, created_at, archived_at), id);

DROP INDEX IF EXISTS tasks_by_updated;

