-- "Which turns failed with this error?"
create index turns_failed on turns (tenant_id, (error ->> 'code'), accepted_at) where status = 'failed';
