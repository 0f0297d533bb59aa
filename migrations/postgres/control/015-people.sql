-- People who use the console.
CREATE TABLE "user" (
	id text PRIMARY KEY,
	email text NOT NULL UNIQUE, -- lower case
	password text, -- argon2id, in the PHC format
	totp_secret text, -- 160 random bits, base32
	totp_step bigint, -- the last one whose code was used; NULL until the first code proves the secret
	issuer text, -- of single sign-on, with the subject
	subject text,
	created_at bigint NOT NULL,
	UNIQUE (issuer, subject)
);

-- What they may see and do.
CREATE TABLE "grant" (
	user_id text NOT NULL REFERENCES "user" (id),
	account_id bigint REFERENCES account (id), -- NULL: all accounts
	role text NOT NULL, -- viewer, analyst, operator or admin
	UNIQUE (user_id, account_id)
);

CREATE TABLE session (
	hash text PRIMARY KEY, -- SHA-256 of the token, hex
	user_id text NOT NULL REFERENCES "user" (id),
	method text NOT NULL, -- link, password or sso
	agent text NOT NULL, -- browser and system, for people
	created_at bigint NOT NULL,
	used_at bigint NOT NULL -- recorded about once an hour
);
CREATE INDEX session_of_user ON session (user_id);

-- Good for signing in once.
CREATE TABLE login_link (
	hash text PRIMARY KEY, -- SHA-256 of the token, hex
	user_id text NOT NULL REFERENCES "user" (id),
	proves text, -- NULL: a link; else the method that was passed, and a second factor is still asked for
	expires_at bigint NOT NULL
);
CREATE INDEX login_link_user ON login_link (user_id);

-- In place of a second factor, each once.
CREATE TABLE recovery_code (
	hash text PRIMARY KEY, -- SHA-256 of the code, hex
	user_id text NOT NULL REFERENCES "user" (id)
);
CREATE INDEX recovery_code_user ON recovery_code (user_id);

-- Who looked at whom, and who changed what.
CREATE TABLE audit (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at bigint NOT NULL,
	who text NOT NULL, -- an email address, or: command line
	action text NOT NULL,
	aid text, -- the account, if it concerns one
	about text -- a visitor, a key, a person, …; NULL once the visitor is erased
);
CREATE INDEX audit_about ON audit (aid, about) WHERE about IS NOT NULL;
CREATE INDEX audit_at ON audit (at);
