-- What happened on a day, for whoever looks at pictures of time.
CREATE TABLE note (
	id text PRIMARY KEY,
	account_id bigint REFERENCES account (id), -- NULL: all accounts
	day text, -- NULL: the one of created_at, in the time zone of the picture
	text text NOT NULL,
	who text, -- an email address; NULL: written by itself
	created_at bigint NOT NULL
);
CREATE INDEX note_of_account ON note (account_id, created_at);

-- Pages of the console under a name: each is an address.
CREATE TABLE named_view (
	id text PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES account (id),
	user_id text REFERENCES "user" (id), -- NULL: for everybody who sees the account
	name text NOT NULL,
	page text NOT NULL, -- what follows the account in the path; empty: the overview
	query text NOT NULL, -- without the question mark
	created_at bigint NOT NULL
);
CREATE INDEX named_view_of_account ON named_view (account_id, name);
