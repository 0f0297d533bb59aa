-- Hits as they arrive: in no index but that of time, so that many of them share a page. They move to `hit`, a visitor's all
-- at once, when they have become many or when a transaction needs the visitor's log. Nothing is moved here, so this is quick.
CREATE TABLE recent_hit (
	id INTEGER PRIMARY KEY, -- in order of arrival
	vid TEXT NOT NULL,
	sid TEXT NOT NULL,
	at INTEGER NOT NULL,
	body TEXT NOT NULL -- JSON, as in `hit`
) STRICT;
CREATE INDEX recent_hit_at ON recent_hit (at);

-- The ids of the visitor's recent hits, with commas between them; NULL where there are none.
ALTER TABLE visitor ADD COLUMN recent TEXT;

-- All hits, for who reads those of some visitors. An `id` is unique within each table only.
CREATE VIEW logged_hit AS
SELECT id, vid, sid, at, body FROM hit
UNION ALL
SELECT recent_hit.id, visitor.vid, recent_hit.sid, recent_hit.at, recent_hit.body
FROM visitor
CROSS JOIN json_each('[' || visitor.recent || ']') AS place
CROSS JOIN recent_hit ON recent_hit.id = place.value;
