-- No count of a part of tokens is below 0. Validated by the next file, which holds off nobody.

alter table turns add constraint turns_cached_input_tokens_check check (cached_input_tokens >= 0) not valid;
alter table turns add constraint turns_cache_write_tokens_check check (cache_write_tokens >= 0) not valid;
alter table turns add constraint turns_reasoning_tokens_check check (reasoning_tokens >= 0) not valid;
alter table usage add constraint usage_cached_input_tokens_check check (cached_input_tokens >= 0) not valid;
alter table usage add constraint usage_cache_write_tokens_check check (cache_write_tokens >= 0) not valid;
alter table usage add constraint usage_reasoning_tokens_check check (reasoning_tokens >= 0) not valid;
alter table usage_sums add constraint usage_sums_cached_input_tokens_check check (cached_input_tokens >= 0) not valid;
alter table usage_sums add constraint usage_sums_cache_write_tokens_check check (cache_write_tokens >= 0) not valid;
alter table usage_sums add constraint usage_sums_reasoning_tokens_check check (reasoning_tokens >= 0) not valid;
alter table usage_user_sums add constraint usage_user_sums_cached_input_tokens_check check (cached_input_tokens >= 0) not valid;
alter table usage_user_sums add constraint usage_user_sums_cache_write_tokens_check check (cache_write_tokens >= 0) not valid;
alter table usage_user_sums add constraint usage_user_sums_reasoning_tokens_check check (reasoning_tokens >= 0) not valid;
