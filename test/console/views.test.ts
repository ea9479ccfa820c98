import { beforeAll, describe, expect, test } from "bun:test";
import { Overviews, type TurnOverview } from "../../src/console-server/overview.ts";
import { type IdOf, newId } from "../../src/kernel/ids.ts";
import { signInToConsole } from "../harness/console-page.ts";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, agentId } = await useAgent({
  env: { CONSOLE: "1" },
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});
const page = await signInToConsole(h.app, { apiKey: t.token });

/** A turn's row that was accepted so many seconds ago. */
async function insertTurn(tenantId: string, secondsAgo: number, fields: Record<string, unknown> = {}): Promise<void> {
  const accepted = new Date(Date.now() - secondsAgo * 1000);
  const row = {
    id: newId("turn"),
    tenant_id: tenantId,
    agent_id: agentId,
    kind: "session",
    status: "succeeded",
    agent_version: 1,
    assistant_message_id: newId("message"),
    accepted_at: accepted,
    finished_at: accepted,
    ...fields,
  };
  await h.sql`insert into turns ${h.sql(row as never)}`;
}

const after = (secondsAgo: number, ms: number) => new Date(Date.now() - secondsAgo * 1000 + ms);

describe("the overview", () => {
  test("counts the turns of the last hour by minutes", async () => {
    const other = await h.tenant();
    const mine = await signInToConsole(h.app, { apiKey: other.token });
    const tenMinutes = 600;
    for (const ms of [100, 200, 300, 400])
      await insertTurn(other.id, tenMinutes, {
        first_text_at: after(tenMinutes, ms),
        input_tokens: 10,
        output_tokens: 3,
      });
    await insertTurn(other.id, tenMinutes, { status: "failed" });
    await insertTurn(other.id, tenMinutes, { status: "canceled" });
    await insertTurn(other.id, 2 * 3600);
    const queuedAt = after(60, 50_000);
    const inLine = { status: "queued", queued_at: queuedAt, first_text_at: new Date(queuedAt.getTime() + 700) };
    await insertTurn(other.id, 60, inLine);
    const { status, body } = await mine.call("GET", "/overview");
    expect(status).toBe(200);
    const minutes: readonly { at: string; accepted: number; firstTextMsP50: number | null }[] = body.minutes;
    expect(minutes).toHaveLength(60);
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(3_600_000);
    expect(minutes[0]?.at).toBe(body.from);
    const filled = minutes.filter(({ accepted }) => accepted > 0);
    // Nothing keeps the turns of one second within one minute, but the sums hold.
    const sum = (name: string) => filled.reduce((all, minute) => all + Number(minute[name as never]), 0);
    expect(["accepted", "succeeded", "failed", "canceled", "inputTokens", "outputTokens"].map(sum)).toEqual([
      7, 4, 1, 1, 40, 12,
    ]);
    expect(Math.round((filled.at(-1)?.firstTextMsP50 ?? 0) / 100)).toBe(7);
    expect(body.now).toEqual({ queued: 1, running: 0, waiting: 0 });
    expect(minutes.find(({ accepted }) => accepted === 0)).toMatchObject({
      firstTextMsP50: null,
      firstTextMsP95: null,
    });
  });

  test("is read from an index, and by nobody else's turns", async () => {
    const plan = await h.sql.begin(async (inner) => {
      // So few rows are read faster without one.
      await inner`set local enable_seqscan = off`;
      return inner`
        explain select count(*) from turns where tenant_id = ${t.id} and accepted_at >= now() - interval '1 hour'`;
    });
    expect(JSON.stringify(plan)).toContain("turns_accepted");
    const nobody = await h.tenant();
    const theirs = await signInToConsole(h.app, { apiKey: nobody.token });
    const { minutes, now } = (await theirs.call("GET", "/overview")).body;
    expect(minutes.every(({ accepted }: { accepted: number }) => accepted === 0)).toBe(true);
    expect(now).toEqual({ queued: 0, running: 0, waiting: 0 });
  });

  test("is read once for those who ask at the same time, and again after a failure", async () => {
    const overviews = new Overviews();
    const tenantId = newId("tenant") as IdOf<"tenant">;
    let reads = 0;
    const read = async (): Promise<TurnOverview> => {
      reads += 1;
      if (reads === 1) throw new Error("It broke.");
      return { from: new Date(), to: new Date(), minutes: [], now: { queued: 0, running: 0, waiting: 0 } };
    };
    expect(overviews.read(tenantId, read)).rejects.toThrow("It broke.");
    await Promise.resolve();
    await Promise.all(Array.from({ length: 5 }, () => overviews.read(tenantId, read).catch(() => {})));
    await Promise.all(Array.from({ length: 5 }, () => overviews.read(tenantId, read)));
    expect(reads).toBe(2);
  });

  test("takes no field and needs a tenant's session", async () => {
    expect((await page.call("GET", "/overview?from=x")).status).toBe(400);
    expect((await page.call("GET", "/overview", { headers: { cookie: null } })).status).toBe(401);
  });
});

describe("what waits for a person", () => {
  // Not before: it would take the turn that the overview shows as queued.
  beforeAll(async () => void (await h.startWorkers()));

  test("is listed over all sessions, oldest first, with what a decision needs, until it is decided", async () => {
    const locate = { name: "locate", description: "", inputSchema: { type: "object" as const } };
    const caller = await makeAgent(h, t, { name: "Caller", clientTools: [locate] });
    const ask = async (agent: string, script: string) =>
      (await t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(script) } })).headers.get(
        "location",
      ) as string;
    const twice = await ask(
      agentId,
      '[[sim: tool=memory_save args={"text":"one"} tool=memory_save args={"text":"two"} ; text="Done."]]',
    );
    const located = await ask(caller, '[[sim: tool=locate args={"precise":true} ; text="Here."]]');
    const { body } = await page.call("GET", "/waiting");
    expect(body.data).toMatchObject([
      { kind: "approval", agentId, tool: "memory_save", input: { text: "one" }, inputIsLeftOut: false },
      { kind: "approval", agentId, tool: "memory_save", input: { text: "two" } },
      { kind: "client_tool", agentId: caller, agentName: "Caller", tool: "locate", approvalId: null },
    ]);
    const first = (await page.call("GET", "/waiting?limit=2")).body;
    const rest = (await page.call("GET", `/waiting?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.data, ...rest.data]).toEqual(body.data);
    expect(rest.nextCursor).toBeNull();
    expect((await page.call("GET", "/waiting?cursor=x")).body.error.code).toBe("invalid_cursor");

    const [one, two, call] = body.data;
    const ofAgent = (waiting: typeof one) => `/agents/${waiting.agentId}/sessions/${waiting.sessionId}`;
    expect([`/v1${ofAgent(one)}`, `/v1${ofAgent(call)}`]).toEqual([twice, located]);
    const decision = { body: { approved: false, reason: "Not now." } };
    expect((await page.call("POST", `${ofAgent(one)}/tool-approvals/${one.approvalId}`, decision)).status).toBe(202);
    const left = async () =>
      (await page.call("GET", "/waiting")).body.data.map(({ toolCallId }: { toolCallId: string }) => toolCallId);
    expect(await left()).toEqual([two.toolCallId, call.toolCallId]);
    await t.call("POST", `${twice}/cancel`);
    expect(await left()).toEqual([call.toolCallId]);
    const result = { body: { output: { city: "Lisbon" } } };
    expect((await page.call("POST", `${ofAgent(call)}/tool-calls/${call.toolCallId}`, result)).status).toBe(202);
    expect(await left()).toEqual([]);
    const nobody = await h.tenant();
    expect((await (await signInToConsole(h.app, { apiKey: nobody.token })).call("GET", "/waiting")).body.data).toEqual(
      [],
    );
  });

  test("leaves a very long input out", async () => {
    const text = "x".repeat(20_000);
    await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { message: userMessage(`[[sim: tool=memory_save args={"text":"${text}"} ; text="Done."]]`) },
    });
    const [waiting] = (await page.call("GET", "/waiting")).body.data;
    expect([waiting.input, waiting.inputIsLeftOut]).toEqual([null, true]);
  });
});
