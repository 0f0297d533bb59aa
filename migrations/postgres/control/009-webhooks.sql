-- Where changes of an account's visitors are sent.
CREATE TABLE webhook (
	id text PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES account (id),
	url text NOT NULL,
	events text NOT NULL, -- JSON array of types of messages
	with_cid bigint NOT NULL, -- 1: messages have the customer id
	allow_private bigint NOT NULL, -- 1: the address may be a private one
	secret text NOT NULL, -- 192 random bits, base64
	previous_secret text, -- signs as well until `previous_until`
	previous_until bigint,
	created_at bigint NOT NULL,
	disabled_at bigint,
	disabled_why text, -- operator, gone or failing
	failing_since bigint, -- no delivery has succeeded since
	seq bigint NOT NULL UNIQUE
);
