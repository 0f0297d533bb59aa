-- Turns the names that imported history has for visitors into vids that nobody can guess: 256 random bits, base64url.
-- Made by the account's first import.
ALTER TABLE account ADD COLUMN import_secret TEXT;
