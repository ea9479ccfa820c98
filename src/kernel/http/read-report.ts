import type { Ctx } from "../context.ts";
import type { Sql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";

/**
 * Returns a report. From here on the request is not counted as in flight, because reports have
 * another bound. Throws 503 as `Reports.run`.
 */
export function readReport<T>(
  ctx: Ctx,
  request: Request,
  tenantId: IdOf<"tenant">,
  report: (sql: Sql) => Promise<T>,
): Promise<T> {
  ctx.slots.leave(request);
  return ctx.reports.run(tenantId, report);
}
