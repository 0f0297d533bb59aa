-- Where changes of an account's visitors are sent.
CREATE TABLE webhook (
	id TEXT PRIMARY KEY,
	account_id INTEGER NOT NULL REFERENCES account (id),
	url TEXT NOT NULL,
	events TEXT NOT NULL, -- JSON array of types of messages
	with_cid INTEGER NOT NULL, -- 1: messages have the customer id
	allow_private INTEGER NOT NULL, -- 1: the address may be a private one
	secret TEXT NOT NULL, -- 192 random bits, base64
	previous_secret TEXT, -- signs as well until `previous_until`
	previous_until INTEGER,
	created_at INTEGER NOT NULL,
	disabled_at INTEGER,
	disabled_why TEXT, -- operator, gone or failing
	failing_since INTEGER, -- no delivery has succeeded since
	seq INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
