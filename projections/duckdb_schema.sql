-- The tables, views and macros of the analytics file, and one sentence on each.
--
-- All times are TIMESTAMP in UTC. Tables are only ever appended to (an erasure deletes); whatever
-- changes over time is computed by a view. Names of tables, views and columns are stable: people
-- query them. `SELECT * FROM help` lists them. Views name no tenant or scope: filter on the
-- columns `tenant` and `scope`.
--
-- There are no indexes: DuckDB keeps minimum and maximum of every column and row group, rows come
-- in order of time, and an ART index would make each batch pay for look-ups that nobody does.

CREATE TABLE generation (
    pipeline VARCHAR NOT NULL,
    embedder VARCHAR NOT NULL,
    projection_schema VARCHAR NOT NULL,
    layout INTEGER NOT NULL,
    position BIGINT NOT NULL,
    rewrite_due BOOLEAN NOT NULL,
    positions MAP(INTEGER, BIGINT) NOT NULL
);
COMMENT ON TABLE generation IS
    'One row: what this file was built by, the position (last step) it holds, next log offsets.';

CREATE TABLE events (
    seq BIGINT NOT NULL,
    log_partition INTEGER NOT NULL,
    log_offset BIGINT NOT NULL,
    id VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    observed_at TIMESTAMP,
    utc_offset_minutes SMALLINT,
    recorded_at TIMESTAMP,
    source_kind VARCHAR,
    trust TINYINT,
    runtime VARCHAR,
    run VARCHAR,
    actor VARCHAR,
    role VARCHAR,
    tool VARCHAR,
    conversation VARCHAR,
    origin VARCHAR,
    text VARCHAR,
    data JSON,
    erased BOOLEAN NOT NULL
);
COMMENT ON TABLE events IS
    'Every raw event: its envelope, its text if it has one, and its typed data as JSON.';

CREATE TABLE decisions (
    seq BIGINT NOT NULL,
    ordinal INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    score DOUBLE,
    factors MAP(VARCHAR, DOUBLE),
    policy VARCHAR NOT NULL,
    observed_at TIMESTAMP,
    decided_at TIMESTAMP
);
COMMENT ON TABLE decisions IS
    'Every decision of the gate (write.decided) with its score and factors; a review decides again.';

CREATE TABLE candidates (
    seq BIGINT NOT NULL,
    id VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    ordinal INTEGER NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    qualifier VARCHAR NOT NULL,
    polarity VARCHAR NOT NULL,
    valid_from TIMESTAMP NOT NULL,
    valid_to TIMESTAMP,
    observed_at TIMESTAMP NOT NULL,
    recorded_at TIMESTAMP,
    trust TINYINT NOT NULL,
    source_kind VARCHAR NOT NULL,
    confidence DOUBLE NOT NULL,
    text VARCHAR NOT NULL,
    quote VARCHAR NOT NULL,
    context VARCHAR NOT NULL,
    span_start BIGINT,
    span_end BIGINT,
    occurred_from TIMESTAMP,
    occurred_to TIMESTAMP,
    occurred_granularity VARCHAR,
    withdraws BOOLEAN NOT NULL,
    restores BOOLEAN NOT NULL,
    beside BOOLEAN NOT NULL,
    standing VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    previous VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    session VARCHAR,
    last BOOLEAN NOT NULL,
    readings VARCHAR[] NOT NULL,
    amends VARCHAR[] NOT NULL
);
COMMENT ON TABLE candidates IS
    'Every assertion extracted from an event, before resolution (candidate.extracted).';

CREATE TABLE memory_versions (
    seq BIGINT NOT NULL,
    event VARCHAR NOT NULL,
    change VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    qualifier VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    quote VARCHAR NOT NULL,
    context VARCHAR NOT NULL,
    observed_at TIMESTAMP NOT NULL,
    valid_from TIMESTAMP NOT NULL,
    valid_to TIMESTAMP,
    created_at TIMESTAMP NOT NULL,
    occurred_from TIMESTAMP,
    occurred_to TIMESTAMP,
    occurred_granularity VARCHAR,
    update_reason VARCHAR NOT NULL,
    trust TINYINT NOT NULL,
    source_kind VARCHAR NOT NULL,
    confidence DOUBLE NOT NULL,
    sensitivity VARCHAR NOT NULL,
    content_key VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    lemmas VARCHAR[] NOT NULL,
    entities VARCHAR[] NOT NULL,
    links VARCHAR[] NOT NULL,
    supports VARCHAR[] NOT NULL,
    conflicts VARCHAR[] NOT NULL,
    previous VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    pipeline VARCHAR NOT NULL,
    record JSON NOT NULL,
    digest BIGINT NOT NULL
);
COMMENT ON TABLE memory_versions IS
    'Every version of every memory as it was made; event is the raw event that caused it.';

CREATE TABLE contexts (
    seq BIGINT NOT NULL,
    id VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    query VARCHAR NOT NULL,
    as_of TIMESTAMP,
    known_at TIMESTAMP,
    channels VARCHAR[] NOT NULL,
    degraded VARCHAR[] NOT NULL,
    generation VARCHAR NOT NULL,
    items INTEGER NOT NULL,
    served_at TIMESTAMP NOT NULL,
    recorded_at TIMESTAMP
);
COMMENT ON TABLE contexts IS
    'Every context that recall served: query, both as-of times, channels, why it was degraded.';

CREATE TABLE context_items (
    seq BIGINT NOT NULL,
    context VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    rank INTEGER NOT NULL,
    memory VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    score DOUBLE,
    found VARCHAR
);
COMMENT ON TABLE context_items IS
    'The memories of every served context, by rank from 1; found is JSON: by channel the rank and score.';

CREATE TABLE feedback (
    seq BIGINT NOT NULL,
    id VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    given_at TIMESTAMP NOT NULL,
    recorded_at TIMESTAMP
);
COMMENT ON TABLE feedback IS
    'Every verdict on a served memory or context; target is the id of either.';

CREATE TABLE erasures (
    seq BIGINT NOT NULL,
    id VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    events VARCHAR[] NOT NULL,
    whole_scope BOOLEAN NOT NULL,
    reason VARCHAR NOT NULL,
    requested_at TIMESTAMP NOT NULL,
    recorded_at TIMESTAMP
);
COMMENT ON TABLE erasures IS 'Every erasure: which events of which scope, never what they said.';

CREATE TABLE reviews (
    seq BIGINT NOT NULL,
    id VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    tenant VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    decision VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    trust TINYINT,
    reviewed_at TIMESTAMP NOT NULL,
    recorded_at TIMESTAMP
);
COMMENT ON TABLE reviews IS 'Every human review of an event that was held or quarantined.';

-- The reader's clock as a UTC TIMESTAMP. A cast of current_timestamp would follow the session's
-- time zone; microseconds since 1970 do not.
CREATE MACRO utc_now() AS make_timestamp(epoch_us(current_timestamp));
COMMENT ON MACRO utc_now IS 'The time of the query, in UTC like every time here.';

CREATE VIEW memories AS
SELECT
    * EXCLUDE (record, digest),
    lead(created_at) OVER (PARTITION BY scope, id ORDER BY version) AS expired_at
FROM memory_versions;
COMMENT ON VIEW memories IS
    'Every memory version with expired_at, the moment its next version replaced it (NULL: it is '
    'the latest).';

CREATE VIEW memories_latest AS
SELECT * EXCLUDE (expired_at) FROM memories WHERE expired_at IS NULL;
COMMENT ON VIEW memories_latest IS 'The latest version of every memory, whatever its status.';

CREATE VIEW memories_current AS
SELECT * FROM memories_latest
WHERE status = 'active'
  AND valid_from <= utc_now()
  AND (valid_to IS NULL OR utc_now() < valid_to);
COMMENT ON VIEW memories_current IS 'What is believed and true now.';

CREATE MACRO memories_as_of(valid_at, known_at) AS TABLE
SELECT * FROM memories
WHERE status IN ('active', 'superseded', 'expired')
  AND (valid_at IS NULL
       OR (valid_from <= valid_at AND (valid_to IS NULL OR valid_at < valid_to)))
  AND CASE WHEN known_at IS NULL THEN expired_at IS NULL
           ELSE created_at <= known_at AND (expired_at IS NULL OR known_at < expired_at) END;
COMMENT ON MACRO TABLE memories_as_of IS
    'memories_as_of(valid_at, known_at): what was true at valid_at, as the system knew it at '
    'known_at; NULL means any time, and the latest knowledge. Give TIMESTAMPs in UTC.';

CREATE VIEW slot_history AS
SELECT
    scope, tenant, subject, attribute, qualifier, valid_from, valid_to, value, status,
    trust, source_kind, len(supports) AS support_count, reason, previous, created_at,
    id AS memory, version
FROM memories_latest WHERE attribute <> ''
ORDER BY scope, subject, attribute, qualifier, valid_from, created_at, memory;
COMMENT ON VIEW slot_history IS
    'The timeline of every slot (scope, subject, attribute, qualifier): its values in order.';

CREATE VIEW contested AS
SELECT
    mine.scope, mine.tenant, mine.subject, mine.attribute, mine.qualifier, mine.id AS memory,
    mine.value, mine.trust, mine.source_kind, mine.valid_from, mine.valid_to,
    other.id AS against, other.value AS against_value, other.trust AS against_trust,
    other.source_kind AS against_source_kind, other.status AS against_status
FROM (
    SELECT *, unnest(CASE WHEN len(conflicts) = 0 THEN [NULL] ELSE conflicts END) AS rival
    FROM memories_latest WHERE status = 'contested'
) AS mine
LEFT JOIN memories_latest AS other ON other.scope = mine.scope AND other.id = mine.rival
ORDER BY mine.scope, mine.subject, mine.attribute, mine.id, against;
COMMENT ON VIEW contested IS
    'Every contested memory beside each memory that it disagrees with; one row a pair.';

CREATE VIEW decisions_final AS
SELECT * FROM decisions
QUALIFY row_number() OVER (PARTITION BY scope, event ORDER BY seq DESC, ordinal DESC) = 1;
COMMENT ON VIEW decisions_final IS 'The decision on each event that stands: the last one made.';

CREATE VIEW captured AS
SELECT
    e.seq, e.log_partition, e.log_offset, e.id AS event, e.type, e.scope, e.tenant,
    e.observed_at, e.recorded_at, e.source_kind, e.trust,
    CASE WHEN e.erased THEN 'erased' ELSE coalesce(d.outcome, 'undecided') END AS outcome,
    d.reason, d.score
FROM events AS e
LEFT JOIN decisions_final AS d ON d.scope = e.scope AND d.event = e.id;
COMMENT ON VIEW captured IS
    'Every raw event with the outcome that stands: stored (also: merely recorded), rejected, held, '
    'quarantined, erased, or undecided (a loss).';

CREATE VIEW gate_funnel AS
SELECT
    CAST(recorded_at AS DATE) AS day, tenant, scope,
    count(*) AS captured,
    count(*) FILTER (outcome = 'stored') AS stored,
    count(*) FILTER (outcome = 'rejected') AS rejected,
    count(*) FILTER (outcome = 'held') AS held,
    count(*) FILTER (outcome = 'quarantined') AS quarantined,
    count(*) FILTER (outcome = 'erased') AS erased,
    count(*) FILTER (outcome = 'undecided') AS undecided,
    coalesce(histogram(reason) FILTER (outcome = 'rejected'), MAP {}) AS rejected_by
FROM captured
GROUP BY ALL
ORDER BY day, tenant, scope;
COMMENT ON VIEW gate_funnel IS
    'What became of the captured events per day of recording, tenant and scope; rejected_by '
    'counts the reasons. captured is always the sum of the six outcomes.';

CREATE VIEW gate_reasons AS
SELECT tenant, outcome, reason, count(*) AS events, count(DISTINCT scope) AS scopes,
       max(recorded_at) AS last_recorded_at
FROM captured WHERE reason IS NOT NULL
GROUP BY ALL
ORDER BY tenant, outcome, events DESC, reason;
COMMENT ON VIEW gate_reasons IS 'How often the gate gave each reason, per tenant and outcome.';

CREATE VIEW silent_loss AS
SELECT 'event without a decision' AS problem, seq, log_partition, log_offset, scope, event, type
FROM captured WHERE outcome = 'undecided'
UNION ALL
SELECT 'decision without an event', d.seq, NULL, NULL, d.scope, d.event, NULL
FROM decisions_final AS d ANTI JOIN events AS e ON e.scope = d.scope AND e.id = d.event
ORDER BY seq;
COMMENT ON VIEW silent_loss IS
    'Must be empty: events that nothing decided on, and decisions on events that are not here.';

CREATE VIEW write_lag AS
SELECT seq, log_partition, log_offset, tenant, scope, id AS event, type, observed_at, recorded_at,
       (epoch_us(recorded_at) - epoch_us(observed_at)) / 1e6 AS lag_seconds
FROM events WHERE recorded_at IS NOT NULL;
COMMENT ON VIEW write_lag IS
    'Seconds between being said (observed_at) and being in the log (recorded_at), per log '
    'position. Imported history has a large lag by nature.';

CREATE VIEW write_lag_daily AS
SELECT CAST(recorded_at AS DATE) AS day, tenant, count(*) AS events,
       quantile_cont(lag_seconds, 0.5) AS lag_seconds_p50,
       quantile_cont(lag_seconds, 0.95) AS lag_seconds_p95,
       max(lag_seconds) AS lag_seconds_max
FROM write_lag
GROUP BY ALL
ORDER BY day, tenant;
COMMENT ON VIEW write_lag_daily IS 'Median, 95th percentile and maximum of the write lag per day.';

CREATE VIEW served_usage AS
WITH served AS (
    SELECT i.memory, count(*) AS times_served, min(i.rank) AS best_rank,
           max(c.served_at) AS last_served_at
    FROM context_items AS i JOIN contexts AS c ON c.scope = i.scope AND c.id = i.context
    GROUP BY i.memory
), direct AS (
    SELECT target AS memory, histogram(verdict) AS verdicts FROM feedback GROUP BY target
), through AS (
    SELECT i.memory, histogram(f.verdict) AS verdicts
    FROM feedback AS f JOIN context_items AS i ON i.scope = f.scope AND i.context = f.target
    GROUP BY i.memory
)
SELECT
    m.scope, m.tenant, m.id AS memory, m.version, m.status, m.text,
    coalesce(s.times_served, 0) AS times_served, s.last_served_at, s.best_rank,
    coalesce(d.verdicts['used'], 0) AS used,
    coalesce(d.verdicts['cited'], 0) AS cited,
    coalesce(d.verdicts['ignored'], 0) AS ignored,
    coalesce(d.verdicts['corrected'], 0) AS corrected,
    coalesce(d.verdicts['helpful'], 0) AS helpful,
    coalesce(d.verdicts['harmful'], 0) AS harmful,
    coalesce(t.verdicts, MAP {}) AS context_verdicts
FROM memories_latest AS m
LEFT JOIN served AS s ON s.memory = m.id
LEFT JOIN direct AS d ON d.memory = m.id
LEFT JOIN through AS t ON t.memory = m.id;
COMMENT ON VIEW served_usage IS
    'How often each memory was served, when last, and the verdicts on it; context_verdicts are '
    'those on contexts it was part of.';

CREATE VIEW junk_rate AS
WITH gate AS (
    SELECT tenant, scope, count(*) AS judged, count(*) FILTER (outcome = 'rejected') AS rejected
    FROM captured WHERE type IN ('turn.recorded', 'tool.returned', 'memory.stated') GROUP BY ALL
), kept AS (
    SELECT tenant, scope, count(*) AS memories,
           count(*) FILTER (times_served = 0) AS never_served,
           count(*) FILTER (times_served > 0 AND harmful > 0) AS served_harmful
    FROM served_usage WHERE status = 'active' GROUP BY ALL
)
SELECT
    tenant, scope,
    coalesce(judged, 0) AS judged,
    coalesce(rejected, 0) AS rejected,
    rejected / judged AS rejected_share,
    coalesce(memories, 0) AS active_memories,
    coalesce(never_served, 0) AS never_served,
    never_served / memories AS never_served_share,
    coalesce(served_harmful, 0) AS served_harmful
FROM gate FULL JOIN kept USING (tenant, scope)
ORDER BY tenant, scope;
COMMENT ON VIEW junk_rate IS
    'Per scope: how many turns, tool results and statements were judged and the share of them that '
    'was rejected; and of the active memories how many were never served, or served and harmful.';

CREATE VIEW sources AS
WITH said AS (
    SELECT tenant, source_kind, trust, count(*) AS events,
           count(*) FILTER (outcome = 'stored') AS stored,
           count(*) FILTER (outcome = 'rejected') AS rejected,
           count(*) FILTER (outcome IN ('held', 'quarantined')) AS waiting,
           max(recorded_at) AS last_recorded_at
    FROM captured WHERE type IN ('turn.recorded', 'tool.returned', 'memory.stated') GROUP BY ALL
), believed AS (
    SELECT tenant, source_kind, trust, count(*) FILTER (status = 'active') AS active_memories,
           count(*) FILTER (status = 'contested') AS contested_memories
    FROM memories_latest GROUP BY ALL
)
SELECT tenant, source_kind, trust, coalesce(events, 0) AS events, coalesce(stored, 0) AS stored,
       coalesce(rejected, 0) AS rejected, coalesce(waiting, 0) AS waiting,
       coalesce(active_memories, 0) AS active_memories,
       coalesce(contested_memories, 0) AS contested_memories, last_recorded_at
FROM said FULL JOIN believed USING (tenant, source_kind, trust)
ORDER BY tenant, source_kind, trust;
COMMENT ON VIEW sources IS
    'Per tenant, kind of source and trust level: what it said, and what of it is believed.';

CREATE VIEW daily_activity AS
WITH days AS (
    SELECT CAST(recorded_at AS DATE) AS day, tenant,
           count(*) AS events, count(DISTINCT scope) AS scopes,
           count(*) FILTER (type = 'turn.recorded') AS turns,
           count(*) FILTER (type = 'tool.returned') AS tool_results,
           count(*) FILTER (type = 'memory.stated') AS stated,
           count(*) FILTER (type = 'memory.corrected') AS corrections,
           count(*) FILTER (type = 'context.served') AS contexts,
           count(*) FILTER (type = 'feedback.given') AS feedback,
           count(*) FILTER (type = 'review.decided') AS reviews
    FROM events WHERE recorded_at IS NOT NULL GROUP BY ALL
), made AS (
    SELECT CAST(created_at AS DATE) AS day, tenant, count(*) AS memory_versions,
           count(*) FILTER (version = 1) AS new_memories
    FROM memory_versions GROUP BY ALL
)
SELECT days.*, coalesce(made.memory_versions, 0) AS memory_versions,
       coalesce(made.new_memories, 0) AS new_memories
FROM days LEFT JOIN made USING (day, tenant)
ORDER BY day, tenant;
COMMENT ON VIEW daily_activity IS 'Per day of recording and tenant: what came in and was made.';

CREATE VIEW help AS
SELECT table_name AS name, 'table' AS kind, comment AS about
FROM duckdb_tables() WHERE NOT internal AND NOT temporary
UNION ALL
SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal AND NOT temporary
UNION ALL
SELECT function_name, 'macro', comment FROM duckdb_functions() WHERE NOT internal
ORDER BY kind, name;
COMMENT ON VIEW help IS 'Every table, view and macro here, with one sentence on it.';
