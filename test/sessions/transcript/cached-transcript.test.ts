import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { tx } from "../../../src/kernel/database/transaction.ts";
import { newId } from "../../../src/kernel/ids.ts";
import type { UiMessage } from "../../../src/messages/ui-message.ts";
import { languagePrompt } from "../../../src/model/language-prompt.ts";
import { modelMessages } from "../../../src/model/prompt.ts";
import { fitMessages } from "../../../src/model/sending/fit-prompt.ts";
import { fitTools } from "../../../src/model/sending/fit-tools.ts";
import { rulesOf } from "../../../src/model/sending/rules.ts";
import { deleteTurn } from "../../../src/sessions/erase/turn.ts";
import { TranscriptCache } from "../../../src/sessions/transcript/cache.ts";
import { readAhead, readHistory } from "../../../src/sessions/transcript/read-history.ts";
import { useTenant } from "../../harness/fixture.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { makeAgent } from "../../harness/seed.ts";
import { appendMessages } from "../../harness/transcript.ts";
import { conversationOf, idle, open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const locate = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" as const } };
const agentId = await makeAgent(h, t, { tools: ["memory"], clientTools: [locate], autoCompaction: false });
const asking = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });

// Where the service runs in this process, whoever changes a cached message fails its turn.
const { set } = TranscriptCache.prototype;
const frozen = spyOn(TranscriptCache.prototype, "set");
beforeAll(() => {
  frozen.mockImplementation(function (this: TranscriptCache, sessionId, transcript) {
    return set.call(this, sessionId, deepFreeze(transcript));
  });
});
afterAll(() => frozen.mockRestore());

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

const texts = (message: UiMessage) => message.parts.map((part) => (part as { text?: string }).text ?? "").join("");

async function stored(sessionId: string): Promise<UiMessage[]> {
  const rows = await h.sql<{ content: UiMessage }[]>`
    select content from messages where session_id = ${sessionId} order by seq`;
  return rows.map(({ content }) => content);
}

let written = 0;

/** Messages of many kinds: texts, a call with its result, a thought, a picture. */
function variedMessages(count: number) {
  return Array.from({ length: count }, (_, index) => {
    written += 1;
    const said = { type: "text", text: `number ${written} says little` };
    if (index % 2 === 0) {
      const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" };
      return { id: `q${written}`, role: "user" as const, parts: index % 10 === 8 ? [said, picture] : [said] };
    }
    const call = { type: "tool-memory_list", toolCallId: `c${written}`, state: "output-available" };
    const called = { ...call, input: { limit: { most: 3 } }, output: { memories: [{ text: "tea" }] } };
    const thought = { type: "reasoning", text: "hm", providerMetadata: { vendor: { signature: "s" } } };
    const rest = index % 20 === 11 ? [thought, called, { type: "step-start" }] : [];
    return { id: `a${written}`, role: "assistant" as const, parts: [{ type: "step-start" }, ...rest, said] };
  });
}

/** Lets a turn of the session pass that reads all of it, so that it is cached; returns the turn's id. */
async function pass(sessionId: string, agent: string = agentId): Promise<string> {
  const { status, turnId } = await play(t, agent, sessionId, { message: script('text="passed"'), stream: false });
  expect(status).toBe(200);
  return turnId;
}

/** A session that is too long for its claim to read it, of which everything but its newest messages is cached. */
async function longSession(agent: string = agentId) {
  const { sessionId } = await play(t, agent, null, { message: script('text="began"'), stream: false });
  await appendMessages(h.sql, sessionId, variedMessages(56));
  const turnIds = [await pass(sessionId, agent), await pass(sessionId, agent), await pass(sessionId, agent)];
  return { sessionId, turnIds };
}

/** What the model has to be sent for these messages, by a client of the same vendor. */
async function promptFor(messages: readonly UiMessage[]): Promise<unknown[]> {
  let body = "";
  const fetch = (async (_url: unknown, init?: RequestInit) => {
    body = String(init?.body);
    return new Response("{}", { status: 400 });
  }) as unknown as typeof globalThis.fetch;
  const model = createOpenAICompatible({ name: "custom", baseURL: "http://vendor.test", fetch })("m");
  const about = { supportedUrls: await model.supportedUrls, download: undefined, provider: "custom" };
  const rules = rulesOf(model);
  const fit = { rules, names: (await fitTools({}, rules)).names, thoughts: "own" as const };
  const sent = await fitMessages(await modelMessages(messages), fit);
  const prompt = await languagePrompt({ instructions: "", messages: sent, ...about });
  await expect(model.doStream({ prompt })).rejects.toBeInstanceOf(Error);
  return JSON.parse(body).messages;
}

/** Changes an old message's row, as nothing but this test does, so that it shows from where a turn has it. Returns what undoes that. */
async function mark(sessionId: string): Promise<() => PromiseLike<unknown>> {
  const [row] = await h.sql<{ seq: number; content: UiMessage }[]>`
    select seq, content from messages where session_id = ${sessionId} order by seq desc offset 7 limit 1`;
  if (row === undefined) throw new Error("The transcript is short.");
  const { seq, content } = row;
  const write = (message: object) => h.sql`
    update messages set content = ${JSON.stringify(message)}::text::json where session_id = ${sessionId} and seq = ${seq}`;
  await write({ ...content, parts: [...content.parts, { type: "text", text: "(changed in its row)" }] });
  return () => write(content);
}

/** Asks in a session, and expects that the model is sent its whole transcript, from the cache or all of it from Postgres. */
async function expectSent(sessionId: string, from: "cache" | "postgres", agent: string = agentId) {
  const before = await stored(sessionId);
  const restore = await mark(sessionId);
  const expected = from === "cache" ? before : await stored(sessionId);
  const question = script(`text="answered ${crypto.randomUUID()}"`);
  expect((await play(t, agent, sessionId, { message: question, stream: false })).status).toBe(200);
  const sent = conversationOf(h, question).filter(({ role }) => role !== "system");
  const prompt = await promptFor([...expected, question]);
  expect(sent as unknown[]).toEqual(prompt);
  if (from === "cache") await restore();
}

describe("a turn of a long session is sent what the session holds", () => {
  test("after plain turns, from the cache", async () => {
    const { sessionId } = await longSession();
    for (let turn = 0; turn < 3; turn++) await expectSent(sessionId, "cache");
    expect((await stored(sessionId)).length).toBe(2 + 56 + 12);
  });

  test("of several MiB, from the cache; after more than a page of new messages, from Postgres", async () => {
    const { sessionId } = await longSession();
    const large = () =>
      variedMessages(4).map((message) => ({
        ...message,
        parts: [{ type: "text", text: `${message.id} ${"x".repeat(400 * 1024)}` }],
      }));
    await appendMessages(h.sql, sessionId, [...large(), ...large()]);
    await expectSent(sessionId, "postgres");
    await expectSent(sessionId, "cache");
    await appendMessages(h.sql, sessionId, large());
    await expectSent(sessionId, "postgres");
    await expectSent(sessionId, "cache");
    await expectSent(sessionId, "cache");
  });

  test("after a regeneration of the last answer, from the cache", async () => {
    const { sessionId } = await longSession();
    const again = await play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false });
    expect(again.status).toBe(200);
    await expectSent(sessionId, "cache");
  });

  test("in a regeneration itself: from the cache what it keeps, from Postgres when it keeps less than is cached", async () => {
    const { sessionId } = await longSession();
    const messages = await stored(sessionId);
    for (const [place, from] of [
      [-1, "cache"],
      [-9, "postgres"],
    ] as const) {
      const { id } = messages.at(place) as UiMessage;
      const restore = await mark(sessionId);
      h.model.clear();
      await play(t, agentId, sessionId, { trigger: "regenerate-message", messageId: id, stream: false });
      const { messages: sent } = (h.model.requests().at(-1)?.body ?? {}) as { messages: { role: string }[] };
      const kept = messages.slice(0, place);
      expect(sent.filter(({ role }) => role !== "system") as unknown[]).toEqual(await promptFor(kept));
      if (from === "cache") await restore();
    }
    await expectSent(sessionId, "postgres");
    await expectSent(sessionId, "cache");
  });

  test("after a turn in the middle was erased, from Postgres", async () => {
    const { sessionId, turnIds } = await longSession();
    await erase(sessionId, turnIds[0]);
    expect(await stored(sessionId)).toHaveLength(2 + 56 + 4);
    await expectSent(sessionId, "postgres");
    await expectSent(sessionId, "cache");
  });

  test("after the last turn was erased, and its places were taken again, from the cache", async () => {
    const { sessionId, turnIds } = await longSession();
    await erase(sessionId, turnIds[2]);
    await expectSent(sessionId, "cache");
    await expectSent(sessionId, "cache");
  });

  test("after turns were erased, whose places another worker's turns have taken, from Postgres", async () => {
    const { sessionId } = await longSession();
    const [last] = await h.sql<{ seq: number }[]>`select max(seq) as seq from messages where session_id = ${sessionId}`;
    await h.sql`delete from messages where session_id = ${sessionId} and seq > ${(last?.seq ?? 0) - 6}`;
    await appendAs(sessionId, newId("turn"), variedMessages(6));
    expect(
      (await h.sql`select 1 from messages where session_id = ${sessionId} and seq = ${last?.seq ?? 0}`).length,
    ).toBe(1);
    await expectSent(sessionId, "postgres");
  });

  test("after another worker ran turns of it, from the cache and with their messages", async () => {
    const { sessionId } = await longSession();
    await appendAs(sessionId, newId("turn"), variedMessages(4));
    await expectSent(sessionId, "cache");
  });

  test("after it was deleted and made anew under its id, from Postgres", async () => {
    const { sessionId } = await longSession();
    const count = (await stored(sessionId)).length;
    await h.sql`delete from messages where session_id = ${sessionId}`;
    await h.sql`insert into messages (session_id, seq, id, role, turn_id, content)
      values (${sessionId}, 1, 'first', 'user', ${newId("turn")}, '{"id":"first","role":"user","parts":[{"type":"text","text":"anew"}]}')`;
    await appendAs(sessionId, newId("turn"), variedMessages(count - 1));
    expect(await stored(sessionId)).toHaveLength(count);
    await expectSent(sessionId, "postgres");
  });

  test("after an approval, in the continuation and in the turn after it, from the cache", async () => {
    const { sessionId } = await longSession(asking);
    const asks = script('tool=memory_save args={"text":"likes tea"} ; text="All done."');
    await play(t, asking, sessionId, { message: asks });
    const { approvals } = (await t.call("GET", sessionPath(asking, sessionId, "/tool-approvals"))).body;
    const restore = await mark(sessionId);
    h.model.clear();
    const decided = await t.call("POST", sessionPath(asking, sessionId, `/tool-approvals/${approvals[0].id}`), {
      body: { approved: true },
    });
    expect(decided.status).toBe(202);
    await idle(h, sessionId);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).not.toContain("(changed in its row)");
    await restore();
    expect(texts((await stored(sessionId)).at(-1) as UiMessage)).toBe("All done.");
    await expectSent(sessionId, "cache", asking);
    await expectSent(sessionId, "cache", asking);
  });

  test("after a client tool's result, from the cache", async () => {
    const { sessionId } = await longSession();
    await play(t, agentId, sessionId, { message: script('tool=locate args={} ; text="In Lisbon."') });
    const { toolCalls } = (await t.call("GET", sessionPath(agentId, sessionId, "/tool-calls"))).body;
    const path = sessionPath(agentId, sessionId, `/tool-calls/${toolCalls[0].toolCallId}`);
    expect((await t.call("POST", path, { body: { output: { city: "Lisbon" } } })).status).toBe(202);
    await idle(h, sessionId);
    expect(JSON.stringify((await stored(sessionId)).at(-1))).toContain('"city":"Lisbon"');
    await expectSent(sessionId, "cache");
    await expectSent(sessionId, "cache");
  });

  test("after a turn that waited was cancelled, whose messages are gone, from the cache", async () => {
    const { sessionId } = await longSession();
    await play(t, agentId, sessionId, { message: script('tool=locate args={} ; text="In Lisbon."') });
    expect((await t.call("POST", sessionPath(agentId, sessionId, "/cancel"))).status).toBe(202);
    await idle(h, sessionId);
    expect(await stored(sessionId)).toHaveLength(2 + 56 + 6);
    await expectSent(sessionId, "cache");
    await expectSent(sessionId, "cache");
  });

  test("after a turn was cancelled that keeps what it said, from the cache", async () => {
    const { sessionId } = await longSession();
    const hangs = await open(h, t, "POST", sessionPath(agentId, sessionId), {
      body: { message: script('text="one two three" chunks=3 hangAfterChunks=2') },
    });
    await hangs.until("text-delta");
    const canceled = await t.call("POST", sessionPath(agentId, sessionId, "/cancel"), { body: { keep: "partial" } });
    expect(canceled.status).toBe(202);
    await hangs.rest();
    await idle(h, sessionId);
    expect(texts((await stored(sessionId)).at(-1) as UiMessage)).toStartWith("one");
    await expectSent(sessionId, "cache");
  });

  test("in a fork: first from Postgres, then from the cache; and in what was forked, from the cache", async () => {
    const { sessionId } = await longSession();
    const forked = await t.call("POST", sessionPath(agentId, sessionId, "/fork"), { body: {} });
    expect(forked.status).toBe(201);
    await expectSent(forked.body.id, "postgres");
    await expectSent(forked.body.id, "cache");
    await expectSent(sessionId, "cache");
  });

  test("after a compaction: what the summary does not stand for, first from Postgres, then from the cache", async () => {
    // An unknown model has a window of 128,000 tokens; this reserve leaves some 1,200 for the prompt.
    const compacting = await makeAgent(h, t, { compactionReserveTokens: 126_800 });
    const { sessionId } = await play(t, compacting, null, { message: script('text="began"'), stream: false });
    const wordy = (message: ReturnType<typeof variedMessages>[number]) => ({
      ...message,
      parts: [{ type: "text", text: `${message.id} ${"x".repeat(72)}` }],
    });
    await appendMessages(h.sql, sessionId, variedMessages(60).map(wordy));
    const summaryOf = async () => {
      const [row] = await h.sql<{ uptoSeq: number }[]>`
        select upto_seq from session_summaries where session_id = ${sessionId}`;
      return row?.uptoSeq ?? 0;
    };
    await pass(sessionId, compacting);
    const uptoSeq = await summaryOf();
    expect(uptoSeq).toBeGreaterThan(20);
    await pass(sessionId, compacting);
    const restore = await mark(sessionId);
    const question = script('text="after the summary"');
    await play(t, compacting, sessionId, { message: question, stream: false });
    await restore();
    expect(await summaryOf()).toBe(uptoSeq);
    const rows = await h.sql<{ content: UiMessage }[]>`
      select content from messages where session_id = ${sessionId} and seq > ${uptoSeq} order by seq`;
    const sent = conversationOf(h, question);
    expect(sent.filter(({ role }) => role !== "system") as unknown[]).toEqual(
      await promptFor(rows.slice(0, -1).map(({ content }) => content)),
    );
    expect(JSON.stringify(sent.slice(0, 1))).toContain("Summary of the earlier part");
  });
});

/** Erases a turn, as the deletion of a response does. */
function erase(sessionId: string, turnId: string | undefined): Promise<void> {
  const turn = { tenantId: t.id, agentId, sessionId, turnId: turnId ?? "" };
  return tx(h.sql, (inner) => deleteTurn(inner, turn));
}

/** Appends messages as a turn of another worker does. */
async function appendAs(sessionId: string, turnId: string, messages: ReturnType<typeof variedMessages>): Promise<void> {
  await appendMessages(h.sql, sessionId, messages);
  const ids = messages.map(({ id }) => id);
  await h.sql`update messages set turn_id = ${turnId} where session_id = ${sessionId} and id = any(${ids})`;
}

test.skipIf(!inProcess)(
  "what follows a cached transcript is read beside the claim; nothing is where nothing is cached, or Postgres is away",
  async () => {
    const { sessionId, turnIds } = await longSession();
    const asked = { turnId: turnIds.at(-1) as never, sessionId: sessionId as never, tenantId: t.id as never };
    const read = await readAhead(h.sql, asked);
    expect(read?.messages.map(({ message }) => message)).toEqual(await stored(sessionId));
    expect(readAhead(h.sql, { ...asked, sessionId: newId("session") })).toBeNull();
    const gone = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-gone" });
    await readHistory(gone, { id: asked.turnId, sessionId: asked.sessionId, tenantId: asked.tenantId });
    await gone.end();
    expect(await readAhead(gone, asked)).toBeNull();
  },
);
