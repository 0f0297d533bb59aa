-- When the first hit of a visit was, of which retention has deleted hits and kept the touches: the first hit that is left has not
-- arrived. NULL of all others.
ALTER TABLE visit ADD COLUMN began bigint;
