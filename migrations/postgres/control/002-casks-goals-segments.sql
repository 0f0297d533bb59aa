-- Where the account's data is, if not beside this database: the address of a database server of its own.
ALTER TABLE account ADD COLUMN database text;
-- 1: readers may ask for the reasons of a score.
ALTER TABLE account ADD COLUMN explains bigint NOT NULL DEFAULT 0;
-- JSON array of channel rules of the account's own: {"channel", "pattern"}, tried before the common ones.
ALTER TABLE account ADD COLUMN channel_rules text NOT NULL DEFAULT '[]';

-- Signs casks. The newest that is not retired signs; one that was rotated out verifies until it retires.
CREATE TABLE signing_key (
	kid text PRIMARY KEY,
	secret text NOT NULL, -- 256 random bits, base64url
	created_at bigint NOT NULL,
	retires_at bigint
);

-- Visitors and visits whose casks are void if issued up to that moment; of no use after 24 hours.
CREATE TABLE revocation (
	account_id bigint NOT NULL REFERENCES account (id),
	subject text NOT NULL, -- vid or sid
	revoked_at bigint NOT NULL,
	PRIMARY KEY (account_id, subject)
);

CREATE TABLE goal (
	account_id bigint NOT NULL REFERENCES account (id),
	name text NOT NULL,
	evts text NOT NULL, -- JSON array of names of events that reach it; * is any subscription event, visit another visit
	horizon_days double precision NOT NULL,
	medium_from double precision NOT NULL, -- percentile at which the band begins
	high_from double precision NOT NULL,
	created_at bigint NOT NULL,
	PRIMARY KEY (account_id, name)
);

CREATE TABLE segment (
	account_id bigint NOT NULL REFERENCES account (id),
	id text NOT NULL,
	name text NOT NULL,
	rule text NOT NULL, -- CEL
	created_at bigint NOT NULL,
	PRIMARY KEY (account_id, id)
);

-- Trained models are data. Of each goal and scope at most one is active; without one the base rate is served.
-- One that was deleted has an empty body.
CREATE TABLE model (
	account_id bigint NOT NULL REFERENCES account (id),
	goal text NOT NULL,
	scope text NOT NULL, -- vid or sid
	version text NOT NULL, -- as 2026-11-21.1
	active bigint NOT NULL, -- 0 or 1
	body text NOT NULL, -- JSON
	report text NOT NULL, -- JSON
	created_at bigint NOT NULL,
	PRIMARY KEY (account_id, goal, scope, version)
);

-- What new accounts have from the start, accounts from before get, too; in this order.
INSERT INTO goal (account_id, name, evts, horizon_days, medium_from, high_from, created_at)
	SELECT id, 'subscription', '["*"]', 7, 50, 90, created_at FROM account;
INSERT INTO goal (account_id, name, evts, horizon_days, medium_from, high_from, created_at)
	SELECT id, 'return', '["visit"]', 7, 50, 90, created_at + 1 FROM account;
INSERT INTO segment (account_id, id, name, rule, created_at)
	SELECT account.id, starter.id, starter.name, starter.rule, account.created_at + starter.place FROM account, (
		SELECT 0 AS place, 'new' AS id, 'New visitors' AS name, 'visitor.visits <= 1' AS rule
		UNION ALL SELECT 1, 'returning', 'Returning visitors', 'visitor.visits >= 2'
		UNION ALL SELECT 2, 'engaged', 'Engaged visitors', 'visitor.pages >= 10 || visitor.activeDays >= 3'
		UNION ALL SELECT 3, 'high-intent', 'High intent', 'bands.subscription == "high" && visitor.subscriptions == 0'
		UNION ALL SELECT 4, 'subscriber', 'Subscribers', 'visitor.subscriptions > 0'
	) AS starter;
