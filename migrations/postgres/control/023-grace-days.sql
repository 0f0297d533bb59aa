-- How many days after its due day a renewal is in time, by evt: a JSON object. Of other subscriptions it is by their cadence.
ALTER TABLE account ADD COLUMN grace_days text COLLATE "C" NOT NULL DEFAULT '{}';
