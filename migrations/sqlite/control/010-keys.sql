-- What people call a key. NULL: nothing.
ALTER TABLE api_key ADD COLUMN name TEXT;
-- From then on the key is refused. NULL: never.
ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
-- The latest request with the key, recorded about once a minute.
ALTER TABLE api_key ADD COLUMN last_used_at INTEGER;
