-- Derives vids, for example from the seed that a browser has made: 256 random bits. Made with the account, never changed.
ALTER TABLE account ADD COLUMN visitor_secret TEXT NOT NULL DEFAULT '';
UPDATE account SET visitor_secret = lower(hex(randomblob(32)));
