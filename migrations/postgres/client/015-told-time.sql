-- When an event arrived that told when it happened; received_at is then that time. Null where it did not tell.
ALTER TABLE subscription_event ADD COLUMN arrived_at bigint;
CREATE INDEX subscription_event_arrived_at ON subscription_event (arrived_at) WHERE arrived_at IS NOT NULL;

-- What an event of a moment is to its subscription no longer depends on the order of arrival.
DELETE FROM kept_day;
