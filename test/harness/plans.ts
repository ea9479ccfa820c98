import type { Sql } from "../../src/kernel/database/client.ts";

/** A node of a plan as `explain (analyze, format json)` shows it. */
export interface Plan {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

/** A statement as it was sent. */
export interface SentStatement {
  readonly text: string;
  readonly parameters: unknown[];
}

/** Runs a statement again, and returns its plan. */
export async function planOf(sql: Sql, sent: SentStatement | undefined): Promise<Plan> {
  const { text, parameters } = sent as SentStatement;
  const [row] = await sql.unsafe(`explain (analyze, format json) ${text}`, parameters as never[]);
  const [{ Plan: plan }] = (row as unknown as { "QUERY PLAN": [{ Plan: Plan }] })["QUERY PLAN"];
  return plan;
}

/** Returns the most rows of a table that a scan in a plan read. */
export function mostRead(plan: Plan, of: string): number {
  const isScan = plan["Relation Name"] === of;
  const read = (isScan ? 1 : 0) * (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"];
  return Math.max(read, ...(plan.Plans ?? []).map((one) => mostRead(one, of)));
}
