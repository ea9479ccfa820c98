import { expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import type { IdOf } from "../../../src/kernel/ids.ts";
import { claimedWrite } from "../../../src/sessions/run/claimed-write.ts";
import { OutputGate } from "../../../src/sessions/run/output-gate.ts";
import type { ClaimedTurn } from "../../../src/sessions/state/claimed-turn.ts";
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
  const [turn] = await h.sql<{ id: IdOf<"turn">; attempt: number }[]>`
    select id, attempt from turns where session_id = ${live.sessionId}`;
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
  const gate = new OutputGate(sql, turn, { patienceMs: 1_000 });
  link.cut();
  await expect(gate.note()).rejects.toThrow();
  link.heal();
  await eventually(() => gate.note().catch(() => false));
  await sql.end({ timeout: 1 });
  await end();
});

test("a worker that may have lost a turn asks before each tool; one that is surely alive asks once", async () => {
  const { turn, end } = await running();
  const gate = new OutputGate(h.sql, turn);
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
