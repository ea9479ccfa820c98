-- Prompts of the library (`/v1/prompts`).

create table prompts (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  template text not null,
  user_id text not null default '',
  metadata json not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index prompts_name on prompts (tenant_id, name);
create index prompts_updated on prompts (tenant_id, updated_at desc, id desc);
