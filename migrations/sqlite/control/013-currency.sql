-- What amounts of money are shown in, as an ISO 4217 code. They are stored in its minor unit.
ALTER TABLE account ADD COLUMN currency TEXT NOT NULL DEFAULT 'GBP';
