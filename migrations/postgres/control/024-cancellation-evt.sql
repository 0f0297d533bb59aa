-- An event of no pence with this evt cancels its subscription; NULL where the account names none.
ALTER TABLE account ADD COLUMN cancellation_evt text COLLATE "C";
