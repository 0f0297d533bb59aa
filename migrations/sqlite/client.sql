-- All migrations in one, for a new database; npm run schema:dump writes it.

CREATE TABLE subscription_event (
	id INTEGER PRIMARY KEY, -- in order of arrival
	tid TEXT NOT NULL,
	subid TEXT NOT NULL,
	cid TEXT,
	evt TEXT NOT NULL,
	rvn INTEGER NOT NULL, -- British pence; negative for a refund
	received_at INTEGER NOT NULL
, vid TEXT, request_id TEXT, named INTEGER NOT NULL DEFAULT 0, arrived_at INTEGER) STRICT;
CREATE INDEX subscription_event_arrived_at ON subscription_event (arrived_at) WHERE arrived_at IS NOT NULL;
CREATE INDEX subscription_event_cid ON subscription_event (cid) WHERE cid IS NOT NULL;
CREATE INDEX subscription_event_following ON subscription_event (subid) WHERE named = 0;
CREATE INDEX subscription_event_named ON subscription_event (subid, (rvn < 0), received_at) WHERE named > 0;
CREATE INDEX subscription_event_received_at ON subscription_event (received_at);
CREATE UNIQUE INDEX subscription_event_tid ON subscription_event (tid);
CREATE INDEX subscription_event_vid_at ON subscription_event (vid, received_at) WHERE vid IS NOT NULL;

CREATE TABLE hit (
	id INTEGER PRIMARY KEY, -- in order of arrival
	vid TEXT NOT NULL,
	sid TEXT NOT NULL,
	at INTEGER NOT NULL,
	body TEXT NOT NULL -- JSON: page, url, referrer, title, events, cid, channel, device
) STRICT;
CREATE INDEX hit_at ON hit (at);
CREATE INDEX hit_sid_at ON hit (sid, at);
CREATE INDEX hit_vid_at ON hit (vid, at);

CREATE TABLE claim (
	key TEXT NOT NULL,
	at INTEGER NOT NULL,
	vid TEXT NOT NULL, unfounded INTEGER, kept INTEGER, unproven_until INTEGER,
	PRIMARY KEY (key, at, vid)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_kept ON claim (at) WHERE kept IS NOT NULL;
CREATE INDEX claim_unfounded ON claim (vid, key) WHERE unfounded IS NOT NULL;
CREATE INDEX claim_unproven ON claim (vid) WHERE unproven_until IS NOT NULL;
CREATE UNIQUE INDEX claim_vid ON claim (vid, key);

CREATE TABLE visit (
	id INTEGER PRIMARY KEY,
	sid TEXT NOT NULL UNIQUE,
	vid TEXT NOT NULL,
	profile TEXT NOT NULL -- JSON, of this visit's hits alone
, folded_to INTEGER, refolded TEXT, began INTEGER) STRICT;
CREATE INDEX visit_waiting ON visit (sid) WHERE folded_to IS NOT NULL;

CREATE TABLE visitor (
	id INTEGER PRIMARY KEY, -- in order of arrival
	vid TEXT NOT NULL UNIQUE,
	profile TEXT NOT NULL -- JSON
, folded_to INTEGER, refolded TEXT, recent TEXT, hidden INTEGER) STRICT;
CREATE INDEX visitor_waiting ON visitor (vid) WHERE folded_to IS NOT NULL;

CREATE TABLE task (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	position INTEGER NOT NULL
) STRICT;
CREATE INDEX task_name ON task (name);

CREATE TABLE recent_hit (
	id INTEGER PRIMARY KEY, -- in order of arrival
	vid TEXT NOT NULL,
	sid TEXT NOT NULL,
	at INTEGER NOT NULL,
	body TEXT NOT NULL -- JSON, as in `hit`
) STRICT;
CREATE INDEX recent_hit_at ON recent_hit (at);

CREATE TABLE touch (
	vid TEXT NOT NULL,
	at INTEGER NOT NULL,
	origin TEXT NOT NULL, kept INTEGER, -- JSON: channel, source, medium, campaign, landing page
	PRIMARY KEY (vid, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX touch_at ON touch (at);
CREATE INDEX touch_kept ON touch (at) WHERE kept IS NOT NULL;

CREATE TABLE spend (
	day TEXT NOT NULL, -- in the account's time zone, as 2026-01-31
	channel TEXT NOT NULL,
	campaign TEXT NOT NULL, -- empty: on the channel as a whole
	pence INTEGER NOT NULL,
	PRIMARY KEY (day, channel, campaign)
) STRICT, WITHOUT ROWID;

CREATE TABLE membership (
	vid TEXT NOT NULL,
	segment TEXT NOT NULL,
	since INTEGER NOT NULL,
	sequence INTEGER NOT NULL, -- of the message that said so
	PRIMARY KEY (vid, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE standing (
	vid TEXT NOT NULL PRIMARY KEY,
	body TEXT NOT NULL -- JSON: bands of scores, and how often goals were reached
) STRICT, WITHOUT ROWID;

CREATE TABLE evaluation (
	name TEXT NOT NULL PRIMARY KEY, -- webhooks
	holder TEXT NOT NULL, -- the process that evaluates,
	held_until INTEGER NOT NULL, -- and how long no other may
	sequence INTEGER NOT NULL, -- the last that was given out
	state TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
	webhook TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	type TEXT NOT NULL,
	vid TEXT, -- whom it is about
	body TEXT NOT NULL, -- JSON, as it is sent
	created_at INTEGER NOT NULL,
	due_at INTEGER, -- of the next attempt; NULL: there is none
	attempts INTEGER NOT NULL,
	attempted_at INTEGER, -- the end of the last attempt
	delivered_at INTEGER,
	status INTEGER, -- HTTP status of the last answer
	problem TEXT, -- why there was no answer
	PRIMARY KEY (webhook, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_created_at ON outbox (created_at);
CREATE INDEX outbox_due ON outbox (webhook, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX outbox_vid ON outbox (vid) WHERE vid IS NOT NULL;

CREATE TABLE conflict (
	id INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	request_id TEXT,
	tids TEXT NOT NULL -- JSON array
) STRICT;

CREATE TABLE served_score (
	vid TEXT NOT NULL,
	goal TEXT NOT NULL,
	at INTEGER NOT NULL,
	band TEXT NOT NULL, -- low, medium or high
	score INTEGER NOT NULL, -- in millionths
	PRIMARY KEY (vid, goal, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX served_score_at ON served_score (at);

CREATE TABLE kept_figure (
	name TEXT NOT NULL PRIMARY KEY,
	at INTEGER NOT NULL,
	body TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE kept_day (
	day TEXT NOT NULL PRIMARY KEY, -- in UTC, as 2026-01-31
	since INTEGER NOT NULL, -- when it was asked for; only what changes after that deletes it
	figures TEXT -- JSON, by quarter-hours; NULL until they are made
) STRICT;

CREATE TABLE erased (
	mark TEXT NOT NULL PRIMARY KEY,
	successor TEXT NOT NULL -- a vid
, at INTEGER) STRICT, WITHOUT ROWID;
CREATE INDEX erased_successor ON erased (successor);

CREATE TABLE shared_key (
	key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE VIEW logged_hit AS
SELECT id, vid, sid, at, body FROM hit
UNION ALL
SELECT recent_hit.id, visitor.vid, recent_hit.sid, recent_hit.at, recent_hit.body
FROM visitor
CROSS JOIN json_each('[' || visitor.recent || ']') AS place
CROSS JOIN recent_hit ON recent_hit.id = place.value;
