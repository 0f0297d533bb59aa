-- JSON: what is served of a goal where there is no model, by how lately somebody was there. NULL: not counted yet.
ALTER TABLE goal ADD COLUMN base_rates TEXT;
-- JSON: how the level of a model has followed what came, see `level-following.ts`. NULL: it is as it was trained.
ALTER TABLE model ADD COLUMN levels TEXT;
