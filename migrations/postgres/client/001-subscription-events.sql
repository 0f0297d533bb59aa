-- One account's schema. Times are milliseconds since 1970 UTC.

CREATE TABLE subscription_event (
	id bigint GENERATED ALWAYS AS IDENTITY, -- in order of arrival, within a moment
	tid text NOT NULL,
	subid text NOT NULL,
	cid text,
	evt text NOT NULL,
	rvn bigint NOT NULL, -- British pence; negative for a refund
	received_at bigint NOT NULL,
	-- Keeps sales unique: the first write wins, for ever.
	PRIMARY KEY (tid)
);

CREATE INDEX subscription_event_id ON subscription_event (id);
