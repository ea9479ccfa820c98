import { createAuthenticator } from "../../src/kernel/auth/authenticator.ts";
import type { Sql, Tx } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { takeReaperLease } from "../../src/kernel/queue/lease.ts";
import { insertIntoLine, type LineTurn } from "../../src/sessions/accept/enqueue.ts";
import { findOrphans } from "../../src/sessions/recover/orphans.ts";
import { writeBeat } from "../../src/sessions/run/beat.ts";
import { claimCounted, claimTurn } from "../../src/sessions/run/claim.ts";
import { requestCancel } from "../../src/sessions/state/cancel-request.ts";
import { readCheckpoints, writeCheckpoint } from "../../src/sessions/state/checkpoint.ts";
import { isSettled, queueContinuation } from "../../src/sessions/state/continuation.ts";
import { firstInLine, ringLostLines, startMove } from "../../src/sessions/state/line.ts";
import { findParked, parkTurns } from "../../src/sessions/state/parked.ts";
import { releaseLock } from "../../src/sessions/state/session-lock.ts";
import { noteUsage } from "../../src/sessions/state/spending.ts";
import { findSession } from "../../src/sessions/state/store.ts";
import { markShown, requeueTurn, resumeTurn, unclaimTurn } from "../../src/sessions/state/turn.ts";
import { noUsage } from "../../src/sessions/state/turn-end.ts";
import { endOfContinuation, endOfTurn, endsOfTurns, lastLogOf, logStates } from "../../src/sessions/state/turn-log.ts";
import { readHistory } from "../../src/sessions/transcript/read-history.ts";
import { noCost, noTokens } from "../../src/usage/tokens.ts";
import { acceptingScenes, newTurn } from "./accepting.ts";
import { endingScenes } from "./ending.ts";
import { everyChoice, type Scene } from "./scene.ts";

const turnId = newId("turn");
const tenantId = newId("tenant");
const sessionId = newId("session");
const workerId = newId("worker");
const continuationId = newId("continuation");
const claim = { turnId, tenantId, attempt: 1 };
const other = {
  ...noTokens,
  ...noCost,
  provider: null,
  providerType: null,
  model: "other",
  inputTokens: 1,
  outputTokens: 1,
  estimated: false,
};
const usages = [
  { title: "", usage: noUsage },
  { title: null, usage: { ...noUsage, others: [other] } },
];
const records = [
  { steps: [], firstTextAt: null, toolsLeftOut: [] },
  { steps: [], firstTextAt: null, toolsLeftOut: [{ tool: "tool", reason: "too long" }] },
];

function scene(title: string | null, run: Scene["run"]): Scene {
  return { title, run };
}

/** In a transaction. */
function inner(title: string | null, run: (inner: Tx) => Promise<unknown>): Scene {
  return { title, run: (sql) => sql.begin((tx) => run(tx)) };
}

const keyScenes = [
  scene("an API key that this process has not seen", (sql) =>
    createAuthenticator(sql, {} as never).authenticate(`Bearer parley_${"0".repeat(40)}`),
  ),
];

const lineTurn: LineTurn = { ...newTurn("old", true), sessionId };
const lineScenes = [
  inner("at the end of the line", (tx) => insertIntoLine(tx, lineTurn, "last")),
  inner("before the line", (tx) => insertIntoLine(tx, lineTurn, "first")),
  inner("the first of the line starts", (tx) =>
    startMove(tx, { turnId, agentVersion: 1, keepSeq: null, isCounted: false }),
  ),
  scene("the job session.next", (sql) => firstInLine(sql, sessionId)),
  scene("recovery", (sql) => ringLostLines(sql, 100)),
];

const asked = { turnId, lockKey: sessionId, tenantId };
const claimScenes = [
  scene("a turn with a job, or several", (sql) =>
    claimTurn({ lockSql: sql, pooled: null }, workerId, { ...asked, way: "job" }),
  ),
  scene("a parked turn", (sql) => claimTurn({ lockSql: sql, pooled: null }, workerId, { ...asked, way: "parked" })),
  scene("a turn over a pooler, whose lock was taken before", (sql) =>
    claimTurn({ lockSql: sql, pooled: sql }, workerId, { ...asked, way: "parked" }),
  ),
  scene("a turn of a tenant with a limit of running turns", (sql) =>
    claimCounted({ lockSql: sql, sql }, workerId, { ...asked, way: "counted" }),
  ),
  scene("the lock of an ended turn's session is released", (sql) => releaseLock(sql, sessionId)),
  scene("turns that may not run yet", (sql) => parkTurns(sql, [turnId])),
  scene("a worker that has room", (sql) => findParked(sql, { afterTenant: "", tenantsMax: 10, turnsMax: 10 })),
  scene("a long transcript, or what follows the one that a worker has cached", (sql) =>
    readHistory(sql, { id: turnId, sessionId, tenantId }),
  ),
];

const causes = { drained: "stops", handed_back: "has lost its hold on it", crashed: "is lost" };
const runScenes = [
  ...[null, 1].map((toolEvents) =>
    scene(toolEvents === null ? "a claim's first chunk" : "tools begin to run", (sql: Sql) =>
      markShown(sql, claim, { firstTextAt: null, toolEvents }),
    ),
  ),
  ...everyChoice({ record: records, usage: usages }).map(({ record, usage: { title, usage } }) =>
    scene(title !== null && record === records[0] ? "a completed step" : null, (sql: Sql) =>
      writeCheckpoint(sql, { ...claim, stepsDone: 0 }, { chunks: [], events: 1, usage, record }),
    ),
  ),
  scene("a claim that goes on after a loss", (sql) => readCheckpoints(sql, turnId)),
  ...usages.map(({ title, usage }) =>
    scene(title === null ? null : "a model call's usage", (sql: Sql) =>
      noteUsage(sql, { ...claim, modelCalls: 0 }, usage),
    ),
  ),
  ...everyChoice({
    cause: ["drained", "handed_back", "crashed"] as const,
    record: [null, ...records],
    usage: usages,
  }).map(({ cause, record, usage: { title, usage } }) =>
    scene(title !== null && record === null ? `its worker ${causes[cause]}` : null, (sql: Sql) =>
      requeueTurn(sql, { turnId, attempt: 1 }, cause, { usage, record }),
    ),
  ),
  scene("a claim whose result was lost", (sql) => unclaimTurn(sql, turnId, workerId)),
];

const pauseScenes = [
  scene("is everything decided", (sql) => isSettled(sql, continuationId)),
  scene("everything is decided", (sql) => queueContinuation(sql, continuationId)),
  scene("everything is decided", (sql) => resumeTurn(sql, turnId, continuationId)),
  inner("a session's turn", (tx) =>
    requestCancel(tx, { session: { sessionId, tenantId, agentId: newId("agent") } }, "nothing"),
  ),
  inner("one turn by its id", (tx) => requestCancel(tx, { turn: { sessionId, turnId } }, "nothing")),
];

const readScenes = [
  scene("a request for a session", (sql) => findSession(sql, tenantId, lineTurn.agentId, sessionId)),
  scene("what a follower follows", (sql) => logStates(sql, [turnId])),
  scene("the newest log of a session's turn", (sql) => lastLogOf(sql, sessionId, turnId)),
  scene("a follower's end", (sql) => endOfTurn(sql, turnId)),
  scene("the ends of several", (sql) => endsOfTurns(sql, [turnId], 1024)),
  scene("the end of a continuation", (sql) => endOfContinuation(sql, continuationId)),
];

const recoverScenes = [
  scene("each second of a worker", (sql) =>
    writeBeat(sql, {
      workerId,
      applicationName: "worker",
      queueNames: [],
      slots: 1,
      hasRoom: true,
      listens: true,
      turnIds: [turnId],
    }),
  ),
  scene("the worker that recovers for all", (sql) => takeReaperLease(sql, workerId)),
  scene("running turns whose lock nobody holds", async (sql) => await findOrphans(sql)),
];

/** The hot statements by name, the scenes in which each is sent, and the most texts that it may have. */
export const hotScenes: readonly Scene[] = [
  ...keyScenes,
  ...acceptingScenes,
  ...lineScenes,
  ...claimScenes,
  ...runScenes,
  ...endingScenes,
  ...pauseScenes,
  ...readScenes,
  ...recoverScenes,
];
