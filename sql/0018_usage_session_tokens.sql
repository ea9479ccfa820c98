-- What each session ever used: the most that a range of days can have of it. The largest sessions of a range are
-- found among those that used most, and not by adding up every session: of 5,000,000 turns of 1,000,000 sessions
-- that took longer than a statement may.
create table usage_session_tokens (
  tenant_id text not null,
  session_id text not null,
  tokens bigint not null,
  primary key (tenant_id, session_id)
);
create index usage_session_tokens_most on usage_session_tokens (tenant_id, tokens desc, session_id);

-- True for the rows that are there: the next migration adds them up. False for all that come. A marker of its own,
-- because a worker of the release before goes on to set the other two alone.
alter table usage add column session_summed boolean not null default true;
alter table usage alter column session_summed set default false;
