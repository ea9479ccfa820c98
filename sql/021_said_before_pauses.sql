-- A reader of a continuation that has ended is given the message as it was when the turn stopped to ask. What became
-- of it afterwards, above all of a continuation that failed, does not say where that was.

-- How many parts the message had when the turn stopped to ask; what follows is the continuation's. Null: nobody wrote
-- it down.
alter table continuations add column said_parts integer;
