-- What is kept of days does not tell trials from first payments. Days are made again.
DELETE FROM kept_day;
