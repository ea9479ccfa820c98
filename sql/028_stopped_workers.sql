-- A turn in which the event loop of its worker stands, as another thread of that worker found: whoever ends the worker
-- from outside gives the turn to no other one, which would stand as well.

-- Null again when the loop goes on.
alter table turns add column stopped_worker_at timestamptz;
