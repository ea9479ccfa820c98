-- Summaries of the older part of long transcripts (compaction). The transcript itself stays whole.

create table session_summaries (
  session_id text primary key,
  -- The last place of the transcript that the summary stands for.
  upto_seq bigint not null,
  text text not null,
  created_at timestamptz not null default now()
);
