-- Admission: holds, captures, transfers; what may be spent is decided here. The rules are those of src/core/decide.cc, the
-- locks and their order those of src/store/emission.cc, what is stored that of src/store/decisions.cc.
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
        SELECT * INTO held FROM kudos_reservations h
            WHERE h.reservation_id = hold AND h.owner_event_id IS NULL
            ORDER BY (h.state = 'active') DESC, h.id DESC LIMIT 1;
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
    SELECT h.user_id INTO payer FROM kudos_reservations h WHERE h.reservation_id = hold AND h.owner_event_id IS NULL
        ORDER BY (h.state = 'active') DESC, h.id DESC LIMIT 1;
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

-- Reserve, extend, release -----------------------------------------------------------------------------------------------

-- An active id again: the same hold for the same payer and amount.
CREATE OR REPLACE FUNCTION kudos_join_hold(held kudos_reservations, payer integer, wanted numeric, identity record)
    RETURNS kudos_hold_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    twin kudos_hold_receipt;
BEGIN
    IF held.user_id <> payer OR held.original_amount <> wanted THEN
        PERFORM kudos_fail('hold_conflict', format('hold %s is active for %s', held.reservation_id,
            CASE WHEN held.user_id = payer THEN held.original_amount::text ELSE 'another payer' END),
            'Release it, extend it, or use another id.');
    END IF;
    twin := kudos_note_request(identity, held.id, wanted);
    IF twin.replayed THEN RETURN twin; END IF;
    RETURN ROW(held.id, held.original_amount, 'active', true, true)::kudos_hold_receipt;
END $$;

CREATE OR REPLACE FUNCTION kudos_insert_hold(new_id bigint, hold text, payer integer, original numeric, deadline timestamptz)
    RETURNS void LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    INSERT INTO kudos_reservations (id, reservation_id, user_id, original_amount, expires)
        VALUES (new_id, hold, payer, original, deadline)
        ON CONFLICT (reservation_id) WHERE state = 'active' DO NOTHING;
    PERFORM kudos_require_alone(FOUND, 'another transaction has just reserved the same id');
END $$;

-- Claims an amount under a business id, if that much is available.
CREATE OR REPLACE FUNCTION kudos_reserve(payer text, amount numeric, hold text, lifetime interval DEFAULT NULL,
        key text DEFAULT NULL, principal text DEFAULT session_user)
    RETURNS kudos_hold_receipt LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    seconds bigint; who integer; new_id bigint;
    held kudos_reservations;
    identity record;
    twin kudos_hold_receipt;
BEGIN
    PERFORM kudos_check_mode(mode, true), kudos_check_key(key, principal), kudos_check_positive(amount, 'the amount'),
            kudos_check_hold_id(hold);
    seconds := kudos_lifetime_seconds(lifetime);
    who := (kudos_user(payer)).id;
    PERFORM kudos_lock_payer(who);
    held := kudos_lock_hold(hold);
    identity := kudos_identify_hold('reserve', key, principal,
        format(E'payer=%s\namount=%s\nhold=%s\nlifetime=%s\n', who, kudos_amount_text(amount), hold, seconds));
    IF (identity.replay).replayed THEN RETURN identity.replay; END IF;
    PERFORM kudos_require_living(who);
    -- One whose deadline has passed makes room, but only for its own payer: only that one is locked.
    IF held.state = 'active' AND (held.user_id <> who OR kudos_is_open(held)) THEN
        RETURN kudos_join_hold(held, who, amount, identity);
    END IF;
    PERFORM kudos_require_available(who, amount, kudos_claim(held));
    new_id := nextval('kudos_reservations_id');
    twin := kudos_note_request(identity, new_id, amount);
    IF twin.replayed THEN RETURN twin; END IF;
    PERFORM kudos_end_hold(held.id, 'expired', 'deadline'),
            kudos_insert_hold(new_id, hold, who, amount, clock_timestamp() + make_interval(secs => seconds));
    RETURN ROW(new_id, round(amount, 2), 'active', true, false)::kudos_hold_receipt;
END $$;

-- Raises what an active hold claims to an amount (in all), or moves its deadline further out (from now), or both. A hold
-- without deadline stays without.
CREATE OR REPLACE FUNCTION kudos_extend(hold text, amount numeric DEFAULT NULL, lifetime interval DEFAULT NULL,
        key text DEFAULT NULL, principal text DEFAULT session_user)
    RETURNS kudos_hold_receipt LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    seconds bigint; wanted numeric; more numeric;
    held kudos_reservations;
    identity record;
    twin kudos_hold_receipt;
BEGIN
    PERFORM kudos_check_mode(mode, true), kudos_check_key(key, principal);
    IF amount IS NOT NULL THEN PERFORM kudos_check_positive(amount, 'the amount'); END IF;
    PERFORM kudos_check_hold_id(hold);
    seconds := kudos_lifetime_seconds(lifetime);
    IF amount IS NULL AND seconds IS NULL THEN
        PERFORM kudos_fail('invalid_request', 'an extension gives a new amount, a new lifetime, or both');
    END IF;
    held := kudos_lock_hold_of_payer(hold);
    identity := kudos_identify_hold('extend', key, principal,
        format(E'hold=%s\namount=%s\nlifetime=%s\n', hold, kudos_amount_text(amount), seconds));
    IF (identity.replay).replayed THEN RETURN identity.replay; END IF;
    IF held.id IS NULL THEN PERFORM kudos_refuse_unknown_hold(hold); END IF;
    IF NOT kudos_is_open(held) THEN PERFORM kudos_refuse_ended_hold(held); END IF;
    wanted := round(coalesce(amount, held.original_amount), 2);
    IF wanted < held.original_amount THEN
        PERFORM kudos_fail('hold_conflict',
            format('hold %s claims %s; an extension can''t lower it', hold, held.original_amount),
            'Give the amount in all, not what is added.');
    END IF;
    more := wanted - held.original_amount;
    IF more > 0 THEN PERFORM kudos_require_available(held.user_id, more); END IF;
    twin := kudos_note_request(identity, held.id, wanted);
    IF twin.replayed THEN RETURN twin; END IF;
    UPDATE kudos_reservations SET
        original_amount = wanted,
        expires = CASE WHEN expires IS NOT NULL THEN greatest(expires, clock_timestamp() + make_interval(secs => seconds)) END
        WHERE id = held.id;
    RETURN ROW(held.id, wanted, 'active', true, false)::kudos_hold_receipt;
END $$;

-- Ends an active hold and gives back what it still claims. Nothing active under the id: nothing happens, amount 0.
CREATE OR REPLACE FUNCTION kudos_release(hold text, key text DEFAULT NULL, principal text DEFAULT session_user)
    RETURNS kudos_hold_receipt LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    held kudos_reservations;
    identity record;
    given_back numeric;
    twin kudos_hold_receipt;
BEGIN
    PERFORM kudos_check_mode(mode, true), kudos_check_key(key, principal), kudos_check_hold_id(hold);
    held := kudos_lock_hold_of_payer(hold);
    identity := kudos_identify_hold('release', key, principal, format(E'hold=%s\n', hold));
    IF (identity.replay).replayed THEN RETURN identity.replay; END IF;
    given_back := kudos_claim(held);
    twin := kudos_note_request(identity, CASE held.state WHEN 'active' THEN held.id ELSE 0 END, given_back);
    IF twin.replayed THEN RETURN twin; END IF;
    IF held.state IS DISTINCT FROM 'active' THEN
        RETURN ROW(NULL, 0.00, held.state, false, false)::kudos_hold_receipt;
    END IF;
    PERFORM kudos_end_hold(held.id, 'released', 'released');
    RETURN ROW(held.id, given_back, 'released', true, false)::kudos_hold_receipt;
END $$;

-- Releases many at once: a row each, in the order given. All payers are locked in order before the first hold ends.
CREATE OR REPLACE FUNCTION kudos_release(holds text[]) RETURNS SETOF kudos_hold_receipt
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    each text;
BEGIN
    PERFORM kudos_check_mode(kudos_mode(), true);
    PERFORM kudos_check_hold_id(h) FROM unnest(holds) AS h;
    PERFORM kudos_lock_payer(payer.id) FROM (
        SELECT DISTINCT h.user_id AS id FROM kudos_reservations h
        WHERE h.reservation_id = ANY (holds) AND h.owner_event_id IS NULL ORDER BY h.user_id OFFSET 0) payer;
    PERFORM FROM kudos_reservations h
        WHERE h.reservation_id = ANY (holds) AND h.state = 'active' AND h.owner_event_id IS NULL
        ORDER BY h.id FOR NO KEY UPDATE;
    FOREACH each IN ARRAY coalesce(holds, '{}') LOOP
        RETURN NEXT kudos_release(each);
    END LOOP;
END $$;

-- Capture ----------------------------------------------------------------------------------------------------------------

-- Whether what is to be captured may be: from an open hold, with `beyond` what exceeds it; else late, as a plain charge.
CREATE OR REPLACE FUNCTION kudos_admit_capture(held kudos_reservations, is_open boolean, amount numeric, beyond boolean,
                                               late boolean)
    RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    claim CONSTANT numeric := kudos_claim(held);
BEGIN
    IF NOT is_open AND NOT late THEN PERFORM kudos_refuse_ended_hold(held); END IF;
    IF is_open AND amount <= claim THEN RETURN; END IF;
    IF is_open AND NOT beyond THEN
        PERFORM kudos_fail('hold_exceeded', format('hold %s has %s left, and %s are wanted', held.reservation_id, claim,
                                                   kudos_amount_text(amount)),
                           'Extend it first, or capture with over => true.');
    END IF;
    IF beyond AND kudos_may_owe(held.user_id) THEN RETURN; END IF;
    -- Wanted beyond the claim, or all of it with the claim given back: the same comparison.
    IF is_open THEN PERFORM kudos_require_available(held.user_id, amount - claim);
    ELSE PERFORM kudos_require_available(held.user_id, amount, claim); END IF;
END $$;

-- What a stored capture changes in the hold. A late one names none, and says of a hold past its deadline that it expired.
CREATE OR REPLACE FUNCTION kudos_settle_capture(held kudos_reservations, is_open boolean, amount numeric, final boolean,
                                                mode text)
    RETURNS void LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF NOT is_open THEN
        PERFORM kudos_end_hold(held.id, 'expired', 'deadline');
        RETURN;
    END IF;
    PERFORM kudos_use_hold(held.id, amount, mode);
    IF final THEN PERFORM kudos_end_hold(held.id, 'released', 'final capture'); END IF;
END $$;

-- Charges a part of what a hold claims: payer → payee, or → sink. `final` releases the rest; `over` takes what exceeds the
-- hold from what is available; `late` makes it a plain charge, under a fresh check, when the hold has ended.
CREATE OR REPLACE FUNCTION kudos_capture(hold text, amount numeric, final boolean DEFAULT false, over boolean DEFAULT false,
        late boolean DEFAULT false, payee text DEFAULT NULL, reason text DEFAULT '', key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    finally CONSTANT boolean := coalesce(final, false);
    beyond CONSTANT boolean := coalesce(over, false);
    belated CONSTANT boolean := coalesce(late, false);
    detail jsonb; to_user integer; is_open boolean;
    held kudos_reservations;
    identity record;
    receipt kudos_receipt;
BEGIN
    PERFORM kudos_check_mode(mode, project), kudos_check_key(key, principal), kudos_check_positive(amount, 'the amount'),
            kudos_check_hold_id(hold);
    detail := kudos_reason(reason);
    IF payee IS NOT NULL THEN PERFORM kudos_check_reference(payee); END IF;
    to_user := kudos_user_id(payee);
    held := kudos_lock_hold_of_payer(hold);
    IF payee IS NULL OR to_user IS NOT NULL THEN
        identity := kudos_identify('capture', key, principal,
            format(E'hold=%s\namount=%s\nfinal=%s\nover=%s\nlate=%s\npayee=%s\nreason=%s\n', hold, kudos_amount_text(amount),
                   finally::text, beyond::text, belated::text, to_user, reason), mode);
        IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    END IF;
    PERFORM kudos_check_metadata(metadata);
    IF held.id IS NULL THEN PERFORM kudos_refuse_unknown_hold(hold); END IF;
    IF payee IS NOT NULL AND to_user IS NULL THEN PERFORM kudos_refuse_unknown_user(payee); END IF;
    IF payee IS NOT NULL THEN PERFORM kudos_user(payee), kudos_require_living(to_user); END IF;
    IF to_user = held.user_id THEN PERFORM kudos_fail('invalid_request', 'payer and payee are the same user'); END IF;
    is_open := kudos_is_open(held);
    PERFORM kudos_admit_capture(held, is_open, amount, beyond, belated);
    receipt := kudos_store_charge(identity, mode, project, metadata, detail, held.user_id, to_user, amount,
                                  CASE WHEN is_open THEN held.id END);
    IF NOT receipt.replayed THEN PERFORM kudos_settle_capture(held, is_open, amount, finally, mode); END IF;
    RETURN receipt;
END $$;

-- Transfer ---------------------------------------------------------------------------------------------------------------

-- Why these two can't give and take, as 'name: message'; NULL when they can. In the contract's order.
CREATE OR REPLACE FUNCTION kudos_transfer_defect(payer integer, recipient integer, wanted text) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN (SELECT CASE
        WHEN p.account_class = 'anonymous' THEN format('anonymous_payer: user %s is anonymous', p.id)
        WHEN r.id IS NULL THEN format('unknown_recipient: there is no user %s', wanted)
        WHEN r.id IN (-1, -2) THEN format('system_account: user %s is a system account', r.id)
        WHEN r.account_class = 'anonymous' THEN format('anonymous_recipient: user %s is anonymous', r.id)
        WHEN p.id = r.id THEN format('same_account: user %s is payer and recipient', p.id)
        WHEN p.suspicious THEN format('suspicious_payer: user %s is under suspicion and can''t give', p.id)
        WHEN p.flagged THEN format('flagged_payer: user %s is flagged and can''t give', p.id)
        WHEN p.education THEN format('education_payer: user %s is an education account and can''t give', p.id)
        WHEN p.deleted_at IS NOT NULL THEN format('deleted_payer: user %s is deleted', p.id)
        WHEN r.suspicious THEN format('suspicious_recipient: user %s is under suspicion', r.id)
        WHEN r.flagged THEN format('flagged_recipient: user %s is flagged', r.id)
        WHEN r.deleted_at IS NOT NULL THEN format('deleted_recipient: user %s is deleted', r.id)
        END FROM users p LEFT JOIN users r ON r.id = recipient WHERE p.id = payer);
END $$;

-- Refuses a transfer the other way within the guard time. Both directions share the pair's lock.
CREATE OR REPLACE FUNCTION kudos_require_no_reverse(payer integer, recipient integer) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    guard integer;
BEGIN
    SELECT c.transfer_guard_seconds INTO guard FROM kudos_ledger_control c;
    IF guard > 0 AND EXISTS (SELECT FROM kudos_transfers t WHERE t.payer_id = recipient AND t.recipient_id = payer
                             AND t.created > clock_timestamp() - make_interval(secs => guard)) THEN
        PERFORM kudos_fail('reverse_transfer', format('user %s gave to user %s a moment ago', recipient, payer),
                           'Wait until the guard time has passed.');
    END IF;
END $$;

-- A stored transfer's own hold and its entry in the log. One that was applied inline is over already.
CREATE OR REPLACE FUNCTION kudos_note_transfer(receipt kudos_receipt, hold_id bigint, payer integer, recipient integer,
                                               amount numeric)
    RETURNS void LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    over CONSTANT boolean := receipt.mode = 'shadow';
BEGIN
    INSERT INTO kudos_reservations (id, reservation_id, user_id, original_amount, captured_amount, consumed_amount,
                                    owner_event_id, state, reason, ended)
        VALUES (hold_id, format('transfer:%s:%s', payer, receipt.event_id), payer, amount, amount,
                CASE WHEN over THEN amount ELSE 0 END, receipt.event_id,
                CASE WHEN over THEN 'released' ELSE 'active' END::kudos_hold_state, CASE WHEN over THEN 'folded' END,
                CASE WHEN over THEN clock_timestamp() END);
    INSERT INTO kudos_transfers (event_seq, created, payer_id, recipient_id, amount)
        VALUES (receipt.seq, clock_timestamp(), payer, recipient, amount);
END $$;

-- payer → recipient, from what is available, under a hold of its own that ends when the event folds.
CREATE OR REPLACE FUNCTION kudos_transfer(payer text, recipient text, amount numeric, key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    from_user integer; to_user integer; own_hold bigint;
    identity record;
    defect text;
    receipt kudos_receipt;
BEGIN
    PERFORM kudos_check_mode(mode, project), kudos_check_key(key, principal), kudos_check_positive(amount, 'the amount'),
            kudos_check_reference(recipient);
    from_user := (kudos_user(payer)).id;
    to_user := kudos_user_id(recipient);
    PERFORM kudos_lock_payer(from_user);
    IF to_user IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(kudos_pair_namespace(), kudos_pair_key(from_user, to_user));
        identity := kudos_identify('transfer', key, principal, format(E'payer=%s\nrecipient=%s\namount=%s\n', from_user,
                                   to_user, kudos_amount_text(amount)), mode);
        IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    END IF;
    PERFORM kudos_check_metadata(metadata);
    defect := kudos_transfer_defect(from_user, to_user, recipient);
    IF defect IS NOT NULL THEN PERFORM kudos_refuse_defect(defect); END IF;
    PERFORM kudos_require_no_reverse(from_user, to_user), kudos_require_available(from_user, amount);
    own_hold := nextval('kudos_reservations_id');
    receipt := kudos_finish(identity.id, identity.digest, mode, project, 'TRANSFER', NULL, NULL, metadata,
        ARRAY[kudos_line('TRANSFER', from_user, -amount, hold_id => own_hold), kudos_line('TRANSFER', to_user, amount)],
        ARRAY[kudos_user_stat('TRANSFER', from_user,
                  CASE WHEN (SELECT u.education FROM users u WHERE u.id = to_user) THEN 'donated' ELSE 'gifted' END, -amount),
              kudos_user_stat('TRANSFER', to_user, 'received', amount)]);
    IF NOT receipt.replayed THEN PERFORM kudos_note_transfer(receipt, own_hold, from_user, to_user, amount); END IF;
    RETURN receipt;
END $$;
