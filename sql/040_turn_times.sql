-- How long a turn waited for people, in milliseconds: for approvals, and for results of its caller's tools. Turns of
-- before, and those that a process of the version before continues, have 0.
alter table turns add column waited_ms bigint not null default 0;

-- The beginning of the message that a session began with. Null in sessions of before, and in those that a process of
-- the version before makes: it is read from their messages.
alter table sessions add column first_message_preview text;
