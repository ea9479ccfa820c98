-- A limit of money as it was sent ("12.50"), so that it is shown so, as own prices are. Null of other measures, and of limits
-- that were set by the version before, which are shown without zeros at the end.
alter table budgets add column limit_usd text;
