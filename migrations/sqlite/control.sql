-- All migrations in one, for a new database; npm run schema:dump writes it.

CREATE TABLE revision (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	number INTEGER NOT NULL
) STRICT;
INSERT INTO revision VALUES (1, 1);

CREATE TABLE client (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE,
	created_at INTEGER NOT NULL
, disabled_at INTEGER) STRICT;

CREATE TABLE account (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	aid TEXT NOT NULL UNIQUE,
	client_id INTEGER NOT NULL REFERENCES client (id),
	origins TEXT NOT NULL, -- JSON array of web origins that may read scores; empty: all
	created_at INTEGER NOT NULL,
	disabled_at INTEGER
, database TEXT, explains INTEGER NOT NULL DEFAULT 0, channel_rules TEXT NOT NULL DEFAULT '[]', import_secret TEXT, timezone TEXT NOT NULL DEFAULT 'UTC', payment_providers TEXT NOT NULL DEFAULT '[]', renewal_days TEXT NOT NULL DEFAULT '{}', currency TEXT NOT NULL DEFAULT 'GBP', cadences TEXT, tells_experiments INTEGER NOT NULL DEFAULT 0, visitor_secret TEXT NOT NULL DEFAULT '', id_trust TEXT NOT NULL DEFAULT 'trusted', identity_secret TEXT, previous_identity_secret TEXT, previous_identity_until INTEGER, grace_days TEXT NOT NULL DEFAULT '{}', cancellation_evt TEXT) STRICT;

CREATE TABLE plan (
	name TEXT PRIMARY KEY,
	rate_per_second REAL NOT NULL,
	burst INTEGER NOT NULL,
	quota_per_month INTEGER NOT NULL,
	timeout_ms INTEGER NOT NULL,
	max_events INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO plan VALUES ('standard', 10.0, 1, 1000000, 5000, 30, 0);

CREATE TABLE api_key (
	id TEXT PRIMARY KEY,
	hash TEXT NOT NULL UNIQUE, -- SHA-256 of the key, hex
	client_id INTEGER NOT NULL REFERENCES client (id),
	plan TEXT NOT NULL REFERENCES plan (name),
	created_at INTEGER NOT NULL,
	revoked_at INTEGER
, seq INTEGER NOT NULL DEFAULT 0, scope TEXT NOT NULL DEFAULT 'upload', name TEXT, expires_at INTEGER, last_used_at INTEGER) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX api_key_seq ON api_key (seq);

CREATE TABLE usage (
	key_id TEXT NOT NULL REFERENCES api_key (id),
	month TEXT NOT NULL, -- UTC, as 2026-11
	leased INTEGER NOT NULL,
	used INTEGER NOT NULL,
	PRIMARY KEY (key_id, month)
) STRICT, WITHOUT ROWID;

CREATE TABLE probe (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	at INTEGER NOT NULL
) STRICT;
INSERT INTO probe VALUES (1, 0);

CREATE TABLE signing_key (
	kid TEXT PRIMARY KEY,
	secret TEXT NOT NULL, -- 256 random bits, base64url
	created_at INTEGER NOT NULL,
	retires_at INTEGER
, seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX signing_key_seq ON signing_key (seq);

CREATE TABLE revocation (
	account_id INTEGER NOT NULL REFERENCES account (id),
	subject TEXT NOT NULL, -- vid or sid
	revoked_at INTEGER NOT NULL,
	PRIMARY KEY (account_id, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE goal (
	account_id INTEGER NOT NULL REFERENCES account (id),
	name TEXT NOT NULL,
	evts TEXT NOT NULL, -- JSON array of names of events that reach it; * is any subscription event, visit another visit
	horizon_days REAL NOT NULL,
	medium_from REAL NOT NULL, -- percentile at which the band begins
	high_from REAL NOT NULL,
	created_at INTEGER NOT NULL, seq INTEGER NOT NULL DEFAULT 0, base_rates TEXT, counts TEXT NOT NULL DEFAULT 'any',
	PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX goal_seq ON goal (seq);

CREATE TABLE segment (
	account_id INTEGER NOT NULL REFERENCES account (id),
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	rule TEXT NOT NULL, -- CEL
	created_at INTEGER NOT NULL, seq INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX segment_seq ON segment (seq);

CREATE TABLE model (
	account_id INTEGER NOT NULL REFERENCES account (id),
	goal TEXT NOT NULL,
	scope TEXT NOT NULL, -- vid or sid
	version TEXT NOT NULL, -- as 2026-11-21.1
	active INTEGER NOT NULL, -- 0 or 1
	body TEXT NOT NULL, -- JSON
	report TEXT NOT NULL, -- JSON
	created_at INTEGER NOT NULL, seq INTEGER NOT NULL DEFAULT 0, levels TEXT,
	PRIMARY KEY (account_id, goal, scope, version)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX model_seq ON model (seq);

CREATE TABLE quota_lease (
	server_id TEXT NOT NULL, -- random, of one start of a server
	key_id TEXT NOT NULL REFERENCES api_key (id),
	month TEXT NOT NULL, -- UTC, as 2026-11
	seq INTEGER NOT NULL, -- of the last lease or return
	leased INTEGER NOT NULL,
	used INTEGER NOT NULL,
	PRIMARY KEY (server_id, key_id, month)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE user (
	id TEXT PRIMARY KEY,
	email TEXT NOT NULL UNIQUE, -- lower case
	password TEXT, -- argon2id, in the PHC format
	totp_secret TEXT, -- 160 random bits, base32
	totp_step INTEGER, -- the last one whose code was used; NULL until the first code proves the secret
	issuer TEXT, -- of single sign-on, with the subject
	subject TEXT,
	created_at INTEGER NOT NULL, last_aid TEXT,
	UNIQUE (issuer, subject)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE login_link (
	hash TEXT PRIMARY KEY, -- SHA-256 of the token, hex
	user_id TEXT NOT NULL REFERENCES user (id),
	proves TEXT, -- NULL: a link; else the method that was passed, and a second factor is still asked for
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX login_link_user ON login_link (user_id);

CREATE TABLE recovery_code (
	hash TEXT PRIMARY KEY, -- SHA-256 of the code, hex
	user_id TEXT NOT NULL REFERENCES user (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_code_user ON recovery_code (user_id);

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

CREATE TABLE experiment (
	account_id INTEGER NOT NULL REFERENCES account (id),
	name TEXT NOT NULL,
	segment TEXT NOT NULL,
	rule TEXT NOT NULL, -- of the segment, which cannot change while it runs
	goal TEXT NOT NULL,
	holdout_percent REAL NOT NULL,
	secret TEXT NOT NULL, -- decides who is held out, base64url
	from_at INTEGER NOT NULL,
	to_at INTEGER, -- NULL: until it is stopped
	stopped_at INTEGER,
	created_at INTEGER NOT NULL,
	seq INTEGER NOT NULL UNIQUE,
	PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE experiment_read (
	account_id INTEGER NOT NULL,
	name TEXT NOT NULL,
	held_out INTEGER NOT NULL,
	register INTEGER NOT NULL,
	rank INTEGER NOT NULL,
	PRIMARY KEY (account_id, name, held_out, register)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
	id TEXT PRIMARY KEY,
	account_id INTEGER REFERENCES account (id), -- NULL: all accounts
	day TEXT, -- NULL: the one of created_at, in the time zone of the picture
	text TEXT NOT NULL,
	who TEXT, -- an email address; NULL: written by itself
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX note_of_account ON note (account_id, created_at);

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

CREATE TABLE upload_answer (
	client_id INTEGER NOT NULL,
	aid TEXT NOT NULL, -- empty where the request has named no account of the client
	day TEXT NOT NULL,
	cause TEXT NOT NULL, -- stored, simulated, conflict, or the code of an error
	requests INTEGER NOT NULL,
	PRIMARY KEY (client_id, aid, day, cause)
) STRICT, WITHOUT ROWID;

CREATE TABLE upload_problem (
	client_id INTEGER NOT NULL,
	at INTEGER NOT NULL,
	request_id TEXT NOT NULL,
	aid TEXT NOT NULL, -- as above
	key_id TEXT NOT NULL,
	cause TEXT NOT NULL,
	detail TEXT NOT NULL, -- which rows and fields
	PRIMARY KEY (client_id, at, request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE upload_quarter (
	client_id INTEGER NOT NULL,
	aid TEXT NOT NULL, -- empty where the request has named no account of the client
	at INTEGER NOT NULL, -- where the quarter begins
	cause TEXT NOT NULL, -- as in upload_answer
	requests INTEGER NOT NULL,
	PRIMARY KEY (client_id, aid, at, cause)
) STRICT, WITHOUT ROWID;
