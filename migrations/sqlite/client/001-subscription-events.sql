-- One account's database. Times are milliseconds since 1970 UTC.

-- A rowid table with an index of its own for tid, so that new rows are appended and only the (small) index
-- is written at random places.
CREATE TABLE subscription_event (
	id INTEGER PRIMARY KEY, -- in order of arrival
	tid TEXT NOT NULL,
	subid TEXT NOT NULL,
	cid TEXT,
	evt TEXT NOT NULL,
	rvn INTEGER NOT NULL, -- British pence; negative for a refund
	received_at INTEGER NOT NULL
) STRICT;

-- Keeps sales unique: the first write wins, for ever.
CREATE UNIQUE INDEX subscription_event_tid ON subscription_event (tid);
