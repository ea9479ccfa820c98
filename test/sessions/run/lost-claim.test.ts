import { expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import type { IdOf } from "../../../src/kernel/ids.ts";
import { commitOutcome } from "../../../src/sessions/end/commit.ts";
import { claimedWrite } from "../../../src/sessions/run/claimed-write.ts";
import { OutputGate } from "../../../src/sessions/run/output-gate.ts";
import { noteNewLog, writeCheckpoint } from "../../../src/sessions/state/checkpoint.ts";
import type { ClaimedTurn } from "../../../src/sessions/state/claimed-turn.ts";
import { claimKeyOf } from "../../../src/sessions/state/claimed-turn.ts";
import { noteUsage } from "../../../src/sessions/state/spending.ts";
import { requeueTurn } from "../../../src/sessions/state/turn.ts";
import { noUsage, type TurnOutcome } from "../../../src/sessions/state/turn-end.ts";
import { openLink } from "../../faults/link.ts";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import { open, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

/** A turn that runs until the test ends it, and its claim. */
async function running() {
  const body = { message: script("hangAfterChunks=1") };
  const live = await open(h, t, "POST", sessionPath(agentId, null), { body });
  await live.until("text-delta");
  const [turn] = await h.sql<{ id: IdOf<"turn">; tenantId: IdOf<"tenant">; attempt: number; claimedAt: Date }[]>`
    select id, tenant_id, attempt, claimed_at from turns where session_id = ${live.sessionId}`;
  const end = async () => {
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    await live.rest();
  };
  return { turn: turn as ClaimedTurn, sessionId: live.sessionId, end };
}

test("a note that failed in an outage is tried again by the next tool", async () => {
  const { turn, end } = await running();
  const url = new URL(h.databaseUrl);
  await using link = await openLink(Number(url.port));
  url.hostname = "127.0.0.1";
  url.port = String(link.port);
  const sql = openDatabase({ url: url.href, max: 1, applicationName: "parley-test-gate" });
  const gate = new OutputGate(sql, claimKeyOf(turn), { patienceMs: 1_000 });
  link.cut();
  await expect(gate.note()).rejects.toThrow();
  link.heal();
  await eventually(() => gate.note().catch(() => false));
  await sql.end({ timeout: 1 });
  await end();
});

test("a worker that may have lost a turn asks before each tool; one that is surely alive asks once", async () => {
  const { turn, end } = await running();
  const gate = new OutputGate(h.sql, claimKeyOf(turn));
  expect(await gate.note()).toBe(true);
  expect(await gate.note(false)).toBe(true);
  await end();
  expect(await gate.note(true)).toBe(true);
  expect(await gate.note(false)).toBe(false);
  expect(await gate.note(true)).toBe(false);
});

test("what a tool of a lost turn would write is not written", async () => {
  const { turn, sessionId, end } = await running();
  const name = async () => (await h.sql`select metadata from sessions where id = ${sessionId}`)[0]?.metadata;
  const write = (attempt: number, value: string) =>
    claimedWrite(h.sql, { ...turn, attempt })(
      (inner) => inner`update sessions set metadata = ${inner.json({ value })} where id = ${sessionId}`,
    );
  await write(turn.attempt, "ours");
  expect(await name()).toEqual({ value: "ours" });
  await expect(write(turn.attempt - 1, "an earlier attempt's")).rejects.toThrow("belongs to another worker");
  await end();
  await expect(write(turn.attempt, "too late")).rejects.toThrow("belongs to another worker");
  expect(await name()).toEqual({ value: "ours" });
});

test("a claim whose commit a fail-over has lost moves nothing, although the next one has its number", async () => {
  const { turn, sessionId, end } = await running();
  const lost = { ...turn, claimedAt: new Date(turn.claimedAt.getTime() - 1) };
  const row = async () => (await h.sql`select * from turns where id = ${turn.id}`)[0];
  const before = await row();
  const key = claimKeyOf(lost);
  const step = { chunks: [], events: 1, usage: noUsage, record: { steps: [], firstTextAt: null, toolsLeftOut: [] } };
  const counted = { ...key, tenantId: turn.tenantId };
  expect(await new OutputGate(h.sql, key).note()).toBe(false);
  await expect(claimedWrite(h.sql, lost)((inner) => inner`select 1`)).rejects.toThrow("belongs to another worker");
  expect(await requeueTurn(h.sql, key, "drained", { usage: noUsage })).toBe(false);
  expect((await noteUsage(h.sql, { ...counted, modelCalls: 0 }, noUsage)).isGone).toBe(true);
  expect((await writeCheckpoint(h.sql, { ...counted, stepsDone: 0 }, step)).isGone).toBe(true);
  expect(await noteNewLog(h.sql, { ...key, continuationId: null, events: 0 })).toBe(false);
  for (const [status, preview] of [
    ["failed", null],
    ["succeeded", "preview"],
  ] as const) {
    const plain = { sessionId, continuationId: null, keepSeq: null, hasFallbacks: false };
    expect(await commitOutcome(h.sql, { ...lost, ...plain } as ClaimedTurn, outcome(status, preview))).toBe(false);
  }
  expect(await row()).toEqual(before as object);
  expect(await new OutputGate(h.sql, claimKeyOf(turn)).note()).toBe(true);
  await end();
});

function outcome(status: "succeeded" | "failed", preview: string | null): TurnOutcome {
  return {
    status,
    error: null,
    usage: noUsage,
    usageKnown: true,
    messages: [],
    replaced: null,
    preview,
    answer: null,
    relayEvents: 0,
    lastChunk: null,
    continuationId: null,
    approvals: [],
    clientCalls: [],
    record: null,
  };
}
