-- A claim that came without a right signature, where the account asks for none: up to when nothing proved it, or the largest exact
-- integer where nothing has yet. Null where it was proven from the start, or the account believed everybody.
ALTER TABLE claim ADD COLUMN unproven_until INTEGER;
CREATE INDEX claim_unproven ON claim (vid) WHERE unproven_until IS NOT NULL;

-- Whether the profile leaves out events that were uploaded before an unproven claim joined them: 1, only events that name their
-- visitor; 2, events that follow their subscription, too. Null: none.
ALTER TABLE visitor ADD COLUMN hidden INTEGER;
