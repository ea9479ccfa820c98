import { describe, expect, test } from "bun:test";
import type { IdOf } from "../../src/kernel/ids.ts";
import { endTurnsOf } from "../../src/sessions/cancel/end-all.ts";
import { useService } from "../harness/fixture.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { open, play, script, sessionPath } from "../harness/turns.ts";

const h = await useService({ worker: true });
const still = await useService();
const forms = ["a", "b"] as const;
const hanging = 'text="one two" hangAfterChunks=1';
const asking = 'tool=memory_save args={"text":"a"} ; text="Saved."';

type Fields = Partial<Record<"agentId" | "sessionId" | "userId" | "status", string>>;

const cancel = (t: TestTenant, body: Fields, form: "a" | "b" = "b") =>
  t.call("POST", "/v1/turns/cancel", { body, form });

/** The states of turns by their ids, as the list shows them. */
async function states(t: TestTenant): Promise<Record<string, string>> {
  const { body } = await t.call("GET", "/v1/turns?limit=200");
  return Object.fromEntries(body.data.map(({ id, status }: { id: string; status: string }) => [id, status]));
}

const unfinished = async (t: TestTenant) =>
  Object.values(await states(t)).filter((status) => ["queued", "running", "waiting"].includes(status));

/** Queued turns that nobody has a job for. */
const seedQueued = (of: TestTenant, agent: string, count: number) =>
  still.sql`
    insert into turns (id, tenant_id, agent_id, kind, agent_version, assistant_message_id)
    select ${`turn_${agent.slice(-19)}`} || lpad(n::text, 5, '0'), ${of.id}, ${agent}, 'generate', 1, 'msg_' || n
    from generate_series(1, ${count}) n`;

/** A tenant with a running turn, two in the line behind it, and one that waits for a person. */
async function busyTenant() {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
  const running = await open(h, t, "POST", sessionPath(agentId, null), {
    body: { message: script(hanging), userId: "u-1" },
  });
  await running.until("text-delta");
  const enqueued = [];
  for (const text of ["later", "last"])
    enqueued.push(
      await open(h, t, "POST", sessionPath(agentId, running.sessionId), {
        body: { message: script(`text=${text}`), onBusy: "enqueue" },
      }),
    );
  const waiting = await play(t, agentId, null, { message: script(asking), userId: "u-2" });
  return { t, agentId, running, enqueued, waiting };
}

describe("canceling many turns", () => {
  test.each(forms)("everything of an agent, whatever its state; nothing of the line starts, form %s", async (form) => {
    const { t, agentId, running, enqueued, waiting } = await busyTenant();
    const { status, body } = await cancel(t, { agentId }, form);
    expect([status, body]).toEqual([202, { canceled: 4 }]);
    for (const stream of [running, ...enqueued]) {
      const events = await stream.rest();
      expect(events.at(-2)?.data).toMatchObject({ type: "abort" });
    }
    await eventually(async () => (await unfinished(t)).length === 0);
    const turns = [running, ...enqueued, waiting].map(({ turnId }) => [turnId, "canceled"]);
    expect(await states(t)).toEqual(Object.fromEntries(turns));
    for (const { turnId } of enqueued)
      expect((await t.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ attempts: 0, startedAt: null });
    const session = (await t.call("GET", sessionPath(agentId, running.sessionId))).body;
    expect(session).toMatchObject({ busy: false, queuedTurns: 0, pending: [] });
    expect((await cancel(t, { agentId }, form)).body).toEqual({ canceled: 0 });
  });

  test.each([
    [{ status: "running" }, 1, ["canceled", "queued", "queued", "waiting"]],
    [{ status: "waiting" }, 1, ["running", "queued", "queued", "canceled"]],
    [{ status: "queued" }, 2, ["running", "canceled", "canceled", "waiting"]],
    [{ userId: "u-2" }, 1, ["running", "queued", "queued", "canceled"]],
    [{ userId: "u-1" }, 3, ["canceled", "canceled", "canceled", "waiting"]],
    [{ userId: "u-1", status: "queued" }, 2, ["running", "canceled", "canceled", "waiting"]],
    [{ userId: "u-2", status: "waiting" }, 1, ["running", "queued", "queued", "canceled"]],
    [{ userId: "" }, 0, ["running", "queued", "queued", "waiting"]],
  ] as [Fields, number, string[]][])("only what matches %j", async (fields, canceled, after) => {
    const { t, agentId, running, enqueued, waiting } = await busyTenant();
    expect((await cancel(t, fields)).body).toEqual({ canceled });
    const ids = [running, ...enqueued, waiting].map(({ turnId }) => turnId);
    // Where the running one ends, the first of the line starts.
    const goesOn = fields.status === "running";
    await eventually(async () => {
      const now = await states(t);
      return ids.every((id, place) => now[id] === after[place] || (goesOn && place > 0 && now[id] === "succeeded"));
    });
    await cancel(t, { agentId });
  });

  test("only one session's", async () => {
    const { t, agentId, running, enqueued, waiting } = await busyTenant();
    expect((await cancel(t, { sessionId: waiting.sessionId })).body).toEqual({ canceled: 1 });
    expect((await states(t))[running.turnId]).toBe("running");
    expect((await cancel(t, { sessionId: running.sessionId, agentId })).body).toEqual({ canceled: 3 });
    await Promise.all([running, ...enqueued].map((stream) => stream.rest()));
    await eventually(async () => (await unfinished(t)).length === 0);
  });

  test("more than one step holds: 1,200 queued turns, and no other tenant's", async () => {
    const [t, stranger] = [await still.tenant(), await still.tenant()];
    const agentId = await makeAgent(still, t);
    const theirs = await makeAgent(still, stranger);
    await seedQueued(t, agentId, 1200);
    await seedQueued(stranger, theirs, 3);
    for (const fields of [{ agentId: theirs }, { sessionId: `ss_${"0".repeat(24)}` }])
      expect((await cancel(t, fields)).body).toEqual({ canceled: 0 });
    expect((await cancel(t, { status: "queued" })).body).toEqual({ canceled: 1200 });
    const left = await still.sql`
      select count(*)::int as turns from turns where tenant_id = ${t.id} and cancel_requested_at is null`;
    expect(left[0]?.turns).toBe(0);
    expect(await unfinished(stranger)).toEqual(["queued", "queued", "queued"]);
  });

  test("more than there is time for: what was asked to stop is counted, and the next call asks the rest", async () => {
    const t = await still.tenant();
    await seedQueued(t, await makeAgent(still, t), 1200);
    const once = async () =>
      (await endTurnsOf(still.sql, t.id as IdOf<"tenant">, {}, { endingMsMax: 0, askingMsMax: 0 })).queued;
    expect([await once(), await once(), await once(), await once()]).toEqual([500, 500, 200, 0]);
  });

  test("what a request has no time to end is only asked to stop, and the reaper ends it", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const waiting = await play(t, agentId, null, { message: script(asking) });
    expect(await endTurnsOf(h.sql, t.id as IdOf<"tenant">, {}, { endingMsMax: 0 })).toEqual({
      queued: 0,
      running: 0,
      waiting: 1,
    });
    await eventually(async () => (await states(t))[waiting.turnId] === "canceled");
  });

  test("a turn whose row somebody holds is waited for", async () => {
    const t = await still.tenant();
    const agentId = await makeAgent(still, t);
    const { turnId } = await open(still, t, "POST", `/v1/agents/${agentId}/generate`, {
      body: { messages: [script("text=a")] },
    });
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holder = still.sql.begin(async (sql) => {
      await sql`select 1 from turns where id = ${turnId} for update`;
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const canceling = cancel(t, { agentId });
    await eventually(async () => {
      const rows = await still.sql`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%cancel_requested_at = now()%'`;
      return rows.length > 0;
    });
    release.resolve();
    await holder;
    expect((await canceling).body).toEqual({ canceled: 1 });
    expect(await states(t)).toEqual({ [turnId]: "canceled" });
  });

  test("beside turns that end: what is counted is canceled, and nothing else is", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    for (let round = 0; round < 4; round++) {
      const turns = Array.from({ length: 12 }, (_, n) =>
        play(t, agentId, null, { message: script(`text="one two" firstDelayMs=${n * 4}`) }),
      );
      // Some are there, though they may all have ended by now.
      await eventually(async () => Object.keys(await states(t)).length > 12 * round);
      const many = await Promise.all([
        cancel(t, { agentId }),
        cancel(t, { userId: "" }),
        cancel(t, { status: "running" }),
      ]);
      const ended = await Promise.all(turns);
      await eventually(async () => (await unfinished(t)).length === 0);
      const now = await states(t);
      const canceled = ended.filter(({ turnId }) => now[turnId] === "canceled").length;
      const said = many.map(({ body }) => body.canceled).reduce((a, b) => a + b);
      expect([round, said]).toEqual([round, canceled]);
      for (const { turnId, chunks } of ended)
        expect(chunks.at(-1)?.type).toBe(now[turnId] === "canceled" ? "abort" : "finish");
    }
  });

  test("under an Idempotency-Key the response comes again", async () => {
    const { t, agentId, running, enqueued } = await busyTenant();
    const headers = { "idempotency-key": "once" };
    const once = () => t.call("POST", "/v1/turns/cancel", { body: { agentId }, headers });
    expect((await once()).body).toEqual({ canceled: 4 });
    expect((await once()).body).toEqual({ canceled: 4 });
    await Promise.all([running, ...enqueued].map((stream) => stream.rest()));
  });

  test.each([
    [{}, "at least one field"],
    [{ status: "succeeded" }, "status"],
    [{ status: "enqueued" }, "status"],
    [{ agentId: "ag_1" }, "agentId"],
    [{ sessionId: null }, "sessionId"],
    [{ userId: "u".repeat(257) }, "userId"],
    [{ kind: "chat" }, "kind"],
  ])("400 validation_failed (A: invalid_request): %j, and the field is named", async (body, named) => {
    const t = await still.tenant();
    for (const form of forms) {
      const refused = await cancel(t, body as Fields, form);
      expect(statusAndCode(refused)).toEqual([400, form === "a" ? "invalid_request" : "validation_failed"]);
      expect(refused.body.error.message).toContain(named);
    }
  });
});
