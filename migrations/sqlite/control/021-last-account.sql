-- The account that a person has opened last in the console.
ALTER TABLE user ADD COLUMN last_aid TEXT;
