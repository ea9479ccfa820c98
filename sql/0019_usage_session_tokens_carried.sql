-- Adds up by session what was there before, as `0016_usage_user_sums_carried.sql` did by user, and for the same
-- reason in a migration of its own. Stateless turns have no session.
set local work_mem = '256MB';
insert into usage_session_tokens (tenant_id, session_id, tokens)
select tenant_id, session_id, sum(input_tokens + output_tokens)
from usage where session_summed and session_id <> '' group by 1, 2;

-- What some sum lacks: small, whatever the table's size. Last, because the ends of turns wait for it.
create index usage_unsummed on usage (tenant_id, day) where not summed or not user_summed or not session_summed;
analyze usage (summed, user_summed, session_summed);
