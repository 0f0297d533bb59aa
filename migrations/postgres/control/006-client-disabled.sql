-- While it is set, no key of the client may be used, and its accounts are as if each were disabled.
ALTER TABLE client ADD COLUMN disabled_at bigint;
