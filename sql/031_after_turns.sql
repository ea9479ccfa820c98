-- What follows from the end of a turn is a job that reads what happened from the rows, so they say two things more.

-- Its worker was lost, and what it used with it: the usage is an estimate, which no billing provider is told as if it were known.
alter table turns add column usage_lost boolean not null default false;

-- What the session counts for the answer that a turn stopped with: by the time that it goes on, the answer has decisions
-- and results too. Null: nothing of it is in the transcript, or a process of the version before wrote the row.
alter table continuations add column said_bytes bigint;
