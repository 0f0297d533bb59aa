-- How uploads were answered: requests by day of UTC and cause. Kept for 400 days.
CREATE TABLE upload_answer (
	client_id INTEGER NOT NULL,
	aid TEXT NOT NULL, -- empty where the request has named no account of the client
	day TEXT NOT NULL,
	cause TEXT NOT NULL, -- stored, simulated, conflict, or the code of an error
	requests INTEGER NOT NULL,
	PRIMARY KEY (client_id, aid, day, cause)
) STRICT, WITHOUT ROWID;

-- The latest uploads of each client that were refused or had conflicts, without what was sent.
CREATE TABLE upload_problem (
	client_id INTEGER NOT NULL,
	at INTEGER NOT NULL,
	request_id TEXT NOT NULL,
	aid TEXT NOT NULL, -- as above
	key_id TEXT NOT NULL,
	cause TEXT NOT NULL,
	detail TEXT NOT NULL, -- which rows and fields
	PRIMARY KEY (client_id, at, request_id)
) STRICT, WITHOUT ROWID;
