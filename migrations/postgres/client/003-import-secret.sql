-- What turns the names that imported history has for its visitors into vids that nobody can guess. At most one row.
CREATE TABLE import_secret (
	id bigint PRIMARY KEY CHECK (id = 1),
	secret text NOT NULL -- 256 random bits, base64url
);
