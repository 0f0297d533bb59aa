-- Which upload events reach the goal: acquisition, renewal, refund or any. Goals of earlier versions keep their meaning.
ALTER TABLE goal ADD COLUMN counts TEXT NOT NULL DEFAULT 'any';
