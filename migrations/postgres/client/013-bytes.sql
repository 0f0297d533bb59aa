-- A key is what its bytes are. The collation of a database sorts differently after an upgrade of the system's library, and an
-- index that was built before finds nothing then. From here on every text is COLLATE "C", in every table.
-- Large accounts have their indexes built beforehand; see src/store/postgres/engine/byte-order.ts.
ALTER TABLE conflict
	ALTER COLUMN request_id TYPE text COLLATE "C",
	ALTER COLUMN tids TYPE text COLLATE "C";
ALTER TABLE evaluation
	ALTER COLUMN holder TYPE text COLLATE "C",
	ALTER COLUMN state TYPE text COLLATE "C";
ALTER TABLE hit
	ALTER COLUMN vid TYPE text COLLATE "C",
	ALTER COLUMN sid TYPE text COLLATE "C",
	ALTER COLUMN body TYPE text COLLATE "C";
ALTER TABLE kept_figure ALTER COLUMN body TYPE text COLLATE "C";
ALTER TABLE outbox
	ALTER COLUMN type TYPE text COLLATE "C",
	ALTER COLUMN vid TYPE text COLLATE "C",
	ALTER COLUMN body TYPE text COLLATE "C",
	ALTER COLUMN problem TYPE text COLLATE "C";
ALTER TABLE served_score ALTER COLUMN band TYPE text COLLATE "C";
ALTER TABLE standing ALTER COLUMN body TYPE text COLLATE "C";
ALTER TABLE subscription_event
	ALTER COLUMN tid TYPE text COLLATE "C",
	ALTER COLUMN subid TYPE text COLLATE "C",
	ALTER COLUMN cid TYPE text COLLATE "C",
	ALTER COLUMN evt TYPE text COLLATE "C",
	ALTER COLUMN vid TYPE text COLLATE "C",
	ALTER COLUMN request_id TYPE text COLLATE "C";
ALTER TABLE task ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE visit
	ALTER COLUMN sid TYPE text COLLATE "C",
	ALTER COLUMN vid TYPE text COLLATE "C",
	ALTER COLUMN profile TYPE text COLLATE "C",
	ALTER COLUMN refolded TYPE text COLLATE "C";
ALTER TABLE visitor
	ALTER COLUMN vid TYPE text COLLATE "C",
	ALTER COLUMN profile TYPE text COLLATE "C",
	ALTER COLUMN refolded TYPE text COLLATE "C";
