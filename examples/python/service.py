#!/usr/bin/python3
"""A service that finishes jobs: its own UPDATE and the settlement commit together or not at all.

    service.py CONNINFO REQUESTER WORKER
    service.py "dbname=kudos" ext:alice 688831fb-4eff-5725-9c57-d180d7aacc57

Needs psycopg2 (Debian: python3-psycopg2). User and worker must exist. One connection belongs to one thread at a time.
"""

import sys
import uuid
from decimal import Decimal

import psycopg2

TABLE = """
CREATE TABLE IF NOT EXISTS jobs (id uuid PRIMARY KEY, requester text NOT NULL, worker uuid NOT NULL,
                                 cost numeric(20,2) NOT NULL, state text NOT NULL)"""

START = "INSERT INTO jobs (id, requester, worker, cost, state) VALUES (%s, %s, %s, %s, 'running')"

FINISH = "UPDATE jobs SET state = 'done' WHERE id = %s RETURNING requester, worker, cost"

SETTLE = """
SELECT event_id, replayed
FROM kudos_settle(requester => %(requester)s, worker => %(worker)s, cost => %(cost)s, things => %(things)s,
                  job_id => %(job)s, key => %(job)s)"""

# Deadlock, serialization failure, lock timeout: the whole transaction may be run again.
RETRY = {"40P01", "40001", "55P03"}


class Refused(Exception):
    """The ledger said no. `name` is one of the closed list in docs/reference/errors.md."""

    def __init__(self, error):
        self.name, _, self.message = error.diag.message_primary.partition(": ")
        self.hint = error.diag.message_hint
        super().__init__(f"{self.name}: {self.message}")


def connect(conninfo):
    connection = psycopg2.connect(conninfo)
    connection.set_session(isolation_level="READ COMMITTED")
    return connection


def start_job(connection, requester, worker, cost):
    """Returns the new job's id. Amounts are Decimal, never float."""
    job = str(uuid.uuid4())
    with connection, connection.cursor() as cursor:
        cursor.execute(START, [job, requester, worker, cost])
    return job


def finish_job(connection, job, things, attempts=5):
    """Marks the job done and settles it. Returns (event id, replayed); safe to call again with the same arguments.

    Raises LookupError without such a job, Refused when the ledger says no, psycopg2.Error otherwise. After an
    exception nothing of it is stored, with one exception: a connection lost during COMMIT (OperationalError) leaves
    that open. Connect anew and call it again.
    """
    for attempt in range(1, attempts + 1):
        try:
            # Leaving the block commits; an exception rolls back.
            with connection, connection.cursor() as cursor:
                cursor.execute(FINISH, [job])
                row = cursor.fetchone()
                if row is None:
                    raise LookupError(f"no job {job}")
                requester, worker, cost = row
                cursor.execute(SETTLE, {"requester": requester, "worker": worker, "cost": cost, "things": things,
                                        "job": job})
                return cursor.fetchone()
        except psycopg2.Error as error:
            if (error.pgcode or "").startswith("KD"):
                raise Refused(error) from error
            if error.pgcode not in RETRY or attempt == attempts:
                raise


def main(conninfo, requester, worker):
    connection = connect(conninfo)
    with connection, connection.cursor() as cursor:
        cursor.execute(TABLE)

    job = start_job(connection, requester, worker, Decimal("12.00"))
    for _ in range(2):
        event, replayed = finish_job(connection, job, things=2_000_000)
        print(f"job {job}: event {event}{', replayed' if replayed else ''}")

    lost = start_job(connection, "ext:nobody-of-this-name", worker, Decimal("12.00"))
    try:
        finish_job(connection, lost, things=2_000_000)
    except Refused as refusal:
        print(f"refused: {refusal}")
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT state FROM jobs WHERE id = %s", [lost])
        print(f"job {lost}: still {cursor.fetchone()[0]}")
    connection.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: service.py CONNINFO REQUESTER WORKER")
    main(*sys.argv[1:])
