import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { eventually, type Harness } from "../harness/harness.ts";
import { chunksOf, userMessage } from "../harness/seed.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});

const asks = '[[sim: tool=memory_save args={"text":"one"} tool=memory_save args={"text":"two"} ]]';

/** A session that waits for a person; returns its path. */
async function ask(script = asks): Promise<string> {
  const first = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage(script) } });
  return first.headers.get("location") ?? "";
}

const approvalsOf = async (path: string) => (await t.call("GET", `${path}/tool-approvals`)).body;
const age = (path: string, hours: number) =>
  h.sql`
    update approvals set created_at = created_at - make_interval(hours => ${hours})
    where session_id = ${path.split("/").at(-1) as string}`;

/** Runs the sweep now, and waits for its end. */
async function sweep({ sql }: Harness): Promise<void> {
  const [job] = await sql`select id from graphile_worker.add_job('pauses.sweep', max_attempts => 1)`;
  await eventually(
    async () => (await sql`select 1 from graphile_worker._private_jobs where id = ${job?.id}`).length === 0,
  );
}

const system = { type: "system", id: "parley" };

describe("a pause that nobody ends", () => {
  test("expires after 168 hours: the calls are denied as expired, the model is told, the session is free", async () => {
    const path = await ask();
    await age(path, 168);
    await sweep(h);
    const { continuation } = await approvalsOf(path);
    h.model.clear();
    const joined = await t.call("GET", `${path}/tool-approval-continuations/${continuation.id}`);
    expect(chunksOf(joined.body).at(-1)?.type).toBe("finish");
    const after = await approvalsOf(path);
    expect(after.continuation.status).toBe("succeeded");
    expect(after.approvals).toEqual([
      expect.objectContaining({
        status: "denied",
        reason: "expired",
        decidedBy: system,
        decidedAt: expect.any(String),
      }),
      expect.objectContaining({
        status: "denied",
        reason: "expired",
        decidedBy: system,
        decidedAt: expect.any(String),
      }),
    ]);
    const { body } = await t.call("GET", `${path}/messages`);
    const calls = body.data[1].parts.filter((part: { toolCallId?: string }) => part.toolCallId !== undefined);
    expect(calls.map(({ state, approval }: { state: string; approval: object }) => [state, approval])).toEqual([
      ["output-denied", expect.objectContaining({ approved: false, reason: "expired" })],
      ["output-denied", expect.objectContaining({ approved: false, reason: "expired" })],
    ]);
    expect((await t.call("GET", `/v1/agents/${agentId}/memories`)).body.data).toEqual([]);
    const [{ id }] = after.approvals;
    const audited = (await t.call("GET", `/v1/audit-events?resourceId=${id}`)).body.data;
    expect(audited).toEqual([
      expect.objectContaining({
        action: "approval.expire",
        actor: system,
        requestId: null,
        changes: ["status", "reason"],
      }),
    ]);
    const decided = await t.call("POST", `${path}/tool-approvals/${after.approvals[0].id}`, {
      body: { approved: true },
    });
    expect([decided.status, decided.body.error.code]).toEqual([409, "approval_decided"]);
    const next = await t.call("POST", path, { body: { message: userMessage("say hi"), stream: false } });
    expect(next.status).toBe(200);
  });

  test("a younger one stays, and what was decided of an older one stays decided", async () => {
    const young = await ask();
    const old = await ask();
    await age(young, 167);
    await age(old, 169);
    const [first] = (await approvalsOf(old)).approvals;
    await t.call("POST", `${old}/tool-approvals/${first.id}`, { body: { approved: true } });
    await sweep(h);
    const waiting = await approvalsOf(young);
    expect([waiting.continuation.status, waiting.approvals[0].status]).toEqual(["waiting", "pending"]);
    await eventually(async () => (await approvalsOf(old)).continuation.status === "succeeded");
    const { approvals } = await approvalsOf(old);
    expect(approvals.map(({ status, reason }: { status: string; reason: string }) => [status, reason])).toEqual([
      ["approved", null],
      ["denied", "expired"],
    ]);
  });

  test("the tenant's own hours hold, also for what waits already", async () => {
    const path = await ask();
    await age(path, 2);
    await sweep(h);
    expect((await approvalsOf(path)).continuation.status).toBe("waiting");
    await h.sql`update tenants set pause_hours = 2 where id = ${t.id}`;
    await sweep(h);
    await eventually(async () => (await approvalsOf(path)).continuation.status === "succeeded");
    await h.sql`update tenants set pause_hours = default where id = ${t.id}`;
  });

  test("a turn that is asked to stop is not woken", async () => {
    const path = await ask();
    await age(path, 1_000);
    const id = path.split("/").at(-1) as string;
    await h.sql`update turns set cancel_requested_at = now() where session_id = ${id} and status = 'waiting'`;
    await sweep(h);
    await eventually(async () => (await approvalsOf(path)).continuation.status === "failed");
    const [turn] = await h.sql`select status from turns where session_id = ${id}`;
    expect(turn?.status).toBe("canceled");
  });
});

describe("a decision at the moment of the expiry", () => {
  test("one of the two wins, and the response says which", async () => {
    const paths = await Promise.all(
      Array.from({ length: 20 }, () => ask('[[sim: tool=memory_save args={"text":"raced"} ]]')),
    );
    const waiting = await Promise.all(paths.map(approvalsOf));
    await Promise.all(paths.map((path) => age(path, 200)));
    const sweeping = sweep(h);
    const decisions = await Promise.all(
      paths.map((path, n) =>
        t.call("POST", `${path}/tool-approvals/${waiting[n].approvals[0].id}`, { body: { approved: true } }),
      ),
    );
    await sweeping;
    for (const [n, path] of paths.entries()) {
      await eventually(async () => (await approvalsOf(path)).continuation.status === "succeeded");
      const [approval] = (await approvalsOf(path)).approvals;
      const { status } = decisions[n] as { status: number };
      expect([approval.status, approval.reason, approval.decidedBy.type]).toEqual(
        status === 202 ? ["approved", null, "api_key"] : ["denied", "expired", "system"],
      );
      expect([202, 409]).toContain(status);
    }
  });
});
