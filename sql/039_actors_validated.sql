-- The events that are there are held against the constraint of the file before, which holds off nobody.

alter table audit_events validate constraint audit_events_actor_type_check;
