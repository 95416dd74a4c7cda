-- CREATE OR REPLACE keeps a function whose parameters changed beside the new one, and then calls are ambiguous. All of ours
-- were written by this very transaction: one of the same name that wasn't is an old signature.
DO $$
DECLARE
    old regprocedure;
BEGIN
    FOR old IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = '@schema@'::regnamespace AND p.proname LIKE 'kudos\_%'
          AND p.xmin <> pg_current_xact_id()::xid
          AND EXISTS (SELECT FROM pg_proc fresh WHERE fresh.pronamespace = p.pronamespace AND fresh.proname = p.proname
                      AND fresh.xmin = pg_current_xact_id()::xid)
    LOOP
        EXECUTE format('DROP FUNCTION %s', old);
    END LOOP;
END $$;
