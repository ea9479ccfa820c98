-- When the relay loses a turn log together with the worker of its turn, the next claim begins the log anew, with other
-- events under the same numbers. Readers that come back with a number of the lost log are told apart by the names of
-- the events, so whoever reads a log has to know how its events are called.

-- An earlier log of the turn, or of the continuation, was lost: the events of the one that `log_attempt` began have
-- names of their own.
alter table turns add column log_after_loss boolean not null default false;
alter table continuations add column log_after_loss boolean not null default false;
