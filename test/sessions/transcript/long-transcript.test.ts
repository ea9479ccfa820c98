import { afterAll, describe, expect, test } from "bun:test";
import type { IdOf } from "../../../src/kernel/ids.ts";
import { transcriptBytesMax, transcriptPartsMax } from "../../../src/kernel/limits.ts";
import { readHistory } from "../../../src/sessions/transcript/read-history.ts";
import { useTenant } from "../../harness/fixture.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { appendMessages } from "../../harness/transcript.ts";
import { messagesOf, play } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });
const mib = 1024 * 1024;

const vendor = startVendor(() => {
  const chunk = (choice: object) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, ...choice }] })}\n\n`;
  const text = `${chunk({ delta: { content: "Yes." } })}${chunk({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
});
afterAll(() => vendor.stop());
const provider = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
const agentId = await makeAgent(h, t, { providerId: provider.id });
const uncompacted = await makeAgent(h, t, { providerId: provider.id, autoCompaction: false });

/** A user's message of exactly so many bytes of JSON. */
function weighing(bytes: number, id: string) {
  const message = (text: string) => ({ id, role: "user" as const, parts: [{ type: "text", text }] });
  return message("x".repeat(bytes - JSON.stringify(message("")).length));
}

const append = (sessionId: string, messages: Parameters<typeof appendMessages>[2]) =>
  withPatientClient(h.databaseUrl, (sql) => appendMessages(sql, sessionId, messages));

const empty = JSON.stringify({ parts: [] });

/** A session of one short turn, whose messages are removed from its transcript. */
async function emptySession() {
  const played = await play(t, agentId, null, { message: userMessage("first"), stream: false });
  await h.sql`update messages set content = ${empty}::text::json where session_id = ${played.sessionId}`;
  return played;
}

const read = ({ turnId, sessionId }: { readonly turnId: string; readonly sessionId: string }) =>
  readHistory(h.sql, {
    id: turnId as IdOf<"turn">,
    sessionId: sessionId as IdOf<"session">,
    tenantId: t.id as IdOf<"tenant">,
  });

describe("the transcript that a turn reads", () => {
  test("is whole up to 32 MiB of JSON, and begins later beyond that", async () => {
    const played = await emptySession();
    const { sessionId } = played;
    const rest = transcriptBytesMax - 4 * mib - 2 * empty.length;
    await append(sessionId, [weighing(rest, "big"), weighing(4 * mib, "newest")]);
    const whole = await read(played);
    expect(whole.isCut).toBe(false);
    expect(whole.messages).toHaveLength(4);
    await append(sessionId, [weighing(100, "one-more")]);
    const cut = await read(played);
    expect(cut.isCut).toBe(true);
    expect(cut.messages.map(({ message }) => message.id)).toEqual(["newest", "one-more"]);
  });

  test("has a message that alone is larger left out, with all before it", async () => {
    const played = await emptySession();
    const { sessionId } = played;
    await append(sessionId, [weighing(transcriptBytesMax + 1, "huge"), weighing(100, "small")]);
    expect((await read(played)).messages.map(({ message }) => message.id)).toEqual(["small"]);
  });

  test("has at most 40,000 parts, and begins later beyond that", async () => {
    const played = await emptySession();
    const { sessionId } = played;
    const holding = (count: number, id: string) => ({
      id,
      role: "user" as const,
      parts: Array.from({ length: count }, () => ({ type: "text", text: "x" })),
    });
    await append(sessionId, [holding(transcriptPartsMax / 2, "a"), holding(transcriptPartsMax / 2, "b")]);
    const whole = await read(played);
    expect([whole.isCut, whole.messages.length]).toEqual([false, 4]);
    await append(sessionId, [holding(1, "c")]);
    // Read again from what is cached, too.
    for (let time = 0; time < 2; time++) {
      const cut = await read(played);
      expect([cut.isCut, cut.messages.map(({ message }) => message.id)]).toEqual([true, ["b", "c"]]);
    }
  });

  test("begins with a user's message when it is cut", async () => {
    const played = await emptySession();
    const { sessionId } = played;
    const answer = { ...weighing(mib, "answer"), role: "assistant" as const };
    await append(sessionId, [weighing(31 * mib, "asked"), answer, weighing(100, "a"), answer]);
    const { messages } = await read(played);
    expect(messages.map(({ message }) => [message.role, message.id])).toEqual([
      ["user", "a"],
      ["assistant", "answer"],
    ]);
  });

  test.each([
    ["compacting", agentId],
    ["not compacting", uncompacted],
  ])("of 40 turns with a picture of 1.5 MiB each leaves the session usable, %s", async (_name, agent) => {
    const { sessionId } = await play(t, agent, null, { message: userMessage("first"), stream: false });
    const picture = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(1.5 * mib)}` };
    const turns = Array.from({ length: 40 }, (_, index) => [
      { id: `q${index}`, role: "user" as const, parts: [{ type: "text", text: `question ${index}` }, picture] },
      { id: `a${index}`, role: "assistant" as const, parts: [{ type: "text", text: `answer ${index}` }] },
    ]);
    await append(sessionId, turns.flat());
    vendor.requests.length = 0;
    const played = await play(t, agent, sessionId, { message: userMessage("and now?"), stream: false });
    expect(played.status).toBe(200);
    expect(await messagesOf(t, agent, sessionId)).not.toHaveLength(0);
    const { body } = vendor.requests.at(-1) ?? { body: null };
    const sent = JSON.stringify(body);
    expect(sent.length).toBeLessThan(transcriptBytesMax + mib);
    expect(sent.split("data:image/png").length - 1).toBe(21);
    expect(sent).toContain("Some earlier messages of this conversation are left out.");
    expect(sent).toContain("question 39");
    const [first] = (body.messages as { role: string }[]).filter(({ role }) => role !== "system");
    expect(first?.role).toBe("user");
  });
});
