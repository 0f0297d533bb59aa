-- Derives vids, for example from the seed that a browser has made: 256 random bits. Made with the account, never changed.
ALTER TABLE account ADD COLUMN visitor_secret text NOT NULL DEFAULT '';
-- A random UUID has 122 random bits.
UPDATE account SET visitor_secret = encode(sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8')), 'hex');
