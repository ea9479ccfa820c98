import { describe, expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { type LiveStream, messagesOf, open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});

const say = (sessionId: string | null, message: object) => play(t, agentId, sessionId, { message, stream: false });
const read = async (sessionId: string, query = "pending=true") =>
  (await t.call("GET", sessionPath(agentId, sessionId, `/messages?${query}`))).body;
/** A turn that has said something and goes on until it is cancelled. */
async function running(sessionId: string | null, body: object): Promise<LiveStream> {
  const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body });
  await live.until("text-delta");
  return live;
}
const hangs = () => script('text="one two three" chunks=3 hangAfterChunks=2');
const pending = (message: object) => ({ ...message, pending: true });

describe("GET /v1/agents/:agentId/sessions/:sessionId/messages?pending=true", () => {
  test("200 ends with what users said that the transcript does not hold yet, in order; the cursors are the same", async () => {
    const { sessionId } = await say(null, script('text="fine"'));
    const first = await messagesOf(t, agentId, sessionId);
    const [asked, second, third] = [hangs(), script("text=second"), script("text=third")];
    const live = await running(sessionId, { message: asked });
    const waiting: Promise<unknown>[] = [];
    for (const [index, message] of [second, third].entries()) {
      waiting.push(play(t, agentId, sessionId, { message, stream: false, onBusy: "enqueue" }));
      await eventually(async () => (await read(sessionId)).data.length === first.length + index + 2);
    }
    const page = await read(sessionId);
    expect(page.data).toEqual([...first, pending(asked), pending(second), pending(third)]);
    const plain = await read(sessionId, "pending=false");
    expect(plain.data).toEqual(first);
    expect([page.nextCursor, page.latestCursor]).toEqual([plain.nextCursor, plain.latestCursor]);
    const short = await read(sessionId, "limit=1&pending=true");
    expect(short.data).toEqual([first[1], pending(asked), pending(second), pending(third)]);
    // Older pages, and what is newer than a cursor, are of the transcript alone.
    expect((await read(sessionId, `limit=1&pending=true&cursor=${short.nextCursor}`)).data).toEqual([first[0]]);
    expect((await read(sessionId, `pending=true&after=${page.latestCursor}`)).data).toEqual([]);
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await live.rest();
    await Promise.all(waiting);
    expect(await read(sessionId)).toEqual(await read(sessionId, "limit=50"));
    expect(statusAndCode(await t.call("GET", sessionPath(agentId, sessionId, "/messages?pending=yes")))).toEqual([
      400,
      "validation_failed",
    ]);
  });

  test("200 shows a first message in a session that holds nothing, and nothing twice that waits for a person", async () => {
    const asked = hangs();
    const live = await running(null, { message: asked });
    expect((await read(live.sessionId)).data).toEqual([pending(asked)]);
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    await live.rest();
    expect((await read(live.sessionId)).data).toEqual([]);
    const { sessionId } = await say(null, script('tool=memory_save args={"text":"tea"} ; text="Done."'));
    expect((await read(sessionId)).data).toEqual(await messagesOf(t, agentId, sessionId));
  });

  test("200 leaves an answer out that is being made anew, and shows what the new one was when it stopped to ask", async () => {
    const { sessionId } = await say(null, script('text="fine"'));
    const [question, answer] = await messagesOf(t, agentId, sessionId);
    const asking = {
      ...script('tool=memory_save args={"text":"tea"} ; text="one two" hangAfterChunks=1'),
      id: question.id,
    };
    await h.sql`update messages set content = ${h.sql.json(asking as never)} where session_id = ${sessionId} and role = 'user'`;
    const plain = await read(sessionId, "");
    const again = await play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false });
    expect(again.status).toBe(200);
    const waits = await read(sessionId);
    expect(waits.data).toEqual([asking, pending(again.body.message)]);
    expect([waits.nextCursor, waits.latestCursor]).toEqual([plain.nextCursor, plain.latestCursor]);
    expect(await messagesOf(t, agentId, sessionId)).toEqual([asking, answer]);
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    expect((await read(sessionId)).data).toEqual([asking, answer]);
  });

  test("a message that is sent back as it was shown is stored without the mark", async () => {
    const asked = hangs();
    const live = await running(null, { message: asked });
    const [shown] = (await read(live.sessionId)).data;
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    await live.rest();
    const body = {
      message: { ...shown, parts: script("text=fine").parts },
      trigger: "regenerate-message",
      stream: false,
    };
    expect((await play(t, agentId, live.sessionId, body)).status).toBe(200);
    expect((await messagesOf(t, agentId, live.sessionId))[0]).toEqual({ ...asked, parts: body.message.parts });
  });

  test("an answer that is made anew and asks goes on with the message as the page shows it", async () => {
    const { sessionId } = await say(null, script('text="fine"'));
    const [question] = await messagesOf(t, agentId, sessionId);
    const asking = { ...script('tool=memory_save args={"text":"tea"} ; text="Noted."'), id: question.id };
    await h.sql`update messages set content = ${h.sql.json(asking as never)} where session_id = ${sessionId} and role = 'user'`;
    await play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false });
    const [, shown] = (await read(sessionId)).data;
    const parts = shown.parts.map((part: { approval?: object }) =>
      part.approval === undefined
        ? part
        : { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } },
    );
    const goesOn = await play(t, agentId, sessionId, { message: { ...shown, parts }, stream: false });
    expect([goesOn.status, goesOn.body.message.parts.at(-1).text]).toEqual([200, "Noted."]);
    expect(await messagesOf(t, agentId, sessionId)).toEqual([asking, goesOn.body.message]);
  });
});
