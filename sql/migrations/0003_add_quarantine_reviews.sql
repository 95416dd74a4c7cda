-- Reviews of events that were set aside, an index for the questions about them, and one place to read the map of work.
--
-- Why: what becomes of statistics that can never fold is a person's decision, and it is recorded like a fact. Health and
-- the list of open cases must stay cheap whatever the archive's size.
-- Locks: SHARE on kudos_events (writers wait) while the partial index is built: one read of the table. Everything else
-- is new.
-- Runs with search_path set to the ledger's schema.

CREATE TYPE kudos_review_action AS ENUM ('accepted', 'repaired');

-- What a person decided about an event that was set aside: at most one row of each action. The event's marks stay as
-- they are. A repair names the event that it emitted. No foreign key, as for postings: events can't go away.
CREATE TABLE kudos_quarantine_reviews (
    event_seq bigint NOT NULL,
    reviewed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    repair_event_id uuid,
    action kudos_review_action NOT NULL,
    reviewer text NOT NULL CONSTRAINT kudos_quarantine_reviews_reviewer_is_named CHECK (reviewer <> ''),
    note text,
    CONSTRAINT kudos_quarantine_reviews_pkey PRIMARY KEY (event_seq, action),
    CONSTRAINT kudos_quarantine_reviews_repair_names_its_event
        CHECK ((action = 'repaired') = (repair_event_id IS NOT NULL)),
    CONSTRAINT kudos_quarantine_reviews_acceptance_says_why
        CHECK (action = 'repaired' OR coalesce(note, '') <> '')
);
CREATE TRIGGER kudos_quarantine_reviews_are_fixed
    BEFORE UPDATE OR DELETE OR TRUNCATE ON kudos_quarantine_reviews FOR EACH STATEMENT
    EXECUTE FUNCTION kudos_refuse_change();

-- Counts by reason and age are answered from this index alone.
CREATE INDEX kudos_events_set_aside ON kudos_events (seq) INCLUDE (quarantine_reason, quarantined_at)
    WHERE quarantine_reason IS NOT NULL;
DROP INDEX kudos_events_quarantined;
