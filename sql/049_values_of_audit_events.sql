-- What became of the changed fields, as texts: of settings only, never of what somebody wrote, and no secret. Null: nothing is kept of it.
alter table audit_events add column changed_values json;
