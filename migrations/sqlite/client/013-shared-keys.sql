-- Keys that too many share to be a person's: a tid (`t:…`), a cid (`c:…`) or a subid (`s:…`). They join nobody, so no visitor has
-- a claim to them. What is in here stays.
CREATE TABLE shared_key (
	key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
