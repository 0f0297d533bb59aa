-- How uploads were answered: requests by quarter of an hour and cause, so that every time zone has its days. After 35 days they are added
-- up in upload_answer, by days of UTC.
CREATE TABLE upload_quarter (
	client_id bigint NOT NULL,
	aid text COLLATE "C" NOT NULL, -- empty where the request has named no account of the client
	at bigint NOT NULL, -- where the quarter begins
	cause text COLLATE "C" NOT NULL, -- as in upload_answer
	requests bigint NOT NULL,
	PRIMARY KEY (client_id, aid, at, cause)
);
