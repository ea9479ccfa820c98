-- Sums of usage by end user too. In a table of its own: over 1,000,000 turns of 10,000 users within 28 days it holds
-- 286,000 rows where `usage_sums` holds 28, and by day they would take 140 to 200 ms instead of 1.
--
-- Agent, provider and model are in the key so that a user's usage can be asked for by each of them.
create table usage_user_sums (
  tenant_id text not null,
  day date not null,
  user_id text not null,
  agent_id text not null,
  provider text,
  model text,
  turns bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  duration_ms bigint not null
);
create unique index usage_user_sums_key
  on usage_user_sums (tenant_id, day, user_id, agent_id, (coalesce(provider, '')), (coalesce(model, '')));

-- True for the rows that are there: the next migration adds them up. False for all that come. A marker of its own,
-- because a worker of the release before goes on to set `summed` alone. Neither statement looks at the rows.
alter table usage add column user_summed boolean not null default true;
alter table usage alter column user_summed set default false;
