-- What admission is made of: checks, locks, available funds, holds, keys. The commands are in 46_holds.sql and 47_spends.sql.
-- The rules are those of src/core/decide.cc, the locks and their order those of src/store/emission.cc, what is stored that
-- of src/store/decisions.cc.
--
-- The order: mode gate, payer, pair, hold rows; then, in later statements, what they protect. Each statement of these
-- functions has a snapshot of its own at READ COMMITTED, as long as they are VOLATILE. Nothing is remembered between calls:
-- a savepoint that is rolled back drops the locks taken behind it.

-- Checks -----------------------------------------------------------------------------------------------------------------

-- A business id as callers may give it: not one of the ledger's own.
CREATE OR REPLACE FUNCTION kudos_check_hold_id(hold text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_check_name(hold, 'the hold''s id', 200);
    IF starts_with(hold, 'transfer:') THEN
        PERFORM kudos_fail('invalid_request', 'ids of holds that begin with "transfer:" belong to transfers');
    END IF;
END $$;

-- The id of a hold that a debit may name; none is NULL or empty.
CREATE OR REPLACE FUNCTION kudos_check_use(hold text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF hold <> '' THEN PERFORM kudos_check_hold_id(hold); END IF;
END $$;

-- A lifetime in whole seconds (a month counts 30 days, a year 365.25), for that is what a request's digest knows.
CREATE OR REPLACE FUNCTION kudos_lifetime_seconds(lifetime interval) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE SET search_path = @schema@, pg_temp AS $$
DECLARE
    seconds CONSTANT numeric := extract(epoch FROM lifetime);
BEGIN
    IF seconds <> trunc(seconds) OR seconds NOT BETWEEN 1 AND 3660 * 86400 THEN
        PERFORM kudos_fail('invalid_request',
            format('the lifetime is %s s; whole seconds from 1 s to 3660 days are allowed', trim_scale(seconds)));
    END IF;
    RETURN seconds;
END $$;

-- A line of a canonical request that is there only when its field is: the field is younger than the form.
CREATE OR REPLACE FUNCTION kudos_added_field(name text, value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN value <> '' THEN name || '=' || value || chr(10) ELSE '' END
$$;

-- Locks ------------------------------------------------------------------------------------------------------------------

-- The hold under a business id: the active one, else the last; no row when there is none. Two index probes, however often
-- the id was used.
CREATE OR REPLACE FUNCTION kudos_find_hold(hold text) RETURNS SETOF kudos_reservations LANGUAGE sql STABLE AS $$
    SELECT * FROM (
        (SELECT * FROM @schema@.kudos_reservations
         WHERE reservation_id = hold AND state = 'active' AND owner_event_id IS NULL)
        UNION ALL
        (SELECT * FROM @schema@.kudos_reservations
         WHERE reservation_id = hold AND owner_event_id IS NULL ORDER BY id DESC LIMIT 1)) both_rows
    LIMIT 1
$$;

-- The hold under a business id: the active one, its row locked; else the last one. All columns are NULL when there is none.
CREATE OR REPLACE FUNCTION kudos_lock_hold(hold text) RETURNS kudos_reservations
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    locked bigint;
    held kudos_reservations;
BEGIN
    LOOP
        locked := NULL;
        SELECT h.id INTO locked FROM kudos_reservations h
            WHERE h.reservation_id = hold AND h.state = 'active' AND h.owner_event_id IS NULL FOR NO KEY UPDATE;
        SELECT * INTO held FROM kudos_find_hold(hold);
        -- The one that we waited for may have ended, and another may have taken its id: that one isn't locked yet.
        IF held.state IS DISTINCT FROM 'active' OR held.id = locked THEN RETURN held; END IF;
    END LOOP;
END $$;

-- The same for commands that find their payer by the hold: first the payer's lock, then the row's.
CREATE OR REPLACE FUNCTION kudos_lock_hold_of_payer(hold text) RETURNS kudos_reservations
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    payer integer;
    held kudos_reservations;
BEGIN
    SELECT h.user_id INTO payer FROM kudos_find_hold(hold) h;
    IF payer IS NOT NULL THEN PERFORM kudos_lock_payer(payer); END IF;
    held := kudos_lock_hold(hold);
    -- A second payer's lock, taken out of order, could deadlock.
    PERFORM kudos_require_alone(held.user_id IS NOT DISTINCT FROM payer, format('hold %s changed hands meanwhile', hold));
    RETURN held;
END $$;

-- Available funds --------------------------------------------------------------------------------------------------------

-- Refuses unless the payer, whose lock is held, has that much available, counting what the caller is about to give back.
CREATE OR REPLACE FUNCTION kudos_require_available(payer integer, wanted numeric, given_back numeric DEFAULT 0)
    RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    available CONSTANT numeric := kudos_read_available(payer) + given_back;
BEGIN
    IF wanted <= available THEN RETURN; END IF;
    PERFORM kudos_fail('insufficient_funds', format('user %s has %s available, and %s are wanted', payer,
                                                    kudos_amount_text(available), kudos_amount_text(wanted)),
                       'Income counts once it is folded. Lower the amount, or release holds.');
END $$;

CREATE OR REPLACE FUNCTION kudos_may_owe(payer integer) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (SELECT p.shortfall = 'debt' FROM users u JOIN kudos_account_policies p ON p.account_class = u.account_class
            WHERE u.id = payer);
END $$;

-- Holds ------------------------------------------------------------------------------------------------------------------

-- What a hold keeps from being spent otherwise, beyond the debits that name it.
CREATE OR REPLACE FUNCTION kudos_claim(held kudos_reservations) RETURNS numeric
    LANGUAGE plpgsql IMMUTABLE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN CASE WHEN held.state = 'active' THEN greatest(held.original_amount - held.captured_amount, 0) ELSE 0 END;
END $$;

-- Whether the hold is active and its deadline, judged by a clock read after the locks, has not passed.
CREATE OR REPLACE FUNCTION kudos_is_open(held kudos_reservations) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN coalesce(held.state = 'active' AND coalesce(held.expires > clock_timestamp(), true), false);
END $$;

CREATE OR REPLACE FUNCTION kudos_refuse_unknown_hold(hold text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_fail('unknown_hold', format('there is no hold %s', hold), 'Reserve it first.');
END $$;

-- The hold isn't open any more. One whose deadline has passed is called expired, whether its row says so yet or not.
CREATE OR REPLACE FUNCTION kudos_refuse_ended_hold(held kudos_reservations) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_fail('hold_ended', format('hold %s has ended: it is %s', held.reservation_id,
                                            CASE held.state WHEN 'active' THEN 'expired' ELSE held.state::text END),
                       'A cost that became known late can be captured with `late`.');
END $$;

-- Ends a hold that is still active.
CREATE OR REPLACE FUNCTION kudos_end_hold(hold_id bigint, new_state text, why text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    UPDATE kudos_reservations SET state = new_state::kudos_hold_state, reason = why, ended = clock_timestamp()
        WHERE id = hold_id AND state = 'active';
END $$;

-- Which hold a debit of the payer is to name, of what its id led to; NULL for none. A debit whose hold has ended is a plain
-- one: its cost is a fact all the same.
CREATE OR REPLACE FUNCTION kudos_judge_use(held kudos_reservations, hold text, payer integer, must_exist boolean)
    RETURNS bigint LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF held.id IS NULL AND must_exist THEN PERFORM kudos_refuse_unknown_hold(hold); END IF;
    IF held.state IS DISTINCT FROM 'active' THEN RETURN NULL; END IF;
    IF held.user_id <> payer THEN
        PERFORM kudos_fail('wrong_payer', format('hold %s belongs to user %s, not to user %s', hold, held.user_id, payer));
    END IF;
    RETURN held.id;
END $$;

-- A stored debit names the hold: what is captured grows, and a hold that is used up ends. An event that was applied inline
-- has been consumed, too.
CREATE OR REPLACE FUNCTION kudos_use_hold(hold_id bigint, debit numeric, mode text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF hold_id IS NULL OR debit = 0 THEN RETURN; END IF;
    UPDATE kudos_reservations SET
        captured_amount = captured_amount + debit,
        consumed_amount = CASE mode WHEN 'shadow' THEN least(consumed_amount + debit, original_amount) ELSE consumed_amount END
        WHERE id = hold_id;
    UPDATE kudos_reservations SET state = 'consumed', reason = 'captured', ended = clock_timestamp()
        WHERE id = hold_id AND state = 'active' AND captured_amount >= original_amount;
END $$;

-- Keys of commands that leave no event -----------------------------------------------------------------------------------

-- The first result of a key, or NULL when the key is new; the state is the hold's present one. Another request under the key
-- is a conflict.
CREATE OR REPLACE FUNCTION kudos_find_hold_replay(wanted uuid, digest bytea) RETURNS kudos_hold_receipt
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    first kudos_hold_requests;
BEGIN
    SELECT * INTO first FROM kudos_hold_requests r WHERE r.id = wanted;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF first.request_digest <> digest THEN
        PERFORM kudos_fail('idempotency_conflict',
            format('the idempotency key was used for another request (event %s)', wanted),
            'Use a new key for a new request.');
    END IF;
    RETURN ROW(nullif(first.hold_id, 0), first.amount, (SELECT h.state FROM kudos_reservations h WHERE h.id = first.hold_id),
               first.hold_id <> 0, true)::kudos_hold_receipt;
END $$;

-- As kudos_identify. Without a key, id and digest are NULL and nothing is noted.
CREATE OR REPLACE FUNCTION kudos_identify_hold(kind text, key text, principal text, request text,
                                               OUT id uuid, OUT digest bytea, OUT replay kudos_hold_receipt)
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF key IS NULL THEN RETURN; END IF;
    id := kudos_event_id(principal, kind, key);
    digest := sha256(convert_to(E'kudos-request-1\n' || kind || E'\n' || request, 'UTF8'));
    replay := kudos_find_hold_replay(id, digest);
END $$;

CREATE OR REPLACE FUNCTION kudos_check_key(key text, principal text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF key IS NULL THEN RETURN; END IF;
    PERFORM kudos_check_name(key, 'the idempotency key', 200), kudos_check_name(principal, 'the principal', 200);
END $$;

-- Notes the first result of a key before anything else is changed. When a twin was faster, its result, and then nothing is
-- to be changed; else NULL.
CREATE OR REPLACE FUNCTION kudos_note_request(identity record, hold_id bigint, amount numeric) RETURNS kudos_hold_receipt
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF identity.id IS NULL THEN RETURN NULL; END IF;
    INSERT INTO kudos_hold_requests AS r (id, request_digest, hold_id, amount)
        VALUES (identity.id, identity.digest, hold_id, amount) ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN RETURN NULL; END IF;
    RETURN kudos_find_hold_replay(identity.id, identity.digest);
END $$;
