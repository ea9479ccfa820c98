-- The operator's pauses: while one holds, workers begin no turns.

-- Of one tenant, or, where `tenant_id` is null, of the whole installation. Workers read them with their beats.
create table queue_pauses (
  tenant_id text references tenants (id) on delete cascade,
  paused_at timestamptz not null default now(),
  unique nulls not distinct (tenant_id)
);
