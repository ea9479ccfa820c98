-- What vendors say of the tokens' parts is kept: of the input what was in their caches and what was put into them, of the
-- output what was thought. Rows of before, and those that a process of the version before writes, have none.

alter table turns add column cached_input_tokens bigint not null default 0;
alter table turns add column cache_write_tokens bigint not null default 0;
alter table turns add column reasoning_tokens bigint not null default 0;

alter table usage add column cached_input_tokens bigint not null default 0;
alter table usage add column cache_write_tokens bigint not null default 0;
alter table usage add column reasoning_tokens bigint not null default 0;

alter table usage_sums add column cached_input_tokens bigint not null default 0;
alter table usage_sums add column cache_write_tokens bigint not null default 0;
alter table usage_sums add column reasoning_tokens bigint not null default 0;

alter table usage_user_sums add column cached_input_tokens bigint not null default 0;
alter table usage_user_sums add column cache_write_tokens bigint not null default 0;
alter table usage_user_sums add column reasoning_tokens bigint not null default 0;

-- Whether the sums have a row's parts: a worker of the version before adds the rest alone. Rows of before have none.
alter table usage add column parts_summed boolean not null default true;
alter table usage alter column parts_summed set default false;
-- The rows that such a worker has added: none, once there is none any more.
create index usage_parts_unsummed on usage (tenant_id, day) where summed and not parts_summed;
