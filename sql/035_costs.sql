-- What usage costs, in picodollars: so the price of a token is a whole number. Of rows of before no price is known.

alter table turns add column cost_pico bigint;
-- Whether a price was known of each model call so far.
alter table turns add column cost_complete boolean not null default false;
alter table turns alter column cost_complete set default true;

alter table usage add column cost_pico numeric;
alter table usage add column cost_complete boolean not null default false;

alter table usage_sums add column cost_pico numeric;
alter table usage_sums add column cost_complete boolean not null default false;

alter table usage_user_sums add column cost_pico numeric;
alter table usage_user_sums add column cost_complete boolean not null default false;
