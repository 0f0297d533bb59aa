-- How visitors have arrived, where that may take credit for a subscription. Follows from the hits.
CREATE TABLE touch (
	vid text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	origin text COLLATE "C" NOT NULL, -- JSON: channel, source, medium, campaign, landing page
	PRIMARY KEY (vid, at)
);
CREATE INDEX touch_at ON touch (at);

-- What was spent on a channel, or on a campaign of it.
CREATE TABLE spend (
	day text COLLATE "C" NOT NULL, -- in the account's time zone, as 2026-01-31
	channel text COLLATE "C" NOT NULL,
	campaign text COLLATE "C" NOT NULL, -- empty: on the channel as a whole
	pence bigint NOT NULL,
	PRIMARY KEY (day, channel, campaign)
);

-- What was received in a period.
CREATE INDEX subscription_event_received_at ON subscription_event (received_at, id);

-- The touches of the visitors that there are are made in the background.
INSERT INTO task (name, position) SELECT 'v:', 0 WHERE EXISTS (SELECT 1 FROM visitor);
