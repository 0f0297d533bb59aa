-- Without the id, entries with the same key share one: half of the size, and events are stored with less work.
CREATE INDEX IF NOT EXISTS subscription_event_cid ON subscription_event (cid) WHERE cid IS NOT NULL;
CREATE INDEX IF NOT EXISTS subscription_event_unnamed ON subscription_event (subid) WHERE named = 0;
DROP INDEX subscription_event_cid_id;
DROP INDEX subscription_event_following;
