-- What webhooks know of visitors, and what they have to send. All of it is empty in an account without webhooks.

-- The segments that a visitor is in.
CREATE TABLE membership (
	vid text COLLATE "C" NOT NULL,
	segment text COLLATE "C" NOT NULL,
	since bigint NOT NULL,
	sequence bigint NOT NULL, -- of the message that said so
	PRIMARY KEY (vid, segment)
);

-- Every visitor who has been evaluated.
CREATE TABLE standing (
	vid text COLLATE "C" NOT NULL PRIMARY KEY,
	body text NOT NULL -- JSON: bands of scores, and how often goals were reached
);

-- How far the evaluation has come. One row.
CREATE TABLE evaluation (
	name text COLLATE "C" NOT NULL PRIMARY KEY, -- webhooks
	holder text NOT NULL, -- the process that evaluates,
	held_until bigint NOT NULL, -- and how long no other may
	sequence bigint NOT NULL, -- the last that was given out
	state text NOT NULL -- JSON
);

-- Messages, one row for each webhook.
CREATE TABLE outbox (
	webhook text COLLATE "C" NOT NULL,
	sequence bigint NOT NULL,
	type text NOT NULL,
	vid text, -- whom it is about
	body text NOT NULL, -- JSON, as it is sent
	created_at bigint NOT NULL,
	due_at bigint, -- of the next attempt; NULL: there is none
	attempts bigint NOT NULL,
	attempted_at bigint, -- the end of the last attempt
	delivered_at bigint,
	status bigint, -- HTTP status of the last answer
	problem text, -- why there was no answer
	PRIMARY KEY (webhook, sequence)
);
CREATE INDEX outbox_due ON outbox (webhook, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_vid ON outbox (vid) WHERE vid IS NOT NULL;
CREATE INDEX outbox_created_at ON outbox (created_at);

-- Uploads that were told of a conflict, until they are in the outbox.
CREATE TABLE conflict (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at bigint NOT NULL,
	request_id text,
	tids text NOT NULL -- JSON array
);
