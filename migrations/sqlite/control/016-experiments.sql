-- A segment that some visitors are held out of, to measure what serving it brings.
CREATE TABLE experiment (
	account_id INTEGER NOT NULL REFERENCES account (id),
	name TEXT NOT NULL,
	segment TEXT NOT NULL,
	rule TEXT NOT NULL, -- of the segment, which cannot change while it runs
	goal TEXT NOT NULL,
	holdout_percent REAL NOT NULL,
	secret TEXT NOT NULL, -- decides who is held out, base64url
	from_at INTEGER NOT NULL,
	to_at INTEGER, -- NULL: until it is stopped
	stopped_at INTEGER,
	created_at INTEGER NOT NULL,
	seq INTEGER NOT NULL UNIQUE,
	PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

-- How many visitors of each group asked for the segment: HyperLogLog's registers.
CREATE TABLE experiment_read (
	account_id INTEGER NOT NULL,
	name TEXT NOT NULL,
	held_out INTEGER NOT NULL,
	register INTEGER NOT NULL,
	rank INTEGER NOT NULL,
	PRIMARY KEY (account_id, name, held_out, register)
) STRICT, WITHOUT ROWID;

-- Whether pages may read which group of an experiment their visitor is in.
ALTER TABLE account ADD COLUMN tells_experiments INTEGER NOT NULL DEFAULT 0;
