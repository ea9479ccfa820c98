import { describe, expect, test } from "bun:test";
import type { UIMessage, UIMessageChunk } from "ai";
import { newId } from "../../../src/kernel/ids.ts";
import { assembled } from "../../harness/assembled.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { afterTools, holdModel } from "../../harness/held-model.ts";
import { makeAgent } from "../../harness/seed.ts";
import {
  idle,
  type LiveEvent,
  messagesOf,
  open,
  type Played,
  play,
  script,
  sessionPath,
  textOf,
} from "../../harness/turns.ts";
import { undecided } from "../../harness/undecided.ts";

const manual = { tools: ["memory" as const], approvalInChat: { default: "manual" as const } };
const { h, t, agentId } = await useAgent({ worker: true, agent: manual });

const joinOf = (agent: string, sessionId: string, lastEventId: string | null, rest = "/stream") =>
  open(h, t, "GET", sessionPath(agent, sessionId, rest), {
    headers: lastEventId === null ? {} : { "last-event-id": lastEventId },
  });
const join = (sessionId: string, lastEventId: string | null = null, rest = "/stream") =>
  joinOf(agentId, sessionId, lastEventId, rest);
const restOf = async (sessionId: string, lastEventId: string) => {
  const stream = await join(sessionId, lastEventId);
  return { status: stream.response.status, turnId: stream.turnId, events: await stream.rest() };
};
/** Plays a turn, and returns its events beside what `play` does. */
async function played(message: object, agent = agentId): Promise<Played & { events: LiveEvent[] }> {
  const live = await open(h, t, "POST", sessionPath(agent, null), { body: { message } });
  const { sessionId, turnId } = live;
  const events = await live.rest();
  return { sessionId, turnId, events } as Played & { events: LiveEvent[] };
}
/** Lets the relay forget a log, as it does some minutes after its end. */
const forget = (logId: string) => h.ctx.relay.erase([1, 2, 3].map((attempt) => ({ logId, attempt })));
const chunksIn = (events: readonly LiveEvent[]) =>
  events.flatMap(({ data }) => (data === "[DONE]" ? [] : [data as unknown as UIMessageChunk]));
const typesIn = (events: readonly LiveEvent[]) => chunksIn(events).map(({ type }) => type);

/** The message that a client has which begins anew with the first `start` of a joined stream, as the AI SDK's does. */
async function assembledOf(events: readonly LiveEvent[]): Promise<UIMessage> {
  return (await assembled(chunksIn(events))) as UIMessage;
}

describe("a stream", () => {
  test("says how soon to come back", async () => {
    const body = { message: script("text=fine") };
    const { body: text } = await t.call("POST", sessionPath(agentId, null), { body });
    expect(text).toStartWith("retry: 500\n");
    expect(text.match(/^retry:/gm)).toHaveLength(1);
  });
});

describe("GET …/stream with a Last-Event-ID of a turn that has ended", () => {
  test("200 gives the rest of it from its log, after each of its events", async () => {
    const { sessionId, turnId, events } = await played(script('text="one two three" chunks=3'));
    const numbered = events.slice(0, -1);
    for (const [index, { id }] of numbered.entries()) {
      const rest = await restOf(sessionId, id ?? "");
      expect([rest.status, rest.turnId]).toEqual([200, turnId]);
      expect(rest.events).toEqual(events.slice(index + 1));
    }
    for (const wrong of [`${turnId}:400`, `${turnId}:1e3`, turnId, `${turnId}+3:2`])
      expect((await restOf(sessionId, wrong)).events.at(0)?.data).toMatchObject({ type: "start" });
  });

  test("200 ends a turn that failed or was cancelled with its last chunk", async () => {
    const failed = await played(script('text="one two" failAfterChunks=1'));
    const ended = await restOf(failed.sessionId, failed.events[2]?.id ?? "");
    expect(ended.events).toEqual(failed.events.slice(3));
    await forget(failed.turnId);
    const later = await restOf(failed.sessionId, failed.events[2]?.id ?? "");
    expect(typesIn(later.events)).toEqual(["error"]);
    expect(later.events.at(-1)?.data).toBe("[DONE]");
  });

  test("200 gives the stored message from its start once the log is gone; what is missing at the very end alone", async () => {
    const { sessionId, turnId, events } = await played(script('text="one two three" chunks=3'));
    await forget(turnId);
    const [, stored] = await messagesOf(t, agentId, sessionId);
    const anew = await restOf(sessionId, events[3]?.id ?? "");
    expect(anew.events[0]?.data).toMatchObject({ type: "start", messageId: stored.id });
    // It is divided otherwise than the log, so no number of it may be taken for one of the log's.
    expect(anew.events.slice(0, -1).map(({ id }) => id)).toEqual(
      anew.events.slice(0, -1).map((_, index) => `${turnId}+stored:${index}`),
    );
    for (const [index, { id }] of anew.events.slice(0, -1).entries())
      expect((await restOf(sessionId, id ?? "")).events).toEqual(anew.events.slice(index + 1));
    expect((await restOf(sessionId, `${turnId}+stored:400`)).events).toEqual(anew.events);
    expect(await assembledOf(anew.events)).toEqual(undecided(stored));
    expect(anew.events.at(-1)?.data).toBe("[DONE]");
    const numbered = events.slice(0, -1);
    expect((await restOf(sessionId, numbered.at(-2)?.id ?? "")).events).toEqual(events.slice(-2));
    expect((await restOf(sessionId, numbered.at(-1)?.id ?? "")).events).toEqual(events.slice(-1));
  });

  test("200 gives the rest of what was said before a turn stopped to ask, while it waits", async () => {
    const { sessionId, events } = await played(script('tool=memory_save args={"text":"tea"} ; text="Done."'));
    const rest = await restOf(sessionId, events[1]?.id ?? "");
    expect(rest.events).toEqual(events.slice(2));
    expect((await t.call("GET", sessionPath(agentId, sessionId, "/stream"))).status).toBe(204);
  });

  test("204 for a turn of another session or tenant, and for none", async () => {
    const { sessionId } = await played(script("text=fine"));
    const other = await played(script("text=fine"));
    const someone = await h.tenant();
    const theirAgent = await makeAgent(h, someone);
    const theirs = await play(someone, theirAgent, null, { message: script("text=fine") });
    for (const id of [
      `${other.turnId}:2`,
      `${theirs.turnId}:2`,
      `${newId("turn")}:2`,
      "nonsense",
      `${newId("continuation")}:1`,
    ])
      expect(
        (await t.call("GET", sessionPath(agentId, sessionId, "/stream"), { headers: { "last-event-id": id } })).status,
      ).toBe(204);
  });
});

describe("GET …/stream within a continuation", () => {
  /** A turn whose call was decided, and which goes on. */
  async function goesOn(settings: string, agent = agentId, decision: object = { approved: true }) {
    const first = await played(script(settings), agent);
    const [, asked] = await messagesOf(t, agent, first.sessionId);
    const path = sessionPath(agent, first.sessionId, "/tool-approvals");
    const { approvals } = (await t.call("GET", path)).body;
    const { body } = await t.call("POST", `${path}/${approvals[0].id}`, { body: decision });
    return { ...first, asked, continuationId: body.continuation.id as string };
  }
  const slow =
    'text="First." tool=memory_save args={"text":"tea"} ; text="one two three four" chunks=4 hangAfterChunks=3';

  test("200 gives the whole message from its start, with numbers without a gap, after each of which it goes on", async () => {
    const { sessionId, asked, continuationId } = await goesOn(slow);
    const joined = await join(sessionId);
    const seen: LiveEvent[] = [];
    while (textOf(chunksIn(seen) as never) !== "First.one two three ") seen.push((await joined.next()) as LiveEvent);
    const name = seen[0]?.id?.split(":")[0] ?? "";
    expect(name).toStartWith(`${continuationId}+`);
    expect(seen.map(({ id }) => id)).toEqual(seen.map((_, index) => `${name}:${index}`));
    const whole = await assembledOf(seen);
    expect(whole.id).toBe(asked.id);
    expect(whole.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-memory_save",
      "step-start",
      "text",
    ]);
    expect(whole.parts[2]).toMatchObject({ state: "output-available" });
    const resumed = await Promise.all(seen.slice(0, -1).map(({ id }) => join(sessionId, id)));
    for (const [index, stream] of resumed.entries()) {
      const next: LiveEvent[] = [];
      while (next.length < seen.length - index - 1) next.push((await stream.next()) as LiveEvent);
      expect(next).toEqual(seen.slice(index + 1));
      await stream.leave();
    }
    // Who follows the continuation alone is not given what was before it.
    const alone = await join(sessionId, null, `/tool-approval-continuations/${continuationId}`);
    const [start, ...events] = [await alone.next(), await alone.next()];
    expect(start?.id).toBe(`${continuationId}:0`);
    const back = await join(sessionId, events[0]?.id ?? "");
    expect(await back.next()).toEqual((await alone.next()) as LiveEvent);
    for (const stream of [alone, back]) await stream.leave();
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    expect((await joined.rest()).at(-1)?.data).toBe("[DONE]");
  });

  test("200 gives the rest of it once it has ended, in the numbers that its reader has seen", async () => {
    await using held = holdModel(h.model, afterTools);
    const agent = await makeAgent({ model: held }, t, manual);
    const joinIt = (lastEventId: string | null) => joinOf(agent, sessionId, lastEventId);
    const restOf = async (lastEventId: string) => (await joinIt(lastEventId)).rest();
    const { sessionId, continuationId } = await goesOn(
      'text="First." tool=memory_save args={"text":"tea"} ; text="one two three four" chunks=4 delayMs=1',
      agent,
    );
    const joined = await joinIt(null);
    held.release();
    const events = await joined.rest();
    await idle(h, sessionId);
    const stored = (await messagesOf(t, agent, sessionId))[1];
    expect(await assembledOf(events)).toEqual(undecided(stored));
    const own = events.findIndex(({ data }) => (data as { type: string }).type === "tool-output-available");
    for (const [index, { id }] of events.slice(0, -1).entries()) {
      const rest = await restOf(id ?? "");
      expect(rest).toEqual(events.slice(index + 1));
    }
    // The turn's first log is not its last one: its reader begins the message anew, with the same events.
    const begun = await restOf(`${joined.turnId}:2`);
    expect(begun).toEqual(events);
    await forget(continuationId);
    const gone = await restOf(events[1]?.id ?? "");
    expect(gone[0]?.id).toBe(`${continuationId}+stored:0`);
    expect(await assembledOf(gone)).toEqual(undecided(stored));
    const anew = await restOf(events[own + 1]?.id ?? "");
    expect(await assembledOf(anew)).toEqual(undecided(stored));
  });

  test("200 tells a denial by the call's end: the message is the stored one but for the decision, live and later", async () => {
    await using held = holdModel(h.model, afterTools);
    const agent = await makeAgent({ model: held }, t, manual);
    const { sessionId, continuationId } = await goesOn(
      'tool=memory_save args={"text":"tea"} ; text="Then not."',
      agent,
      { approved: false, reason: "not now" },
    );
    const joined = await joinOf(agent, sessionId, null);
    held.release();
    const live = await joined.rest();
    await idle(h, sessionId);
    const stored = (await messagesOf(t, agent, sessionId))[1];
    const call = stored.parts.find(({ type }: { type: string }) => type === "tool-memory_save");
    expect(call).toMatchObject({ state: "output-denied", approval: { approved: false, reason: "not now" } });
    const end = live.at(-2)?.id ?? "";
    await forget(continuationId);
    const later = await (await joinOf(agent, sessionId, `${end.split(":")[0]}:0`)).rest();
    for (const events of [live, later]) {
      // Version 6 of the AI SDK's client gives a stream up in which a chunk says that a person denied a call.
      expect(typesIn(events)).not.toContain("tool-approval-response");
      expect(typesIn(events)).toContain("tool-output-denied");
      const read = await assembledOf(events);
      expect(read.parts.find(({ type }) => type === "tool-memory_save")).toEqual({
        ...call,
        approval: { id: call.approval.id },
      });
      expect(read).toEqual(undecided(stored));
    }
  });

  const asks = 'text="First." tool=memory_save args={"text":"tea"} ;';
  test.each([
    ["failed", `${asks} text="one two three four" chunks=4 failAfterChunks=2 delayMs=1`, "error"],
    ["was cancelled, and something is kept", `${asks} text="one two three four" chunks=4 hangAfterChunks=3`, "abort"],
    ["reached a limit between two steps", `${asks} text="Next." tool=memory_recall args={} ; text="No."`, "error"],
  ])("200 gives the same events of one that %s", async (_how, settings, ending) => {
    await using held = holdModel(h.model, afterTools);
    const agent = await makeAgent({ model: held }, t, {
      tools: ["memory"],
      turnLimits: { maxModelCalls: 2 },
      approvalInChat: {
        default: "full",
        overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" }],
      },
    });
    const { sessionId, turnId, continuationId } = await goesOn(settings, agent);
    const joinIt = (lastEventId: string | null) => joinOf(agent, sessionId, lastEventId);
    const live = await joinIt(null);
    held.release();
    const events: LiveEvent[] = [];
    const until = async (isSeen: () => boolean) => {
      for (let event = await live.next(); event !== null; event = isSeen() ? null : await live.next())
        events.push(event);
    };
    if (ending === "abort") {
      await until(() => textOf(chunksIn(events) as never) === "First.one two three ");
      await t.call("POST", sessionPath(agent, sessionId, "/cancel"), { body: { keep: "partial" } });
    }
    await until(() => false);
    await idle(h, sessionId);
    expect(typesIn(events).at(-1)).toBe(ending as never);
    for (const [index, { id }] of events.slice(0, -1).entries())
      expect(await (await joinIt(id)).rest()).toEqual(events.slice(index + 1));
    expect(await (await joinIt(`${turnId}:1`)).rest()).toEqual(events);
    await forget(continuationId);
    const gone = await (await joinIt(`${turnId}:1`)).rest();
    expect((await assembledOf(gone)).parts).toEqual(undecided((await messagesOf(t, agent, sessionId))[1]).parts);
  });

  test.each([
    ["the caller's tool", "tool=where args={}", "full"],
    ["the caller's tool and one that asks", 'tool=memory_save args={"text":"tea"} tool=where args={}', "full"],
    [
      "one that is denied, and the caller's that asks",
      'tool=memory_save args={"text":"tea"} tool=where args={}',
      "manual",
    ],
  ] as const)("200 gives the same events of it once it has ended: %s", async (_what, calls, mode) => {
    await using held = holdModel(h.model, afterTools);
    const agent = await makeAgent({ model: held }, t, {
      tools: ["memory"],
      clientTools: [{ name: "where", description: "Where the user is.", inputSchema: { type: "object" } }],
      approvalInChat: {
        default: "full",
        overrides: [
          { tool: "memory_save", mcpConnectionId: null, mode: "manual" },
          { tool: "where", mcpConnectionId: null, mode },
        ],
      },
    });
    const message = script(`text=pre ${calls}; text="a b c d e f g h" chunks=8 delayMs=1`);
    const { sessionId, turnId } = await open(h, t, "POST", sessionPath(agent, null), { body: { message } }).then(
      async (live) => ({ sessionId: live.sessionId, turnId: live.turnId, events: await live.rest() }),
    );
    const path = (rest: string) => sessionPath(agent, sessionId, rest);
    const { approvals } = (await t.call("GET", path("/tool-approvals"))).body;
    for (const { id, tool } of approvals) {
      const approved = mode === "full" || tool === "where";
      await t.call("POST", path(`/tool-approvals/${id}`), { body: { approved } });
    }
    const toolCalls = await eventually(async () => {
      const { body } = await t.call("GET", path("/tool-calls"));
      return body.toolCalls.length > 0 ? body.toolCalls : null;
    });
    await t.call("POST", path(`/tool-calls/${toolCalls[0].toolCallId}`), { body: { output: "here" } });
    const joinIt = (lastEventId: string | null) => joinOf(agent, sessionId, lastEventId);
    const joined = await joinIt(null);
    held.release();
    const events = await joined.rest();
    await idle(h, sessionId);
    expect(await assembledOf(events)).toEqual(undecided((await messagesOf(t, agent, sessionId))[1]));
    for (const [index, { id }] of events.slice(0, -1).entries())
      expect(await (await joinIt(id)).rest()).toEqual(events.slice(index + 1));
    expect(await (await joinIt(`${turnId}:1`)).rest()).toEqual(events);
  });
});
