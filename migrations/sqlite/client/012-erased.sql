-- Erased visitors, by a keyed hash from which nobody learns their vid. What has led to one, such as the seed of a browser, leads
-- to its successor from then on.
CREATE TABLE erased (
	mark TEXT NOT NULL PRIMARY KEY,
	successor TEXT NOT NULL -- a vid
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_successor ON erased (successor);
