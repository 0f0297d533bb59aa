-- What is believed of the cids and tids that hits show, and the secrets that the client's back end signs them with.
ALTER TABLE account
	ADD COLUMN id_trust text COLLATE "C" NOT NULL DEFAULT 'trusted',
	ADD COLUMN identity_secret text COLLATE "C",
	ADD COLUMN previous_identity_secret text COLLATE "C",
	ADD COLUMN previous_identity_until bigint;
