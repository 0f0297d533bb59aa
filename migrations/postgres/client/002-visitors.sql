-- Visitors: the log of what they did (hit, subscription_event), and what follows from it (claim, visit, visitor), which
-- can be made anew from the log at any time.

CREATE TABLE hit (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in order of arrival, within a moment
	vid text NOT NULL,
	sid text NOT NULL,
	at bigint NOT NULL,
	body text NOT NULL -- JSON: page, url, referrer, title, events, cid, channel, device
);
CREATE INDEX hit_vid ON hit (vid);
CREATE INDEX hit_at ON hit (at);

-- Who has shown a tid (key `t:…`) or a cid (`c:…`), and when first; the earliest holds it. Sorted as every engine does.
CREATE TABLE claim (
	key text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	vid text COLLATE "C" NOT NULL,
	PRIMARY KEY (key, at, vid)
);
CREATE UNIQUE INDEX claim_vid ON claim (vid, key);

-- The visitor that the event belongs to: who holds its tid, else who holds its cid.
ALTER TABLE subscription_event ADD COLUMN vid text;
CREATE INDEX subscription_event_vid ON subscription_event (vid) WHERE vid IS NOT NULL;
CREATE INDEX subscription_event_cid ON subscription_event (cid) WHERE cid IS NOT NULL;

CREATE TABLE visit (
	id bigint GENERATED ALWAYS AS IDENTITY,
	sid text PRIMARY KEY,
	vid text NOT NULL,
	profile text NOT NULL -- JSON, of this visit's hits alone
) WITH (fillfactor = 80);
CREATE INDEX visit_id ON visit (id);

-- Room on each page, so that a new version of a row need not touch the indexes.
CREATE TABLE visitor (
	id bigint GENERATED ALWAYS AS IDENTITY, -- in order of arrival, within a moment
	vid text PRIMARY KEY,
	profile text NOT NULL -- JSON
) WITH (fillfactor = 80);
CREATE INDEX visitor_id ON visitor (id);
