-- Deleting workers and teams while their events fold.
--
-- Lock order: gate → pending events (by seq) → workers (by id) → team. The projector claims events and locks workers and
-- teams without waiting, so whoever is first makes the other wait, and nobody is a deadlock's victim.

-- Locks the events that still wait and have a statistic of that worker or team; how many there are. Unapplied work is
-- only where the map says. The look for the numbers and the lock are two statements, so that what was folded meanwhile
-- is left out, and the locking one joins nothing.
CREATE OR REPLACE FUNCTION kudos_lock_pending_of(worker uuid, team uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    candidates bigint[];
    locked bigint;
BEGIN
    candidates := ARRAY(
        SELECT e.seq
        FROM (SELECT e.seq FROM kudos_events e
              WHERE e.fold_id IS NULL AND NOT e.inline AND e.seq > (SELECT m.frontier FROM kudos_work_map m)
              UNION ALL
              SELECT e.seq FROM kudos_work_map m CROSS JOIN LATERAL unnest(m.gaps) AS gap
              CROSS JOIN LATERAL (SELECT e.seq FROM kudos_events e
                                  WHERE e.fold_id IS NULL AND NOT e.inline AND e.seq >= lower(gap) AND e.seq < upper(gap)
                                  OFFSET 0) e) e
        WHERE EXISTS (SELECT FROM kudos_stat_postings s
                      WHERE s.event_seq = e.seq
                        AND (s.worker_id = kudos_lock_pending_of.worker OR s.team_id = kudos_lock_pending_of.team)
                      OFFSET 0)
        ORDER BY e.seq);
    PERFORM FROM kudos_events e WHERE e.seq = ANY (candidates) AND e.fold_id IS NULL ORDER BY e.seq FOR NO KEY UPDATE;
    GET DIAGNOSTICS locked = ROW_COUNT;
    RETURN locked;
END $$;

-- Deletes the worker with its counters and says what went: no row when there is none. Its pending events still fold: the
-- owner's and the team's part.
CREATE OR REPLACE FUNCTION kudos_remove_worker(worker uuid)
    RETURNS TABLE (name text, kudos numeric, contributions numeric, fulfilments numeric, dependants bigint, pending_events bigint)
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    locked bigint;
BEGIN
    PERFORM kudos_mode();
    locked := kudos_lock_pending_of(kudos_remove_worker.worker, NULL);
    -- Behind the lock, in a statement of its own: a fold that was under way has added its part.
    PERFORM FROM workers w WHERE w.id = kudos_remove_worker.worker FOR UPDATE;
    RETURN QUERY
        SELECT w.name, w.kudos, w.contributions, w.fulfilments,
               (SELECT count(*) FROM worker_stats s WHERE s.worker_id = w.id), locked
        FROM workers w WHERE w.id = kudos_remove_worker.worker;
    DELETE FROM workers w WHERE w.id = kudos_remove_worker.worker;
END $$;

-- The same for a team. Its workers stay, without a team.
CREATE OR REPLACE FUNCTION kudos_remove_team(team uuid)
    RETURNS TABLE (name text, kudos numeric, contributions numeric, fulfilments numeric, dependants bigint, pending_events bigint)
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    locked bigint;
BEGIN
    PERFORM kudos_mode();
    locked := kudos_lock_pending_of(NULL, kudos_remove_team.team);
    -- The deletion empties their team_id, in whatever order: locked by id first, like every writer of several workers.
    PERFORM FROM workers w WHERE w.team_id = kudos_remove_team.team ORDER BY w.id FOR NO KEY UPDATE;
    PERFORM FROM teams t WHERE t.id = kudos_remove_team.team FOR UPDATE;
    RETURN QUERY
        SELECT t.name, t.kudos, t.contributions, t.fulfilments,
               (SELECT count(*) FROM workers w WHERE w.team_id = t.id), locked
        FROM teams t WHERE t.id = kudos_remove_team.team;
    DELETE FROM teams t WHERE t.id = kudos_remove_team.team;
END $$;

-- Deletes a worker; how many events that waited lost their worker's part.
CREATE OR REPLACE FUNCTION kudos_delete_worker(worker uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    pending bigint;
BEGIN
    SELECT r.pending_events INTO pending FROM kudos_remove_worker(worker) r;
    IF NOT FOUND THEN PERFORM kudos_fail('unknown_worker', format('there is no worker %s', coalesce(worker::text, 'null'))); END IF;
    RETURN pending;
END $$;

-- Deletes a team; how many events that waited lost their team's part.
CREATE OR REPLACE FUNCTION kudos_delete_team(team uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = @schema@, pg_temp AS $$
DECLARE
    pending bigint;
BEGIN
    SELECT r.pending_events INTO pending FROM kudos_remove_team(team) r;
    IF NOT FOUND THEN PERFORM kudos_fail('unknown_team', format('there is no team %s', coalesce(team::text, 'null'))); END IF;
    RETURN pending;
END $$;
