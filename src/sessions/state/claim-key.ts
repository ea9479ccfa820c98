import type { AnySql } from "../../kernel/database/client.ts";

/**
 * What tells a claim of a turn from all others. The attempt alone does not: where Postgres fails over and loses the commit of
 * a claim, the next one has the same number, while the worker of the lost one may live on and still write.
 */
export interface ClaimKey {
  readonly turnId: string;
  readonly attempt: number;
  /** When the claim began, to the millisecond. Left out where another process than its worker moves the turn: any claim with that attempt. */
  readonly claimedAt?: Date;
}

/** Returns the condition that a row of `turns` is running by this claim. */
export function runsBy(sql: AnySql, { turnId, attempt, claimedAt }: ClaimKey) {
  return sql`id = ${turnId} and attempt = ${attempt} and status = 'running' and coalesce(claimed_at = ${claimedAt ?? null}::timestamptz, true)`;
}
