-- What webhooks know of visitors, and what they have to send. All of it is empty in an account without webhooks.

-- The segments that a visitor is in.
CREATE TABLE membership (
	vid TEXT NOT NULL,
	segment TEXT NOT NULL,
	since INTEGER NOT NULL,
	sequence INTEGER NOT NULL, -- of the message that said so
	PRIMARY KEY (vid, segment)
) STRICT, WITHOUT ROWID;

-- Every visitor who has been evaluated.
CREATE TABLE standing (
	vid TEXT NOT NULL PRIMARY KEY,
	body TEXT NOT NULL -- JSON: bands of scores, and how often goals were reached
) STRICT, WITHOUT ROWID;

-- How far the evaluation has come. One row.
CREATE TABLE evaluation (
	name TEXT NOT NULL PRIMARY KEY, -- webhooks
	holder TEXT NOT NULL, -- the process that evaluates,
	held_until INTEGER NOT NULL, -- and how long no other may
	sequence INTEGER NOT NULL, -- the last that was given out
	state TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

-- Messages, one row for each webhook.
CREATE TABLE outbox (
	webhook TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	type TEXT NOT NULL,
	vid TEXT, -- whom it is about
	body TEXT NOT NULL, -- JSON, as it is sent
	created_at INTEGER NOT NULL,
	due_at INTEGER, -- of the next attempt; NULL: there is none
	attempts INTEGER NOT NULL,
	attempted_at INTEGER, -- the end of the last attempt
	delivered_at INTEGER,
	status INTEGER, -- HTTP status of the last answer
	problem TEXT, -- why there was no answer
	PRIMARY KEY (webhook, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (webhook, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_vid ON outbox (vid) WHERE vid IS NOT NULL;
CREATE INDEX outbox_created_at ON outbox (created_at);

-- Uploads that were told of a conflict, until they are in the outbox.
CREATE TABLE conflict (
	id INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	request_id TEXT,
	tids TEXT NOT NULL -- JSON array
) STRICT;
