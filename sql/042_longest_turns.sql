-- "Which turns of a day ran longest?": each day by UTC has its own. When a turn was accepted comes last, so that the
-- part of a day is found without reading its turns.
create index turns_longest on turns (tenant_id, ((accepted_at at time zone 'UTC')::date), run_ms, id, accepted_at)
  where status in ('waiting', 'succeeded', 'failed', 'canceled');
