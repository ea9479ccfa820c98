import type { Sql } from "../../kernel/database/client.ts";
import { eraseInSteps, idsOf, Pace, type SizedId } from "../../kernel/database/pace.ts";
import { idempotencyKeepHours } from "../../kernel/limits.ts";

/**
 * The job `generations.sweep`: empties stateless generations that have ended. A repeat of
 * their Idempotency-Key is all that may still ask for the answer, so they hold it as long
 * as keys are kept; the turns themselves stay, and what they used, without the caller's metadata.
 */
export function sweepGenerations(sql: Sql): Promise<void> {
  return eraseInSteps(
    new Pace(),
    (rows) => sql<SizedId[]>`
      select id, pg_column_size(input) + coalesce(pg_column_size(answer), 0) as bytes from turns
      where session_id is null and input is not null and finished_at < now() - make_interval(hours => ${idempotencyKeepHours})
      limit ${rows}`,
    async (rows) => {
      const ids = idsOf(rows);
      await sql`update usage set metadata = '{}' where turn_id = any(${ids}) and metadata::text <> '{}'`;
      await sql`
        update turns set input = null, answer = null, metadata = '{}', response_format = null, caller_options = null
        where id = any(${ids})`;
    },
  );
}
