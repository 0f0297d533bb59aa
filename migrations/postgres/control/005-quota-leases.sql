-- What each server holds of a key's month. What it has admitted is said as a whole, and what it leases and gives back is
-- numbered, so that what is said twice counts once. What no living server holds, and nobody has used, is forfeited.
CREATE TABLE quota_lease (
	server_id text NOT NULL, -- random, of one start of a server
	key_id text NOT NULL REFERENCES api_key (id),
	month text NOT NULL, -- UTC, as 2026-11
	seq bigint NOT NULL, -- of the last lease or return
	leased bigint NOT NULL,
	used bigint NOT NULL,
	PRIMARY KEY (server_id, key_id, month)
);

-- Servers, and when each was last alive by the clock of this database.
CREATE TABLE server (
	id text PRIMARY KEY,
	seen_at bigint NOT NULL
);
