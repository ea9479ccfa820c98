import postgres from "postgres";
import { camelCaseColumns, type Sql } from "../src/kernel/database/client.ts";
import { type IdOf, newId } from "../src/kernel/ids.ts";
import { queuedTurnsDefault } from "../src/kernel/limits.ts";
import { insertTurn } from "../src/sessions/accept/insert.ts";
import { listLatest, listSessions } from "../src/sessions/state/store.ts";
import { listTurns } from "../src/sessions/state/turn-list.ts";
import { messagesBefore } from "../src/sessions/transcript/message-page.ts";
import { readUsage } from "../src/usage/store.ts";
import type { Seeded } from "./rows.ts";
import type { Stand } from "./stand.ts";

/** A statement as the service sent it. */
interface Sent {
  readonly text: string;
  readonly parameters: unknown[];
}

/** Prints the plans of the statements that the service's own functions send, as Postgres ran them. */
export async function explainAll(stand: Stand, seeded: Seeded, printLine: (line: string) => void): Promise<void> {
  const sent: Sent[] = [];
  const sql = postgres(stand.databaseUrl, {
    max: 1,
    onnotice: () => {},
    transform: camelCaseColumns,
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    debug: (_connection, text, parameters) => void sent.push({ text, parameters }),
  }) as unknown as Sql;
  // The driver asks for the types it does not know with the first statement of a connection.
  await sql`select 1`;
  const statementOf = async (run: () => Promise<unknown>): Promise<Sent> => {
    sent.length = 0;
    await run();
    const found = sent.findLast(({ text }) => /^\s*(with|select)\b/i.test(text));
    if (found === undefined) throw new Error("Nothing was sent.");
    return found;
  };
  const { tenantId, agentId } = stand;
  const filter = { tenantId, userId: undefined, cursor: undefined, limit: 50 };
  const none = { status: undefined, kind: undefined, agentId: undefined, sessionId: undefined, from: undefined };
  const every = { ...filter, ...none, to: undefined };
  const { rareAgentId } = seeded;
  const today = new Date().toISOString().slice(0, "YYYY-MM-DD".length);
  const monthAgo = new Date(Date.now() - 29 * 86_400_000).toISOString().slice(0, "YYYY-MM-DD".length);
  const question = {
    from: monthAgo,
    to: today,
    agentId: undefined,
    sessionId: undefined,
    userId: undefined,
    limit: 50,
  };
  const accept = (sessionId: IdOf<"session"> | null) =>
    undone(sql, (inner) => insertTurn(inner, newTurn(stand, sessionId)));
  // Of usage by session, the step in which sessions are looked at.
  const asked: Record<string, () => Promise<unknown>> = {
    "sessions, first page": () => listSessions(sql, agentId, filter),
    "sessions of a user": () => listSessions(sql, agentId, { ...filter, userId: "user-7" }),
    latest: () => listLatest(sql, false, filter),
    "latest by agent": () => listLatest(sql, true, filter),
    "messages, long session": () => messagesBefore(sql, seeded.longId, undefined, { limit: 50, inPlace: true }),
    turns: () => listTurns(sql, tenantId, every),
    "turns, failed": () => listTurns(sql, tenantId, { ...every, status: "failed" }),
    "turns of chats": () => listTurns(sql, tenantId, { ...every, kind: "chat" }),
    "turns of an agent": () => listTurns(sql, tenantId, { ...every, agentId }),
    "turns of an agent (few), failed": () =>
      listTurns(sql, tenantId, { ...every, agentId: rareAgentId, status: "failed" }),
    "turns, succeeded, a later page": async () => {
      const asked = { ...every, status: "succeeded" as const };
      const first = await listTurns(sql, tenantId, asked);
      await listTurns(sql, tenantId, { ...asked, cursor: first.nextCursor ?? undefined });
    },
    "turns of a user": () => listTurns(sql, tenantId, { ...every, userId: "user-7" }),
    "turns of a session": () => listTurns(sql, tenantId, { ...every, sessionId: seeded.longId }),
    "usage by day": () => readUsage(sql, tenantId, { ...question, groupBy: "day" }),
    "usage by user": () => readUsage(sql, tenantId, { ...question, groupBy: "user" }),
    "usage by session": () => readUsage(sql, tenantId, { ...question, groupBy: "session" }),
    "accept, new session": () => accept(null),
    "accept, old session": () => accept(seeded.otherId),
  };
  for (const [name, run] of Object.entries(asked)) {
    const { text, parameters } = await statementOf(run);
    printLine(`\n### ${name}\n`);
    await undone(sql, async (inner) => {
      const plan = await inner.unsafe(`explain (analyze, buffers) ${text}`, parameters as never[]);
      for (const row of plan) printLine(`    ${row["QUERY PLAN"]}`);
    });
  }
  await sql.end();
}

/** Runs work in a transaction and takes it back. */
async function undone(sql: Sql, work: (inner: Sql) => Promise<unknown>): Promise<void> {
  const back = new Error("taken back");
  await sql
    .begin(async (inner) => {
      await work(inner as unknown as Sql);
      throw back;
    })
    .catch((error: unknown) => {
      if (error !== back) throw error;
    });
}

function newTurn({ tenantId, agentId }: Stand, sessionId: IdOf<"session"> | null) {
  return {
    turnId: newId("turn"),
    tenantId,
    queuedTurnsMax: queuedTurnsDefault,
    hasBudgets: false,
    isCounted: false,
    agentId,
    sessionId: sessionId ?? newId("session"),
    kind: "session" as const,
    newSession: sessionId === null,
    visible: true,
    pinnedVersion: null,
    trigger: "submit-message" as const,
    input: { id: "m", role: "user" as const, parts: [{ type: "text" as const, text: "Hello" }] },
    assistantMessageId: newId("message"),
    userId: "",
    metadata: {},
    requestId: "req",
    traceparent: null,
    writeBefore: new Date(Date.now() + 60_000),
    responseFormat: null,
    callerOptions: null,
    hasPlatformProvider: false,
    recalled: null,
    agentVersion: null,
    keepSeq: null,
    regenerates: null,
    key: null,
  };
}
