-- Only sessions that keep to a version are looked for by it, and few do. Every other one had two entries a turn here, 200 bytes of the log.
drop index sessions_pinned;
create index sessions_pinned on sessions (agent_id, pinned_version) where pinned_version is not null;
