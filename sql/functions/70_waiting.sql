-- Waiting until events are folded. Each question looks at an index entry or at the map, and holds nothing afterwards.

-- Whether the event has had its effect: folded, or applied inline. Refuses an event that isn't there, or not committed.
CREATE OR REPLACE FUNCTION kudos_is_folded(event_id uuid) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    done boolean;
BEGIN
    SELECT e.fold_id IS NOT NULL OR e.inline INTO done FROM kudos_events e WHERE e.event_id = kudos_is_folded.event_id;
    IF NOT FOUND THEN
        PERFORM kudos_fail('unknown_event', format('there is no event %s', coalesce(event_id::text, 'null')));
    END IF;
    RETURN done;
END $$;

-- The events that are committed, visible now and not yet applied, as ranges of seq: what "everything up to now" means.
-- A transaction that commits later isn't part of it, also when its numbers are lower.
CREATE OR REPLACE FUNCTION kudos_wait_position() RETURNS int8multirange
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (
        SELECT coalesce(range_agg(int8range(e.seq, e.seq, '[]')), '{}')
        FROM (SELECT e.seq FROM kudos_events e
              WHERE e.fold_id IS NULL AND NOT e.inline AND e.seq > (SELECT m.frontier FROM kudos_work_map m)
              UNION ALL
              SELECT e.seq FROM kudos_work_map m CROSS JOIN LATERAL unnest(m.gaps) AS gap
              CROSS JOIN LATERAL (SELECT e.seq FROM kudos_events e
                                  WHERE e.fold_id IS NULL AND NOT e.inline AND e.seq >= lower(gap) AND e.seq < upper(gap)
                                  OFFSET 0) e) e);
END $$;

-- Whether all events of a position are applied. What the map leaves of it is looked up; mostly that is nothing.
CREATE OR REPLACE FUNCTION kudos_folded_up_to("position" int8multirange) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    candidates int8multirange;
BEGIN
    SELECT kudos_folded_up_to."position" * (m.gaps + int8multirange(int8range(m.frontier, NULL, '()'))) INTO candidates
        FROM kudos_work_map m;
    IF isempty(candidates) THEN RETURN true; END IF;
    RETURN NOT EXISTS (
        SELECT FROM unnest(candidates) AS span
        CROSS JOIN LATERAL (SELECT FROM kudos_events e
                            WHERE e.fold_id IS NULL AND NOT e.inline AND e.seq >= lower(span) AND e.seq < upper(span)
                            LIMIT 1) e);
END $$;

-- Refuses to wait where the wait could be for the caller itself, or would never see a change.
CREATE OR REPLACE FUNCTION kudos_require_waitable() RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM kudos_fail('wrong_isolation_level',
            format('the transaction is %s, which sees no fold that commits meanwhile', current_setting('transaction_isolation')),
            'Wait at READ COMMITTED.');
    ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        PERFORM kudos_fail('in_transaction', 'the transaction has written or locked rows, for whose end the fold may wait',
                           'Commit first, then wait.');
    END IF;
END $$;

-- Waits until the event is applied: 'folded', or 'quarantined' when its statistics were set aside. Each look has a
-- snapshot of its own, from 1 ms apart to 50 ms. While it waits, its snapshot holds back VACUUM: keep the timeout short.
CREATE OR REPLACE FUNCTION kudos_wait(event_id uuid, timeout interval DEFAULT '30 s') RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    deadline CONSTANT timestamptz := clock_timestamp() + coalesce(timeout, '0');
    pause double precision := 0.001;
BEGIN
    PERFORM kudos_require_waitable();
    WHILE NOT kudos_is_folded(event_id) LOOP
        IF clock_timestamp() >= deadline THEN
            PERFORM kudos_fail('timed_out', format('event %s is not folded after %s', event_id, timeout),
                               'Look at `kudos status`: does a projector run?');
        END IF;
        PERFORM pg_sleep(pause);
        pause := least(pause * 2, 0.05);
    END LOOP;
    RETURN (SELECT CASE WHEN e.quarantine_reason IS NULL THEN 'folded' ELSE 'quarantined' END
            FROM kudos_events e WHERE e.event_id = kudos_wait.event_id);
END $$;

-- Waits until everything is applied that was committed when it was called.
CREATE OR REPLACE FUNCTION kudos_wait_all(timeout interval DEFAULT '30 s') RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    deadline CONSTANT timestamptz := clock_timestamp() + coalesce(timeout, '0');
    pause double precision := 0.001;
    wanted int8multirange;
BEGIN
    PERFORM kudos_require_waitable();
    wanted := kudos_wait_position();
    WHILE NOT kudos_folded_up_to(wanted) LOOP
        IF clock_timestamp() >= deadline THEN
            PERFORM kudos_fail('timed_out', format('events are still pending after %s', timeout),
                               'Look at `kudos status`: does a projector run?');
        END IF;
        PERFORM pg_sleep(pause);
        pause := least(pause * 2, 0.05);
    END LOOP;
END $$;
