-- The map of unapplied work moves into the journal; promotions and stuck events get what they need.
--
-- Why: every cycle rewrote the one row of kudos_ledger_applier_state. While a long transaction holds back the cleanup
-- its dead versions pile up, and every read of the map walked them. The journal only grows at its end: its last row is
-- found by the primary key at any time (decision 0006).
-- Locks: ACCESS EXCLUSIVE on kudos_folds and kudos_ledger_applier_state for catalogue changes and the update of one
-- row; SHARE on users while two partial indexes are built (one read of the table each).

-- Where unapplied events can be after the fold: at seq > frontier or inside gaps + young_gaps. Not covered by the
-- digest: it is a map of where to look, not a fact. NULL frontier: unknown, look everywhere.
ALTER TABLE kudos_folds
    ADD COLUMN frontier bigint,
    ADD COLUMN gaps int8multirange NOT NULL DEFAULT '{}',
    ADD COLUMN young_gaps int8multirange NOT NULL DEFAULT '{}',
    ADD COLUMN gaps_horizon xid8 NOT NULL DEFAULT '0';
ALTER TABLE kudos_folds DISABLE TRIGGER kudos_folds_are_fixed;
UPDATE kudos_folds f
    SET frontier = s.frontier, gaps = s.gaps, young_gaps = s.young_gaps, gaps_horizon = s.gaps_horizon
    FROM kudos_ledger_applier_state s WHERE f.id = (SELECT max(id) FROM kudos_folds);
ALTER TABLE kudos_folds ENABLE TRIGGER kudos_folds_are_fixed;
ALTER TABLE kudos_ledger_applier_state
    DROP COLUMN frontier, DROP COLUMN gaps, DROP COLUMN young_gaps, DROP COLUMN gaps_horizon;

-- The one place to read the map: exactly one row, also before the first fold. An event is unapplied only if its
-- seq > frontier or seq <@ gaps.
CREATE VIEW kudos_work_map AS
    SELECT CASE WHEN f.frontier IS NULL THEN 0 ELSE f.frontier END AS frontier,
           CASE WHEN f.frontier IS NULL THEN '{}' ELSE f.gaps + f.young_gaps END AS gaps
    FROM (VALUES (true)) AS always(one_row)
    LEFT JOIN LATERAL (SELECT * FROM kudos_folds ORDER BY id DESC LIMIT 1) f ON true;

-- Candidates of trust promotion, found without reading the other users.
CREATE INDEX users_awaiting_trust ON users (evaluating_kudos)
    WHERE NOT trusted AND NOT suspicious AND deleted_at IS NULL AND evaluating_kudos > 0;
CREATE INDEX users_trusted_with_escrow ON users (id) WHERE trusted AND evaluating_kudos > 0;

-- Events whose fold failed although nothing was wrong with their neighbours: set apart, tried again with back-off, never
-- taken for applied. A row goes when its event has folded.
CREATE TABLE kudos_stuck_events (
    event_seq bigint CONSTRAINT kudos_stuck_events_pkey PRIMARY KEY,
    event_id uuid NOT NULL,
    first_failed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_failed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 1,
    sqlstate text,
    message text NOT NULL
);
