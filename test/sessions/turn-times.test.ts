import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { open, play, script, sessionPath } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const read = async (turnId: string) => (await t.call("GET", `/v1/turns/${turnId}`)).body;
const saving = { message: script('tool=memory_save args={"text":"a"} ; text="Saved."') };
const careful = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });

/** As if a turn had stopped to ask so long ago. */
async function backdate(turnId: string, seconds: number): Promise<void> {
  await h.sql`update continuations set created_at = created_at - make_interval(secs => ${seconds}) where turn_id = ${turnId}`;
}

async function approve(sessionId: string): Promise<void> {
  const path = sessionPath(careful, sessionId, "/tool-approvals");
  for (const { id } of (await t.call("GET", path)).body.approvals)
    await t.call("POST", `${path}/${id}`, { body: { approved: true } });
}

describe("a turn's times", () => {
  test("one that asks nobody has run, and has not waited", async () => {
    const { turnId } = await play(t, agentId, null, { message: script("text=hi delayMs=20") });
    const { runMs, waitedMs } = await read(turnId);
    expect([waitedMs, runMs > 0]).toEqual([0, true]);
  });

  test("what a person takes to decide is waited for, and not run, over all the times that it asks", async () => {
    const message = script('tool=memory_save args={"text":"a"} ; tool=memory_save args={"text":"b"} ; text="Saved."');
    const { turnId, sessionId } = await play(t, careful, null, { message });
    await backdate(turnId, 3_000);
    const waiting = await read(turnId);
    expect(waiting).toMatchObject({ status: "waiting" });
    expect(Math.floor(waiting.waitedMs / 1_000_000)).toBe(3);
    await approve(sessionId);
    await eventually(
      async () => (await t.call("GET", sessionPath(careful, sessionId, "/tool-approvals"))).body.approvals.length > 0,
    );
    await eventually(async () => (await read(turnId)).status === "waiting");
    await backdate(turnId, 2_000);
    await approve(sessionId);
    await eventually(async () => (await read(turnId)).status === "succeeded");
    const { waitedMs, runMs } = await read(turnId);
    // The second wait's start was moved, and with it that of the first, which is over.
    expect(Math.floor(waitedMs / 1_000_000)).toBe(5);
    expect(runMs).toBeLessThan(1_000_000);
  });

  test("one that is canceled while it waits has waited until then", async () => {
    const { turnId, sessionId } = await play(t, careful, null, saving);
    await backdate(turnId, 4_000);
    await t.call("POST", sessionPath(careful, sessionId, "/cancel"));
    const { status, waitedMs } = await read(turnId);
    expect([status, Math.floor(waitedMs / 1_000_000)]).toEqual(["canceled", 4]);
  });

  test("one that runs has run until now, and is in the list of the longest", async () => {
    const stream = await open(h, t, "POST", sessionPath(agentId, null), {
      body: { message: script('text="one two" hangAfterChunks=1') },
    });
    await stream.until("text-delta");
    await h.sql`update turns set claimed_at = claimed_at - interval '5000 seconds' where id = ${stream.turnId}`;
    const [first] = (await t.call("GET", "/v1/turns?sort=longest&limit=1")).body.data;
    expect([first.id, Math.floor(first.runMs / 1_000_000)]).toEqual([stream.turnId, 5]);
    await stream.leave();
  });
});
