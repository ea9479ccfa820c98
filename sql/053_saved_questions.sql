-- Questions that a team asks an agent again and again, a list of texts. They belong to the agent and to no version of it.
alter table agents add column saved_questions json not null default '[]';
