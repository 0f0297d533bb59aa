-- 1: the hit of the touch, or of the link, was deleted by retention, which keeps what led to subscriptions. It cannot be
-- derived from the log anymore.
ALTER TABLE touch ADD COLUMN kept integer;
ALTER TABLE claim ADD COLUMN kept integer;
CREATE INDEX touch_kept ON touch (at) WHERE kept IS NOT NULL;
CREATE INDEX claim_kept ON claim (at) WHERE kept IS NOT NULL;
