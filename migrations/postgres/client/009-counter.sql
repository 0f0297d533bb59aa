-- On a cluster, where each node has sequences of its own: the last number that was given to a row of any table. One row.
CREATE TABLE counter (last bigint NOT NULL);
INSERT INTO counter (last) SELECT greatest(
	0,
	(SELECT max(id) FROM subscription_event),
	(SELECT max(id) FROM hit),
	(SELECT max(id) FROM visit),
	(SELECT max(id) FROM visitor),
	(SELECT max(id) FROM task),
	(SELECT max(id) FROM conflict)
);
