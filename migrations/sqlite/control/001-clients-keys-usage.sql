-- The control database: who may do what, and how much of it is used. Times are milliseconds since 1970 UTC.

-- Counts the changes that running servers must notice.
CREATE TABLE revision (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	number INTEGER NOT NULL
) STRICT;
INSERT INTO revision (id, number) VALUES (1, 1);

CREATE TABLE client (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE,
	created_at INTEGER NOT NULL
) STRICT;

-- The id names the account's database: accounts/<id>.sqlite. AUTOINCREMENT, so that no id is ever used twice.
CREATE TABLE account (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	aid TEXT NOT NULL UNIQUE,
	client_id INTEGER NOT NULL REFERENCES client (id),
	origins TEXT NOT NULL, -- JSON array of web origins that may read scores; empty: all
	created_at INTEGER NOT NULL,
	disabled_at INTEGER
) STRICT;

CREATE TABLE plan (
	name TEXT PRIMARY KEY,
	rate_per_second REAL NOT NULL,
	burst INTEGER NOT NULL,
	quota_per_month INTEGER NOT NULL,
	timeout_ms INTEGER NOT NULL,
	max_events INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO plan VALUES ('standard', 10, 1, 1000000, 5000, 30, 0);

CREATE TABLE api_key (
	id TEXT PRIMARY KEY,
	hash TEXT NOT NULL UNIQUE, -- SHA-256 of the key, hex
	client_id INTEGER NOT NULL REFERENCES client (id),
	plan TEXT NOT NULL REFERENCES plan (name),
	created_at INTEGER NOT NULL,
	revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- What is leased is promised to a server and will never be granted again; what is used was admitted by it.
CREATE TABLE usage (
	key_id TEXT NOT NULL REFERENCES api_key (id),
	month TEXT NOT NULL, -- UTC, as 2026-11
	leased INTEGER NOT NULL,
	used INTEGER NOT NULL,
	PRIMARY KEY (key_id, month)
) STRICT, WITHOUT ROWID;

-- Written to when a server is asked whether its store works.
CREATE TABLE probe (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	at INTEGER NOT NULL
) STRICT;
INSERT INTO probe (id, at) VALUES (1, 0);
