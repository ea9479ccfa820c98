-- The tools that a vendor was not offered in a turn, and why: it takes fewer, not such a schema, or it refused a
-- request with them. Null: it was offered all.
alter table turns add column tools_left_out json;
