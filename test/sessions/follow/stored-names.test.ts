import { describe, expect, test } from "bun:test";
import type { UIMessage } from "ai";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { assembled } from "../../harness/assembled.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { afterTools, heldMark, holdModel } from "../../harness/held-model.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { makeAgent } from "../../harness/seed.ts";
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
const { h, t } = await useTenant({ worker: true, relay });

/** What tests do with turns of an agent whose model is held back until they have joined. */
async function sceneAt(model: { readonly url: string }) {
  const agent = await makeAgent({ model }, t, { clientTools: [where] });
  const path = (sessionId: string | null, rest = "") => sessionPath(agent, sessionId, rest);
  const join = (sessionId: string, headers: Record<string, string> = {}) =>
    open(h, t, "GET", path(sessionId, "/stream"), { headers });
  return {
    path,
    join,
    ask: (message: object) => open(h, t, "POST", path(null), { body: { message } }),
    comeBackWith: async (sessionId: string, lastEventId: string | null | undefined) =>
      (await join(sessionId, { "last-event-id": lastEventId ?? "" })).rest(),
    answerOf: async (sessionId: string): Promise<UIMessage> => (await messagesOf(t, agent, sessionId))[1],
    /** Joins a turn whose log the joining process cannot read, and returns what the reader is given until the log is lost, and then. */
    joinLost: async (sessionId: string, givesOne = false) => {
      Object.assign(relay, { isAway: true, givesOne });
      const joined = await join(sessionId);
      const events: LiveEvent[] = [];
      const read = (async () => {
        for (let event = await joined.next(); event !== null; event = await joined.next()) events.push(event);
        return events;
      })();
      await eventually(() => relay.waiting > 0);
      relay.isAway = false;
      return { rest: () => read };
    },
  };
}

const numbersOf = (events: readonly LiveEvent[]) => events.map(({ id }) => id?.split(":") ?? []);
async function assembledOf(events: readonly LiveEvent[]): Promise<UIMessage> {
  return (await assembled(events.flatMap(({ data }) => (data === "[DONE]" ? [] : [data])))) as UIMessage;
}
/** No event of one of them is another event of the other. */
function expectAgreement(seen: readonly LiveEvent[], others: readonly LiveEvent[]): void {
  const known = new Map(seen.map(({ id, data }) => [id, data]));
  for (const { id, data } of others)
    if (id !== null && known.has(id)) expect([id, data] as unknown[]).toEqual([id, known.get(id)]);
}

describe.skipIf(!inProcess)("a reader whose log was lost", () => {
  test("is given what a waiting turn has stored under names that no other reader has seen", async () => {
    await using held = holdModel(h.model);
    const { ask, path, joinLost, comeBackWith, answerOf } = await sceneAt(held);
    const live = await ask(script(`text="one ${heldMark}" chunks=2 tool=where args={} tool=where args={"a":1}`));
    const { turnId, sessionId } = live;
    const lost = await joinLost(sessionId);
    held.release();
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
    expect((await assembledOf(anew)).parts).toEqual((await answerOf(sessionId)).parts);
    await t.call("POST", path(sessionId, "/cancel"));
  });

  test("goes on in the stored message of a turn that has ended", async () => {
    await using held = holdModel(h.model);
    const { ask, joinLost, comeBackWith, answerOf } = await sceneAt(held);
    const live = await ask(script(`text="one ${heldMark}" chunks=2`));
    const { turnId, sessionId } = live;
    const lost = await joinLost(sessionId);
    held.release();
    const seen = await live.rest();
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    expect(await assembledOf(given)).toEqual(await answerOf(sessionId));
    const own = given.slice(0, -1);
    expect(numbersOf(own.slice(1))).toEqual(own.slice(1).map((_, index) => [`${turnId}+stored`, String(index + 1)]));
    for (const [index, { id }] of own.entries())
      if (index > 0) expect(await comeBackWith(sessionId, id)).toEqual(given.slice(index + 1));
  });

  test("is given the whole answer with the end of its turn, where that went on and ended meanwhile", async () => {
    await using held = holdModel(h.model);
    const { ask, path, joinLost, answerOf } = await sceneAt(held);
    const live = await ask(script(`text="one ${heldMark}" tool=where args={} ; text="two"`));
    const { sessionId } = live;
    const lost = await joinLost(sessionId);
    held.release();
    await live.rest();
    const [call] = (await t.call("GET", path(sessionId, "/tool-calls"))).body.toolCalls;
    await t.call("POST", path(sessionId, `/tool-calls/${call.toolCallId}`), { body: { output: "here" } });
    await eventually(
      async () => (await h.sql`select 1 from turns where id = ${live.turnId} and status = 'succeeded'`).length > 0,
    );
    relay.comeBack();
    const given = await lost.rest();
    expect(given.at(-2)?.data).toMatchObject({ type: "finish", messageMetadata: { finishReason: "stop" } });
    expect(await assembledOf(given)).toEqual(await answerOf(sessionId));
  });

  test("is given the rest of a continuation, and begins anew when it comes back", async () => {
    await using held = holdModel(h.model, afterTools);
    const { ask, path, join, joinLost, comeBackWith, answerOf } = await sceneAt(held);
    const first = await ask(script('text="pre" tool=where args={} ; text="a b" chunks=2'));
    const { sessionId } = first;
    expect((await first.rest()).length).toBeGreaterThan(2);
    const [call] = (await t.call("GET", path(sessionId, "/tool-calls"))).body.toolCalls;
    await t.call("POST", path(sessionId, `/tool-calls/${call.toolCallId}`), { body: { output: "here" } });
    const live = await join(sessionId);
    const lost = await joinLost(sessionId);
    held.release();
    const seen = await live.rest();
    await idle(h, sessionId);
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    const stored = await answerOf(sessionId);
    expect(await assembledOf(given)).toEqual(stored);
    const named = numbersOf(given.slice(0, -1));
    expect(named.map(([, number]) => number)).toEqual(named.map((_, index) => String(index)));
    expect(await assembledOf(await comeBackWith(sessionId, given.at(-2)?.id))).toEqual(stored);
  });

  test("of which it had a part is given the rest under no number of the log, and misses nothing when it comes back", async () => {
    await using held = holdModel(h.model, afterTools);
    const { ask, joinLost, comeBackWith, answerOf } = await sceneAt(held);
    const live = await ask(script('text="one two" tool=nothing ; text="three four" chunks=4'));
    const { turnId, sessionId } = live;
    const lost = await joinLost(sessionId, true);
    held.release();
    const seen = await live.rest();
    relay.comeBack();
    const given = await lost.rest();
    expectAgreement(seen, given);
    const last = given.at(-2);
    expect(last?.id).toStartWith(`${turnId}+now:`);
    expect(await assembledOf(given)).toEqual(await answerOf(sessionId));
    expect(await assembledOf(await comeBackWith(sessionId, last?.id))).toEqual(await answerOf(sessionId));
  });
});
