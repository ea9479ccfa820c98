import { turnAttemptsMax, turnCrashesMax } from "../../src/kernel/limits.ts";
import { checkClientTools } from "./check-client-tools.ts";
import { checkKept } from "./check-kept.ts";
import { checkLine } from "./check-line.ts";
import { checkLogs } from "./check-logs.ts";
import { checkTools } from "./check-tools.ts";
import { checkTranscripts } from "./check-transcripts.ts";
import type { Entry, History } from "./record.ts";
import type { Remains, TurnRecord } from "./rows.ts";

/** Compares what clients were sent, under the faults that `told` names, with what is stored. Returns each contradiction in words. */
export async function check(history: History, remains: Remains, told: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  const ops = new Map<string, Entry[]>();
  for (const entry of history.entries) ops.set(entry.op, [...(ops.get(entry.op) ?? []), entry]);
  const turns = new Map(remains.turns.map((turn) => [turn.id, turn]));
  faults.push(...checkTurns(remains.turns), ...remains.turns.flatMap((turn) => checkAsked(turn, ops)));
  faults.push(...checkOneOfEach(remains.turns));
  for (const entry of history.entries) {
    faults.push(...checkResponse(entry, { turns, remains, sent: ops.get(entry.op)?.length ?? 0 }));
  }
  faults.push(...checkDeletions(history, remains));
  faults.push(...checkTools(history, remains));
  faults.push(...checkLine(history, remains), ...checkKept(history, remains));
  faults.push(...checkClientTools(history, remains));
  faults.push(...checkUsage(remains));
  const redisTroubled = told.some((fault) => fault.includes("Redis"));
  faults.push(...checkLogs(history, remains, redisTroubled));
  faults.push(...(await checkTranscripts(history, remains)));
  return faults;
}

/** Each turn has ended, once, is metered once, and ran again once at most when its worker died; a session has one at a time. */
export function checkTurns(turns: readonly TurnRecord[]): string[] {
  return [...turns.flatMap(checkEnded), ...checkOneAtATime(turns), ...checkCrashes(turns), ...checkLost(turns)];
}

function checkEnded(turn: TurnRecord): string[] {
  const faults: string[] = [];
  if (!["succeeded", "failed", "canceled"].includes(turn.status))
    faults.push(`${turn.id} is ${turn.status} at the end`);
  if (turn.usageRows !== 1) faults.push(`${turn.id} (${turn.status}) has ${turn.usageRows} usage rows`);
  return faults;
}

/** Somebody asked for a turn, and it is what was asked for. */
function checkAsked(turn: TurnRecord, ops: ReadonlyMap<string, Entry[]>): string[] {
  const faults: string[] = [];
  if (turn.op === null || !ops.has(turn.op)) faults.push(`${turn.id}: nobody asked for it (${turn.op})`);
  if (turn.cancelRequested && turn.status === "succeeded") faults.push(`${turn.id} was cancelled and has succeeded`);
  return faults;
}

/** An operation is one turn, however often it was sent. */
function checkOneOfEach(turns: readonly TurnRecord[]): string[] {
  const byOp = Map.groupBy(turns, ({ op }) => op);
  return [...byOp].flatMap(([op, all]) =>
    all.length === 1 ? [] : [`${op} is ${all.length} turns: ${all.map(({ id }) => id).join(", ")}`],
  );
}

/** A turn whose worker died was run again once at most. */
function checkCrashes(turns: readonly TurnRecord[]): string[] {
  return turns.flatMap(({ id, crashes }) =>
    crashes > turnCrashesMax ? [`${id} was run again after ${crashes} deaths of its worker`] : [],
  );
}

/** A turn that is past its first step fails by the loss of its workers only once it has tried its step as often as it may. */
function checkLost(turns: readonly TurnRecord[]): string[] {
  return turns.flatMap(({ id, status, error, stepsDone, crashes, attempt, attemptsBefore }) => {
    const lost = status === "failed" && error?.code === "service_unavailable" && error.message.includes("worker");
    if (!lost || stepsDone === 0 || crashes >= turnCrashesMax) return [];
    const tries = attempt - attemptsBefore;
    return tries >= turnAttemptsMax
      ? []
      : [`${id} was lost after ${stepsDone} steps, at try ${tries}: ${error.message}`];
  });
}

/** Of a session, no turn was claimed before the one before had ended. */
function checkOneAtATime(turns: readonly TurnRecord[]): string[] {
  const bySession = Map.groupBy(
    turns.filter(({ sessionId, claimedAt }) => sessionId !== null && claimedAt !== null),
    ({ sessionId }) => sessionId,
  );
  return [...bySession.values()].flatMap((ran) => {
    const ordered = ran.toSorted((left, right) => Number(left.claimedAt) - Number(right.claimedAt));
    return ordered.flatMap((turn, index) => {
      const next = ordered[index + 1];
      if (next === undefined || Number(next.claimedAt) >= Number(turn.finishedAt)) return [];
      return [`${turn.sessionId}: ${next.id} was claimed before ${turn.id} had ended`];
    });
  });
}

/** Statuses that each kind of request may get, whatever goes on. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // A regeneration may have cut the answer away before it was read.
  turn: [
    "200",
    "201",
    "404 not_found",
    "404 message_not_found",
    "409 session_busy",
    "409 turn_canceled",
    "502 provider_error",
  ],
  regenerate: [
    "200",
    "404 not_found",
    "404 message_not_found",
    "409 session_busy",
    "409 turn_canceled",
    "502 provider_error",
  ],
  generate: ["200", "502 provider_error"],
  join: ["200", "204", "404 not_found"],
  resume: ["200", "204", "404 not_found"],
  continue: ["200", "404 not_found", "409 session_busy"],
  cancel: ["202", "404 not_found", "409 session_idle"],
  read: ["200", "404 not_found"],
  approvals: ["200", "404 not_found"],
  decide: ["202", "404 not_found", "409 approval_decided"],
  delete: ["204", "404 not_found", "409 session_busy"],
  calls: ["200", "404 not_found"],
  answer: ["202", "404 not_found", "409 tool_call_settled"],
  // The message that waits may be another one by now, or none; as JSON it is how the continuation ends.
  "round trip": [
    "200",
    "202",
    "400 validation_failed",
    "404 not_found",
    "404 message_not_found",
    "409 session_busy",
    "409 turn_canceled",
    "502 provider_error",
  ],
  fork: ["201", "404 not_found", "404 message_not_found"],
};

interface Known {
  readonly turns: ReadonlyMap<string, TurnRecord>;
  readonly remains: Remains;
  /** How often this operation was sent. */
  readonly sent: number;
}

/** The response to one request agrees with what became of its turn. */
function checkResponse(entry: Entry, { turns, remains, sent }: Known): string[] {
  const { kind, status, code, turnId, op } = entry;
  if (status === null) return [];
  const said = `${entry.id} (${kind}, ${status}${code === null ? "" : ` ${code}`})`;
  const words = `${status}${code === null ? "" : ` ${code}`}`;
  if (words !== "503 service_unavailable" && !allowed[kind]?.includes(words))
    return [`${said}: no expected response: ${JSON.stringify(entry.body)}`];
  const turn = turnId === null ? null : (turns.get(turnId) ?? null);
  if (turnId !== null && turn === null) return [`${said}: there is no ${turnId}`];
  if (words === "409 session_busy" && entry.onBusy !== "reject" && ["turn", "regenerate"].includes(kind))
    return [`${said}: turned away, and it was to ${entry.onBusy}`];
  if (kind === "round trip" && status === 400 && entry.body.error.details.issues[0]?.path !== "/message/id")
    return [`${said}: ${JSON.stringify(entry.body)}`];
  if (kind === "cancel" && status === 202 && !(entry.body.canceled > 0))
    return [`${said}: canceled ${JSON.stringify(entry.body)}`];
  if (kind === "decide" && status === 202) {
    const { id, status: decided } = entry.body.approval;
    const kept = remains.approvals.find((approval) => approval.id === id)?.status;
    return kept === decided ? [] : [`${said}: ${id} was ${decided} and is ${kept}`];
  }
  if (!["turn", "regenerate", "generate"].includes(kind)) return [];
  // Refused: nothing is there, unless the same operation was sent another time.
  const written = remains.turns.find((known) => known.op === op);
  if (turnId === null && status >= 400 && written !== undefined && sent === 1)
    return [`${said}: refused, and ${written.id} is there`];
  if (status < 300 && turn === null) return [`${said}: accepted, and names no turn`];
  if (turn === null || entry.reading !== null) return [];
  // Whatever became of it, it may be erased before the response reads it.
  if (status === 404 && remains.sessions.some(({ id, deleted }) => id === turn.sessionId && deleted)) return [];
  const expected = {
    200: "succeeded",
    201: "succeeded",
    404: "succeeded",
    502: "failed",
    409: "canceled",
    503: "failed",
  }[status];
  // What waited in a line may be refused when it starts.
  if (turn.status === "failed" && turn.error?.code === code) return [];
  // A turn that stops to ask responds with what it said so far.
  const asked = status < 300 && turn.continuationId !== null;
  return turn.status === expected || asked ? [] : [`${said}: ${turn.id} is ${turn.status}`];
}

/** After a confirmed deletion nothing is left. */
function checkDeletions({ entries }: History, { sessions }: Remains): string[] {
  const kept = new Map(sessions.map((session) => [session.id, session]));
  return entries.flatMap(({ kind, status, sessionId, endedAt }) => {
    if (kind !== "delete" || status !== 204) return [];
    const late = entries.filter(
      (entry) => entry.sessionId === sessionId && entry.startedAt > Number(endedAt) && (entry.status ?? 500) < 300,
    );
    const there = kept.get(sessionId ?? "")?.deleted === false ? [`${sessionId} was deleted and is there`] : [];
    return [...there, ...late.map((entry) => `${entry.id}: ${entry.kind} ${entry.status} of a deleted session`)];
  });
}

function checkUsage({ turns, strayUsage, requestCount }: Remains): string[] {
  const faults = strayUsage === 0 ? [] : [`${strayUsage} usage rows of no turn`];
  if (requestCount !== turns.length) faults.push(`GET /v1/usage counts ${requestCount} turns of ${turns.length}`);
  return faults;
}
