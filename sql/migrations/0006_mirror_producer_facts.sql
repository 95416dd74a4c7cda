-- Producers read what they need of users and workers from rows that folds don't rewrite; rows that folds rewrite get
-- room to stay on their page.
--
-- Why: while a long transaction holds back the cleanup, every fold leaves a dead version of each row that it writes. A
-- producer that looks the row up by its index walks them all; and a new version on another page needs a new entry in the
-- unique index, whose check walks them all too (decision 0009).
-- Locks: ACCESS EXCLUSIVE on kudos_accounts while it is filled (one update of each row), SHARE ROW EXCLUSIVE on users and
-- workers, SHARE UPDATE EXCLUSIVE on the read models.

-- Held first, so that nothing changes between the copy and its triggers.
LOCK TABLE users, workers IN SHARE ROW EXCLUSIVE MODE;

-- How many digits the whole part of a positive amount has; 0 for others. Inlined.
CREATE FUNCTION kudos_digits(amount numeric) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN amount > 0 THEN length(trunc(amount)::text) ELSE 0 END
$$;

-- Trust promotion looks for escrow by its number of digits, which changes a few times in a user's life: an index of the
-- escrow itself would need a new entry at each fold.
DROP INDEX users_awaiting_trust;
DROP INDEX users_trusted_with_escrow;

-- Values as they stand in users: a host's own columns may be of other types, or empty.
ALTER TABLE kudos_accounts
    ADD COLUMN external_id text, ADD COLUMN account_class text, ADD COLUMN trusted boolean, ADD COLUMN deleted boolean,
    ADD COLUMN usage_multiplier numeric, ADD COLUMN suspicious boolean, ADD COLUMN flagged boolean,
    ADD COLUMN education boolean, ADD COLUMN escrow_digits integer;
CREATE INDEX kudos_accounts_awaiting_trust ON kudos_accounts (escrow_digits)
    WHERE NOT trusted AND NOT suspicious AND NOT deleted AND escrow_digits > 0;
CREATE INDEX kudos_accounts_trusted_with_escrow ON kudos_accounts (user_id) WHERE trusted AND escrow_digits > 0;
-- Not unique: users.external_id is.
CREATE INDEX kudos_accounts_external_id ON kudos_accounts (external_id);

-- The number stays; the facts follow the user's.
DROP TRIGGER kudos_accounts_never_change ON kudos_accounts;
CREATE TRIGGER kudos_accounts_numbers_are_fixed
    BEFORE UPDATE OF user_id ON kudos_accounts FOR EACH STATEMENT EXECUTE FUNCTION kudos_refuse_change();

CREATE OR REPLACE FUNCTION kudos_open_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp AS $$
BEGIN
    INSERT INTO kudos_accounts (user_id, external_id, account_class, trusted, deleted, usage_multiplier, suspicious,
                                flagged, education, escrow_digits)
        VALUES (NEW.id, NEW.external_id, NEW.account_class, NEW.trusted, NEW.deleted_at IS NOT NULL,
                NEW.usage_multiplier, NEW.suspicious, NEW.flagged, NEW.education,
                kudos_digits(NEW.evaluating_kudos))
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE FUNCTION kudos_mirror_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp AS $$
BEGIN
    UPDATE kudos_accounts
        SET external_id = NEW.external_id, account_class = NEW.account_class, trusted = NEW.trusted,
            deleted = NEW.deleted_at IS NOT NULL, usage_multiplier = NEW.usage_multiplier,
            suspicious = NEW.suspicious, flagged = NEW.flagged, education = NEW.education,
            escrow_digits = kudos_digits(NEW.evaluating_kudos)
        WHERE user_id = NEW.id;
    RETURN NULL;
END $$;
-- By the values, not by the columns named: a host's BEFORE trigger may set others. False for nearly every fold.
CREATE TRIGGER kudos_users_are_mirrored AFTER UPDATE ON users FOR EACH ROW
    WHEN ((OLD.external_id, OLD.account_class, OLD.trusted, OLD.deleted_at, OLD.usage_multiplier, OLD.suspicious,
           OLD.flagged, OLD.education, kudos_digits(OLD.evaluating_kudos))
          IS DISTINCT FROM
          (NEW.external_id, NEW.account_class, NEW.trusted, NEW.deleted_at, NEW.usage_multiplier, NEW.suspicious,
           NEW.flagged, NEW.education, kudos_digits(NEW.evaluating_kudos)))
    EXECUTE FUNCTION kudos_mirror_user();
UPDATE kudos_accounts a
    SET external_id = u.external_id, account_class = u.account_class, trusted = u.trusted,
        deleted = u.deleted_at IS NOT NULL, usage_multiplier = u.usage_multiplier, suspicious = u.suspicious,
        flagged = u.flagged, education = u.education, escrow_digits = kudos_digits(u.evaluating_kudos)
    FROM users u WHERE u.id = a.user_id;

CREATE TABLE kudos_worker_facts (
    worker_id uuid CONSTRAINT kudos_worker_facts_pkey PRIMARY KEY
        CONSTRAINT kudos_worker_facts_worker_id_fkey REFERENCES workers (id) ON UPDATE CASCADE ON DELETE CASCADE,
    user_id integer,
    team_id uuid,
    worker_type text
);
CREATE FUNCTION kudos_mirror_worker() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp AS $$
BEGIN
    INSERT INTO kudos_worker_facts AS f VALUES (NEW.id, NEW.user_id, NEW.team_id, NEW.worker_type)
        ON CONFLICT (worker_id) DO UPDATE
        SET user_id = excluded.user_id, team_id = excluded.team_id, worker_type = excluded.worker_type;
    RETURN NULL;
END $$;
CREATE TRIGGER kudos_workers_have_facts AFTER INSERT ON workers FOR EACH ROW EXECUTE FUNCTION kudos_mirror_worker();
CREATE TRIGGER kudos_workers_are_mirrored AFTER UPDATE ON workers FOR EACH ROW
    WHEN ((OLD.user_id, OLD.team_id, OLD.worker_type) IS DISTINCT FROM (NEW.user_id, NEW.team_id, NEW.worker_type))
    EXECUTE FUNCTION kudos_mirror_worker();
INSERT INTO kudos_worker_facts SELECT id, user_id, team_id, worker_type FROM workers;

-- Also for rows that arrive by replication.
ALTER TABLE users ENABLE ALWAYS TRIGGER kudos_users_are_mirrored;
ALTER TABLE workers ENABLE ALWAYS TRIGGER kudos_workers_have_facts, ENABLE ALWAYS TRIGGER kudos_workers_are_mirrored;

-- Only where the ledger chose the value itself: a host's own settings stay.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY '{users,workers,teams,user_stats,user_records,worker_stats}'::text[] LOOP
        IF (SELECT 'fillfactor=80' = ANY (reloptions) FROM pg_class WHERE oid = name::regclass) THEN
            EXECUTE format('ALTER TABLE %I SET (fillfactor = 25)', name);
        END IF;
    END LOOP;
END $$;
