-- Captures and transfers: events that are paid from what is available.

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
                             AND t.created > (SELECT clock_timestamp() - make_interval(secs => guard))) THEN
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
