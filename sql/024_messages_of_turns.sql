-- What a turn said is copied into the sessions that branch from it. When the turn is erased it leaves those too, and this
-- finds them: "Which sessions hold messages of this turn?" Turn ids rise with time, so new entries come at the end of the
-- index: an insert takes some 2 microseconds longer.
create index messages_turn on messages (turn_id);
