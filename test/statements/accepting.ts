import type { Sql } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { queuedTurnsDefault } from "../../src/kernel/limits.ts";
import { insertTurn, type NewTurn, type PlainTurn } from "../../src/sessions/accept/insert.ts";
import { insertPlainTurnTogether } from "../../src/sessions/accept/insert-together.ts";
import { everyChoice, type Scene } from "./scene.ts";

const message = { id: "message", role: "user" as const, parts: [{ type: "text" as const, text: "Hello" }] };
const responseFormat = { type: "json" as const, schema: {} };
/** Statements that start later than this write nothing: so even a new session is not made. */
const past = new Date(0);

/** The ways in which a turn is written whose agent is read in the same statement. */
function plainScenes(): Scene[] {
  const choices = everyChoice({
    newSession: [true, false],
    queuedTurnsMax: [queuedTurnsDefault, null],
    isRecalled: [true, false],
  });
  return choices.flatMap(({ newSession, queuedTurnsMax, isRecalled }) => {
    const usual = queuedTurnsMax !== null && isRecalled;
    const turn = (): PlainTurn => ({
      ...newTurn(newSession),
      queuedTurnsMax,
      recalled: isRecalled ? recalledKey() : null,
      hasPlatformProvider: true,
    });
    return [
      {
        title: usual ? `one turn of ${newSession ? "a new" : "an old"} session` : null,
        run: (sql: Sql) => insertPlainTurnTogether(sql, turn()),
      },
      {
        title: usual ? "several turns at once" : null,
        run: (sql: Sql) => Promise.all([1, 2, 3].map(() => insertPlainTurnTogether(sql, turn()))),
      },
    ];
  });
}

/** The ways in which a turn is written of which all is known. */
function checkedScenes(): Scene[] {
  const kinds = [
    { title: "a stateless generation", newSession: false, sessionId: null, taskRunId: null },
    { title: "a run of a task", newSession: true, sessionId: newId("session"), taskRunId: newId("taskRun") },
    {
      title: "a turn of a new session, checked before",
      newSession: true,
      sessionId: newId("session"),
      taskRunId: null,
    },
    {
      title: "a turn of an old session, checked before",
      newSession: false,
      sessionId: newId("session"),
      taskRunId: null,
    },
  ];
  const choices = everyChoice({
    kind: kinds,
    queuedTurnsMax: [queuedTurnsDefault, null],
    responseFormat: [null, responseFormat],
    callerOptions: [null, { instructions: "Be brief." }],
    keepSeq: [null, 1],
  });
  return choices.map(({ kind: { title, ...kind }, keepSeq, ...rest }) => {
    const isPlain = rest.queuedTurnsMax !== null && rest.responseFormat === null && rest.callerOptions === null;
    const turn: NewTurn = { ...newTurn(kind.newSession), ...kind, ...rest, keepSeq, agentVersion: 1 } as NewTurn;
    return { title: isPlain && keepSeq === null ? title : null, run: (sql) => insertTurn(sql, turn) };
  });
}

function newTurn(newSession: boolean) {
  return {
    turnId: newId("turn"),
    tenantId: newId("tenant"),
    queuedTurnsMax: queuedTurnsDefault,
    isCounted: false,
    agentId: newId("agent"),
    sessionId: newId("session"),
    kind: "session" as const,
    newSession,
    visible: true,
    pinnedVersion: null,
    trigger: "submit-message" as const,
    input: message,
    assistantMessageId: newId("message"),
    userId: "",
    metadata: {},
    requestId: newId("request"),
    traceparent: null,
    writeBefore: past,
    responseFormat: null,
    callerOptions: null,
  };
}

function recalledKey() {
  return { key: "00", form: "B" } as unknown as NonNullable<PlainTurn["recalled"]>;
}

/** Every way in which a turn is accepted that starts now. */
export const acceptingScenes: readonly Scene[] = [...plainScenes(), ...checkedScenes()];
