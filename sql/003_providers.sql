-- Model providers of tenants, with their keys (`/v1/providers`).

create table providers (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  provider_type text not null,
  base_url text,
  sealed_key bytea not null,
  -- What lists show of the key.
  key_fragment text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index providers_name on providers (tenant_id, name);
create index providers_updated on providers (tenant_id, updated_at desc, id desc);
