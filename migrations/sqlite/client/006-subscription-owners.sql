-- Why an event belongs to its visitor. 2: its tid names the visitor; 1: its cid does; 0: it follows its subscription, where
-- that belongs to somebody.
ALTER TABLE subscription_event ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
UPDATE subscription_event SET named =
	CASE WHEN EXISTS (SELECT 1 FROM claim WHERE key = 't:' || tid) THEN 2 ELSE 1 END
	WHERE vid IS NOT NULL;

-- The first of a subid here is whose visitor the subscription belongs to; those of the other index follow.
CREATE INDEX subscription_event_named ON subscription_event (subid, (rvn < 0), received_at) WHERE named > 0;
CREATE INDEX subscription_event_following ON subscription_event (subid) WHERE named = 0;

-- Events that have had no visitor get that of their subscription, in the background.
INSERT INTO task (name, position)
	SELECT DISTINCT 's:' || subid, 0 FROM subscription_event AS event WHERE named = 0
	AND EXISTS (SELECT 1 FROM subscription_event AS other WHERE other.subid = event.subid AND other.named > 0);
