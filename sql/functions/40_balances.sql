-- What a user may spend, and what a "new balance" answer shows.

-- The functions marked STABLE are so on purpose: they must see the same snapshot as the statement that reads the balance,
-- or a fold between the two would take a debit from both.

-- A user's queued changes of the spendable balance. Unapplied work is only behind the frontier or inside the gaps: each is
-- a range of the index, so that the answer costs what is queued, not what the user ever did.
CREATE OR REPLACE FUNCTION kudos_queued_postings(who integer)
    RETURNS TABLE (seq bigint, hold_id bigint, amount numeric)
    LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    past bigint := 0;
    holes int8multirange := '{}';
BEGIN
    SELECT m.frontier, m.gaps INTO past, holes FROM kudos_work_map m;
    RETURN QUERY SELECT q.event_seq, q.hold_id, q.amount FROM (
        SELECT p.event_seq, p.hold_id, p.amount::numeric AS amount FROM kudos_postings p
        WHERE p.user_id = who AND p.event_seq > past AND NOT p.escrow
        UNION ALL
        SELECT p.event_seq, p.hold_id, p.amount::numeric FROM unnest(holes) AS hole
        CROSS JOIN LATERAL (
            SELECT * FROM kudos_postings
            WHERE user_id = who AND event_seq >= lower(hole) AND event_seq < upper(hole) AND NOT escrow OFFSET 0) p
    ) q
    -- A probe an event: a join would tempt the planner into reading the whole queue.
    WHERE (SELECT e.fold_id IS NULL AND NOT e.inline FROM kudos_events e WHERE e.seq = q.event_seq);
END $$;

-- Their sum; only the debits when `debits_only`.
CREATE OR REPLACE FUNCTION kudos_queued(who integer, debits_only boolean) RETURNS numeric
    LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(q.amount), 0) FROM kudos_queued_postings(who) q WHERE q.amount < 0 OR NOT debits_only);
END $$;

-- Active holds and queued debits, none counted twice: a hold counts with what remains of it or with the queued debits that
-- name it, whichever is more; a debit that names no active hold counts for itself. As kReadTerms in src/store/emission.cc.
CREATE OR REPLACE FUNCTION kudos_promised(who integer) RETURNS numeric
    LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (
        WITH debits AS MATERIALIZED (SELECT q.hold_id, -q.amount AS amount FROM kudos_queued_postings(who) q WHERE q.amount < 0)
        SELECT coalesce(sum(claim.amount), 0) FROM (
            SELECT greatest(sum(c.remaining), sum(c.debited)) AS amount FROM (
                SELECT d.hold_id, 0 AS remaining, d.amount AS debited FROM debits d WHERE d.hold_id IS NOT NULL
                UNION ALL
                SELECT h.id, h.remaining_amount, 0 FROM kudos_reservations h WHERE h.user_id = who AND h.state = 'active'
            ) c GROUP BY c.hold_id
            UNION ALL
            SELECT d.amount FROM debits d WHERE d.hold_id IS NULL
        ) claim);
END $$;

-- Waits for the payer's other spends and keeps them waiting until the transaction ends. What is read under the lock is
-- read by a later statement.
CREATE OR REPLACE FUNCTION kudos_lock_payer(who integer) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(kudos_payer_namespace(), who);
END $$;

-- Balance − floor − promised, for callers that hold the payer's lock.
CREATE OR REPLACE FUNCTION kudos_read_available(who integer) RETURNS numeric
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (SELECT u.kudos - coalesce(u.floor_override, p.floor) - kudos_promised(who)
            FROM users u JOIN kudos_account_policies p ON p.account_class = u.account_class WHERE u.id = who);
END $$;

-- Balance − floor − what is promised; queued credits count for nothing. Takes the mode gate and the payer's lock until the
-- transaction ends: the value authorises a spend in the same transaction.
CREATE OR REPLACE FUNCTION kudos_available(account text) RETURNS numeric
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    who integer;
BEGIN
    PERFORM kudos_mode();
    who := (kudos_user(account)).id;
    PERFORM kudos_lock_payer(who);
    RETURN kudos_read_available(who);
END $$;

-- Balance + everything queued, not below the floor (a balance that is below it already stays, and a class that may owe
-- shows what it owes). For answers to people, never to authorise a spend.
CREATE OR REPLACE FUNCTION kudos_effective(account text) RETURNS numeric
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    who CONSTANT integer := (kudos_user(account)).id;
BEGIN
    RETURN (SELECT CASE WHEN p.shortfall = 'forgive'
                        THEN greatest(u.kudos + q.queued, least(u.kudos, coalesce(u.floor_override, p.floor)))
                        ELSE u.kudos + q.queued END
            FROM users u JOIN kudos_account_policies p ON p.account_class = u.account_class
            CROSS JOIN LATERAL (SELECT kudos_queued(who, false) AS queued) q WHERE u.id = who);
END $$;
