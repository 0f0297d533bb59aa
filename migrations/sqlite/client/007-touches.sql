-- How visitors have arrived, where that may take credit for a subscription. Follows from the hits.
CREATE TABLE touch (
	vid TEXT NOT NULL,
	at INTEGER NOT NULL,
	origin TEXT NOT NULL, -- JSON: channel, source, medium, campaign, landing page
	PRIMARY KEY (vid, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX touch_at ON touch (at);

-- What was spent on a channel, or on a campaign of it.
CREATE TABLE spend (
	day TEXT NOT NULL, -- in the account's time zone, as 2026-01-31
	channel TEXT NOT NULL,
	campaign TEXT NOT NULL, -- empty: on the channel as a whole
	pence INTEGER NOT NULL,
	PRIMARY KEY (day, channel, campaign)
) STRICT, WITHOUT ROWID;

-- What was received in a period.
CREATE INDEX subscription_event_received_at ON subscription_event (received_at);

-- The touches of the visitors that there are are made in the background.
INSERT INTO task (name, position) SELECT 'v:', 0 WHERE EXISTS (SELECT 1 FROM visitor);
