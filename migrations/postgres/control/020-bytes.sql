-- A key is what its bytes are. The collation of a database sorts differently after an upgrade of the system's library, and an
-- index that was built before finds nothing then. From here on every text is COLLATE "C", in every table.
ALTER TABLE account
	ALTER COLUMN aid TYPE text COLLATE "C",
	ALTER COLUMN origins TYPE text COLLATE "C",
	ALTER COLUMN database TYPE text COLLATE "C",
	ALTER COLUMN channel_rules TYPE text COLLATE "C",
	ALTER COLUMN import_secret TYPE text COLLATE "C",
	ALTER COLUMN timezone TYPE text COLLATE "C",
	ALTER COLUMN payment_providers TYPE text COLLATE "C",
	ALTER COLUMN renewal_days TYPE text COLLATE "C",
	ALTER COLUMN currency TYPE text COLLATE "C",
	ALTER COLUMN cadences TYPE text COLLATE "C",
	ALTER COLUMN visitor_secret TYPE text COLLATE "C";
ALTER TABLE api_key
	ALTER COLUMN id TYPE text COLLATE "C",
	ALTER COLUMN hash TYPE text COLLATE "C",
	ALTER COLUMN plan TYPE text COLLATE "C",
	ALTER COLUMN scope TYPE text COLLATE "C",
	ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE audit
	ALTER COLUMN who TYPE text COLLATE "C",
	ALTER COLUMN action TYPE text COLLATE "C",
	ALTER COLUMN aid TYPE text COLLATE "C",
	ALTER COLUMN about TYPE text COLLATE "C";
ALTER TABLE client ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE experiment
	ALTER COLUMN name TYPE text COLLATE "C",
	ALTER COLUMN segment TYPE text COLLATE "C",
	ALTER COLUMN rule TYPE text COLLATE "C",
	ALTER COLUMN goal TYPE text COLLATE "C",
	ALTER COLUMN secret TYPE text COLLATE "C";
ALTER TABLE experiment_read ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE goal
	ALTER COLUMN name TYPE text COLLATE "C",
	ALTER COLUMN evts TYPE text COLLATE "C",
	ALTER COLUMN base_rates TYPE text COLLATE "C",
	ALTER COLUMN counts TYPE text COLLATE "C";
ALTER TABLE "grant"
	ALTER COLUMN user_id TYPE text COLLATE "C",
	ALTER COLUMN role TYPE text COLLATE "C";
ALTER TABLE login_link
	ALTER COLUMN hash TYPE text COLLATE "C",
	ALTER COLUMN user_id TYPE text COLLATE "C",
	ALTER COLUMN proves TYPE text COLLATE "C";
ALTER TABLE model
	ALTER COLUMN goal TYPE text COLLATE "C",
	ALTER COLUMN scope TYPE text COLLATE "C",
	ALTER COLUMN version TYPE text COLLATE "C",
	ALTER COLUMN body TYPE text COLLATE "C",
	ALTER COLUMN report TYPE text COLLATE "C",
	ALTER COLUMN levels TYPE text COLLATE "C";
ALTER TABLE named_view
	ALTER COLUMN id TYPE text COLLATE "C",
	ALTER COLUMN user_id TYPE text COLLATE "C",
	ALTER COLUMN name TYPE text COLLATE "C",
	ALTER COLUMN page TYPE text COLLATE "C",
	ALTER COLUMN query TYPE text COLLATE "C";
ALTER TABLE note
	ALTER COLUMN id TYPE text COLLATE "C",
	ALTER COLUMN day TYPE text COLLATE "C",
	ALTER COLUMN text TYPE text COLLATE "C",
	ALTER COLUMN who TYPE text COLLATE "C";
ALTER TABLE plan ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE quota_lease
	ALTER COLUMN server_id TYPE text COLLATE "C",
	ALTER COLUMN key_id TYPE text COLLATE "C",
	ALTER COLUMN month TYPE text COLLATE "C";
ALTER TABLE recovery_code
	ALTER COLUMN hash TYPE text COLLATE "C",
	ALTER COLUMN user_id TYPE text COLLATE "C";
ALTER TABLE revocation ALTER COLUMN subject TYPE text COLLATE "C";
ALTER TABLE segment
	ALTER COLUMN id TYPE text COLLATE "C",
	ALTER COLUMN name TYPE text COLLATE "C",
	ALTER COLUMN rule TYPE text COLLATE "C";
ALTER TABLE server ALTER COLUMN id TYPE text COLLATE "C";
ALTER TABLE session
	ALTER COLUMN hash TYPE text COLLATE "C",
	ALTER COLUMN user_id TYPE text COLLATE "C",
	ALTER COLUMN method TYPE text COLLATE "C",
	ALTER COLUMN agent TYPE text COLLATE "C";
ALTER TABLE signing_key
	ALTER COLUMN kid TYPE text COLLATE "C",
	ALTER COLUMN secret TYPE text COLLATE "C";
ALTER TABLE token_bucket ALTER COLUMN key_id TYPE text COLLATE "C";
ALTER TABLE upload_answer
	ALTER COLUMN aid TYPE text COLLATE "C",
	ALTER COLUMN day TYPE text COLLATE "C",
	ALTER COLUMN cause TYPE text COLLATE "C";
ALTER TABLE upload_problem
	ALTER COLUMN request_id TYPE text COLLATE "C",
	ALTER COLUMN aid TYPE text COLLATE "C",
	ALTER COLUMN key_id TYPE text COLLATE "C",
	ALTER COLUMN cause TYPE text COLLATE "C",
	ALTER COLUMN detail TYPE text COLLATE "C";
ALTER TABLE usage
	ALTER COLUMN key_id TYPE text COLLATE "C",
	ALTER COLUMN month TYPE text COLLATE "C";
ALTER TABLE "user"
	ALTER COLUMN id TYPE text COLLATE "C",
	ALTER COLUMN email TYPE text COLLATE "C",
	ALTER COLUMN password TYPE text COLLATE "C",
	ALTER COLUMN totp_secret TYPE text COLLATE "C",
	ALTER COLUMN issuer TYPE text COLLATE "C",
	ALTER COLUMN subject TYPE text COLLATE "C";
ALTER TABLE webhook
	ALTER COLUMN id TYPE text COLLATE "C",
	ALTER COLUMN url TYPE text COLLATE "C",
	ALTER COLUMN events TYPE text COLLATE "C",
	ALTER COLUMN secret TYPE text COLLATE "C",
	ALTER COLUMN previous_secret TYPE text COLLATE "C",
	ALTER COLUMN disabled_why TYPE text COLLATE "C";
