-- All migrations in one, for a new database; npm run schema:dump writes it.

CREATE TABLE schema_version (
	version integer NOT NULL,
	CONSTRAINT schema_version_pkey PRIMARY KEY (version)
);
INSERT INTO schema_version VALUES ('21');

CREATE TABLE subscription_event (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	tid text COLLATE "C" NOT NULL,
	subid text COLLATE "C" NOT NULL,
	cid text COLLATE "C",
	evt text COLLATE "C" NOT NULL,
	rvn bigint NOT NULL,
	received_at bigint NOT NULL,
	vid text COLLATE "C",
	request_id text COLLATE "C",
	named integer NOT NULL DEFAULT 0,
	arrived_at bigint,
	CONSTRAINT subscription_event_pkey PRIMARY KEY (tid)
);
CREATE INDEX subscription_event_arrived_at ON subscription_event USING btree (arrived_at) WHERE (arrived_at IS NOT NULL);
CREATE INDEX subscription_event_cid ON subscription_event USING btree (cid) WHERE (cid IS NOT NULL);
CREATE INDEX subscription_event_id ON subscription_event USING btree (id);
CREATE INDEX subscription_event_named ON subscription_event USING btree (subid, ((rvn < 0)), received_at, id) WHERE (named > 0);
CREATE INDEX subscription_event_received_at ON subscription_event USING btree (received_at, id);
CREATE INDEX subscription_event_unnamed ON subscription_event USING btree (subid) WHERE (named = 0);
CREATE INDEX subscription_event_vid_at ON subscription_event USING btree (vid, received_at) WHERE (vid IS NOT NULL);

CREATE TABLE hit (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	vid text COLLATE "C" NOT NULL,
	sid text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	body text COLLATE "C" NOT NULL,
	CONSTRAINT hit_pkey PRIMARY KEY (id)
);
CREATE INDEX hit_at ON hit USING btree (at);
CREATE INDEX hit_sid_at ON hit USING btree (sid, at);
CREATE INDEX hit_vid_at ON hit USING btree (vid, at);

CREATE TABLE claim (
	key text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	vid text COLLATE "C" NOT NULL,
	unfounded bigint,
	kept integer,
	unproven_until bigint,
	CONSTRAINT claim_pkey PRIMARY KEY (key, at, vid)
);
CREATE INDEX claim_kept ON claim USING btree (at) WHERE (kept IS NOT NULL);
CREATE INDEX claim_unfounded ON claim USING btree (vid, key) WHERE (unfounded IS NOT NULL);
CREATE INDEX claim_unproven ON claim USING btree (vid) WHERE (unproven_until IS NOT NULL);
CREATE UNIQUE INDEX claim_vid ON claim USING btree (vid, key);

CREATE TABLE visit (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	sid text COLLATE "C" NOT NULL,
	vid text COLLATE "C" NOT NULL,
	profile text COLLATE "C" NOT NULL,
	folded_to bigint,
	refolded text COLLATE "C",
	began bigint,
	CONSTRAINT visit_pkey PRIMARY KEY (sid)
) WITH (fillfactor=80);
CREATE INDEX visit_id ON visit USING btree (id);
CREATE INDEX visit_waiting ON visit USING btree (sid) WHERE (folded_to IS NOT NULL);

CREATE TABLE visitor (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	vid text COLLATE "C" NOT NULL,
	profile text COLLATE "C" NOT NULL,
	folded_to bigint,
	refolded text COLLATE "C",
	hidden integer,
	CONSTRAINT visitor_pkey PRIMARY KEY (vid)
) WITH (fillfactor=80);
CREATE INDEX visitor_id ON visitor USING btree (id);
CREATE INDEX visitor_waiting ON visitor USING btree (vid) WHERE (folded_to IS NOT NULL);

CREATE TABLE task (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	name text COLLATE "C" NOT NULL,
	"position" bigint NOT NULL,
	CONSTRAINT task_pkey PRIMARY KEY (id)
);
CREATE INDEX task_name ON task USING btree (name);

CREATE TABLE touch (
	vid text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	origin text COLLATE "C" NOT NULL,
	kept integer,
	CONSTRAINT touch_pkey PRIMARY KEY (vid, at)
);
CREATE INDEX touch_at ON touch USING btree (at);
CREATE INDEX touch_kept ON touch USING btree (at) WHERE (kept IS NOT NULL);

CREATE TABLE spend (
	day text COLLATE "C" NOT NULL,
	channel text COLLATE "C" NOT NULL,
	campaign text COLLATE "C" NOT NULL,
	pence bigint NOT NULL,
	CONSTRAINT spend_pkey PRIMARY KEY (day, channel, campaign)
);

CREATE TABLE membership (
	vid text COLLATE "C" NOT NULL,
	segment text COLLATE "C" NOT NULL,
	since bigint NOT NULL,
	sequence bigint NOT NULL,
	CONSTRAINT membership_pkey PRIMARY KEY (vid, segment)
);

CREATE TABLE standing (
	vid text COLLATE "C" NOT NULL,
	body text COLLATE "C" NOT NULL,
	CONSTRAINT standing_pkey PRIMARY KEY (vid)
);

CREATE TABLE evaluation (
	name text COLLATE "C" NOT NULL,
	holder text COLLATE "C" NOT NULL,
	held_until bigint NOT NULL,
	sequence bigint NOT NULL,
	state text COLLATE "C" NOT NULL,
	CONSTRAINT evaluation_pkey PRIMARY KEY (name)
);

CREATE TABLE outbox (
	webhook text COLLATE "C" NOT NULL,
	sequence bigint NOT NULL,
	type text COLLATE "C" NOT NULL,
	vid text COLLATE "C",
	body text COLLATE "C" NOT NULL,
	created_at bigint NOT NULL,
	due_at bigint,
	attempts bigint NOT NULL,
	attempted_at bigint,
	delivered_at bigint,
	status bigint,
	problem text COLLATE "C",
	CONSTRAINT outbox_pkey PRIMARY KEY (webhook, sequence)
);
CREATE INDEX outbox_created_at ON outbox USING btree (created_at);
CREATE INDEX outbox_due ON outbox USING btree (webhook, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX outbox_vid ON outbox USING btree (vid) WHERE (vid IS NOT NULL);

CREATE TABLE conflict (
	id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	at bigint NOT NULL,
	request_id text COLLATE "C",
	tids text COLLATE "C" NOT NULL,
	CONSTRAINT conflict_pkey PRIMARY KEY (id)
);

CREATE TABLE counter (
	last bigint NOT NULL,
	one integer NOT NULL DEFAULT 1,
	CONSTRAINT counter_pkey PRIMARY KEY (one)
);
INSERT INTO counter VALUES ('0', '1');

CREATE TABLE served_score (
	vid text COLLATE "C" NOT NULL,
	goal text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	band text COLLATE "C" NOT NULL,
	score bigint NOT NULL,
	CONSTRAINT served_score_pkey PRIMARY KEY (vid, goal, at)
);
CREATE INDEX served_score_at ON served_score USING btree (at);

CREATE TABLE kept_figure (
	name text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	body text COLLATE "C" NOT NULL,
	CONSTRAINT kept_figure_pkey PRIMARY KEY (name)
);

CREATE TABLE kept_day (
	day text COLLATE "C" NOT NULL,
	since bigint NOT NULL,
	figures text COLLATE "C",
	CONSTRAINT kept_day_pkey PRIMARY KEY (day)
);

CREATE TABLE erased (
	mark text COLLATE "C" NOT NULL,
	successor text COLLATE "C" NOT NULL,
	at bigint,
	CONSTRAINT erased_pkey PRIMARY KEY (mark)
);
CREATE INDEX erased_successor ON erased USING btree (successor);

CREATE TABLE shared_key (
	key text COLLATE "C" NOT NULL,
	CONSTRAINT shared_key_pkey PRIMARY KEY (key)
);
