-- What no request may wait for is done in the background, a piece at a time. Until then a profile is as it was last known.

-- NULL: the profile is as the log says. Else it is made anew: `refolded` is made of all entries up to this moment.
ALTER TABLE visitor ADD COLUMN folded_to INTEGER;
ALTER TABLE visitor ADD COLUMN refolded TEXT;
CREATE INDEX visitor_waiting ON visitor (vid) WHERE folded_to IS NOT NULL;
ALTER TABLE visit ADD COLUMN folded_to INTEGER;
ALTER TABLE visit ADD COLUMN refolded TEXT;
CREATE INDEX visit_waiting ON visit (sid) WHERE folded_to IS NOT NULL;

-- A log is read a piece at a time, in the order of time.
DROP INDEX hit_vid;
CREATE INDEX hit_vid_at ON hit (vid, at);
CREATE INDEX hit_sid_at ON hit (sid, at);
DROP INDEX subscription_event_vid;
CREATE INDEX subscription_event_vid_at ON subscription_event (vid, received_at) WHERE vid IS NOT NULL;

-- The hit that has made the claim is gone. When the visitor is folded again, it is of the next hit that has shown the
-- key, or goes away.
ALTER TABLE claim ADD COLUMN unfounded INTEGER;
CREATE INDEX claim_unfounded ON claim (vid, key) WHERE unfounded IS NOT NULL;

-- `c:…`: the subscription events of a customer id are to be given to whom they belong, from the id `position` on.
-- `e:…`: a visitor is being erased, of whom nothing counts any more.
CREATE TABLE task (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	position INTEGER NOT NULL
) STRICT;
CREATE INDEX task_name ON task (name);
