-- Facts refer to an account that never changes instead of the user's row, which every fold rewrites.
--
-- Why: the check of a foreign key looks the referenced row up and locks it. While a long transaction holds back the
-- cleanup, a hot user's row has thousands of dead versions, and each posting walked them; and locks on a row that is being
-- rewritten pile up as multixacts. A row that is never updated has neither (decision 0008).
-- Locks: SHARE ROW EXCLUSIVE on users, ACCESS EXCLUSIVE on kudos_postings and kudos_reservations while their keys are
-- checked anew (one read of each).

CREATE TABLE kudos_accounts (
    user_id integer CONSTRAINT kudos_accounts_pkey PRIMARY KEY
        CONSTRAINT kudos_accounts_user_id_fkey REFERENCES users (id) ON DELETE CASCADE
);

-- With the rights of the ledger's owner: whoever may insert users need not know of accounts.
CREATE FUNCTION kudos_open_account() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = @schema@, pg_temp AS $$
BEGIN
    INSERT INTO kudos_accounts VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER kudos_users_have_accounts AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION kudos_open_account();
-- Also for rows that arrive by replication.
ALTER TABLE users ENABLE ALWAYS TRIGGER kudos_users_have_accounts;
INSERT INTO kudos_accounts SELECT id FROM users ON CONFLICT DO NOTHING;

CREATE TRIGGER kudos_accounts_never_change
    BEFORE UPDATE ON kudos_accounts FOR EACH STATEMENT EXECUTE FUNCTION kudos_refuse_change();

-- A user with postings stays: the deletion cascades to the account, and the account is held by its postings.
ALTER TABLE kudos_postings
    DROP CONSTRAINT kudos_postings_user_id_fkey,
    ADD CONSTRAINT kudos_postings_user_id_fkey FOREIGN KEY (user_id) REFERENCES kudos_accounts ON DELETE RESTRICT;
ALTER TABLE kudos_reservations
    DROP CONSTRAINT kudos_reservations_user_id_fkey,
    ADD CONSTRAINT kudos_reservations_user_id_fkey FOREIGN KEY (user_id) REFERENCES kudos_accounts ON DELETE CASCADE;
