-- The tables of the hand-written baseline. One table holds the events of all accounts.

CREATE TABLE api_key (
	hash text PRIMARY KEY, -- SHA-256, hex
	client_id bigint NOT NULL
);

CREATE TABLE account (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	aid text NOT NULL UNIQUE,
	client_id bigint NOT NULL
);

CREATE TABLE subscription_event (
	account_id bigint NOT NULL,
	tid text NOT NULL,
	subid text NOT NULL,
	cid text,
	evt text NOT NULL,
	rvn bigint NOT NULL,
	received_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (account_id, tid)
);
