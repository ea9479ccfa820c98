import type { Static } from "@sinclair/typebox";
import type { AgentIds } from "../kernel/auth/agent-scope.ts";
import { invalid } from "../kernel/errors.ts";
import { readLimit } from "../kernel/http/page.ts";
import { requireOrder } from "../kernel/http/range.ts";
import { type UsageGroup, type UsageQuery, usageRangeDaysDefault, usageRangeDaysMax } from "./schema.ts";

/** A usage query. A filter left undefined selects everything. */
export interface UsageQuestion {
  /** First and last UTC day, YYYY-MM-DD, both included. */
  readonly from: string;
  readonly to: string;
  readonly agentId: string | undefined;
  /** Left out or null: of all agents. */
  readonly agentIds?: AgentIds;
  /** Empty: stateless turns. */
  readonly sessionId: string | undefined;
  /** Empty: turns without an end user. */
  readonly userId: string | undefined;
  readonly groupBy: UsageGroup;
  /** The most buckets, when grouped by session. */
  readonly limit: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Returns the usage query of a request's fields (`GET /v1/usage`). Throws 400
 * `validation_failed` with the field's name as path; the operation sets the cause.
 */
export function readUsageQuery(query: Static<typeof UsageQuery>, now: Date, agentIds: AgentIds = null): UsageQuestion {
  return {
    ...readRange(query.from, query.to, now),
    agentId: query.agentId,
    agentIds,
    sessionId: query.sessionId,
    userId: query.userId,
    groupBy: query.groupBy ?? "day",
    limit: readLimit(query.limit),
  };
}

function readRange(from: string | undefined, to: string | undefined, now: Date): { from: string; to: string } {
  if (from === undefined && to === undefined) {
    const first = new Date(now.getTime() - (usageRangeDaysDefault - 1) * dayMs);
    return { from: showDay(first), to: showDay(now) };
  }
  if (from === undefined) throw invalid("from", "is required with to");
  if (to === undefined) throw invalid("to", "is required with from");
  const last = readDay("to", to);
  const first = readDay("from", from);
  requireOrder(first, last);
  const days = (last - first) / dayMs + 1;
  if (days > usageRangeDaysMax) throw invalid("to", `must be within ${usageRangeDaysMax} days, from and to included`);
  return { from, to };
}

/** Returns a day's start in milliseconds since 1970. Throws 400 for a day that the calendar, or Postgres, does not have. */
function readDay(path: string, text: string): number {
  const time = Date.parse(`${text}T00:00:00Z`);
  const exists = !Number.isNaN(time) && showDay(new Date(time)) === text && !text.startsWith("0000");
  if (!exists) throw invalid(path, "is not a day of the calendar");
  return time;
}

function showDay(date: Date): string {
  return date.toISOString().slice(0, "YYYY-MM-DD".length);
}
