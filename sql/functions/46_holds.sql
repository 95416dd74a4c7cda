-- Reserve, extend, release. They leave no event: a key's first result is kept in kudos_hold_requests.

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
        ON CONFLICT (reservation_id) WHERE state = 'active' AND owner_event_id IS NULL DO NOTHING;
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
        SELECT DISTINCT h.user_id AS id FROM unnest(holds) AS wanted CROSS JOIN LATERAL kudos_find_hold(wanted) h
        ORDER BY id OFFSET 0) payer;
    PERFORM FROM kudos_reservations h
        WHERE h.reservation_id = ANY (holds) AND h.state = 'active' AND h.owner_event_id IS NULL
        ORDER BY h.id FOR NO KEY UPDATE;
    FOREACH each IN ARRAY coalesce(holds, '{}') LOOP
        RETURN NEXT kudos_release(each);
    END LOOP;
END $$;
