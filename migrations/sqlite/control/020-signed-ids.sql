-- What is believed of the cids and tids that hits show, and the secrets that the client's back end signs them with.
ALTER TABLE account ADD COLUMN id_trust TEXT NOT NULL DEFAULT 'trusted';
ALTER TABLE account ADD COLUMN identity_secret TEXT;
ALTER TABLE account ADD COLUMN previous_identity_secret TEXT;
ALTER TABLE account ADD COLUMN previous_identity_until INTEGER;
