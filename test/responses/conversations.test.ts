import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { eventsOf } from "./protocol.ts";

const { h, t } = await useTenant({ worker: true });
const agentId = await makeAgent(h, t);
const locate = { type: "function", name: "locate", parameters: { type: "object" } };

const ask = (body: object, headers: Record<string, string> = {}) =>
  t.call("POST", "/v1/responses", { body: { model: agentId, ...body }, headers });
const post = async (body: object) => {
  const { status, body: response } = await ask(body);
  expect([status, status === 200 ? null : response]).toEqual([200, null]);
  return response;
};
const read = (id: string) => t.call("GET", `/v1/responses/${id}`);
const say = (text: string) => `[[sim: text=${JSON.stringify(text)}]]`;
/** The roles and texts that the model was told last. */
const told = () => {
  const { messages = [] } = (h.model.requests().at(-1)?.body ?? {}) as {
    messages?: { role: string; content: unknown }[];
  };
  return messages.map(
    ({ role, content }) => `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`,
  );
};
const sessionOf = async ({ id }: { id: string }): Promise<string> => {
  const [turn] = await h.sql`select session_id from turns where id = ${id.replace("resp_", "turn_")}`;
  return turn?.sessionId;
};
const refused = async (body: object) => {
  const { status, body: response } = await ask(body);
  return [status, response.error?.param];
};

describe("a response that goes on", () => {
  test("from the last of its session stays in it; from an earlier one it begins a session with what came before", async () => {
    const first = await post({ input: say("one") });
    const second = await post({ previous_response_id: first.id, input: say("two") });
    const branch = await post({ previous_response_id: first.id, input: say("three") });
    expect(await sessionOf(second)).toBe(await sessionOf(first));
    expect(await sessionOf(branch)).not.toBe(await sessionOf(first));
    const all = told().join("\n");
    expect(all).toContain(say("one").slice(2, -2));
    expect(all).not.toContain("two");
    expect((await post({ previous_response_id: second.id, input: say("four") })).status).toBe("completed");
  });

  test("from an earlier one is accepted while the session is busy", async () => {
    const first = await post({ input: say("one") });
    const hanging = await post({
      previous_response_id: first.id,
      input: '[[sim: text="Hm." hangAfterChunks=1]]',
      background: true,
    });
    expect((await post({ previous_response_id: first.id, input: say("two") })).status).toBe("completed");
    const { status, body } = await ask({ previous_response_id: hanging.id, input: "More." });
    expect([status, body.error.code]).toEqual([409, "session_busy"]);
    await t.call("POST", `/v1/responses/${hanging.id}/cancel`);
  });

  test("has a conversation of its input before the question", async () => {
    const first = await post({ input: say("one") });
    const second = await post({
      previous_response_id: first.id,
      input: [
        { role: "user", content: "Aside." },
        { role: "assistant", content: "Noted." },
        { role: "user", content: say("two") },
      ],
    });
    expect(
      told()
        .filter((line) => !line.startsWith("system"))
        .map((line) => line.split(":")[0]),
    ).toEqual(["user", "assistant", "user", "assistant", "user"]);
    const session = await sessionOf(second);
    const { body } = await t.call("GET", `/v1/agents/${agentId}/sessions/${session}/messages`);
    expect(body.data.length).toBe(6);
    // The beginning is no part of the turn: it stays where that is deleted, and goes with the session.
    const third = await post({ previous_response_id: second.id, input: say("three") });
    expect((await t.call("DELETE", `/v1/responses/${second.id}`)).body).toMatchObject({ deleted: true });
    const left = await t.call("GET", `/v1/agents/${agentId}/sessions/${session}/messages`);
    expect(left.body.data.length).toBe(6);
    expect(JSON.stringify(left.body.data.map(({ parts }: { parts: unknown }) => parts))).not.toContain("two");
    await t.call("DELETE", `/v1/responses/${third.id}`);
    expect((await t.call("GET", `/v1/agents/${agentId}/sessions/${session}`)).status).toBe(404);
  });

  test("keeps the system's messages and not the instructions", async () => {
    const system = { role: "developer", content: "Speak as a pirate." };
    const first = await post({ input: [system, { role: "user", content: say("one") }], instructions: "Be brief." });
    expect(told()[0]).toContain("Be brief.");
    await post({ previous_response_id: first.id, input: say("two") });
    expect(told()[0]).toContain("Speak as a pirate.");
    expect(told()[0]).not.toContain("Be brief.");
  });

  test("is refused where it names what it cannot go on from", async () => {
    const first = await post({ input: say("one"), user: "ada" });
    const other = await makeAgent(h, t);
    const from = { previous_response_id: first.id, input: "More." };
    expect(await refused({ ...from, model: other })).toEqual([400, "previous_response_id"]);
    expect(await refused({ ...from, user: "bob" })).toEqual([400, "user"]);
    expect(await refused({ ...from, store: false })).toEqual([400, "previous_response_id"]);
    const failed = await post({ input: "[[sim: fail=401]]" });
    expect(failed).toMatchObject({ status: "failed", error: { code: "provider_error", type: "model_error" } });
    expect(await refused({ ...from, previous_response_id: failed.id })).toEqual([400, "previous_response_id"]);
    const stranger = await h.tenant();
    const theirs = await makeAgent(h, stranger);
    const foreign = await stranger.call("POST", "/v1/responses", { body: { ...from, model: theirs } });
    const missing = await stranger.call("POST", "/v1/responses", {
      body: { ...from, model: theirs, previous_response_id: `resp_${"0".repeat(24)}` },
    });
    expect([foreign.status, foreign.body.error.message]).toEqual([404, missing.body.error.message]);
    const item = { ...first.output[0], role: "assistant" };
    // An item of somebody else's is one like any other.
    const known = await stranger.call("POST", "/v1/responses", {
      body: { model: theirs, input: [item, { role: "user", content: say("two") }] },
    });
    expect(known.body).toMatchObject({ status: "completed", previous_response_id: null });
    const referred = await stranger.call("POST", "/v1/responses", {
      body: {
        model: theirs,
        input: [
          { type: "item_reference", id: item.id },
          { role: "user", content: "Hi." },
        ],
      },
    });
    expect([referred.status, referred.body.error.param]).toEqual([400, "input[0].id"]);
  });
});

describe("a function's output", () => {
  const question = '[[sim: tool=locate args={} tool=locate args={} ; text="Both."]]';

  test("is needed of each call, once", async () => {
    const asked = await post({ input: question, tools: [locate] });
    const [one, two] = asked.output.map((call: { call_id: string }) => ({
      type: "function_call_output",
      call_id: call.call_id,
      output: "Lisbon",
    }));
    const from = { previous_response_id: asked.id };
    expect(await refused({ ...from, input: [one] })).toEqual([400, "input"]);
    expect(await refused({ ...from, input: [one, two, { ...one, call_id: "call_x" }] })).toEqual([
      400,
      "input[2].call_id",
    ]);
    expect(await refused({ ...from, input: [one, one] })).toEqual([400, "input[1].call_id"]);
    expect(await refused({ ...from, input: [one, two, { role: "user", content: "And?" }] })).toEqual([400, "input"]);
    expect(await refused({ ...from, input: "And?" })).toEqual([409, null]);
    const done = await post({ ...from, input: [one, two] });
    expect(done.output_text ?? done.output[0].content[0].text).toBe("Both.");
    expect(done.tools).toEqual([]);
    expect((await ask({ ...from, input: [one, two] })).body.error.code).toBe("tool_call_settled");
  });

  test("is sent again under its Idempotency-Key, and gives the same response", async () => {
    const asked = await post({ input: '[[sim: tool=locate args={} ; text="Here."]]', tools: [locate] });
    const input = [{ type: "function_call_output", call_id: asked.output[0].call_id, output: "Lisbon" }];
    const send = () => ask({ previous_response_id: asked.id, input }, { "idempotency-key": `k-${asked.id}` });
    const [first, again] = [await send(), await send()];
    expect(again.body).toEqual(first.body);
    expect(first.body.status).toBe("completed");
  });

  test("may come after several rounds of the same turn", async () => {
    const script = '[[sim: text="1. " tool=locate args={} ; text="2. " tool=locate args={} ; text="3."]]';
    const texts: unknown[] = [];
    let response = await post({ input: script, tools: [locate] });
    const ids = [response.id];
    for (; response.output.at(-1).type === "function_call"; ids.push(response.id)) {
      texts.push(response.output[0].content[0].text);
      const { call_id } = response.output.at(-1);
      const input = [{ type: "function_call_output", call_id, output: "Lisbon" }];
      response = await post({ previous_response_id: response.id, input });
    }
    texts.push(response.output[0].content[0].text);
    expect(texts).toEqual(["1. ", "2. ", "3."]);
    const all = await Promise.all(ids.map(async (id) => (await read(id)).body));
    expect(all.map(({ output }) => output[0].content[0].text)).toEqual(texts);
    expect(all.map((one) => one.previous_response_id)).toEqual([null, ids[0], ids[1]]);
    const tokens = all.reduce((sum, { usage }) => sum + usage.total_tokens, 0);
    const turn = await t.call("GET", `/v1/turns/${ids[0].replace("resp_", "turn_")}`);
    expect(tokens).toBe(turn.body.inputTokens + turn.body.outputTokens);
  });

  test("is not needed where the turn is cancelled, or deleted", async () => {
    const asked = await post({ input: question, tools: [locate] });
    expect((await t.call("POST", `/v1/responses/${asked.id}/cancel`)).body).toMatchObject({ status: "cancelled" });
    const other = await post({ input: question, tools: [locate] });
    expect((await t.call("DELETE", `/v1/responses/${other.id}`)).status).toBe(200);
    expect((await read(other.id)).status).toBe(404);
  });
});

describe("a response that is not stored", () => {
  test("cannot be read, cancelled, deleted or gone on from", async () => {
    const done = await post({ input: say("one"), store: false });
    expect(done).toMatchObject({ status: "completed", store: false });
    expect((await read(done.id)).status).toBe(404);
    expect((await t.call("POST", `/v1/responses/${done.id}/cancel`)).status).toBe(404);
    expect((await t.call("DELETE", `/v1/responses/${done.id}`)).status).toBe(404);
    expect((await ask({ previous_response_id: done.id, input: "More." })).status).toBe(404);
  });

  test("may call a function, whose output comes with all that went before", async () => {
    const input: object[] = [{ role: "user", content: '[[sim: tool=locate args={} ; text="Here."]]' }];
    const { body } = await ask({ input, tools: [locate], store: false, stream: true });
    const { response } = eventsOf(body).at(-2)?.data ?? {};
    expect(response.output).toMatchObject([{ type: "function_call", name: "locate" }]);
    input.push(...response.output, {
      type: "function_call_output",
      call_id: response.output[0].call_id,
      output: "Lisbon",
    });
    const done = await post({ input, tools: [locate], store: false });
    expect(done.output[0].content[0].text).toBe("Here.");
    expect(told().join("\n")).toContain("Lisbon");
  });
});

test("a request is sent again under its Idempotency-Key, and joins its turn", async () => {
  const send = (fields: object = {}) => ask({ input: say("one"), ...fields }, { "idempotency-key": "a-key" });
  const [first, again] = await Promise.all([send(), send()]);
  expect(again.body).toEqual(first.body);
  expect((await send({ input: "Else." })).body.error.code).toBe("idempotency_key_reused");
});

test("a stream of a turn that is cancelled ends as incomplete, and says so", async () => {
  const begun = await post({ input: '[[sim: text="One two." hangAfterChunks=1]]', background: true });
  await eventually(async () => (await read(begun.id)).body.status === "in_progress");
  const key = { "idempotency-key": "stream" };
  const body = { input: '[[sim: text="One two." hangAfterChunks=1]]', stream: true };
  const streaming = ask(body, key);
  const id = await eventually(async () => {
    const [turn] = await h.sql`
      select id from turns where agent_id = ${agentId} and status = 'running' and id <> ${begun.id.replace("resp_", "turn_")}`;
    return turn?.id?.replace("turn_", "resp_") as string | undefined;
  });
  await t.call("POST", `/v1/responses/${id}/cancel`);
  await t.call("POST", `/v1/responses/${begun.id}/cancel`);
  const last = eventsOf((await streaming).body).at(-2);
  expect([last?.name, last?.data.response.status]).toEqual(["response.incomplete", "cancelled"]);
});

describe("a deleted response", () => {
  const holding = async (secret: string) => {
    const rows = await h.sql<{ id: string }[]>`
      select session_id as id from messages where content::text like ${`%${secret}%`}
      union select session_id from session_summaries where text like ${`%${secret}%`}
      union select id from sessions where last_message_preview like ${`%${secret}%`}`;
    return rows.map(({ id }) => id);
  };

  test("leaves what branched from it, and from that, and forks, which go on", async () => {
    const secret = `heron-${crypto.randomUUID()}`;
    const first = await post({ input: say(secret) });
    await post({ previous_response_id: first.id, input: say("second") });
    const branch = await post({ previous_response_id: first.id, input: say("third") });
    const fork = await t.call("POST", `/v1/agents/${agentId}/sessions/${await sessionOf(branch)}/fork`, { body: {} });
    const through = await h.sql`select id from messages where session_id = ${fork.body.id} order by seq limit 2`;
    const cut = await t.call("POST", `/v1/agents/${agentId}/sessions/${fork.body.id}/fork`, {
      body: { throughMessageId: through[1]?.id },
    });
    expect(cut.body.lastMessagePreview).toContain(secret);
    await h.sql`insert into session_summaries (session_id, upto_seq, text) values (${fork.body.id}, 2, ${secret})`;
    expect((await t.call("DELETE", `/v1/responses/${first.id}`)).status).toBe(200);
    expect(await holding(secret)).toEqual([]);
    for (const [id, messages] of [
      [await sessionOf(branch), 2],
      [fork.body.id, 2],
      [cut.body.id, 0],
    ]) {
      const { body } = await t.call("GET", `/v1/agents/${agentId}/sessions/${id}`);
      expect([body.id, body.messageCount]).toEqual([id, messages]);
    }
    expect((await post({ previous_response_id: branch.id, input: say("fourth") })).status).toBe("completed");
    expect(told().join("\n")).not.toContain(secret);
  });

  test("leaves them too where it is the last of its session, and while branches are made of it", async () => {
    const secret = `heron-${crypto.randomUUID()}`;
    const first = await post({ input: say(secret) });
    const branch = () =>
      ask({
        previous_response_id: first.id,
        input: [
          { role: "user", content: "x" },
          { role: "user", content: "y" },
        ],
      });
    const made = await branch();
    expect(made.status).toBe(200);
    const others = Array.from({ length: 6 }, branch);
    const deleted = await t.call("DELETE", `/v1/responses/${first.id}`);
    const statuses = (await Promise.all(others)).map(({ status }) => status);
    expect(deleted.status).toBe(200);
    expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
    // What a worker was telling its model may still end; nothing of it is kept.
    await eventually(async () => (await holding(secret)).length === 0);
  });
});

test("what a deleted response said is gone from the database", async () => {
  const secret = `tea-${crypto.randomUUID()}`;
  const fields = { instructions: secret, metadata: { secret }, tools: [{ ...locate, description: secret }] };
  const first = await post({ input: say("one") });
  const second = await post({
    previous_response_id: first.id,
    input: `[[sim: text="${secret}" tool=locate args={"k":"${secret}"} ; text="${secret}"]]`,
    ...fields,
  });
  const output = { type: "function_call_output", call_id: second.output[1].call_id, output: secret };
  await post({ previous_response_id: second.id, input: [output], ...fields });
  await t.call("DELETE", `/v1/responses/${second.id}`);
  const tables = await h.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await h.sql`select 1 from ${h.sql(name)} as r where r::text like ${`%${secret}%`} limit 1`;
    if (rows.length > 0) found.push(name);
  }
  expect(found).toEqual([]);
});
