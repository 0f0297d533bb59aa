-- Erased visitors, by a keyed hash from which nobody learns their vid. What has led to one, such as the seed of a browser, leads
-- to its successor from then on.
CREATE TABLE erased (
	mark text COLLATE "C" NOT NULL PRIMARY KEY,
	successor text COLLATE "C" NOT NULL -- a vid
);
CREATE INDEX erased_successor ON erased (successor);
