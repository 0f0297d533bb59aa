-- The control schema: who may do what, and how much of it is used. Times are milliseconds since 1970 UTC.

-- Counts the changes that running servers must notice.
CREATE TABLE revision (
	id integer PRIMARY KEY CHECK (id = 1),
	number bigint NOT NULL
);
INSERT INTO revision (id, number) VALUES (1, 1);

CREATE TABLE client (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE,
	created_at bigint NOT NULL
);

-- The id names the account's schema.
CREATE TABLE account (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	aid text NOT NULL UNIQUE,
	client_id bigint NOT NULL REFERENCES client (id),
	origins text NOT NULL, -- JSON array of web origins that may read scores; empty: all
	created_at bigint NOT NULL,
	disabled_at bigint
);

CREATE TABLE plan (
	name text PRIMARY KEY,
	rate_per_second double precision NOT NULL,
	burst bigint NOT NULL,
	quota_per_month bigint NOT NULL,
	timeout_ms bigint NOT NULL,
	max_events bigint NOT NULL,
	created_at bigint NOT NULL
);
INSERT INTO plan VALUES ('standard', 10, 1, 1000000, 5000, 30, 0);

CREATE TABLE api_key (
	id text PRIMARY KEY,
	hash text NOT NULL UNIQUE, -- SHA-256 of the key, hex
	client_id bigint NOT NULL REFERENCES client (id),
	plan text NOT NULL REFERENCES plan (name),
	created_at bigint NOT NULL,
	revoked_at bigint
);

-- What is leased is promised to a server and will never be granted again; what is used was admitted by it.
CREATE TABLE usage (
	key_id text NOT NULL REFERENCES api_key (id),
	month text NOT NULL, -- UTC, as 2026-11
	leased bigint NOT NULL,
	used bigint NOT NULL,
	PRIMARY KEY (key_id, month)
);

-- The token bucket of each key, for all servers. Nothing is lost with it but a moment's limit.
CREATE UNLOGGED TABLE token_bucket (
	key_id text PRIMARY KEY,
	tokens double precision NOT NULL,
	at_ms double precision NOT NULL -- by the clock of this database
);

-- Written to when a server is asked whether its store works.
CREATE TABLE probe (
	id integer PRIMARY KEY CHECK (id = 1),
	at bigint NOT NULL
);
INSERT INTO probe (id, at) VALUES (1, 0);
