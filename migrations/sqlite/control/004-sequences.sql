-- What was made later has the greater number. Times cannot say so: several rows are made in one millisecond, and clocks
-- step back.
ALTER TABLE signing_key ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE signing_key SET seq = made.seq
	FROM (SELECT kid, row_number() OVER (ORDER BY retires_at IS NULL, retires_at, created_at, kid) AS seq FROM signing_key) AS made
	WHERE made.kid = signing_key.kid;
CREATE UNIQUE INDEX signing_key_seq ON signing_key (seq);

ALTER TABLE api_key ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE api_key SET seq = made.seq
	FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS seq FROM api_key) AS made
	WHERE made.id = api_key.id;
CREATE UNIQUE INDEX api_key_seq ON api_key (seq);

ALTER TABLE goal ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE goal SET seq = made.seq
	FROM (SELECT account_id, name, row_number() OVER (ORDER BY created_at, account_id, name) AS seq FROM goal) AS made
	WHERE made.account_id = goal.account_id AND made.name = goal.name;
CREATE UNIQUE INDEX goal_seq ON goal (seq);

ALTER TABLE segment ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE segment SET seq = made.seq
	FROM (SELECT account_id, id, row_number() OVER (ORDER BY created_at, account_id, id) AS seq FROM segment) AS made
	WHERE made.account_id = segment.account_id AND made.id = segment.id;
CREATE UNIQUE INDEX segment_seq ON segment (seq);

ALTER TABLE model ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE model SET seq = made.seq
	FROM (
		SELECT account_id, goal, scope, version,
			row_number() OVER (ORDER BY created_at, account_id, goal, scope, length(version), version) AS seq
		FROM model
	) AS made
	WHERE made.account_id = model.account_id AND made.goal = model.goal AND made.scope = model.scope AND made.version = model.version;
CREATE UNIQUE INDEX model_seq ON model (seq);
