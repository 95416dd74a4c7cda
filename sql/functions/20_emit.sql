-- One document = one whole event. Everything that is stored through SQL goes through kudos_store.

-- Takes the mode gate (shared, until the transaction ends) and reads the mode. Refuses another isolation level than
-- READ COMMITTED: there the snapshot would be older than the lock.
CREATE OR REPLACE FUNCTION kudos_mode() RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    current_mode text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM kudos_fail('wrong_isolation_level',
            format('the transaction is %s; producers run at READ COMMITTED', current_setting('transaction_isolation')),
            'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.');
    END IF;
    PERFORM pg_advisory_xact_lock_shared(kudos_gate_key());
    -- A statement of its own behind the lock: its snapshot is younger.
    SELECT c.mode::text INTO current_mode FROM kudos_ledger_control c;
    RETURN current_mode;
END $$;

-- In shadow mode an event needs somebody who applies it inline.
CREATE OR REPLACE FUNCTION kudos_check_mode(mode text, project boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF mode = 'shadow' AND coalesce(project, true) THEN
        PERFORM kudos_fail('shadow_mode_unsupported', 'the ledger is in shadow mode',
            'A caller that keeps its own inline code says so with project => false; else switch with `kudos mode ledger`.');
    END IF;
END $$;

-- What the documented columns of a statistic mean: its target, or the reason why it would be set aside. The same rules
-- as classify.cc.
CREATE OR REPLACE FUNCTION kudos_classify(entry_type text, stat_action text, record text, unit text, of_user boolean)
    RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN length(stat_action) > 20 THEN 'stat_action_too_long'
        WHEN length(record) > 30 THEN 'record_too_long'
        WHEN entry_type = 'STAT_RECORD' THEN CASE
            WHEN NOT of_user OR record = ''
                 OR stat_action NOT IN ('CONTRIBUTION', 'USAGE', 'FULFILLMENT', 'REQUEST', 'STYLE')
            THEN 'invalid_stat_record'
            WHEN unit <> CASE WHEN stat_action IN ('CONTRIBUTION', 'USAGE') THEN 'things' ELSE 'count' END
            THEN 'invalid_stat_record_unit'
            ELSE 'user_record' END
        WHEN entry_type = 'STAT_CONTRIBUTION' THEN CASE
            WHEN NOT of_user AND record = 'contributions' AND unit = 'things' THEN 'worker_contributions'
            WHEN NOT of_user AND record = 'fulfilments' AND unit = 'count' THEN 'worker_fulfilments'
            ELSE 'invalid_stat_contribution' END
        WHEN entry_type = 'STAT_ACTIVITY' THEN
            CASE WHEN of_user AND record = 'user_activity' THEN 'user_activity' ELSE 'invalid_stat_activity' END
        WHEN record = 'user_kudos' THEN
            CASE WHEN of_user AND unit = 'kudos' AND stat_action <> '' THEN 'user_stat' ELSE 'invalid_user_kudos' END
        WHEN record = 'worker_kudos' THEN
            CASE WHEN NOT of_user AND unit = 'kudos' AND stat_action <> '' THEN 'worker_stat' ELSE 'invalid_worker_kudos' END
        ELSE 'unknown_projection' END
$$;

-- Why a JSON amount can't be taken; NULL when it can. A string or an integer, never a fractional or exponent number.
CREATE OR REPLACE FUNCTION kudos_amount_defect(amount jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN amount IS NULL OR jsonb_typeof(amount) NOT IN ('string', 'number')
            THEN 'invalid_amount: an amount is a string such as "12.50" or an integer'
        WHEN jsonb_typeof(amount) = 'number' AND amount #>> '{}' !~ '^-?[0-9]+$'
            THEN 'invalid_amount: the amount ' || left(amount #>> '{}', 40) || ' is a fractional JSON number; write it as a string'
        WHEN amount #>> '{}' ~ '^-?[0-9]+\.[0-9]{3,}$'
            THEN 'amount_too_precise: ' || left(amount #>> '{}', 40) || ' has more than two decimals'
        WHEN amount #>> '{}' !~ '^-?[0-9]+(\.[0-9]{1,2})?$'
            THEN 'invalid_amount: ' || left(amount::text, 40) || ' is not an amount'
        WHEN ltrim(split_part(amount #>> '{}', '.', 1), '-0') ~ '^[0-9]{19,}$'
            THEN 'amount_out_of_range: ' || left(amount #>> '{}', 40) || ' is out of range'
        END
$$;

-- The entry types that a caller may use; the others are the ledger's own.
CREATE OR REPLACE FUNCTION kudos_callers_types() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT '{GENERATION,UPTIME_REWARD,TRANSFER,ADMIN_ADJUSTMENT,AWARD,STYLE_REWARD,CHARGE,TOPUP,OPENING}'::text[]
$$;

-- The number of a user given as 17, "17" or "ext:alice"; NULL when there is none.
CREATE OR REPLACE FUNCTION kudos_user_id(reference text) RETURNS integer
    LANGUAGE plpgsql STABLE STRICT SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF reference ~ '^-?[0-9]{1,10}$' THEN RETURN (SELECT user_id FROM kudos_accounts WHERE user_id = reference::bigint); END IF;
    IF reference LIKE 'ext:%' THEN RETURN (SELECT user_id FROM kudos_accounts WHERE external_id = substr(reference, 5)); END IF;
    RETURN NULL;
END $$;

-- Refuses the event when one of its lines is defective: names the first by kind, then by line.
CREATE OR REPLACE FUNCTION kudos_refuse_defect(defect text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_fail(split_part(defect, ': ', 1), substr(defect, length(split_part(defect, ': ', 1)) + 3));
END $$;

-- The currency lines of a document as rows, refused by name when one can't be.
CREATE OR REPLACE FUNCTION kudos_read_postings(lines jsonb) RETURNS kudos_postings[]
    LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
DECLARE
    types CONSTANT text[] := kudos_callers_types();
    rows kudos_postings[];
    defect text;
    total numeric;
BEGIN
    SELECT array_agg(ROW(0, NULL, who.id, x.entry_type::kudos_entry_type, x.line, coalesce(x.escrow = 'true', false),
                         (x.amount #>> '{}')::numeric, x.detail)::kudos_postings ORDER BY x.line)
               FILTER (WHERE d.defect IS NULL),
           (array_agg(d.defect ORDER BY x.line) FILTER (WHERE d.defect IS NOT NULL))[1],
           sum(CASE WHEN d.defect IS NULL THEN (x.amount #>> '{}')::numeric END)
    INTO rows, defect, total
    FROM ROWS FROM (jsonb_to_recordset(lines)
                    AS (entry_type text, "user" text, escrow text, amount jsonb, detail jsonb))
         WITH ORDINALITY AS x(entry_type, "user", escrow, amount, detail, line)
    CROSS JOIN LATERAL (SELECT kudos_user_id(x."user") AS id OFFSET 0) who
    CROSS JOIN LATERAL (SELECT CASE
        WHEN x.entry_type IS NULL OR x.entry_type <> ALL (types)
            THEN format('invalid_request: posting %s has the entry type %s', x.line, coalesce(x.entry_type, 'null'))
        WHEN x.escrow NOT IN ('true', 'false') THEN format('invalid_request: posting %s has escrow %s', x.line, x.escrow)
        WHEN jsonb_typeof(x.detail) NOT IN ('object', 'null')
            THEN format('invalid_request: the detail of posting %s is not an object', x.line)
        WHEN octet_length(x.detail::text) > 2048
            THEN format('invalid_request: the detail of posting %s is larger than 2 KB', x.line)
        WHEN kudos_amount_defect(x.amount) IS NOT NULL THEN kudos_amount_defect(x.amount)
        WHEN (x.amount #>> '{}')::numeric = 0 THEN format('invalid_amount: posting %s is zero', x.line)
        WHEN who.id IS NULL THEN format('unknown_user: there is no user %s', coalesce(x."user", 'null'))
        END AS defect OFFSET 0) d;
    IF defect IS NOT NULL THEN PERFORM kudos_refuse_defect(defect); END IF;
    IF total <> 0 THEN
        PERFORM kudos_fail('unbalanced_event', format('the event''s currency postings sum to %s, not 0', total));
    END IF;
    RETURN coalesce(rows, '{}');
END $$;

-- The statistic lines, numbered behind the currency's; refused when the projector would set one aside.
CREATE OR REPLACE FUNCTION kudos_read_statistics(lines jsonb, lines_before integer) RETURNS kudos_stat_postings[]
    LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
DECLARE
    types CONSTANT text[] := kudos_callers_types() || '{STAT_RECORD,STAT_CONTRIBUTION,STAT_ACTIVITY}';
    uuid_form CONSTANT text := '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$';
    rows kudos_stat_postings[];
    defect text;
BEGIN
    SELECT array_agg(ROW(0, who.id, x.worker_user::integer, x.worker::uuid, x.team::uuid,
                         x.entry_type::kudos_entry_type, x.unit::kudos_unit, c.target::kudos_target,
                         lines_before + x.line, (x.amount #>> '{}')::numeric, x.stat_action, x.record,
                         x.detail)::kudos_stat_postings ORDER BY x.line) FILTER (WHERE d.defect IS NULL),
           (array_agg(d.defect ORDER BY x.line) FILTER (WHERE d.defect IS NOT NULL))[1]
    INTO rows, defect
    FROM ROWS FROM (jsonb_to_recordset(lines)
                    AS (entry_type text, "user" text, worker text, worker_user text, team text, unit text,
                        stat_action text, record text, amount jsonb, detail jsonb))
         WITH ORDINALITY AS x(entry_type, "user", worker, worker_user, team, unit, stat_action, record, amount, detail, line)
    CROSS JOIN LATERAL (SELECT kudos_user_id(x."user") AS id OFFSET 0) who
    CROSS JOIN LATERAL (SELECT kudos_classify(x.entry_type, coalesce(x.stat_action, ''), coalesce(x.record, ''),
                                              coalesce(x.unit, ''), x."user" IS NOT NULL) AS target OFFSET 0) c
    CROSS JOIN LATERAL (SELECT CASE
        WHEN x.entry_type IS NULL OR x.entry_type <> ALL (types)
            THEN format('invalid_request: statistic %s has the entry type %s', x.line, coalesce(x.entry_type, 'null'))
        WHEN x.unit IS NULL OR x.unit NOT IN ('kudos', 'things', 'count')
            THEN format('invalid_request: statistic %s has the unit %s', x.line, coalesce(x.unit, 'null'))
        WHEN x.stat_action IS NULL OR x.record IS NULL
            THEN format('invalid_request: statistic %s lacks stat_action or record', x.line)
        WHEN (x."user" IS NULL) = (x.worker IS NULL)
            THEN format('invalid_request: statistic %s names not exactly one of user and worker', x.line)
        WHEN x.worker !~ uuid_form OR x.team !~ uuid_form OR x.worker_user !~ '^-?[0-9]{1,10}$'
             OR CASE WHEN x.worker_user ~ '^-?[0-9]{1,10}$' THEN x.worker_user::bigint <> x.worker_user::bigint % 2147483648 END
            THEN format('invalid_request: statistic %s has a malformed worker, worker_user or team', x.line)
        WHEN jsonb_typeof(x.detail) NOT IN ('object', 'null') OR octet_length(x.detail::text) > 2048
            THEN format('invalid_request: the detail of statistic %s is not an object of at most 2 KB', x.line)
        WHEN kudos_amount_defect(x.amount) IS NOT NULL THEN kudos_amount_defect(x.amount)
        WHEN c.target NOT IN ('user_stat', 'user_record', 'user_activity', 'worker_stat', 'worker_contributions',
                              'worker_fulfilments')
            THEN format('invalid_statistic: statistic %s (''%s'', ''%s'') would be set aside: %s', lines_before + x.line,
                        x.stat_action, x.record, c.target)
        WHEN x."user" IS NOT NULL AND who.id IS NULL THEN format('unknown_user: there is no user %s', x."user")
        WHEN who.id IN (-1, -2) THEN format('system_account: statistic %s is of a system account', x.line)
        END AS defect OFFSET 0) d;
    IF defect IS NOT NULL THEN PERFORM kudos_refuse_defect(defect); END IF;
    RETURN coalesce(rows, '{}');
END $$;

-- The first result of a key, or NULL when the key is new. Another request under it is a conflict.
CREATE OR REPLACE FUNCTION kudos_find_replay(wanted uuid, digest bytea, mode text) RETURNS kudos_receipt
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    stored record;
BEGIN
    SELECT e.seq, e.request_digest INTO stored FROM kudos_events e WHERE e.event_id = wanted;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF stored.request_digest IS DISTINCT FROM digest THEN
        PERFORM kudos_fail('idempotency_conflict',
            format('the idempotency key was used for another request (event %s)', wanted),
            'Use a new key for a new request.');
    END IF;
    RETURN ROW(wanted, stored.seq, mode, true)::kudos_receipt;
END $$;

-- Stores one event inside the caller's transaction: the only writer of facts in SQL. `mode` is what kudos_mode() said.
CREATE OR REPLACE FUNCTION kudos_store(id uuid, digest bytea, mode text, project boolean, job_id uuid, wp_type text,
                                       metadata jsonb, postings kudos_postings[], statistics kudos_stat_postings[])
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    lines CONSTANT integer := cardinality(postings) + cardinality(statistics);
    salt bytea;
    new_seq bigint;
BEGIN
    IF lines = 0 THEN PERFORM kudos_fail('invalid_request', 'the event has no postings'); END IF;
    IF lines > 1000 THEN
        PERFORM kudos_fail('too_many_postings', format('the event has %s postings; at most 1000 are allowed', lines));
    END IF;
    PERFORM kudos_check_type(wp_type);
    PERFORM kudos_check_mode(mode, project);
    IF metadata IS NOT NULL THEN
        PERFORM kudos_check_metadata(metadata);
        salt := uuid_send(gen_random_uuid());
    END IF;
    -- The transaction id comes before the sequence number: see kudos_assign_transaction_id.
    PERFORM pg_current_xact_id();
    INSERT INTO kudos_events (event_id, job_id, wp_type, request_digest, metadata_hash, posting_count, inline)
        VALUES (id, job_id, wp_type, digest, sha256(salt || convert_to(metadata::text, 'UTF8')), lines, mode = 'shadow')
        ON CONFLICT (event_id) DO NOTHING RETURNING seq INTO new_seq;
    -- A twin stored it between our look and our insert, which waited for it to commit.
    IF new_seq IS NULL THEN RETURN kudos_find_replay(id, digest, mode); END IF;
    INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, escrow, amount, hold_id, detail)
        SELECT new_seq, p.line, p.entry_type, p.user_id, p.escrow, p.amount, p.hold_id, p.detail FROM unnest(postings) p;
    INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, worker_user_id, worker_id,
                                     team_id, amount, stat_action, record, detail)
        SELECT new_seq, s.line, s.entry_type, s.unit, s.target, s.user_id, s.worker_user_id, s.worker_id, s.team_id,
               s.amount, s.stat_action, s.record, s.detail FROM unnest(statistics) s;
    IF metadata IS NOT NULL THEN
        INSERT INTO kudos_event_metadata (event_seq, salt, data) VALUES (new_seq, salt, metadata);
    END IF;
    RETURN ROW(id, new_seq, mode, false)::kudos_receipt;
END $$;

-- The cheap question whose "no" sends kudos_emit the long way, on which kudos_amount_defect names what is wrong.
CREATE OR REPLACE FUNCTION kudos_is_amount(amount jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT amount::text ~ '^("-?[0-9]{1,18}(\.[0-9]{1,2})?"|-?[0-9]{1,18})$'
$$;

-- The long way: reads every line with all its rules, refuses by name, stores.
CREATE OR REPLACE FUNCTION kudos_store_document(event jsonb, id uuid, digest bytea, mode text, project boolean)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    postings kudos_postings[] := kudos_read_postings(coalesce(event -> 'postings', '[]'));
BEGIN
    RETURN kudos_store(id, digest, mode, project, (event ->> 'job_id')::uuid, event ->> 'wp_type', nullif(event -> 'metadata', 'null'),
                       postings, kudos_read_statistics(coalesce(event -> 'statistics', '[]'), cardinality(postings)));
END $$;

-- One document, one whole event:
--   {"key": "…", "principal": "…", "event_id": "…", "job_id": "…", "wp_type": "…", "metadata": {…},
--    "postings":   [{"entry_type": "CHARGE", "user": 17, "amount": "-12.50", "escrow": false, "detail": {…}}, …],
--    "statistics": [{"entry_type": "CHARGE", "user": "ext:alice", "unit": "kudos", "stat_action": "charged",
--                    "record": "user_kudos", "amount": "-12.50"}, …]}
-- A statistic of a worker names "worker", and may name "worker_user" and "team". Only the postings are required.
CREATE OR REPLACE FUNCTION kudos_emit(event jsonb, project boolean DEFAULT true) RETURNS kudos_receipt
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    uuid_form CONSTANT text := '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$';
    types CONSTANT text[] := kudos_callers_types();
    stat_types CONSTANT text[] := '{STAT_RECORD,STAT_CONTRIBUTION,STAT_ACTIVITY}';
    targets CONSTANT text[] := '{user_stat,user_record,user_activity,worker_stat,worker_contributions,worker_fulfilments}';
    current_mode CONSTANT text := kudos_mode();
    key text; principal text; id uuid; digest bytea; unknown text;
    replay kudos_receipt;
    new_seq bigint;
BEGIN
    IF event IS NULL OR jsonb_typeof(event) <> 'object' THEN
        PERFORM kudos_fail('invalid_request', 'the event is not a JSON object');
    END IF;
    IF event - '{key,principal,event_id,job_id,wp_type,metadata,postings,statistics}'::text[] <> '{}' THEN
        SELECT k INTO unknown
            FROM jsonb_object_keys(event - '{key,principal,event_id,job_id,wp_type,metadata,postings,statistics}'::text[]) k;
        PERFORM kudos_fail('invalid_request', format('the event has an unknown field "%s"', unknown));
    END IF;
    IF jsonb_typeof(event -> 'postings') <> 'array' OR jsonb_typeof(event -> 'statistics') <> 'array'
       OR event @? 'strict $.postings[*] ? (@.type() != "object")'
       OR event @? 'strict $.statistics[*] ? (@.type() != "object")' THEN
        PERFORM kudos_fail('invalid_request', 'postings and statistics are arrays of objects');
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(event -> 'postings') AS line
               WHERE line - '{entry_type,user,escrow,amount,detail}'::text[] <> '{}'
               UNION ALL SELECT FROM jsonb_array_elements(event -> 'statistics') AS line
               WHERE line - '{entry_type,user,worker,worker_user,team,unit,stat_action,record,amount,detail}'::text[] <> '{}') THEN
        PERFORM kudos_fail('invalid_request', 'a posting or statistic has an unknown field',
            'Postings know entry_type, user, escrow, amount, detail; statistics entry_type, user, worker, worker_user, team, unit, stat_action, record, amount, detail.');
    END IF;
    -- Ids made from a name are version 5: they belong to keys and to the ledger's own events.
    IF substr(event ->> 'event_id', 15, 1) = '5' THEN
        PERFORM kudos_fail('invalid_request', 'event_id is a version-5 UUID', 'Use a random one (version 7), or a key.');
    END IF;
    IF event ->> 'job_id' !~ uuid_form OR event ->> 'event_id' !~ uuid_form THEN
        PERFORM kudos_fail('invalid_request', 'job_id and event_id are UUIDs');
    END IF;
    key := event ->> 'key';
    id := (event ->> 'event_id')::uuid;
    IF key IS NOT NULL THEN
        principal := coalesce(event ->> 'principal', session_user);
        PERFORM kudos_check_name(key, 'the idempotency key', 200), kudos_check_name(principal, 'the principal', 200);
        id := kudos_event_id(principal, 'emit', key);
    END IF;
    IF id IS NULL THEN
        id := kudos_uuid_v7();
    ELSE
        digest := sha256(convert_to(E'kudos-request-1\nemit\n'
                         || (event - '{key,principal,event_id,metadata}'::text[])::text || E'\n', 'UTF8'));
        replay := kudos_find_replay(id, digest, current_mode);
        IF replay IS NOT NULL THEN RETURN replay; END IF;
    END IF;
    -- The plain case in one statement, which stores nothing when a line isn't plain; everything else (metadata, details,
    -- external ids, shadow mode, what is wrong) the long way.
    IF current_mode = 'ledger' AND event ->> 'metadata' IS NULL
       AND coalesce(length(event ->> 'wp_type') BETWEEN 1 AND 20 AND event ->> 'wp_type' !~ '[\x01-\x1f\x7f]', true) THEN
        -- The transaction id comes before the sequence number: see kudos_assign_transaction_id.
        PERFORM pg_current_xact_id();
        WITH p AS MATERIALIZED (
            SELECT x.*, x.entry_type = ANY (types) AND x.escrow IS NULL AND x.detail IS NULL AND kudos_is_amount(x.amount)
                        AND x.amount::text ~ '[1-9]' AND x."user" ~ '^-?[0-9]{1,10}$'
                        AND (SELECT u.id FROM users u WHERE u.id = CASE WHEN x."user" ~ '^-?[0-9]{1,10}$'
                                                                               THEN x."user"::bigint END) IS NOT NULL AS plain
            FROM ROWS FROM (jsonb_to_recordset(event -> 'postings')
                            AS (entry_type text, "user" text, escrow text, amount jsonb, detail jsonb))
                 WITH ORDINALITY AS x(entry_type, "user", escrow, amount, detail, line)
        ), s AS MATERIALIZED (
            SELECT x.*, t.target,
                   x.entry_type = ANY (types || stat_types) AND x.unit IN ('kudos', 'things', 'count') AND x.detail IS NULL
                   AND kudos_is_amount(x.amount) AND (x."user" IS NULL) <> (x.worker IS NULL)
                   AND (x."user" IS NULL
                        OR (SELECT u.id FROM users u WHERE u.id NOT IN (-1, -2) AND u.id = CASE WHEN x."user" ~ '^-?[0-9]{1,10}$'
                                                                       THEN x."user"::bigint END) IS NOT NULL)
                   AND coalesce(x.worker ~ uuid_form, true) AND coalesce(x.team ~ uuid_form, true)
                   AND coalesce(x.worker_user ~ '^[0-9]{1,9}$', true) AND t.target = ANY (targets) AS plain
            FROM ROWS FROM (jsonb_to_recordset(event -> 'statistics')
                            AS (entry_type text, "user" text, worker text, worker_user text, team text, unit text,
                                stat_action text, record text, amount jsonb, detail jsonb))
                 WITH ORDINALITY AS x(entry_type, "user", worker, worker_user, team, unit, stat_action, record, amount,
                                      detail, line)
            CROSS JOIN LATERAL (SELECT kudos_classify(x.entry_type, x.stat_action, x.record, x.unit,
                                                      x."user" IS NOT NULL) AS target) t
        ), header AS (
            INSERT INTO kudos_events (event_id, job_id, wp_type, request_digest, posting_count)
            SELECT id, (event ->> 'job_id')::uuid, event ->> 'wp_type', digest, a.lines + b.lines
            FROM (SELECT count(*) AS lines, coalesce(bool_and(coalesce(plain, false)), true) AS plain,
                         coalesce(sum(CASE WHEN plain THEN (amount #>> '{}')::numeric END), 0) AS total FROM p) a,
                 (SELECT count(*) AS lines, coalesce(bool_and(coalesce(plain, false)), true) AS plain FROM s) b
            WHERE a.plain AND b.plain AND a.total = 0 AND a.lines + b.lines BETWEEN 1 AND 1000
            ON CONFLICT (event_id) DO NOTHING RETURNING seq
        ), currency AS (
            INSERT INTO kudos_postings (event_seq, line, entry_type, user_id, escrow, amount)
            SELECT h.seq, p.line, p.entry_type::kudos_entry_type, p."user"::integer, false, (p.amount #>> '{}')::numeric
            FROM header h CROSS JOIN p
        ), counted AS (
            INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, worker_user_id, worker_id,
                                             team_id, amount, stat_action, record)
            SELECT h.seq, (SELECT count(*) FROM p) + s.line, s.entry_type::kudos_entry_type, s.unit::kudos_unit,
                   s.target::kudos_target, s."user"::integer, s.worker_user::integer, s.worker::uuid, s.team::uuid,
                   (s.amount #>> '{}')::numeric, s.stat_action, s.record
            FROM header h CROSS JOIN s
        )
        SELECT seq INTO new_seq FROM header;
        IF new_seq IS NOT NULL THEN RETURN ROW(id, new_seq, current_mode, false)::kudos_receipt; END IF;
    END IF;
    RETURN kudos_store_document(event, id, digest, current_mode, project);
END $$;
