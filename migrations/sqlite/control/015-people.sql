-- People who use the console.
CREATE TABLE user (
	id TEXT PRIMARY KEY,
	email TEXT NOT NULL UNIQUE, -- lower case
	password TEXT, -- argon2id, in the PHC format
	totp_secret TEXT, -- 160 random bits, base32
	totp_step INTEGER, -- the last one whose code was used; NULL until the first code proves the secret
	issuer TEXT, -- of single sign-on, with the subject
	subject TEXT,
	created_at INTEGER NOT NULL,
	UNIQUE (issuer, subject)
) STRICT, WITHOUT ROWID;

-- What they may see and do.
CREATE TABLE grant (
	user_id TEXT NOT NULL REFERENCES user (id),
	account_id INTEGER REFERENCES account (id), -- NULL: all accounts
	role TEXT NOT NULL, -- viewer, analyst, operator or admin
	UNIQUE (user_id, account_id)
) STRICT;

CREATE TABLE session (
	hash TEXT PRIMARY KEY, -- SHA-256 of the token, hex
	user_id TEXT NOT NULL REFERENCES user (id),
	method TEXT NOT NULL, -- link, password or sso
	agent TEXT NOT NULL, -- browser and system, for people
	created_at INTEGER NOT NULL,
	used_at INTEGER NOT NULL -- recorded about once an hour
) STRICT, WITHOUT ROWID;
CREATE INDEX session_of_user ON session (user_id);

-- Good for signing in once.
CREATE TABLE login_link (
	hash TEXT PRIMARY KEY, -- SHA-256 of the token, hex
	user_id TEXT NOT NULL REFERENCES user (id),
	proves TEXT, -- NULL: a link; else the method that was passed, and a second factor is still asked for
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX login_link_user ON login_link (user_id);

-- In place of a second factor, each once.
CREATE TABLE recovery_code (
	hash TEXT PRIMARY KEY, -- SHA-256 of the code, hex
	user_id TEXT NOT NULL REFERENCES user (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_code_user ON recovery_code (user_id);

-- Who looked at whom, and who changed what.
CREATE TABLE audit (
	id INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	who TEXT NOT NULL, -- an email address, or: command line
	action TEXT NOT NULL,
	aid TEXT, -- the account, if it concerns one
	about TEXT -- a visitor, a key, a person, …; NULL once the visitor is erased
) STRICT;
CREATE INDEX audit_about ON audit (aid, about) WHERE about IS NOT NULL;
CREATE INDEX audit_at ON audit (at);
