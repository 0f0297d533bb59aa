-- The request that has brought the event, as its answer named it. NULL: imported, or stored before this was kept.
ALTER TABLE subscription_event ADD COLUMN request_id text;
