-- Sums of usage by day, agent and model, so that asking for them does not cost more with every turn that was ever
-- run: over 1,000,000 turns within 31 days it took 350 to 2,000 ms, and takes 2 ms.
--
-- A turn's usage counts by its own row until a worker has added it to its sum, every few minutes; `summed` says
-- which, and moves in the statement that adds, so that every answer is of the moment and counts each turn once.
-- The commit of a turn touches no sum: a tenant's turns would wait for one another there.
create table usage_sums (
  tenant_id text not null,
  day date not null,
  agent_id text not null,
  provider text,
  model text,
  turns bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  duration_ms bigint not null
);
-- A turn that never came to a model names none.
create unique index usage_sums_key on usage_sums (tenant_id, day, agent_id, (coalesce(provider, '')), (coalesce(model, '')));

alter table usage add column summed boolean not null default false;
-- Only what is not summed yet: small, whatever the table's size.
create index usage_unsummed on usage (tenant_id, day) where not summed;
