-- People: the members of a tenant, whom the console signs in by OpenID Connect, and what groups of the identity provider
-- may do in a tenant (docs/roles.md).

create table members (
  id text primary key,
  tenant_id text not null,
  -- As it was given, and as it is compared: without case.
  email text not null,
  email_key text not null,
  -- What the identity provider calls the person; null before the first sign-in.
  name text,
  -- Null: in the tenant by a group only.
  role text check (role in ('reader', 'approver', 'runner', 'editor', 'admin')),
  -- The person's groups, as the provider said at the last sign-in.
  groups text[] not null default '{}',
  -- Until then the role waits for the first sign-in; null once that was.
  invited_until timestamptz,
  signed_in_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index members_email on members (tenant_id, email_key);
-- The tenants of a person.
create index members_person on members (email_key);
create index members_newest on members (tenant_id, created_at desc, id desc);

-- The role that a group of the identity provider has in a tenant.
create table tenant_groups (
  tenant_id text not null,
  name text not null,
  role text not null check (role in ('reader', 'approver', 'runner', 'editor', 'admin')),
  primary key (tenant_id, name)
);
-- The tenants of a group.
create index tenant_groups_name on tenant_groups (name);

-- A person's session: of whom, and of which member in the tenant that was chosen (`tenant_id`; null: none), or whether the
-- person has chosen to be an operator. The first two are null where somebody signed in with a key or a token.
alter table console_sessions
  add column email_key text,
  add column member_id text,
  add column as_operator boolean not null default false;
create index console_sessions_person on console_sessions (email_key, created_at) where email_key is not null;

-- States of sign-ins that came back from the identity provider: each is good once.
create table console_sign_ins (
  state_digest bytea primary key,
  expires_at timestamptz not null
);
create index console_sign_ins_expired on console_sign_ins (expires_at);

-- The member who made it; it ends with him. Null: a key or a token made it.
alter table client_tokens add column member_id text;

-- Members do things. The file after this one holds the events that there are against it.
alter table audit_events drop constraint audit_events_actor_type_check;
alter table audit_events add constraint audit_events_actor_type_check
  check (actor_type in ('api_key', 'member', 'dashboard_user', 'operator', 'chat_user', 'system')) not valid;
