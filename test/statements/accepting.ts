import { newId } from "../../src/kernel/ids.ts";
import { queuedTurnsDefault } from "../../src/kernel/limits.ts";
import { insertTaken } from "../../src/sessions/accept/accept-statement.ts";
import { insertTurnTogether } from "../../src/sessions/accept/insert.ts";
import type { NewTurn } from "../../src/sessions/accept/turn-row.ts";
import { everyChoice, type Scene } from "./scene.ts";

/** Statements that start later than this write nothing: so even a new session is not made. */
const past = new Date(0);

export function newTurn(session: "new" | "old" | "none", hasKey: boolean, hasBudgets = false): NewTurn {
  const tenantId = newId("tenant");
  const key = { tenantId, key: newId("request"), requestDigest: Buffer.alloc(32), path: "/" };
  return {
    turnId: newId("turn"),
    tenantId,
    queuedTurnsMax: queuedTurnsDefault,
    isCounted: false,
    hasBudgets,
    agentId: newId("agent"),
    sessionId: session === "none" ? null : newId("session"),
    kind: session === "none" ? "generate" : "session",
    newSession: session === "new",
    visible: true,
    pinnedVersion: null,
    agentVersion: null,
    trigger: "submit-message",
    input: { id: "message", role: "user", parts: [{ type: "text", text: "Hello" }] },
    keepSeq: null,
    regenerates: null,
    assistantMessageId: newId("message"),
    userId: "",
    metadata: {},
    responseFormat: null,
    callerOptions: null,
    requestId: newId("request"),
    traceparent: null,
    writeBefore: past,
    recalled: { key: "00", form: "b" },
    key: hasKey ? key : null,
    hasPlatformProvider: true,
  };
}

const sessions = {
  new: "one turn of a new session",
  old: "one turn of an old session",
  none: "a stateless generation",
};
const choices = everyChoice({
  session: ["new", "old", "none"] as const,
  hasKey: [false, true],
  hasBudgets: [false, true],
});

/** With budgets the text is the same, whatever the turns are. */
const budgetTitle = (session: string, hasKey: boolean, title: string) => (session === "new" && !hasKey ? title : null);

const takenBy = newId("worker");
const takingScenes = (["new", "old", "none"] as const).flatMap((session): Scene[] => [
  {
    title: `${sessions[session]}, taken by a worker of the same process`,
    run: async (sql) => await insertTaken(sql, [newTurn(session, false)], takenBy),
  },
  {
    title: "several turns at once, taken by a worker of the same process",
    run: async (sql) => await insertTaken(sql, [newTurn(session, false), newTurn(session, false)], takenBy),
  },
]);

const queueingScenes = choices.flatMap(({ session, hasKey, hasBudgets }): Scene[] => [
  {
    title: hasBudgets
      ? budgetTitle(session, hasKey, "one turn of a tenant with budgets")
      : hasKey
        ? `${sessions[session]}, with an Idempotency-Key`
        : sessions[session],
    run: (sql) => insertTurnTogether(sql, newTurn(session, hasKey, hasBudgets)),
  },
  {
    title: hasBudgets
      ? budgetTitle(session, hasKey, "several turns at once of tenants with budgets")
      : hasKey
        ? "several turns at once, with Idempotency-Keys"
        : "several turns at once",
    run: (sql) => Promise.all([1, 2, 3].map(() => insertTurnTogether(sql, newTurn(session, hasKey, hasBudgets)))),
  },
]);

/** Every way in which a turn is accepted that starts now. */
export const acceptingScenes: readonly Scene[] = [...queueingScenes, ...takingScenes];
