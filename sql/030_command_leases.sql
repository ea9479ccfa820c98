-- Real programs of one workspace do not overlap, over all processes.

-- Which command runs in the workspace, and until when it is believed to, by this clock; null where none does.
alter table workspaces add column command_lease text;
alter table workspaces add column command_lease_ends_at timestamptz;
