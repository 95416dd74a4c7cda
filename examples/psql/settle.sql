-- A job's own row and its settlement in one transaction, from psql:
--
--   psql -X CONNINFO -v requester=ext:alice -v worker=UUID -f settle.sql
--
-- The user and the worker must exist.
\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

CREATE TABLE IF NOT EXISTS jobs (
    id uuid PRIMARY KEY,
    requester text NOT NULL,
    worker uuid NOT NULL,
    cost numeric(20,2) NOT NULL,
    state text NOT NULL
);
SELECT gen_random_uuid() AS first_job, gen_random_uuid() AS second_job, gen_random_uuid() AS third_job \gset

-- 1. Both or neither -----------------------------------------------------------------------------------------------

BEGIN ISOLATION LEVEL READ COMMITTED;
INSERT INTO jobs VALUES (:'first_job', :'requester', :'worker', 12.00, 'done');
SELECT 'settled: event ' || event_id || ', replayed ' || replayed
FROM kudos_settle(requester => :'requester', worker => :'worker', cost => 12.00, things => 2000000,
                  job_id => :'first_job', key => 'job-' || :'first_job');
COMMIT;

-- The same request under the same key changes nothing and returns the first result.
SELECT 'again: event ' || event_id || ', replayed ' || replayed
FROM kudos_settle(requester => :'requester', worker => :'worker', cost => 12.00, things => 2000000,
                  job_id => :'first_job', key => 'job-' || :'first_job');

-- 2. A refused call ------------------------------------------------------------------------------------------------

-- In SQL a refusal is an error, and an error aborts the transaction up to the last savepoint.
BEGIN ISOLATION LEVEL READ COMMITTED;
INSERT INTO jobs VALUES (:'second_job', :'requester', :'worker', 1.23, 'done');
SAVEPOINT before_settlement;
\set ON_ERROR_STOP off
SELECT * FROM kudos_settle(requester => :'requester', worker => :'worker', cost => 1.234, things => 2000000,
                           job_id => :'second_job', key => 'job-' || :'second_job');
\set ON_ERROR_STOP on
\if :ERROR
    \echo refused: :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE
    ROLLBACK TO SAVEPOINT before_settlement;
\endif
SELECT 'settled after the refusal: event ' || event_id || ', replayed ' || replayed
FROM kudos_settle(requester => :'requester', worker => :'worker', cost => 1.23, things => 2000000,
                  job_id => :'second_job', key => 'job-' || :'second_job');
COMMIT;

-- 3. Rolled back ---------------------------------------------------------------------------------------------------

BEGIN ISOLATION LEVEL READ COMMITTED;
INSERT INTO jobs VALUES (:'third_job', :'requester', :'worker', 12.00, 'done');
SELECT 'settled: event ' || event_id || ', replayed ' || replayed
FROM kudos_settle(requester => :'requester', worker => :'worker', cost => 12.00, things => 2000000,
                  job_id => :'third_job', key => 'job-' || :'third_job');
ROLLBACK;

SELECT 'remains of the ' || name || ' job: ' || (SELECT count(*) FROM jobs WHERE id = job) || ' row, '
       || (SELECT count(*) FROM kudos_events WHERE job_id = job) || ' event'
FROM (VALUES (1, 'first', :'first_job'::uuid), (2, 'second', :'second_job'), (3, 'third', :'third_job'))
     AS jobs_of_this_script (nr, name, job)
ORDER BY nr;
