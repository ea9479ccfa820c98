import { describe, expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { eventually, startHarness } from "../../harness/harness.ts";
import { afterTools, holdModel } from "../../harness/held-model.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { makeAgent } from "../../harness/seed.ts";
import {
  type Chunk,
  idle,
  type LiveEvent,
  type LiveStream,
  messagesOf,
  open,
  play,
  readersOf,
  script,
  sessionPath,
  textOf,
} from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const start = (text: string, form: "a" | "b" = "b") =>
  open(h, t, "POST", sessionPath(agentId, null), { form, body: { message: script(text) } });
const join = (sessionId: string, headers: Record<string, string> = {}) =>
  open(h, t, "GET", sessionPath(agentId, sessionId, "/stream"), { headers });
const joinAfter = (sessionId: string, eventId: string) => join(sessionId, { "last-event-id": eventId });
const cancel = (sessionId: string) => t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
const chunksIn = (events: readonly LiveEvent[]) =>
  events.flatMap(({ data }) => (data === "[DONE]" ? [] : [data as Chunk]));
const numberOf = (turnId: string, number: number) => `${turnId}:${number}`;

describe("GET /v1/agents/:agentId/sessions/:sessionId/stream", () => {
  test("200 gives the running turn from its first chunk, in both forms, with the stream's headers", async () => {
    for (const form of ["a", "b"] as const) {
      const live = await start('text="one two three" hangAfterChunks=2', form);
      await live.until("text-delta");
      const joined = await join(live.sessionId);
      expect([joined.response.status, joined.turnId]).toEqual([200, live.turnId]);
      expect(joined.response.headers.get("content-type")).toBe("text/event-stream");
      expect(joined.response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      expect(joined.response.headers.get("location")).toBeNull();
      expect(await joined.next()).toMatchObject({ id: `${live.turnId}:0`, data: { type: "start" } });
      await joined.until("text-delta");
      await cancel(live.sessionId);
      expect((await joined.rest()).at(-1)?.data).toBe("[DONE]");
      await live.rest();
    }
  });

  test("204 when nothing runs", async () => {
    const done = await play(t, agentId, null, { message: script("text=fine"), stream: false });
    const response = await t.call("GET", sessionPath(agentId, done.sessionId, "/stream"));
    expect([response.status, response.body, response.headers.get("x-turn-id")]).toEqual([204, null, null]);
  });

  test("200 with Last-Event-ID gives what comes after that event, wherever it stands", async () => {
    const live = await start('text="one two three four five six" hangAfterChunks=5 delayMs=1');
    const seen: LiveEvent[] = [];
    while (chunksIn(seen).filter(({ type }) => type === "text-delta").length < 5)
      seen.push((await live.next()) as LiveEvent);
    const joined = await Promise.all(seen.map(({ id }) => joinAfter(live.sessionId, id as string)));
    const behind = await Promise.all(joined.slice(0, -1).map((stream) => stream.next()));
    expect(behind).toEqual(seen.slice(1));
    await cancel(live.sessionId);
    const end = await live.rest();
    for (const [index, stream] of joined.entries()) {
      const got = await stream.rest();
      expect([...seen.slice(0, index + 2), ...got]).toEqual([
        ...seen.slice(0, index + 2),
        ...[...seen, ...end].slice(index + 2 - (index === joined.length - 1 ? 1 : 0)),
      ]);
    }
  });

  test("200 with an unknown, stale or other turn's Last-Event-ID gives the whole sequence", async () => {
    const old = await play(t, agentId, null, { message: script("text=old"), stream: false });
    const { sessionId } = old;
    const live = await open(h, t, "POST", sessionPath(agentId, sessionId), {
      body: { message: script('text="one two three" hangAfterChunks=2') },
    });
    await live.until("text-delta");
    for (const id of [
      `${old.turnId}:3`,
      numberOf(live.turnId, 400),
      numberOf(live.turnId, -1),
      `${live.turnId}:`,
      `${live.turnId}:1e3`,
      `${live.turnId}:99999999999999999999`,
      live.turnId,
      "4",
      "",
      "x".repeat(5000),
    ]) {
      const joined = await joinAfter(sessionId, id);
      const first = await joined.next();
      expect([id.slice(0, 50), first?.id]).toEqual([id.slice(0, 50), `${live.turnId}:0`]);
      await joined.until("text-delta");
      await joined.leave();
    }
    await cancel(sessionId);
    await live.rest();
  });

  test("200 joins at random moments of a long turn all give the same sequence once", async () => {
    const live = await start("chunks=401 hangAfterChunks=400 delayMs=2");
    const seen: LiveEvent[] = [];
    const joins: Promise<LiveStream>[] = [];
    const resumed: { from: number; stream: Promise<LiveStream> }[] = [];
    let asking = 0;
    // A tenant has 64 requests in flight at a process, and a busy one does not begin to stream at once.
    const bounded = (ask: () => Promise<LiveStream>) => {
      asking += 1;
      return ask().finally(() => {
        asking -= 1;
      });
    };
    for (let deltas = 0; deltas < 400; ) {
      const event = (await live.next()) as LiveEvent;
      seen.push(event);
      if (chunksIn([event])[0]?.type === "text-delta") deltas += 1;
      if (asking > 40) continue;
      if (Math.random() < 0.4 && joins.length < 150) joins.push(bounded(() => join(live.sessionId)));
      if (Math.random() < 0.15 && resumed.length < 50) {
        const from = Math.floor(Math.random() * seen.length);
        resumed.push({ from, stream: bounded(() => joinAfter(live.sessionId, seen[from]?.id as string)) });
      }
    }
    // The turn ends once all have joined, however long that took.
    const joined = await Promise.all(joins);
    const continued = await Promise.all(resumed.map(async ({ from, stream }) => ({ from, stream: await stream })));
    await cancel(live.sessionId);
    seen.push(...(await live.rest()));
    expect(textOf(chunksIn(seen))).toStartWith("chunk-1 chunk-2 ");
    expect(seen.at(-1)?.data).toBe("[DONE]");
    expect(joined.length).toBeGreaterThan(20);
    for (const stream of joined) expect(await stream.rest()).toEqual(seen);
    for (const { from, stream } of continued) expect(await stream.rest()).toEqual(seen.slice(from + 1));
  });

  test("200 for a turn that no worker has taken yet: it waits, and sees all of it", async () => {
    const quiet = await startHarness();
    try {
      const own = await quiet.tenant();
      const agent = await makeAgent(quiet, own);
      const live = await open(quiet, own, "POST", sessionPath(agent, null), {
        body: { message: script('text="a b"') },
      });
      const joined = await open(quiet, own, "GET", sessionPath(agent, live.sessionId, "/stream"));
      expect(joined.response.status).toBe(200);
      expect((await joined.next())?.data).toMatchObject({ type: "start" });
      const pool = await quiet.startWorkers();
      const rest = await joined.rest();
      expect((await live.rest()).slice(1)).toEqual(rest);
      expect(textOf(chunksIn(rest))).toBe("a b");
      await pool.drain(0);
    } finally {
      await quiet.stop();
    }
  });
});

/** So many readers of a turn with a long answer, of which none of them has anything yet: the one that asked, and who joined. */
async function longTurn(readers: number): Promise<LiveStream[]> {
  const long = "size=3000000";
  await using held = holdModel(h.model, (request) => request.includes(long));
  const agent = await makeAgent({ model: held }, t);
  const body = { message: script(long) };
  const asked = await open(h, t, "POST", sessionPath(agent, null), { body });
  const joins = Array.from({ length: readers - 1 }, () =>
    open(h, t, "GET", sessionPath(agent, asked.sessionId, "/stream")),
  );
  const joined = await Promise.all(joins);
  held.release();
  await idle(h, asked.sessionId);
  return [asked, ...joined];
}

describe("readers", () => {
  test("a reader that goes away never stops the turn", async () => {
    await using held = holdModel(h.model, afterTools);
    const agent = await makeAgent({ model: held }, t);
    const message = script('text="one two" tool=nothing ; text="three four"');
    const live = await open(h, t, "POST", sessionPath(agent, null), { body: { message } });
    const joined = await open(h, t, "GET", sessionPath(agent, live.sessionId, "/stream"));
    await joined.until("text-delta");
    await joined.leave();
    await live.leave();
    held.release();
    await idle(h, live.sessionId);
    const [, response] = await messagesOf(t, agent, live.sessionId);
    expect(response.parts.map(({ text = "" }: { text?: string }) => text).join("")).toBe("one twothree four");
  });

  test("see the end only when the session is free: a new turn at once is 200, after finish, error and abort", async () => {
    const { sessionId } = await play(t, agentId, null, { message: script("text=a"), stream: false });
    const post = (text: string) =>
      open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message: script(text) } });
    for (let round = 0; round < 8; round++) {
      for (const [text, last] of [
        ['text="a b"', "finish"],
        ['text="a b c" failAfterChunks=1', "error"],
        ['text="a b" hangAfterChunks=1', "abort"],
      ] as const) {
        const live = await post(text);
        expect(live.response.status).toBe(200);
        if (last === "abort") {
          await live.until("text-delta");
          await cancel(sessionId);
        }
        await live.until(last);
        await live.leave();
      }
    }
  });

  test("a slow one gets all of a long answer, although the turn ended long before", async () => {
    const [live, joined] = (await longTurn(2)) as [LiveStream, LiveStream];
    await live.until("text-delta");
    await joined.until("text-delta");
    await idle(h, live.sessionId);
    const endedAt = Date.now();
    // Long enough for a follower to be told by Postgres that its turn is over.
    await eventually(() => Date.now() - endedAt > 2_600);
    for (const stream of [live, joined]) {
      const events = await stream.rest();
      expect(chunksIn(events).at(-1)).toMatchObject({ type: "finish" });
      expect(textOf(chunksIn(events)).length).toBe(3_000_000 - 1000);
    }
  });

  test("leave nothing behind: no log is followed once all are gone", async () => {
    const live = await start('text="a b" hangAfterChunks=1');
    const joined = await Promise.all(Array.from({ length: 20 }, () => join(live.sessionId)));
    await Promise.all(joined.map((stream) => stream.until("text-delta")));
    await live.leave();
    await Promise.all(joined.map((stream) => stream.leave()));
    await eventually(async () => (await readersOf(h)) === 0);
    await cancel(live.sessionId);
    await idle(h, live.sessionId);
    // Readers that stand still before the rest of a long answer, and never ask for it.
    const long = await longTurn(3);
    for (const stream of long) await stream.until("text-delta");
    await idle(h, long[0]?.sessionId ?? "");
    // Between processes the sockets take the rest in, so that nobody stands still.
    if (inProcess) expect(await readersOf(h)).toBe(3);
    for (const stream of long) await stream.leave();
    await eventually(async () => (await readersOf(h)) === 0);
  });
});
