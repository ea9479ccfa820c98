-- Budgets: how much a tenant, each of its users or each of its agents may use in a period (`/v1/budgets`).

create table budgets (
  id text primary key,
  tenant_id text not null,
  name text not null,
  -- What it counts; null is all. No foreign keys: a budget outlives its agent, and counts nothing any more.
  agent_id text,
  user_id text,
  -- Whose sums are held against the limit: the tenant's one, or one a user or agent.
  each text not null check (each in ('tenant', 'user', 'agent')),
  period text not null check (period in ('hour', 'day', 'month', 'ever')),
  measure text not null check (measure in ('turns', 'tokens', 'usd')),
  -- Turns, tokens, or picodollars.
  limit_amount numeric not null check (limit_amount >= 0),
  warn_at_percent integer check (warn_at_percent between 1 and 100),
  enabled boolean not null default true,
  -- A change of what is counted, or how, begins a new series of sums.
  series integer not null default 1,
  -- The transaction that began it: statements that do not see that yet book nothing to the series.
  series_xid xid8 not null default pg_current_xact_id(),
  -- Whether the sums of the series hold what was used before it.
  counted boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index budgets_tenant on budgets (tenant_id, created_at, id);

-- What was used, in the budget's measure: of turns what was accepted, of the rest what model calls used. Written by the
-- statements that accept turns, and by those that book usage (`turn.step`, `turn.end` and others).
create table budget_spending (
  budget_id text not null,
  series integer not null,
  -- '-infinity' of a budget for ever.
  period_start timestamptz not null,
  -- Whose it is: each is empty where the budget has no sums by it.
  user_id text not null,
  agent_id text not null,
  used numeric not null default 0,
  -- When webhooks were told.
  warned_at timestamptz,
  reached_at timestamptz,
  primary key (budget_id, series, period_start, user_id, agent_id)
) with (
  -- A row is written with each turn: so its next version finds room on its page.
  fillfactor = 50
);

-- Whether there is a budget: so that turns of a tenant without one ask for none.
alter table tenants add column has_budgets boolean not null default false;
