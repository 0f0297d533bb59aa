-- Of days and months in reports.
ALTER TABLE account ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';
-- Hosts that sales are paid on, besides the known ones: a JSON array.
ALTER TABLE account ADD COLUMN payment_providers TEXT NOT NULL DEFAULT '[]';
-- What a key is for: upload, or read.
ALTER TABLE api_key ADD COLUMN scope TEXT NOT NULL DEFAULT 'upload';
