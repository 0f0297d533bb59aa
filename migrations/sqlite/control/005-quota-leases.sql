-- What each server holds of a key's month. What it has admitted is said as a whole, and what it leases and gives back is
-- numbered, so that what is said twice counts once. What no living server holds, and nobody has used, is forfeited.
CREATE TABLE quota_lease (
	server_id TEXT NOT NULL, -- random, of one start of a server
	key_id TEXT NOT NULL REFERENCES api_key (id),
	month TEXT NOT NULL, -- UTC, as 2026-11
	seq INTEGER NOT NULL, -- of the last lease or return
	leased INTEGER NOT NULL,
	used INTEGER NOT NULL,
	PRIMARY KEY (server_id, key_id, month)
) STRICT, WITHOUT ROWID;
