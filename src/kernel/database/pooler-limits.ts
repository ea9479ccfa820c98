import { databaseWaitMs } from "../limits.ts";
import type { ServerClock } from "./server-clock.ts";

/**
 * In milliseconds. The server ends a statement a little before the client stops waiting
 * for it, so that a request which got a 503 does not commit later.
 */
export const statementTimeoutMs = databaseWaitMs - 2_000;
/** Over a pooler nothing begins to be committed so shortly before its caller stops waiting. */
const commitMs = 500;

/** Settings of a transaction beside its limits of time. */
export type TransactionSettings = Readonly<Record<string, string>>;

/**
 * Returns a statement that limits those behind it in the same transaction: to `statementTimeoutMs`, and to the time that is
 * left until `untilMs` (by `performance.now()`), when their caller stops waiting. Where none is left it fails, and with
 * it the transaction: a pooler may have kept it for long. It returns the server's time first.
 */
export function limitStatement(clock: ServerClock, untilMs: number, settings: TransactionSettings = {}): string {
  const until = clock.at(untilMs - commitMs);
  // A negative limit is refused by Postgres, and 0 would be none: so it is odd.
  const left = until === null ? "" : `, 2 * floor((${Math.floor(until)} - now_ms) / 2) + 1`;
  const others = Object.entries(settings).map(([name, value]) => `, set_config('${name}', '${value}', true)`);
  return `select /* pooler.limit */ now_ms, set_config('statement_timeout', least(${statementTimeoutMs}${left})::text, true)${others.join("")} from (select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms) clock`;
}

/** Postgres' code for such a limit in the past. */
export const limitPassedState = "22023";

/** Returns the same as statements behind a `begin`, as texts. */
export function beginSettings(settings: TransactionSettings = {}): string[] {
  const all = {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: databaseWaitMs,
    ...settings,
  };
  return Object.entries(all).map(([name, value]) => `set local ${name} = ${value}`);
}
