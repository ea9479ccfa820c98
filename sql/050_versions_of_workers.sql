-- Which version a worker runs and what memory its process takes, as it says with each beat: during a deploy several run side by side. Null: of a version that does not say.
alter table workers add column version text, add column memory_bytes bigint;
