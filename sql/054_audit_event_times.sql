-- When an event was written down, which is behind the locks that its change waited for: by the time at which its transaction
-- began, changes of one thing that were asked for at once stood in another order than they were made in.
alter table audit_events alter column at set default clock_timestamp();
