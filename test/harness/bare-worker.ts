import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { LockConnection } from "../../src/sessions/run/lock-connection.ts";
import { RunningTurns } from "../../src/sessions/run/running-turns.ts";
import { cancelChannel } from "../../src/sessions/state/cancel-request.ts";
import type { Harness } from "./harness.ts";

/** A worker that takes nothing by itself: its lock connection, and the turns that a test has it claim. */
export interface BareWorker {
  readonly connection: LockConnection;
  readonly turns: RunningTurns;
}

/** Starts a worker with so many slots, beside those of other processes. */
export async function startBareWorker(
  { databaseUrl, sql }: Pick<Harness, "databaseUrl" | "sql">,
  { slots, log = createLogger("error") }: { readonly slots: number; readonly log?: ReturnType<typeof createLogger> },
): Promise<BareWorker> {
  const connection: LockConnection = new LockConnection({
    databaseUrl,
    slots,
    log,
    running: () => turns.state,
    onAnnounced: { [cancelChannel]: (turnId) => turns.stop(turnId, "canceled") },
    onListening: () => {},
    onParked: () => {},
    onPaused: () => {},
    onStopped: (turnId, reason) => turns.stop(turnId, reason),
    onDrainAsked: () => {},
  });
  const turns = new RunningTurns({ connection, slots, pool: sql, isPooled: false, log });
  await connection.start();
  return { connection, turns };
}
