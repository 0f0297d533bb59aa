-- Days between renewals, by evt: a JSON object. Those of other subscriptions are learned.
ALTER TABLE account ADD COLUMN renewal_days TEXT NOT NULL DEFAULT '{}';
