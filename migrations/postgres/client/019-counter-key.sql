-- Citus moves an account that is in use by logical replication, for which each table needs a key.
ALTER TABLE counter ADD COLUMN one integer NOT NULL DEFAULT 1 PRIMARY KEY;
