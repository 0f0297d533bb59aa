-- How uploads were answered: requests by day of UTC and cause. Kept for 400 days.
CREATE TABLE upload_answer (
	client_id bigint NOT NULL,
	aid text NOT NULL, -- empty where the request has named no account of the client
	day text NOT NULL,
	cause text NOT NULL, -- stored, simulated, conflict, or the code of an error
	requests bigint NOT NULL,
	PRIMARY KEY (client_id, aid, day, cause)
);

-- The latest uploads of each client that were refused or had conflicts, without what was sent.
CREATE TABLE upload_problem (
	client_id bigint NOT NULL,
	at bigint NOT NULL,
	request_id text NOT NULL,
	aid text NOT NULL, -- as above
	key_id text NOT NULL,
	cause text NOT NULL,
	detail text NOT NULL, -- which rows and fields
	PRIMARY KEY (client_id, at, request_id)
);
