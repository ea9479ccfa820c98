-- `usage_pending` serves whoever asks for `not summed`, the release before too, so a turn's end still pays for one
-- such index. By itself, because to drop an index waits for every reader of the table.
drop index usage_unsummed;
