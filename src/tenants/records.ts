import { sweepSums } from "../budgets/settle.ts";
import type { Sql } from "../kernel/database/client.ts";
import { eraseRowsMax } from "../kernel/database/pace.ts";
import { eraseDeadJobs } from "../kernel/queue/stored-jobs.ts";

/** The count of a day's turns is needed until the day is over, in UTC; some days more show what was. */
const quotaDaysKept = 7;
/** A dead letter that was neither retried nor discarded is deleted after this many days. */
const deadJobsDaysKept = 90;

/** The job `records.sweep`: deletes counts of quotas and sums of budgets whose time is over, and old dead letters, in batches. */
export async function sweepRecords(sql: Sql): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from turn_quota_days where (tenant_id, day) in (
        select tenant_id, day from turn_quota_days where day < (now() at time zone 'UTC')::date - ${quotaDaysKept}::int
        limit ${eraseRowsMax})`;
    if (count < eraseRowsMax) break;
  }
  await sweepSums(sql);
  while ((await eraseDeadJobs(sql, deadJobsDaysKept, eraseRowsMax)) === eraseRowsMax);
}
