-- What a tenant stores is counted, shown and may be limited.

-- Mebibytes that a tenant may store; null means no limit. What would be stored past it is refused.
alter table tenants add column stored_mib integer check (stored_mib >= 0);
-- What it stored when that was counted last, for lists, and when that was.
alter table tenants add column stored_bytes bigint;
alter table tenants add column stored_at timestamptz;

-- The session's part: its messages, and what its ended turns were asked with. The statement that ends a turn adds to it. In
-- no index, because every turn changes it. Null: not counted yet, as in sessions of before, and so it stays until
-- the recount comes by (`src/sessions/state/session-bytes.ts`).
alter table sessions add column bytes bigint;
alter table sessions alter column bytes set default 0;

-- Where that recount is: it goes round all sessions in the order of their ids.
create table session_recount (
  only_row boolean primary key default true check (only_row),
  after_id text not null
);
insert into session_recount (after_id) values ('');
