-- What a user may spend, and what a "new balance" answer shows.

-- STABLE on purpose: it must see the same snapshot as the statement that reads the balance, or a fold between the two
-- would take a debit from both.
--
-- Sum of a user's queued changes of the spendable balance; only debits when `debits_only`.
CREATE OR REPLACE FUNCTION kudos_queued(who integer, debits_only boolean) RETURNS numeric
    LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(p.amount), 0)
    FROM kudos_postings p JOIN kudos_events e ON e.seq = p.event_seq CROSS JOIN kudos_work_map m
    WHERE p.user_id = who AND NOT p.escrow AND e.fold_id IS NULL AND NOT e.inline
      AND (p.event_seq > m.frontier OR p.event_seq <@ m.gaps)
      AND (p.amount < 0 OR NOT debits_only));
END $$;

-- Balance − floor − queued debits. Queued credits count for nothing. The value authorises a spend only when it is read
-- under the payer's lock, in the transaction that spends.
CREATE OR REPLACE FUNCTION kudos_available(account text) RETURNS numeric
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    who CONSTANT integer := (kudos_user(account)).id;
BEGIN
    RETURN (SELECT u.kudos - coalesce(u.floor_override, p.floor) + kudos_queued(who, true)
            FROM users u JOIN kudos_account_policies p ON p.account_class = u.account_class WHERE u.id = who);
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
