-- The account that a person has opened last in the console.
ALTER TABLE "user" ADD COLUMN last_aid text COLLATE "C";

-- Where people reach the console of a server, for the links that commands print; NULL where it has none.
ALTER TABLE server ADD COLUMN console_url text COLLATE "C";
