-- A sample of the scores that pages were told, to be compared with what visitors did then.
CREATE TABLE served_score (
	vid text COLLATE "C" NOT NULL,
	goal text COLLATE "C" NOT NULL,
	at bigint NOT NULL,
	band text NOT NULL, -- low, medium or high
	score bigint NOT NULL, -- in millionths
	PRIMARY KEY (vid, goal, at)
);
CREATE INDEX served_score_at ON served_score (at);

-- Figures that are compared with what comes later.
CREATE TABLE kept_figure (
	name text COLLATE "C" NOT NULL PRIMARY KEY,
	at bigint NOT NULL,
	body text NOT NULL -- JSON
);
