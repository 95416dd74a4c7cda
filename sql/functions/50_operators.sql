-- Monthly grants, erasure, and what there is no need for.

-- Anniversary number `n` of an anchor: computed from the anchor each time, so that the 31st comes back after February.
CREATE OR REPLACE FUNCTION kudos_anniversary(anchor timestamptz, n integer) RETURNS timestamptz
    LANGUAGE sql STABLE AS $$
    SELECT ((anchor AT TIME ZONE 'UTC') + make_interval(months => n)) AT TIME ZONE 'UTC'
$$;

-- Sends one recurring grant; the month it is for is its key.
CREATE OR REPLACE FUNCTION kudos_send_grant(who integer, amount numeric, month text, metadata jsonb, mode text,
                                            project boolean) RETURNS kudos_receipt
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN kudos_change('grant', 'AWARD', 'recurring', who, amount, NULL, format(E'month=%s\n', month), NULL, '{}',
                        format('%s/%s', who, month), 'kudos', metadata, project, mode);
END $$;

-- The monthly grant that is due: on its anniversary, one month a call. NULL when none is due. Two callers at once get one
-- grant, since the user's row is locked first.
CREATE OR REPLACE FUNCTION kudos_grant(account text, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    who CONSTANT integer := (kudos_user(account)).id;
    monthly record;
    anchor timestamptz;
    months integer := 0;
    due timestamptz;
BEGIN
    PERFORM kudos_require_living(who);
    PERFORM FROM users WHERE id = who FOR NO KEY UPDATE;
    SELECT monthly_kudos AS amount, monthly_kudos_last_received AS last, monthly_kudos_anchor AS first
        INTO monthly FROM users WHERE id = who;
    IF monthly.amount <= 0 THEN RETURN NULL; END IF;
    anchor := coalesce(monthly.first, monthly.last, clock_timestamp());
    due := anchor;
    IF monthly.last IS NOT NULL THEN
        WHILE due <= monthly.last LOOP
            months := months + 1;
            due := kudos_anniversary(anchor, months);
        END LOOP;
    END IF;
    IF due > clock_timestamp() THEN RETURN NULL; END IF;
    UPDATE users SET monthly_kudos_last_received = due, monthly_kudos_anchor = anchor, monthly_kudos_granted = monthly.amount
        WHERE id = who;
    RETURN kudos_send_grant(who, monthly.amount, to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD'), metadata, mode, project);
END $$;

-- Sets what a user is granted each month. A raise grants at once what exceeds the most that this month has already been
-- granted, so that lowering and raising again grants nothing twice. A lowering grants nothing. After a stop of more than
-- a month the months begin anew: those missed aren't paid. NULL when nothing was granted.
CREATE OR REPLACE FUNCTION kudos_monthly(account text, amount numeric, metadata jsonb DEFAULT NULL,
                                         project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    moment CONSTANT timestamptz := clock_timestamp();
    who integer;
    was record;
    starts boolean;
    granted numeric;
BEGIN
    PERFORM kudos_check_not_negative(amount, 'the monthly amount');
    who := (kudos_user(account)).id;
    PERFORM kudos_require_living(who);
    PERFORM FROM users WHERE id = who FOR NO KEY UPDATE;
    SELECT monthly_kudos AS amount, monthly_kudos_last_received AS last, monthly_kudos_granted AS granted INTO was
        FROM users WHERE id = who;
    starts := was.last IS NULL OR (was.amount = 0 AND kudos_anniversary(was.last, 1) <= moment);
    granted := CASE WHEN starts THEN 0 ELSE greatest(was.amount, was.granted) END;
    UPDATE users SET monthly_kudos = kudos_monthly.amount WHERE id = who;
    IF amount = 0 THEN RETURN NULL; END IF;
    IF starts THEN
        UPDATE users SET monthly_kudos_last_received = moment, monthly_kudos_anchor = moment WHERE id = who;
    END IF;
    UPDATE users SET monthly_kudos_granted = greatest(kudos_monthly.amount, granted) WHERE id = who;
    IF amount <= granted THEN RETURN NULL; END IF;
    RETURN kudos_change('grant', 'AWARD', 'recurring', who, amount - granted, NULL, '', NULL, '{}', NULL, 'kudos',
                        metadata, project, mode);
END $$;

-- Wipes a person: the callers' metadata of every event that touches them, the external id and the profile. Facts, hashes
-- and totals stay and still verify. Returns how many events lost their metadata. May be run again.
CREATE OR REPLACE FUNCTION kudos_erase(account text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    who CONSTANT integer := (kudos_user(account)).id;
    wiped bigint;
BEGIN
    DELETE FROM kudos_event_metadata m
        WHERE EXISTS (SELECT FROM kudos_postings p WHERE p.event_seq = m.event_seq AND p.user_id = who)
           OR EXISTS (SELECT FROM kudos_stat_postings s
                      WHERE s.event_seq = m.event_seq AND (s.user_id = who OR s.worker_user_id = who));
    GET DIAGNOSTICS wiped = ROW_COUNT;
    UPDATE users SET external_id = NULL, deleted_at = coalesce(deleted_at, clock_timestamp()), monthly_kudos = 0,
                     monthly_kudos_last_received = NULL, monthly_kudos_anchor = NULL, last_active = NULL
        WHERE id = who;
    RETURN wiped;
END $$;

-- Facts are permanent: there is nothing to prune.
CREATE OR REPLACE FUNCTION prune_applied_kudos_ledger() RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE NOTICE 'the ledger keeps its facts for ever: nothing was pruned';
    RETURN 0;
END $$;
