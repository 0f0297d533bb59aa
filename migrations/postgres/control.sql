-- All migrations in one, for a new database; npm run schema:dump writes it.

CREATE TABLE schema_version (
	version integer NOT NULL,
	CONSTRAINT schema_version_pkey PRIMARY KEY (version)
);
INSERT INTO schema_version VALUES ('25');

CREATE TABLE revision (
	id integer NOT NULL,
	number bigint NOT NULL,
	CONSTRAINT revision_pkey PRIMARY KEY (id),
	CONSTRAINT revision_id_check CHECK ((id = 1))
);
INSERT INTO revision VALUES ('1', '1');

CREATE TABLE client (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	name text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	disabled_at bigint,
	CONSTRAINT client_pkey PRIMARY KEY (id),
	CONSTRAINT client_name_key UNIQUE (name)
);

CREATE TABLE account (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	aid text COLLATE "C" NOT NULL,
	client_id bigint NOT NULL,
	origins text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	disabled_at bigint,
	database text COLLATE "C",
	explains bigint NOT NULL DEFAULT 0,
	channel_rules text COLLATE "C" NOT NULL DEFAULT '[]'::text,
	import_secret text COLLATE "C",
	timezone text COLLATE "C" NOT NULL DEFAULT 'UTC'::text,
	payment_providers text COLLATE "C" NOT NULL DEFAULT '[]'::text,
	renewal_days text COLLATE "C" NOT NULL DEFAULT '{}'::text,
	currency text COLLATE "C" NOT NULL DEFAULT 'GBP'::text,
	cadences text COLLATE "C",
	tells_experiments integer NOT NULL DEFAULT 0,
	visitor_secret text COLLATE "C" NOT NULL DEFAULT ''::text,
	id_trust text COLLATE "C" NOT NULL DEFAULT 'trusted'::text,
	identity_secret text COLLATE "C",
	previous_identity_secret text COLLATE "C",
	previous_identity_until bigint,
	grace_days text COLLATE "C" NOT NULL DEFAULT '{}'::text,
	cancellation_evt text COLLATE "C",
	CONSTRAINT account_pkey PRIMARY KEY (id),
	CONSTRAINT account_aid_key UNIQUE (aid),
	CONSTRAINT account_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id)
);

CREATE TABLE plan (
	name text COLLATE "C" NOT NULL,
	rate_per_second double precision NOT NULL,
	burst bigint NOT NULL,
	quota_per_month bigint NOT NULL,
	timeout_ms bigint NOT NULL,
	max_events bigint NOT NULL,
	created_at bigint NOT NULL,
	CONSTRAINT plan_pkey PRIMARY KEY (name)
);
INSERT INTO plan VALUES ('standard', '10', '1', '1000000', '5000', '30', '0');

CREATE TABLE api_key (
	id text COLLATE "C" NOT NULL,
	hash text COLLATE "C" NOT NULL,
	client_id bigint NOT NULL,
	plan text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	revoked_at bigint,
	seq bigint NOT NULL DEFAULT 0,
	scope text COLLATE "C" NOT NULL DEFAULT 'upload'::text,
	name text COLLATE "C",
	expires_at bigint,
	last_used_at bigint,
	CONSTRAINT api_key_pkey PRIMARY KEY (id),
	CONSTRAINT api_key_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(id),
	CONSTRAINT api_key_hash_key UNIQUE (hash),
	CONSTRAINT api_key_plan_fkey FOREIGN KEY (plan) REFERENCES plan(name)
);
CREATE UNIQUE INDEX api_key_seq ON api_key USING btree (seq);

CREATE TABLE usage (
	key_id text COLLATE "C" NOT NULL,
	month text COLLATE "C" NOT NULL,
	leased bigint NOT NULL,
	used bigint NOT NULL,
	CONSTRAINT usage_pkey PRIMARY KEY (key_id, month),
	CONSTRAINT usage_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id)
);

CREATE TABLE token_bucket (
	key_id text COLLATE "C" NOT NULL,
	tokens double precision NOT NULL,
	at_ms double precision NOT NULL,
	CONSTRAINT token_bucket_pkey PRIMARY KEY (key_id)
);

CREATE TABLE probe (
	id integer NOT NULL,
	at bigint NOT NULL,
	CONSTRAINT probe_pkey PRIMARY KEY (id),
	CONSTRAINT probe_id_check CHECK ((id = 1))
);
INSERT INTO probe VALUES ('1', '0');

CREATE TABLE signing_key (
	kid text COLLATE "C" NOT NULL,
	secret text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	retires_at bigint,
	seq bigint NOT NULL DEFAULT 0,
	CONSTRAINT signing_key_pkey PRIMARY KEY (kid)
);
CREATE UNIQUE INDEX signing_key_seq ON signing_key USING btree (seq);

CREATE TABLE revocation (
	account_id bigint NOT NULL,
	subject text COLLATE "C" NOT NULL,
	revoked_at bigint NOT NULL,
	CONSTRAINT revocation_pkey PRIMARY KEY (account_id, subject),
	CONSTRAINT revocation_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

CREATE TABLE goal (
	account_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	evts text COLLATE "C" NOT NULL,
	horizon_days double precision NOT NULL,
	medium_from double precision NOT NULL,
	high_from double precision NOT NULL,
	created_at bigint NOT NULL,
	seq bigint NOT NULL DEFAULT 0,
	base_rates text COLLATE "C",
	counts text COLLATE "C" NOT NULL DEFAULT 'any'::text,
	CONSTRAINT goal_pkey PRIMARY KEY (account_id, name),
	CONSTRAINT goal_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE UNIQUE INDEX goal_seq ON goal USING btree (seq);

CREATE TABLE segment (
	account_id bigint NOT NULL,
	id text COLLATE "C" NOT NULL,
	name text COLLATE "C" NOT NULL,
	rule text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	seq bigint NOT NULL DEFAULT 0,
	CONSTRAINT segment_pkey PRIMARY KEY (account_id, id),
	CONSTRAINT segment_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE UNIQUE INDEX segment_seq ON segment USING btree (seq);

CREATE TABLE model (
	account_id bigint NOT NULL,
	goal text COLLATE "C" NOT NULL,
	scope text COLLATE "C" NOT NULL,
	version text COLLATE "C" NOT NULL,
	active bigint NOT NULL,
	body text COLLATE "C" NOT NULL,
	report text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	seq bigint NOT NULL DEFAULT 0,
	levels text COLLATE "C",
	CONSTRAINT model_pkey PRIMARY KEY (account_id, goal, scope, version),
	CONSTRAINT model_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE UNIQUE INDEX model_seq ON model USING btree (seq);

CREATE TABLE quota_lease (
	server_id text COLLATE "C" NOT NULL,
	key_id text COLLATE "C" NOT NULL,
	month text COLLATE "C" NOT NULL,
	seq bigint NOT NULL,
	leased bigint NOT NULL,
	used bigint NOT NULL,
	CONSTRAINT quota_lease_pkey PRIMARY KEY (server_id, key_id, month),
	CONSTRAINT quota_lease_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id)
);

CREATE TABLE server (
	id text COLLATE "C" NOT NULL,
	seen_at bigint NOT NULL,
	console_url text COLLATE "C",
	CONSTRAINT server_pkey PRIMARY KEY (id)
);

CREATE TABLE webhook (
	id text COLLATE "C" NOT NULL,
	account_id bigint NOT NULL,
	url text COLLATE "C" NOT NULL,
	events text COLLATE "C" NOT NULL,
	with_cid bigint NOT NULL,
	allow_private bigint NOT NULL,
	secret text COLLATE "C" NOT NULL,
	previous_secret text COLLATE "C",
	previous_until bigint,
	created_at bigint NOT NULL,
	disabled_at bigint,
	disabled_why text COLLATE "C",
	failing_since bigint,
	seq bigint NOT NULL,
	CONSTRAINT webhook_pkey PRIMARY KEY (id),
	CONSTRAINT webhook_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
	CONSTRAINT webhook_seq_key UNIQUE (seq)
);

CREATE TABLE "user" (
	id text COLLATE "C" NOT NULL,
	email text COLLATE "C" NOT NULL,
	password text COLLATE "C",
	totp_secret text COLLATE "C",
	totp_step bigint,
	issuer text COLLATE "C",
	subject text COLLATE "C",
	created_at bigint NOT NULL,
	last_aid text COLLATE "C",
	CONSTRAINT user_pkey PRIMARY KEY (id),
	CONSTRAINT user_email_key UNIQUE (email),
	CONSTRAINT user_issuer_subject_key UNIQUE (issuer, subject)
);

CREATE TABLE "grant" (
	user_id text COLLATE "C" NOT NULL,
	account_id bigint,
	role text COLLATE "C" NOT NULL,
	CONSTRAINT grant_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
	CONSTRAINT grant_user_id_account_id_key UNIQUE (user_id, account_id),
	CONSTRAINT grant_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id)
);

CREATE TABLE session (
	hash text COLLATE "C" NOT NULL,
	user_id text COLLATE "C" NOT NULL,
	method text COLLATE "C" NOT NULL,
	agent text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	used_at bigint NOT NULL,
	CONSTRAINT session_pkey PRIMARY KEY (hash),
	CONSTRAINT session_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id)
);
CREATE INDEX session_of_user ON session USING btree (user_id);

CREATE TABLE login_link (
	hash text COLLATE "C" NOT NULL,
	user_id text COLLATE "C" NOT NULL,
	proves text COLLATE "C",
	expires_at bigint NOT NULL,
	CONSTRAINT login_link_pkey PRIMARY KEY (hash),
	CONSTRAINT login_link_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id)
);
CREATE INDEX login_link_user ON login_link USING btree (user_id);

CREATE TABLE recovery_code (
	hash text COLLATE "C" NOT NULL,
	user_id text COLLATE "C" NOT NULL,
	CONSTRAINT recovery_code_pkey PRIMARY KEY (hash),
	CONSTRAINT recovery_code_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id)
);
CREATE INDEX recovery_code_user ON recovery_code USING btree (user_id);

CREATE TABLE audit (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	at bigint NOT NULL,
	who text COLLATE "C" NOT NULL,
	action text COLLATE "C" NOT NULL,
	aid text COLLATE "C",
	about text COLLATE "C",
	CONSTRAINT audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_about ON audit USING btree (aid, about) WHERE (about IS NOT NULL);
CREATE INDEX audit_at ON audit USING btree (at);

CREATE TABLE experiment (
	account_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	segment text COLLATE "C" NOT NULL,
	rule text COLLATE "C" NOT NULL,
	goal text COLLATE "C" NOT NULL,
	holdout_percent double precision NOT NULL,
	secret text COLLATE "C" NOT NULL,
	from_at bigint NOT NULL,
	to_at bigint,
	stopped_at bigint,
	created_at bigint NOT NULL,
	seq bigint NOT NULL,
	CONSTRAINT experiment_pkey PRIMARY KEY (account_id, name),
	CONSTRAINT experiment_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
	CONSTRAINT experiment_seq_key UNIQUE (seq)
);

CREATE TABLE experiment_read (
	account_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	held_out integer NOT NULL,
	register integer NOT NULL,
	rank integer NOT NULL,
	CONSTRAINT experiment_read_pkey PRIMARY KEY (account_id, name, held_out, register)
);

CREATE TABLE note (
	id text COLLATE "C" NOT NULL,
	account_id bigint,
	day text COLLATE "C",
	text text COLLATE "C" NOT NULL,
	who text COLLATE "C",
	created_at bigint NOT NULL,
	CONSTRAINT note_pkey PRIMARY KEY (id),
	CONSTRAINT note_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX note_of_account ON note USING btree (account_id, created_at);

CREATE TABLE named_view (
	id text COLLATE "C" NOT NULL,
	account_id bigint NOT NULL,
	user_id text COLLATE "C",
	name text COLLATE "C" NOT NULL,
	page text COLLATE "C" NOT NULL,
	query text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	CONSTRAINT named_view_pkey PRIMARY KEY (id),
	CONSTRAINT named_view_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
	CONSTRAINT named_view_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id)
);
CREATE INDEX named_view_of_account ON named_view USING btree (account_id, name);

CREATE TABLE upload_answer (
	client_id bigint NOT NULL,
	aid text COLLATE "C" NOT NULL,
	day text COLLATE "C" NOT NULL,
	cause text COLLATE "C" NOT NULL,
	requests bigint NOT NULL,
	CONSTRAINT upload_answer_pkey PRIMARY KEY (client_id, aid, day, cause)
);

CREATE TABLE upload_problem (
	client_id bigint NOT NULL,
	at bigint NOT NULL,
	request_id text COLLATE "C" NOT NULL,
	aid text COLLATE "C" NOT NULL,
	key_id text COLLATE "C" NOT NULL,
	cause text COLLATE "C" NOT NULL,
	detail text COLLATE "C" NOT NULL,
	CONSTRAINT upload_problem_pkey PRIMARY KEY (client_id, at, request_id)
);

CREATE TABLE upload_quarter (
	client_id bigint NOT NULL,
	aid text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	cause text COLLATE "C" NOT NULL,
	requests bigint NOT NULL,
	CONSTRAINT upload_quarter_pkey PRIMARY KEY (client_id, aid, at, cause)
);
