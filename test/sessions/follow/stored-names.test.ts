import { describe, expect, test } from "bun:test";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { idle, type LiveEvent, messagesOf, open, script, sessionPath } from "../../harness/turns.ts";

/** Followers that come while it is away get one event, or none, and wait; then they are told that the log is lost. */
class LossyRelay extends MemoryRelay {
  isAway = false;
  givesOne = false;
  waiting = 0;
  #back = Promise.withResolvers<void>();

  override async *follow(...args: Parameters<MemoryRelay["follow"]>): ReturnType<MemoryRelay["follow"]> {
    if (!this.isAway) return yield* super.follow(...args);
    const back = this.#back.promise;
    for await (const item of this.givesOne ? super.follow(...args) : []) {
      if (item.type !== "batch") break;
      const { first, sse } = item.batch;
      yield { type: "batch", batch: { first, count: 1, sse: sse.slice(0, sse.indexOf("\n\n") + 2) } };
      break;
    }
    this.waiting += 1;
    await back;
    yield { type: "lost" };
  }

  /** Tells those who wait that their logs are lost; who comes later finds them. */
  comeBack(): void {
    this.isAway = false;
    this.waiting = 0;
    this.#back.resolve();
    this.#back = Promise.withResolvers();
  }
}

const where = { name: "where", description: "Where the user is.", inputSchema: { type: "object" as const } };
const relay = new LossyRelay();
const { h, t, agentId } = await useAgent({ worker: true, relay, agent: { clientTools: [where] } });

const path = (sessionId: string | null, rest = "") => sessionPath(agentId, sessionId, rest);
const ask = (message: object) => open(h, t, "POST", path(null), { body: { message } });
const comeBackWith = async (sessionId: string, lastEventId: string | null | undefined) =>
  (await open(h, t, "GET", path(sessionId, "/stream"), { headers: { "last-event-id": lastEventId ?? "" } })).rest();

/** Joins a turn whose log the joining process cannot read, and returns what the reader is given until the log is lost, and then. */
async function joinLost(sessionId: string, givesOne = false) {
  Object.assign(relay, { isAway: true, givesOne });
  const joined = await open(h, t, "GET", path(sessionId, "/stream"));
  const events: LiveEvent[] = [];
  const read = (async () => {
    for (let event = await joined.next(); event !== null; event = await joined.next()) events.push(event);
    return events;
  })();
  await eventually(() => relay.waiting > 0);
  relay.isAway = false;
  return { rest: () => read };
}

const numbersOf = (events: readonly LiveEvent[]) => events.map(({ id }) => id?.split(":") ?? []);
async function assembled(events: readonly LiveEvent[]): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const { data } of events) if (data !== "[DONE]") controller.enqueue(data as unknown as UIMessageChunk);
      controller.close();
    },
  });
  let last: UIMessage | null = null;
  for await (const message of readUIMessageStream<UIMessage>({ stream })) last = message;
  return JSON.parse(JSON.stringify(last));
}
/** No event of one of them is another event of the other. */
function expectAgreement(seen: readonly LiveEvent[], others: readonly LiveEvent[]): void {
  const known = new Map(seen.map(({ id, data }) => [id, data]));
  for (const { id, data } of others)
    if (id !== null && known.has(id)) expect([id, data] as unknown[]).toEqual([id, known.get(id)]);
}

describe.skipIf(!inProcess)("a reader whose log was lost", () => {
  test("is given what a waiting turn has stored under names that no other reader has seen", async () => {
    const live = await ask(script('text="one two" chunks=2 delayMs=200 tool=where args={} tool=where args={"a":1}'));
    const { turnId, sessionId } = live;
    const lost = await joinLost(sessionId);
    const seen = await live.rest();
    const [call] = (await t.call("GET", path(sessionId, "/tool-calls"))).body.toolCalls;
    await t.call("POST", path(sessionId, `/tool-calls/${call.toolCallId}`), { body: { output: "here" } });
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    const own = given.slice(0, -1);
    expect(own[0]?.id).toBe(`${turnId}:0`);
    expect(numbersOf(own.slice(1))).toEqual(own.slice(1).map((_, index) => [`${turnId}+now`, String(index + 1)]));
    // What is stored may change with the other result, so who comes back begins anew.
    const anew = await comeBackWith(sessionId, own.at(2)?.id);
    expect(anew[0]?.data).toMatchObject({ type: "start" });
    expect((await assembled(anew)).parts).toEqual((await messagesOf(t, agentId, sessionId))[1].parts);
    await t.call("POST", path(sessionId, "/cancel"));
  });

  test("goes on in the stored message of a turn that has ended", async () => {
    const live = await ask(script('text="one two" chunks=2 delayMs=200'));
    const { turnId, sessionId } = live;
    const lost = await joinLost(sessionId);
    const seen = await live.rest();
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    expect(await assembled(given)).toEqual((await messagesOf(t, agentId, sessionId))[1]);
    const own = given.slice(0, -1);
    expect(numbersOf(own.slice(1))).toEqual(own.slice(1).map((_, index) => [`${turnId}+stored`, String(index + 1)]));
    for (const [index, { id }] of own.entries())
      if (index > 0) expect(await comeBackWith(sessionId, id)).toEqual(given.slice(index + 1));
  });

  test("is given the rest of a continuation, and begins anew when it comes back", async () => {
    const { sessionId, ...first } = await ask(
      script('text="pre" tool=where args={} ; text="a b" chunks=2 delayMs=200'),
    ).then(async (live) => ({ sessionId: live.sessionId, events: await live.rest() }));
    expect(first.events.length).toBeGreaterThan(2);
    const [call] = (await t.call("GET", path(sessionId, "/tool-calls"))).body.toolCalls;
    await t.call("POST", path(sessionId, `/tool-calls/${call.toolCallId}`), { body: { output: "here" } });
    const live = await open(h, t, "GET", path(sessionId, "/stream"));
    const lost = await joinLost(sessionId);
    const seen = await live.rest();
    await idle(h, sessionId);
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    const stored = (await messagesOf(t, agentId, sessionId))[1];
    expect(await assembled(given)).toEqual(stored);
    const named = numbersOf(given.slice(0, -1));
    expect(named.map(([, number]) => number)).toEqual(named.map((_, index) => String(index)));
    expect(await assembled(await comeBackWith(sessionId, given.at(-2)?.id))).toEqual(stored);
  });

  test("of which it had a part is told so under no number of the log, and misses nothing when it comes back", async () => {
    const live = await ask(script('text="one two three four" chunks=4 delayMs=100'));
    const { turnId, sessionId } = live;
    const lost = await joinLost(sessionId, true);
    const seen = await live.rest();
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    const last = given.at(-2);
    expect(last?.id).toStartWith(`${turnId}+now:`);
    expect(last?.data).toMatchObject({ type: "error" });
    expect(await assembled(await comeBackWith(sessionId, last?.id))).toEqual(
      (await messagesOf(t, agentId, sessionId))[1],
    );
  });
});
