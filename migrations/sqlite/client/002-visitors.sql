-- Visitors: the log of what they did (hit, subscription_event), and what follows from it (claim, visit, visitor), which
-- can be made anew from the log at any time.

CREATE TABLE hit (
	id INTEGER PRIMARY KEY, -- in order of arrival
	vid TEXT NOT NULL,
	sid TEXT NOT NULL,
	at INTEGER NOT NULL,
	body TEXT NOT NULL -- JSON: page, url, referrer, title, events, cid, channel, device
) STRICT;
CREATE INDEX hit_vid ON hit (vid);
CREATE INDEX hit_at ON hit (at);

-- Who has shown a tid (key `t:…`) or a cid (`c:…`), and when first; the earliest holds it.
CREATE TABLE claim (
	key TEXT NOT NULL,
	at INTEGER NOT NULL,
	vid TEXT NOT NULL,
	PRIMARY KEY (key, at, vid)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX claim_vid ON claim (vid, key);

-- The visitor that the event belongs to: who holds its tid, else who holds its cid.
ALTER TABLE subscription_event ADD COLUMN vid TEXT;
CREATE INDEX subscription_event_vid ON subscription_event (vid) WHERE vid IS NOT NULL;
CREATE INDEX subscription_event_cid ON subscription_event (cid) WHERE cid IS NOT NULL;

CREATE TABLE visit (
	id INTEGER PRIMARY KEY,
	sid TEXT NOT NULL UNIQUE,
	vid TEXT NOT NULL,
	profile TEXT NOT NULL -- JSON, of this visit's hits alone
) STRICT;

CREATE TABLE visitor (
	id INTEGER PRIMARY KEY, -- in order of arrival
	vid TEXT NOT NULL UNIQUE,
	profile TEXT NOT NULL -- JSON
) STRICT;
