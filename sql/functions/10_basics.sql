-- What the SQL surface is built from: errors by name, ids, rounding, amounts.
--
-- SQL-language functions here are either inlined into their callers (no SET clause, objects qualified) or avoided:
-- one that isn't inlined is planned again at every call. PL/pgSQL keeps its plans.

-- Raises under a stable name. SQLSTATE KD001 for all: the name in front of the message tells them apart.
CREATE OR REPLACE FUNCTION kudos_fail(name text, message text, hint text DEFAULT '') RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF hint = '' THEN RAISE EXCEPTION '%: %', name, message USING ERRCODE = 'KD001'; END IF;
    RAISE EXCEPTION '%: %', name, message USING ERRCODE = 'KD001', HINT = hint;
END $$;

-- Time-ordered random id (version 7).
CREATE OR REPLACE FUNCTION kudos_uuid_v7() RETURNS uuid
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN encode(set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
        52, 1), 53, 1), 'hex')::uuid;
END $$;

-- SHA-1 (FIPS 180-4), which PostgreSQL has only in an extension: ids made from idempotency keys are version 5.
CREATE OR REPLACE FUNCTION kudos_sha1(message bytea) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- All these operators bind alike in PostgreSQL: every shift needs its parentheses.
    bits CONSTANT bigint := 4294967295;
    padded bytea := message || '\x80'::bytea;
    h0 bigint := 1732584193; h1 bigint := 4023233417; h2 bigint := 2562383102; h3 bigint := 271733878;
    h4 bigint := 3285377520;
    a bigint; b bigint; c bigint; d bigint; e bigint; x bigint;
    w bigint[];
    block integer;
BEGIN
    padded := padded || decode(repeat('00', (119 - length(message) % 64) % 64), 'hex')
                     || int8send(length(message)::bigint * 8);
    FOR block IN 0 .. length(padded) / 64 - 1 LOOP
        FOR i IN 0 .. 15 LOOP
            x := block * 64 + i * 4;
            w[i] := (get_byte(padded, x::integer)::bigint << 24) | (get_byte(padded, x::integer + 1) << 16)
                    | (get_byte(padded, x::integer + 2) << 8) | get_byte(padded, x::integer + 3);
        END LOOP;
        FOR i IN 16 .. 79 LOOP
            x := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
            w[i] := ((x << 1) & bits) | (x >> 31);
        END LOOP;
        a := h0; b := h1; c := h2; d := h3; e := h4;
        FOR i IN 0 .. 79 LOOP
            x := CASE WHEN i < 20 THEN (d # (b & (c # d))) + 1518500249
                      WHEN i < 40 THEN (b # c # d) + 1859775393
                      WHEN i < 60 THEN ((b & c) | (d & (b | c))) + 2400959708
                      ELSE (b # c # d) + 3395469782 END;
            x := ((((a << 5) & bits) | (a >> 27)) + x + e + w[i]) & bits;
            e := d; d := c; c := ((b << 30) & bits) | (b >> 2); b := a; a := x;
        END LOOP;
        h0 := (h0 + a) & bits; h1 := (h1 + b) & bits; h2 := (h2 + c) & bits; h3 := (h3 + d) & bits;
        h4 := (h4 + e) & bits;
    END LOOP;
    RETURN substring(int8send(h0) FROM 5) || substring(int8send(h1) FROM 5) || substring(int8send(h2) FROM 5)
           || substring(int8send(h3) FROM 5) || substring(int8send(h4) FROM 5);
END $$;

CREATE OR REPLACE FUNCTION kudos_uuid_v5(namespace uuid, name text) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = @schema@, pg_temp AS $$
DECLARE
    digest CONSTANT bytea := substring(kudos_sha1(uuid_send(namespace) || convert_to(name, 'UTF8')) FROM 1 FOR 16);
BEGIN
    RETURN encode(set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 80), 8, get_byte(digest, 8) & 63 | 128),
                  'hex')::uuid;
END $$;

-- The event's id that an idempotency key makes: name space, principal, kind of command, key.
CREATE OR REPLACE FUNCTION kudos_event_id(principal text, kind text, key text) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = @schema@, pg_temp AS $$
BEGIN
    RETURN kudos_uuid_v5('c43b7019-e56d-4f02-8f5a-2c91d7480ba6', principal || E'\n' || kind || E'\n' || key);
END $$;

-- Half to even at two decimals, once.
CREATE OR REPLACE FUNCTION kudos_round(value numeric) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN mod(abs(value) * 100, 1) = 0.5 AND mod(round(abs(value), 2) * 100, 2) = 1
                THEN sign(value) * (round(abs(value), 2) - 0.01) ELSE round(value, 2) END
$$;

-- Text as a request's canonical form and JSON write it: always two decimals.
CREATE OR REPLACE FUNCTION kudos_amount_text(value numeric) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT round(value, 2)::text
$$;

-- Refuses by name what no posting can carry.
CREATE OR REPLACE FUNCTION kudos_check_amount(value numeric, what text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF value IS NULL OR value = 'NaN' OR abs(value) = 'Infinity' THEN
        PERFORM kudos_fail('invalid_amount', format('%s is %s', what, coalesce(value::text, 'missing')),
                           'Write a plain decimal such as 12 or 12.50.');
    ELSIF scale(value) > 2 THEN
        PERFORM kudos_fail('amount_too_precise', format('%s is %s, which has more than two decimals', what, value),
                           'Round it to hundredths.');
    ELSIF abs(value) >= 1e18 THEN
        PERFORM kudos_fail('amount_out_of_range',
                           format('%s is %s; allowed are magnitudes below 1000000000000000000 (10^18)', what, value));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION kudos_check_positive(value numeric, what text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_check_amount(value, what);
    IF value <= 0 THEN
        PERFORM kudos_fail('amount_not_positive', format('%s is %s; it must be above 0', what, kudos_amount_text(value)));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION kudos_check_not_negative(value numeric, what text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    PERFORM kudos_check_amount(value, what);
    IF value < 0 THEN
        PERFORM kudos_fail('amount_not_positive', format('%s is %s; it can''t be negative', what, kudos_amount_text(value)));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION kudos_check_name(value text, what text, max_bytes integer) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF octet_length(value) NOT BETWEEN 1 AND max_bytes OR value IS NULL THEN
        PERFORM kudos_fail('invalid_request', format('%s has %s bytes; 1 to %s are allowed', what,
                                                     coalesce(octet_length(value), 0), max_bytes));
    ELSIF value ~ '[\x01-\x1f\x7f]' THEN
        PERFORM kudos_fail('invalid_request', what || ' has control characters');
    END IF;
END $$;

-- The kind of work: at most 20 characters.
CREATE OR REPLACE FUNCTION kudos_check_type(wp_type text) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
    IF wp_type IS NULL THEN RETURN; END IF;
    PERFORM kudos_check_name(wp_type, 'the work type', 80);
    IF length(wp_type) > 20 THEN
        PERFORM kudos_fail('invalid_request', format('the work type has %s characters; at most 20 are allowed', length(wp_type)));
    END IF;
END $$;

-- A flat JSON object of at most 2 KB.
CREATE OR REPLACE FUNCTION kudos_check_metadata(metadata jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
DECLARE
    hint CONSTANT text := 'Give a flat JSON object of at most 2 KB, such as {"invoice": "A-17"}.';
BEGIN
    IF metadata IS NULL THEN RETURN; END IF;
    IF jsonb_typeof(metadata) <> 'object' THEN
        PERFORM kudos_fail('invalid_metadata', 'the metadata is not an object', hint);
    ELSIF octet_length(metadata::text) > 2048 THEN
        PERFORM kudos_fail('invalid_metadata', format('the metadata has %s bytes', octet_length(metadata::text)), hint);
    ELSIF EXISTS (SELECT FROM jsonb_each(metadata) AS field WHERE jsonb_typeof(field.value) IN ('object', 'array')) THEN
        PERFORM kudos_fail('invalid_metadata', 'the metadata is not flat', hint);
    END IF;
END $$;

-- The lock key of two users, whoever pays: strangers may share one, and then wait for each other.
CREATE OR REPLACE FUNCTION kudos_pair_key(a integer, b integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_catalog.hashint8((least(a, b)::bigint << 32) + greatest(a, b))
$$;
