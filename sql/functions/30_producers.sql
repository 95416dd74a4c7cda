-- One function for each row of the producers' table. Users are numbers or external ids ('17', 'ext:alice'); amounts are
-- exact decimals. Each returns the event's id, its sequence number, the mode and whether it was a replay. The rules are
-- those of src/core/produce.cc; a shared list of cases runs over both (tests/integration/surfaces_*.cc). What they do with
-- holds and available funds is in 45_admission.sql.

CREATE OR REPLACE FUNCTION kudos_check_reference(reference text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF reference IS NULL OR reference !~ '^(-?[0-9]{1,10}|ext:.+)$' THEN
        PERFORM kudos_fail('invalid_request', format('''%s'' doesn''t name a user', left(reference, 40)),
                           'Give the user''s number, or ext:NAME for an external id.');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION kudos_refuse_unknown_user(reference text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_fail('unknown_user', format('there is no user %s', reference),
                       'Create the user first, or check the number or external id.');
END $$;

-- A user that a command names. Refuses what doesn't exist and a system account.
CREATE OR REPLACE FUNCTION kudos_user(reference text, OUT id integer, OUT account_class text,
                                      OUT earns_spendable boolean, OUT may_owe boolean, OUT usage_multiplier numeric)
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    found_user record;
BEGIN
    PERFORM kudos_check_reference(reference);
    SELECT u.user_id AS id, u.account_class, u.trusted, u.usage_multiplier, p.shortfall INTO found_user
        FROM kudos_accounts u JOIN kudos_account_policies p ON p.account_class = u.account_class
        WHERE u.user_id = kudos_user_id(reference);
    IF NOT FOUND THEN
        PERFORM kudos_refuse_unknown_user(reference);
    ELSIF found_user.id IN (-1, -2) THEN
        PERFORM kudos_fail('system_account', format('user %s is a system account', reference),
                           'System accounts are named by the ledger only.');
    END IF;
    id := found_user.id;
    account_class := found_user.account_class;
    earns_spendable := found_user.trusted OR found_user.account_class = 'anonymous';
    may_owe := found_user.shortfall = 'debt';
    usage_multiplier := found_user.usage_multiplier;
END $$;

CREATE OR REPLACE FUNCTION kudos_require_living(who integer) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM kudos_accounts WHERE user_id = who AND deleted) THEN
        PERFORM kudos_fail('account_deleted', format('user %s is deleted', who));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION kudos_worker(worker uuid, OUT owner integer, OUT owner_earns_spendable boolean, OUT team uuid,
                                        OUT worker_type text)
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    SELECT u.user_id, u.trusted OR u.account_class = 'anonymous', w.team_id, w.worker_type
        INTO owner, owner_earns_spendable, team, worker_type
        FROM kudos_worker_facts w JOIN kudos_accounts u ON u.user_id = w.user_id WHERE w.worker_id = worker;
    IF NOT FOUND THEN PERFORM kudos_fail('unknown_worker', format('there is no worker %s', worker)); END IF;
END $$;

-- Lines of a document ----------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION kudos_line(entry_type text, who integer, amount numeric, escrow boolean DEFAULT false,
                                      detail jsonb DEFAULT NULL, hold_id bigint DEFAULT NULL) RETURNS kudos_postings
    LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN amount <> 0 THEN
        ROW(0, hold_id, who, entry_type::@schema@.kudos_entry_type, 0, escrow, amount, detail)::@schema@.kudos_postings END
$$;

CREATE OR REPLACE FUNCTION kudos_stat(entry_type text, unit text, target text, who integer, amount numeric, action text,
                                      record text, worker uuid DEFAULT NULL, owner integer DEFAULT NULL,
                                      team uuid DEFAULT NULL) RETURNS kudos_stat_postings
    LANGUAGE sql STABLE AS $$
    SELECT ROW(0, who, owner, worker, team, entry_type::@schema@.kudos_entry_type, unit::@schema@.kudos_unit,
               target::@schema@.kudos_target, 0, amount, action, record, NULL)::@schema@.kudos_stat_postings
$$;

-- A `user_kudos` action pairs a change of the spendable balance: zero leaves no row.
CREATE OR REPLACE FUNCTION kudos_user_stat(entry_type text, who integer, action text, amount numeric)
    RETURNS kudos_stat_postings LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN amount <> 0 THEN
        @schema@.kudos_stat(entry_type, 'kudos', 'user_stat', who, amount, action, 'user_kudos') END
$$;

CREATE OR REPLACE FUNCTION kudos_user_record(who integer, record_type text, dimension text, amount numeric)
    RETURNS kudos_stat_postings LANGUAGE sql STABLE AS $$
    SELECT @schema@.kudos_stat('STAT_RECORD',
        CASE WHEN record_type IN ('CONTRIBUTION', 'USAGE') THEN 'things' ELSE 'count' END,
        'user_record', who, amount, record_type, dimension)
$$;

CREATE OR REPLACE FUNCTION kudos_activity(who integer) RETURNS kudos_stat_postings LANGUAGE sql STABLE AS $$
    SELECT @schema@.kudos_stat('STAT_ACTIVITY', 'count', 'user_activity', who, 1, 'activity', 'user_activity')
$$;

-- Makes the currency sum to zero (a surplus to the sink, what is missing from the treasury), drops empty lines, numbers
-- the rest, and stores.
CREATE OR REPLACE FUNCTION kudos_finish(id uuid, digest bytea, mode text, project boolean, entry_type text, job_id uuid,
                                        wp_type text, metadata jsonb, postings kudos_postings[],
                                        statistics kudos_stat_postings[])
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    missing numeric := (SELECT -coalesce(sum(p.amount), 0) FROM unnest(postings) p);
    currency kudos_postings[];
    counted kudos_stat_postings[];
BEGIN
    IF missing <> 0 THEN
        postings := postings || kudos_line(entry_type, CASE WHEN missing > 0 THEN -2 ELSE -1 END, missing);
    END IF;
    SELECT coalesce(array_agg(ROW(0, p.hold_id, p.user_id, p.entry_type, p.n, p.escrow, p.amount, p.detail)::kudos_postings
                              ORDER BY p.n), '{}') INTO currency
        FROM (SELECT row_number() OVER (ORDER BY ordinality) AS n, * FROM unnest(postings) WITH ORDINALITY
              WHERE amount IS NOT NULL) p;
    SELECT coalesce(array_agg(ROW(0, s.user_id, s.worker_user_id, s.worker_id, s.team_id, s.entry_type, s.unit, s.target,
                                  cardinality(currency) + s.n, s.amount, s.stat_action, s.record, NULL)::kudos_stat_postings
                              ORDER BY s.n), '{}') INTO counted
        FROM (SELECT row_number() OVER (ORDER BY ordinality) AS n, * FROM unnest(statistics) WITH ORDINALITY
              WHERE amount IS NOT NULL) s;
    RETURN kudos_store(id, digest, mode, project, job_id, wp_type, metadata, currency, counted);
END $$;

-- A key's event id and the request's digest; the receipt when the key was used for this request before.
CREATE OR REPLACE FUNCTION kudos_identify(kind text, key text, principal text, request text, mode text,
                                          OUT id uuid, OUT digest bytea, OUT replay kudos_receipt)
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF key IS NULL THEN
        id := kudos_uuid_v7();
        RETURN;
    END IF;
    PERFORM kudos_check_name(key, 'the idempotency key', 200), kudos_check_name(principal, 'the principal', 200);
    id := kudos_event_id(principal, kind, key);
    digest := sha256(convert_to(E'kudos-request-1\n' || kind || E'\n' || request, 'UTF8'));
    replay := kudos_find_replay(id, digest, mode);
END $$;

CREATE OR REPLACE FUNCTION kudos_reason(reason text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF coalesce(reason, '') = '' THEN RETURN NULL; END IF;
    PERFORM kudos_check_name(reason, 'the reason', 200);
    RETURN jsonb_build_object('reason', reason);
END $$;

-- One user against treasury or sink -------------------------------------------------------------------------------------

-- The common body: `request` is the canonical form behind the user's line.
CREATE OR REPLACE FUNCTION kudos_change(kind text, entry_type text, action text, who integer, amount numeric,
                                        detail jsonb, request text, wp_type text, extra kudos_stat_postings[], key text,
                                        principal text, metadata jsonb, project boolean, mode text,
                                        owes_wrongly boolean DEFAULT false)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    identity record;
BEGIN
    identity := kudos_identify(kind, key, principal,
        format(E'user=%s\namount=%s\n', who, kudos_amount_text(amount)) || request, mode);
    -- The first result stands, even where the same request would be refused today: so refusals come behind it.
    IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    PERFORM kudos_require_living(who);
    IF owes_wrongly THEN
        PERFORM kudos_fail('amount_not_positive',
            format('the opening of user %s is %s; its class can''t owe', who, kudos_amount_text(amount)),
            'Only a class whose shortfall is debt (postpaid) may open below 0.');
    END IF;
    RETURN kudos_finish(identity.id, identity.digest, mode, project, entry_type, NULL, wp_type, metadata,
        ARRAY[kudos_line(entry_type, who, amount, detail => detail)],
        ARRAY[kudos_user_stat(entry_type, who, action, amount)] || extra);
END $$;

CREATE OR REPLACE FUNCTION kudos_topup(account text, amount numeric, key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
BEGIN
    PERFORM kudos_check_positive(amount, 'the amount');
    RETURN kudos_change('topup', 'TOPUP', 'topped_up', (kudos_user(account)).id, amount, NULL, '', NULL, '{}',
                        key, principal, metadata, project, mode);
END $$;

CREATE OR REPLACE FUNCTION kudos_award(account text, amount numeric, reason text DEFAULT '', key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
BEGIN
    PERFORM kudos_check_positive(amount, 'the amount');
    RETURN kudos_change('award', 'AWARD', 'awarded', (kudos_user(account)).id, amount, kudos_reason(reason),
                        format(E'reason=%s\n', reason), NULL, '{}', key, principal, metadata, project, mode);
END $$;

CREATE OR REPLACE FUNCTION kudos_opening(account text, amount numeric, key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    who record;
BEGIN
    PERFORM kudos_check_change(amount);
    who := kudos_user(account);
    RETURN kudos_change('opening', 'OPENING', 'opening', who.id, amount, NULL, '', NULL, '{}', key, principal, metadata,
                        project, mode, owes_wrongly => amount < 0 AND NOT who.may_owe);
END $$;

CREATE OR REPLACE FUNCTION kudos_check_change(amount numeric) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_check_amount(amount, 'the amount');
    IF amount = 0 THEN PERFORM kudos_fail('invalid_amount', 'the amount is 0, which changes nothing'); END IF;
END $$;

CREATE OR REPLACE FUNCTION kudos_adjust(account text, amount numeric, reason text DEFAULT '', key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
BEGIN
    PERFORM kudos_check_change(amount);
    RETURN kudos_change('adjust', 'ADMIN_ADJUSTMENT', 'admin', (kudos_user(account)).id, amount,
                        kudos_reason(reason), format(E'reason=%s\n', reason), NULL, '{}', key, principal, metadata,
                        project, mode);
END $$;

CREATE OR REPLACE FUNCTION kudos_style(account text, amount numeric, wp_type text DEFAULT '', key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    dimension CONSTANT text := coalesce(nullif(wp_type, ''), 'image');
    who integer;
BEGIN
    PERFORM kudos_check_positive(amount, 'the amount');
    who := (kudos_user(account)).id;
    RETURN kudos_change('style', 'STYLE_REWARD', 'styled', who, amount, NULL, format(E'type=%s\n', wp_type), dimension,
                        ARRAY[kudos_user_record(who, 'STYLE', dimension, 1)], key, principal, metadata, project, mode);
END $$;

-- Two users, or a user and the sink --------------------------------------------------------------------------------------

-- Stores a charge; the debit names the hold, when there is one.
CREATE OR REPLACE FUNCTION kudos_store_charge(identity record, mode text, project boolean, metadata jsonb, detail jsonb,
                                              payer integer, payee integer, amount numeric, hold_id bigint)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN kudos_finish(identity.id, identity.digest, mode, project, 'CHARGE', NULL, NULL, metadata,
        ARRAY[kudos_line('CHARGE', payer, -amount, detail => detail, hold_id => hold_id)]
            || CASE WHEN payee IS NOT NULL THEN kudos_line('CHARGE', payee, amount) END,
        ARRAY[kudos_user_stat('CHARGE', payer, 'charged', -amount)]
            || CASE WHEN payee IS NOT NULL THEN kudos_user_stat('CHARGE', payee, 'received', amount) END);
END $$;

CREATE OR REPLACE FUNCTION kudos_charge(payer text, amount numeric, payee text DEFAULT NULL, reason text DEFAULT '',
        hold text DEFAULT NULL, check_funds boolean DEFAULT false, key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    detail CONSTANT jsonb := kudos_reason(reason);
    from_user integer; to_user integer;
    identity record;
    held kudos_reservations;
    used bigint;
    receipt kudos_receipt;
BEGIN
    PERFORM kudos_check_use(hold);
    IF hold <> '' AND check_funds THEN
        PERFORM kudos_fail('invalid_request', 'a charge that names a hold can''t be checked against what is available',
                           'Capture it with over => true: that checks what exceeds the hold.');
    END IF;
    PERFORM kudos_check_positive(amount, 'the amount');
    from_user := (kudos_user(payer)).id;
    IF payee IS NOT NULL THEN to_user := (kudos_user(payee)).id; END IF;
    IF to_user = from_user THEN PERFORM kudos_fail('invalid_request', 'payer and payee are the same user'); END IF;
    -- Locks come before the look for the key: a twin that we waited for has stored its event by then.
    IF check_funds THEN PERFORM kudos_check_mode(mode, project), kudos_lock_payer(from_user); END IF;
    IF hold <> '' THEN held := kudos_lock_hold(hold); END IF;
    identity := kudos_identify('charge', key, principal,
        format(E'payer=%s\namount=%s\npayee=%s\nreason=%s\n', from_user, kudos_amount_text(amount), to_user, reason)
        || kudos_added_field('hold', hold) || CASE WHEN check_funds THEN E'check=true\n' ELSE '' END, mode);
    IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    PERFORM kudos_check_metadata(metadata), kudos_require_living(to_user);
    IF check_funds THEN PERFORM kudos_require_available(from_user, amount); END IF;
    IF hold <> '' THEN used := kudos_judge_use(held, hold, from_user, true); END IF;
    receipt := kudos_store_charge(identity, mode, project, metadata, detail, from_user, to_user, amount, used);
    IF NOT receipt.replayed THEN PERFORM kudos_use_hold(used, amount, mode); END IF;
    RETURN receipt;
END $$;

CREATE OR REPLACE FUNCTION kudos_tax(requester text, tax numeric, prompt uuid, wp_type text DEFAULT '',
        key text DEFAULT NULL, principal text DEFAULT session_user, metadata jsonb DEFAULT NULL,
        project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    dimension CONSTANT text := coalesce(nullif(wp_type, ''), 'image');
    who record;
    identity record;
    held kudos_reservations;
    used bigint;
    receipt kudos_receipt;
BEGIN
    PERFORM kudos_check_positive(tax, 'the tax');
    IF prompt IS NULL THEN PERFORM kudos_fail('invalid_request', 'the prompt is missing'); END IF;
    who := kudos_user(requester);
    held := kudos_lock_hold('upfront:' || prompt);
    identity := kudos_identify('tax', key, principal, format(E'requester=%s\ntax=%s\nprompt=%s\ntype=%s\n', who.id,
        kudos_amount_text(tax), prompt, wp_type), mode);
    IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    used := kudos_judge_use(held, 'upfront:' || prompt, who.id, false);
    receipt := kudos_finish(identity.id, identity.digest, mode, project, 'GENERATION', prompt, dimension, metadata,
        ARRAY[kudos_line('GENERATION', who.id, -tax, hold_id => used)],
        ARRAY[kudos_user_stat('GENERATION', who.id, 'accumulated', -tax),
              kudos_user_record(who.id, 'REQUEST', dimension, 1), kudos_user_record(who.id, 'USAGE', dimension, 0)]
            || CASE WHEN who.account_class <> 'anonymous' THEN kudos_activity(who.id) END);
    IF NOT receipt.replayed THEN PERFORM kudos_use_hold(used, tax, mode); END IF;
    RETURN receipt;
END $$;

-- Work -------------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION kudos_uptime(worker uuid, amount numeric, bypass_evaluation boolean DEFAULT false,
        key text DEFAULT NULL, principal text DEFAULT session_user, metadata jsonb DEFAULT NULL,
        project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    w record;
    identity record;
    spendable boolean;
BEGIN
    PERFORM kudos_check_positive(amount, 'the amount');
    identity := kudos_identify('uptime', key, principal, format(E'worker=%s\namount=%s\nbypass=%s\n', worker,
        kudos_amount_text(amount), coalesce(bypass_evaluation, false)::text), mode);
    IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    w := kudos_worker(worker);
    spendable := w.owner_earns_spendable OR coalesce(bypass_evaluation, false);
    RETURN kudos_finish(identity.id, identity.digest, mode, project, 'UPTIME_REWARD', NULL, w.worker_type, metadata,
        ARRAY[kudos_line('UPTIME_REWARD', w.owner, amount, NOT spendable)],
        ARRAY[kudos_stat('UPTIME_REWARD', 'kudos', 'worker_stat', NULL, amount, 'uptime', 'worker_kudos', worker, w.owner)]
            || CASE WHEN spendable THEN kudos_user_stat('UPTIME_REWARD', w.owner, 'accumulated', amount) END
            || kudos_activity(w.owner));
END $$;

-- How many things raw units of work of a type are. Multiplied, since a quotient may be rounded early.
CREATE OR REPLACE FUNCTION kudos_things(raw numeric, wp_type text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT @schema@.kudos_round(raw * CASE wp_type WHEN 'image' THEN 0.000001 ELSE 1 END)
$$;

-- The body of settlements and interrogations, behind the identity. `held` is what the named hold's id led to.
CREATE OR REPLACE FUNCTION kudos_settle_job(identity record, mode text, project boolean, requester integer,
        usage_multiplier numeric, worker uuid, cost numeric, reward numeric, things numeric, job_id uuid, wp_type text,
        metadata jsonb, hold text, held kudos_reservations, hold_must_exist boolean)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    w CONSTANT record := kudos_worker(worker);
    kind CONSTANT text := coalesce(nullif(wp_type, ''), w.worker_type);
    made CONSTANT numeric := kudos_things(things, kind);
    escrow CONSTANT numeric := CASE WHEN w.owner_earns_spendable THEN 0 ELSE kudos_round(reward / 2) END;
    team CONSTANT uuid := CASE WHEN w.worker_type NOT IN ('text', 'interrogation') THEN w.team END;
    usage CONSTANT numeric := kudos_round(made * round(usage_multiplier, 4));
    used bigint;
    receipt kudos_receipt;
BEGIN
    PERFORM kudos_check_amount(usage, 'the usage');
    IF hold <> '' THEN
        PERFORM kudos_check_type(kind), kudos_check_metadata(metadata);
        used := kudos_judge_use(held, hold, requester, hold_must_exist);
    END IF;
    receipt := kudos_finish(identity.id, identity.digest, mode, project, 'GENERATION', job_id, kind, metadata,
        ARRAY[kudos_line('GENERATION', requester, -cost, hold_id => used), kudos_line('GENERATION', w.owner, reward - escrow),
              kudos_line('GENERATION', w.owner, escrow, true)],
        ARRAY[kudos_user_stat('GENERATION', w.owner, 'accumulated', reward - escrow),
              kudos_user_record(w.owner, 'FULFILLMENT', kind, 1), kudos_user_record(w.owner, 'CONTRIBUTION', kind, made),
              kudos_activity(w.owner),
              kudos_stat('GENERATION', 'kudos', 'worker_stat', NULL, reward, 'generated', 'worker_kudos', worker, w.owner, team),
              kudos_stat('STAT_CONTRIBUTION', 'things', 'worker_contributions', NULL, made, 'contribution', 'contributions', worker, w.owner, team),
              kudos_stat('STAT_CONTRIBUTION', 'count', 'worker_fulfilments', NULL, 1, 'fulfilment', 'fulfilments', worker, w.owner, team),
              kudos_user_stat('GENERATION', requester, 'accumulated', -cost),
              kudos_user_record(requester, 'REQUEST', kind, 1),
              kudos_user_record(requester, 'USAGE', kind, usage),
              kudos_activity(requester)]);
    IF NOT receipt.replayed THEN PERFORM kudos_use_hold(used, cost, mode); END IF;
    RETURN receipt;
END $$;

CREATE OR REPLACE FUNCTION kudos_settle(requester text, worker uuid, cost numeric, reward numeric DEFAULT NULL,
        things numeric DEFAULT 0, job_id uuid DEFAULT NULL, wp_type text DEFAULT '', outcome text DEFAULT 'completed',
        hold text DEFAULT NULL, key text DEFAULT NULL, principal text DEFAULT session_user,
        metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    paid CONSTANT numeric := coalesce(reward, cost);
    who record;
    identity record;
    held kudos_reservations;
BEGIN
    PERFORM kudos_check_use(hold);
    IF outcome NOT IN ('completed', 'cancelled', 'censored', 'fake') OR outcome IS NULL THEN
        PERFORM kudos_fail('invalid_request', format('''%s'' is not an outcome', outcome),
                           'It is completed, cancelled, censored or fake.');
    END IF;
    PERFORM kudos_check_not_negative(cost, 'the cost'), kudos_check_not_negative(paid, 'the reward'),
            kudos_check_not_negative(things, 'the number of things');
    who := kudos_user(requester);
    IF hold <> '' THEN held := kudos_lock_hold(hold); END IF;
    identity := kudos_identify('settle', key, principal,
        format(E'requester=%s\nworker=%s\ncost=%s\nreward=%s\nthings=%s\njob=%s\ntype=%s\noutcome=%s\n', who.id, worker,
               kudos_amount_text(cost), kudos_amount_text(paid), kudos_amount_text(things), job_id, wp_type, outcome)
        || kudos_added_field('hold', hold), mode);
    IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    IF outcome = 'fake' THEN
        PERFORM kudos_worker(worker), kudos_check_metadata(metadata), kudos_check_type(nullif(wp_type, ''));
        RETURN ROW(identity.id, NULL, mode, false)::kudos_receipt;
    END IF;
    RETURN kudos_settle_job(identity, mode, project, who.id, who.usage_multiplier, worker,
                            CASE outcome WHEN 'censored' THEN 0 ELSE cost END, paid, things, job_id, wp_type, metadata,
                            hold, held, true);
END $$;

CREATE OR REPLACE FUNCTION kudos_interrogation(requester text, worker uuid, cost numeric, form uuid,
        reward numeric DEFAULT NULL, things numeric DEFAULT 1, cancelled boolean DEFAULT false, key text DEFAULT NULL,
        principal text DEFAULT session_user, metadata jsonb DEFAULT NULL, project boolean DEFAULT true)
    RETURNS kudos_receipt LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    mode CONSTANT text := kudos_mode();
    paid CONSTANT numeric := coalesce(reward, cost);
    who record;
    identity record;
    held kudos_reservations;
BEGIN
    PERFORM kudos_check_not_negative(cost, 'the cost'), kudos_check_not_negative(paid, 'the reward'),
            kudos_check_not_negative(things, 'the number of things');
    IF form IS NULL THEN PERFORM kudos_fail('invalid_request', 'the form is missing'); END IF;
    who := kudos_user(requester);
    held := kudos_lock_hold('interrogation:' || form);
    identity := kudos_identify('interrogation', key, principal,
        format(E'requester=%s\nworker=%s\ncost=%s\nreward=%s\nthings=%s\nform=%s\ncancelled=%s\n', who.id, worker,
               kudos_amount_text(cost), kudos_amount_text(paid), kudos_amount_text(things), form, coalesce(cancelled, false)::text), mode);
    IF identity.replay IS NOT NULL THEN RETURN identity.replay; END IF;
    RETURN kudos_settle_job(identity, mode, project, who.id, who.usage_multiplier, worker, cost, paid, things, form,
                            'interrogation', metadata, 'interrogation:' || form, held, false);
END $$;
