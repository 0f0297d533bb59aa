-- How often subscriptions are paid, learned from a sample: a JSON object, null until then.
ALTER TABLE account ADD COLUMN cadences text;
