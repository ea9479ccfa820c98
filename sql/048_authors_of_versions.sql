-- Why a version of an agent was made, as its list of versions says it, and who made it, as the console does. Null of versions
-- from before, and of those that the version before makes. Drafts are rows of this table too: their numbers begin at 1,000,000,001, which no version reaches.
alter table agent_versions
  add column change_note text,
  add column actor_type text,
  add column actor_id text;
