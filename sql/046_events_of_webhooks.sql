-- The whole event, where a delivery's body says it (`audit.recorded`) and not only its ids: kept here, so that each attempt
-- sends the same, whatever became of the names in it.
alter table webhook_deliveries add column event json;
