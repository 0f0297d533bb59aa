-- A segment that some visitors are held out of, to measure what serving it brings.
CREATE TABLE experiment (
	account_id bigint NOT NULL REFERENCES account (id),
	name text NOT NULL,
	segment text NOT NULL,
	rule text NOT NULL, -- of the segment, which cannot change while it runs
	goal text NOT NULL,
	holdout_percent double precision NOT NULL,
	secret text NOT NULL, -- decides who is held out, base64url
	from_at bigint NOT NULL,
	to_at bigint, -- NULL: until it is stopped
	stopped_at bigint,
	created_at bigint NOT NULL,
	seq bigint NOT NULL UNIQUE,
	PRIMARY KEY (account_id, name)
);

-- How many visitors of each group asked for the segment: HyperLogLog's registers.
CREATE TABLE experiment_read (
	account_id bigint NOT NULL,
	name text NOT NULL,
	held_out integer NOT NULL,
	register integer NOT NULL,
	rank integer NOT NULL,
	PRIMARY KEY (account_id, name, held_out, register)
);

-- Whether pages may read which group of an experiment their visitor is in.
ALTER TABLE account ADD COLUMN tells_experiments integer NOT NULL DEFAULT 0;
