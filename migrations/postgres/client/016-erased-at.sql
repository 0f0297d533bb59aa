-- When the erasure was asked for, so that a restored database can be compared with the list of erasures beside it, and how far
-- back it reaches: events that arrived later keep their customer. NULL before this was kept. The mark of an erased customer
-- leads to nobody: its successor is empty.
ALTER TABLE erased ADD COLUMN at bigint;
