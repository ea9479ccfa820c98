-- The tenants with the most tokens of a day are read from the largest sums of that day.

create index usage_sums_of_day on usage_sums (day, (input_tokens + output_tokens) desc);
