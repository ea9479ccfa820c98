-- A client token may be made without some of what client tokens are good for: a page that a stranger may use need not
-- decide approvals. Forks are the other way round: each costs the tenant space, so a token has to be made for them.

-- Tokens of before, and those that a process of the version before makes, have the default, and so do not fork.
alter table client_tokens add column can text[] not null default '{approvals,clientTools}';
