-- The words by which a memory is found in every script (src/memories/terms.ts). `words` knew words between spaces
-- only, and had to be given whole.

alter table memories
  -- Null until the memory is next searched: processes of the version before write neither column.
  add column terms tsvector,
  -- The `updated_at` of the text that `terms` are of. Where it differs, a process of the version before changed the
  -- text, and the terms are made again.
  add column terms_at timestamptz;
