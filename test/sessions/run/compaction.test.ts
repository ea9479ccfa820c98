import { describe, expect, test } from "bun:test";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";

// An unknown model has a window of 128,000 tokens; this reserve leaves 300 for the prompt.
const { h, t, agentId } = await useAgent({ worker: true, agent: { compactionReserveTokens: 127_700 } });

const long = "lorem ".repeat(100);

async function start(text: string, agent = agentId): Promise<string> {
  const response = await t.call("POST", `/v1/agents/${agent}/sessions`, {
    body: { message: userMessage(text), stream: false },
  });
  expect(response.status).toBe(201);
  return response.headers.get("location") ?? "";
}

const resume = (path: string, body: Record<string, unknown>) =>
  t.call("POST", path, { body: { stream: false, ...body } });
const promptOf = (index: number) => JSON.stringify(h.model.requests().at(index)?.body);

describe("compaction", () => {
  test("summarises the older part when the prompt and the reserve exceed the window; the transcript stays whole", async () => {
    const path = await start(`alpha ${long}`);
    await resume(path, { message: userMessage(`beta ${long}`) });
    h.model.clear();
    expect((await resume(path, { message: userMessage(`gamma ${long}`) })).status).toBe(200);
    const requests = h.model.requests();
    expect(requests).toHaveLength(2);
    expect(promptOf(0)).toContain("Summarise the conversation");
    expect(promptOf(0)).toContain("alpha");
    expect(promptOf(1)).toContain("Summary of the earlier part");
    const { messages } = (requests[1] as (typeof requests)[number]).body as { messages: { role: string }[] };
    const sent = messages.filter(({ role }) => role !== "system");
    expect(sent).toHaveLength(1);
    expect(JSON.stringify(sent)).toContain("gamma");
    expect((await t.call("GET", `${path}/messages`)).body.data).toHaveLength(6);
    const usage = (await t.call("GET", `/v1/usage?sessionId=${path.split("/").at(-1)}&groupBy=session`)).body;
    expect(usage.totals.requestCount).toBe(3);
    const [turn] = await h.sql`select model_calls, input_tokens from turns order by id desc limit 1`;
    expect(turn?.modelCalls).toBe(2);
  });

  test("a summary is used until it is outgrown, and dropped when a regeneration cuts before it", async () => {
    const path = await start(`alpha ${long}`);
    await resume(path, { message: userMessage(`beta ${long}`) });
    h.model.clear();
    await resume(path, { message: userMessage("short") });
    expect(h.model.requests()).toHaveLength(1);
    const [summary] =
      await h.sql`select upto_seq from session_summaries where session_id = ${path.split("/").at(-1) ?? ""}`;
    expect(summary?.uptoSeq).toBe(2);
    const first = (await t.call("GET", `${path}/messages`)).body.data[0];
    h.model.clear();
    expect((await resume(path, { trigger: "regenerate-message", messageId: first.id })).status).toBe(200);
    expect(promptOf(-1)).not.toContain("Summary of the earlier part");
    const left = await h.sql`select 1 from session_summaries where session_id = ${path.split("/").at(-1) ?? ""}`;
    expect(left).toHaveLength(0);
  });

  test("a failing summary never blocks the session", async () => {
    const failing = "[[sim: fail=500]]";
    const path = await start(`[[sim: text=${JSON.stringify(`${long} ${failing}`)} ]]`);
    h.model.clear();
    const response = await resume(path, { message: userMessage(`hello ${long}`) });
    expect(response.status).toBe(200);
    expect(h.model.requests().length).toBeGreaterThan(1);
    expect(promptOf(-1)).toContain("left out");
    expect(
      await h.sql`select 1 from session_summaries where session_id = ${path.split("/").at(-1) ?? ""}`,
    ).toHaveLength(0);
  });

  test("a turn that is cancelled while it summarises ends as cancelled", async () => {
    await using model = holdModel(h.model);
    const provider = await makeProvider(h, t, { baseUrl: model.url });
    const held = await makeAgent(h, t, { providerId: provider.id, compactionReserveTokens: 127_700 });
    const path = await start(`alpha ${long}`, held);
    // The summary is asked for with what was said before, so its response is held back.
    await h.sql`
      update messages set content = replace(content::text, 'alpha', ${`alpha ${heldMark}`})::json
      where session_id = ${path.split("/").at(-1) ?? ""} and role = 'user'`;
    h.model.clear();
    const response = resume(path, { message: userMessage(`beta ${long}`) });
    await eventually(() => h.model.requests().length === 1);
    expect(promptOf(0)).toContain("Summarise the conversation");
    expect((await t.call("POST", `${path}/cancel`)).status).toBe(202);
    const { status, body } = await response;
    expect([status, body.error.code]).toEqual([409, "turn_canceled"]);
    expect((await t.call("GET", `${path}/messages`)).body.data).toHaveLength(2);
    model.release();
    expect((await resume(path, { message: userMessage("gamma") })).status).toBe(200);
  });

  test("autoCompaction false sends everything", async () => {
    const whole = await makeAgent(h, t, { compactionReserveTokens: 127_700, autoCompaction: false });
    const path = await start(`alpha ${long}`, whole);
    h.model.clear();
    await resume(path, { message: userMessage(`beta ${long}`) });
    expect(h.model.requests()).toHaveLength(1);
    expect(promptOf(0)).toContain("alpha");
  });
});
