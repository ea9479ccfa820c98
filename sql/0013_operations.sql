-- What operators see and ask for: traces that cross the queue, and workers by name.

-- The W3C trace context of the request that asked for the turn; null when traces are off. In the row and not in
-- the job, which is made anew when a turn is run again or goes on after a decision.
alter table turns add column traceparent text;

alter table workers
  add column host text not null default '',
  add column pid integer,
  -- An operator asked this worker to take nothing new; it reads this with its beat.
  add column drain_requested_at timestamptz;
