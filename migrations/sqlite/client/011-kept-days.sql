-- What came in on a day. Follows from hits, touches and events: the row of a day whose past changes is deleted, and made anew.
CREATE TABLE kept_day (
	day TEXT NOT NULL PRIMARY KEY, -- in UTC, as 2026-01-31
	since INTEGER NOT NULL, -- when it was asked for; only what changes after that deletes it
	figures TEXT -- JSON, by quarter-hours; NULL until they are made
) STRICT;
