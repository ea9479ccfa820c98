-- A tenant's own prices of models, as they are shown, and how often they were replaced: 0 where it never had any, so
-- that nobody looks for them.
alter table tenants add column model_prices jsonb;
alter table tenants add column prices_version integer not null default 0;
