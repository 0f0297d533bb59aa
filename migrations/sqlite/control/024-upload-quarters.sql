-- How uploads were answered: requests by quarter of an hour and cause, so that every time zone has its days. After 35 days they are added
-- up in upload_answer, by days of UTC.
CREATE TABLE upload_quarter (
	client_id INTEGER NOT NULL,
	aid TEXT NOT NULL, -- empty where the request has named no account of the client
	at INTEGER NOT NULL, -- where the quarter begins
	cause TEXT NOT NULL, -- as in upload_answer
	requests INTEGER NOT NULL,
	PRIMARY KEY (client_id, aid, at, cause)
) STRICT, WITHOUT ROWID;
