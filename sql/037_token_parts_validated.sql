-- The rows that are there are held against the constraints of the file before.

alter table turns validate constraint turns_cached_input_tokens_check;
alter table turns validate constraint turns_cache_write_tokens_check;
alter table turns validate constraint turns_reasoning_tokens_check;
alter table usage validate constraint usage_cached_input_tokens_check;
alter table usage validate constraint usage_cache_write_tokens_check;
alter table usage validate constraint usage_reasoning_tokens_check;
alter table usage_sums validate constraint usage_sums_cached_input_tokens_check;
alter table usage_sums validate constraint usage_sums_cache_write_tokens_check;
alter table usage_sums validate constraint usage_sums_reasoning_tokens_check;
alter table usage_user_sums validate constraint usage_user_sums_cached_input_tokens_check;
alter table usage_user_sums validate constraint usage_user_sums_cache_write_tokens_check;
alter table usage_user_sums validate constraint usage_user_sums_reasoning_tokens_check;
