-- What happened on a day, for whoever looks at pictures of time.
CREATE TABLE note (
	id TEXT PRIMARY KEY,
	account_id INTEGER REFERENCES account (id), -- NULL: all accounts
	day TEXT, -- NULL: the one of created_at, in the time zone of the picture
	text TEXT NOT NULL,
	who TEXT, -- an email address; NULL: written by itself
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX note_of_account ON note (account_id, created_at);

-- Pages of the console under a name: each is an address.
CREATE TABLE named_view (
	id TEXT PRIMARY KEY,
	account_id INTEGER NOT NULL REFERENCES account (id),
	user_id TEXT REFERENCES user (id), -- NULL: for everybody who sees the account
	name TEXT NOT NULL,
	page TEXT NOT NULL, -- what follows the account in the path; empty: the overview
	query TEXT NOT NULL, -- without the question mark
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX named_view_of_account ON named_view (account_id, name);
