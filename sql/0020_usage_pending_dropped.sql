-- `usage_unsummed` serves whoever asks for one of the markers, the release before too. By itself, because to drop an
-- index waits for every reader of the table.
drop index usage_pending;
