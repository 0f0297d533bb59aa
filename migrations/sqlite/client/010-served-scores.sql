-- A sample of the scores that pages were told, to be compared with what visitors did then.
CREATE TABLE served_score (
	vid TEXT NOT NULL,
	goal TEXT NOT NULL,
	at INTEGER NOT NULL,
	band TEXT NOT NULL, -- low, medium or high
	score INTEGER NOT NULL, -- in millionths
	PRIMARY KEY (vid, goal, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX served_score_at ON served_score (at);

-- Figures that are compared with what comes later.
CREATE TABLE kept_figure (
	name TEXT NOT NULL PRIMARY KEY,
	at INTEGER NOT NULL,
	body TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;
