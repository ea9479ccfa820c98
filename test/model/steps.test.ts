import { afterAll, describe, expect, test } from "bun:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { startSimulatedModel } from "../../src/simulated-model/server.ts";
import {
  block,
  call,
  closing,
  eventStream,
  events,
  failed,
  message,
  opening,
  overloaded,
  said,
  textOf,
  thought,
  yes,
} from "../harness/anthropic-events.ts";
import { bothSides, onVendor, type Scene, type Side, type Stage, simulatedStages } from "../harness/model-sides.ts";

const server = startSimulatedModel({ chunkDelayMs: 0 });
afterAll(() => server.stop());

/** A scene, and what has to come of it; by default one call of the model, which ends well. */
interface Played extends Scene {
  readonly calls?: number;
  readonly ran?: readonly string[];
  readonly ended?: Side["ended"];
  /** Whether it ends after a call of the model, while its tools run. */
  readonly cutOffInTools?: boolean;
}

function asked(script: string): UiMessage {
  return { id: "q", role: "user", parts: [{ type: "text", text: `[[sim: ${script}]]` }] } as UiMessage;
}

/** A scene that is one script. */
function scene(script: string, more: Omit<Played, "messages"> = {}): Played {
  return { messages: [asked(script)], ...more };
}

interface Decision {
  readonly tool: string;
  readonly input: unknown;
  readonly approved: boolean;
  readonly reason?: string;
}

/** A scene of an answer that asked people, who have decided. */
function decided(script: string, calls: readonly Decision[], more: Omit<Played, "messages"> = {}): Played {
  const parts = calls.map(({ tool, input, approved, reason }, index) => ({
    type: `tool-${tool}`,
    toolCallId: `made-${index}`,
    state: "approval-responded",
    input,
    approval: { id: `approval-${index}`, approved, ...(reason === undefined ? {} : { reason }) },
  }));
  const response = { id: "a", role: "assistant", parts: [{ type: "step-start" }, ...parts] } as unknown as UiMessage;
  return { messages: [asked(script), response], ...more };
}

const approvedAsk: Decision = { tool: "ask", input: { a: 1 }, approved: true };
const refusedAsk: Decision = { tool: "ask", input: { a: 2 }, approved: false, reason: "Not today." };
const forbidden: Decision = { tool: "never", input: {}, approved: true };
const misfit: Decision = { tool: "ask", input: { a: "one" }, approved: true };

/** The words for an unusable call are ours, of which the simulated model would count other tokens. */
const seen = 'text="I see." inputTokens=9';
const never = 'text="This is never said."';
const atTwo: Scene["abort"] = (chunk) => chunk.type === "text-delta" && chunk.delta.startsWith("two");

const scenes: Readonly<Record<string, Played>> = {
  "a text": scene('text="One two three."', { instructions: "Be brief." }),
  "a text without tools": scene('text="One two three."', { withoutTools: true }),
  "an empty text": scene('text=""'),
  "no usage": scene('text="One." usage=none'),
  "reasoning, then a text": scene('reasoning="Let me think." text="It is so."'),
  "a tool that runs, and its result": scene('text="Wait." tool=add args={"a":1,"b":2}; text="Three."', {
    calls: 2,
    ran: ["add"],
  }),
  "a tool that answers nothing": scene('tool=nothing; text="Well."', { calls: 2, ran: ["nothing"] }),
  "reasoning and texts in each of three steps": scene(
    'reasoning=A text=B tool=quick; reasoning=C text=D tool=quick; reasoning=E text="F g"',
    { calls: 3, ran: ["quick", "quick"] },
  ),
  "two tools side by side that finish in the other order": scene('tool=slow tool=quick; text="Both."', {
    calls: 2,
    ran: ["slow", "quick"],
  }),
  "a tool that throws": scene('tool=fail; text="Sorry."', { calls: 2, ran: ["fail"] }),
  "a tool that throws beside one that runs": scene('tool=fail tool=quick; text="Half."', {
    calls: 2,
    ran: ["fail", "quick"],
  }),
  "a denied tool": scene('tool=never; text="Then not."', { calls: 2 }),
  "a denied tool beside one that runs": scene('tool=quick tool=never; text="Half."', { calls: 2, ran: ["quick"] }),
  "a tool that asks": scene(`tool=ask args={"a":1}; ${never}`),
  "a tool that asks beside one that runs": scene(`tool=ask args={"a":1} tool=quick; ${never}`, { ran: ["quick"] }),
  "a tool that asks beside a denied one": scene(`tool=never tool=ask args={"a":1}; ${never}`),
  "wrong input": scene(`tool=add args={"a":"one"}; ${seen}`, { calls: 2 }),
  "input that is not JSON": scene(`tool=add args="{\\"a\\":"; ${seen}`, { calls: 2 }),
  "wrong input beside a call that runs": scene(`tool=add args={"a":"one"} tool=quick; ${seen}`, {
    calls: 2,
    ran: ["quick"],
  }),
  "an unknown tool": scene(`tool=fly; ${seen}`, { calls: 2 }),
  "a call when there are no tools": scene(`tool=add args={"a":1,"b":2}; ${seen}`, { withoutTools: true, calls: 2 }),
  "an approved call": decided('tool=ask; text="Done."', [approvedAsk], { ran: ["ask"] }),
  "a refused call": decided('tool=ask; text="Fine."', [refusedAsk]),
  "an approved and a refused call": decided('tool=ask; text="Half."', [refusedAsk, approvedAsk], { ran: ["ask"] }),
  "an approved call that the policy forbids by now": decided('tool=never; text="Fine."', [forbidden]),
  "approved input that no longer fits, beside all the rest": decided(
    `tool=ask; ${seen}`,
    [misfit, refusedAsk, forbidden, approvedAsk],
    { ran: ["ask"] },
  ),
  "an approved call, and more calls": decided('tool=ask; tool=quick; text="Done."', [approvedAsk], {
    calls: 2,
    ran: ["ask", "quick"],
  }),
  "a finish for another reason": scene('text="No." finish=content_filter'),
  "an error in the middle": scene('text="One two three." failAfterChunks=2', { ended: "failed" }),
  "an error after a call": scene(`text=One tool=quick failAfterChunks=5; ${never}`, { ended: "failed" }),
  "an error in the second step": scene('tool=quick; text="One two three." failAfterChunks=2', {
    calls: 2,
    ran: ["quick"],
    ended: "failed",
  }),
  "two failures": scene("fail=500 retryAfter=0", { calls: 2, ended: "failed" }),
  "a failure that is not tried again": scene("fail=403", { ended: "failed" }),
  "two failures in the second step": scene("tool=quick; fail=500 retryAfter=0", {
    calls: 3,
    ran: ["quick"],
    ended: "failed",
  }),
  "the step limit": scene(`tool=quick; tool=quick; tool=quick; ${never}`, {
    modelCallsMax: 2,
    calls: 2,
    ran: ["quick", "quick"],
  }),
  "an abort before the call": scene(never, { abort: "before", calls: 0, ended: "aborted" }),
  "an abort before the call of an answer that goes on": decided(`tool=ask; ${never}`, [refusedAsk, approvedAsk], {
    abort: "before",
    calls: 0,
    ended: "aborted",
  }),
  "an abort while a stream hangs": scene('text="One two three." hangAfterChunks=2', { abort: atTwo, ended: "aborted" }),
  "an abort in the second step": scene('tool=quick; text="One two three." hangAfterChunks=2', {
    abort: atTwo,
    calls: 2,
    ran: ["quick"],
    ended: "aborted",
  }),
  "an abort while a tool hangs": scene(`tool=hang; ${never}`, {
    abort: "in tool",
    ran: ["hang"],
    ended: "aborted",
    cutOffInTools: true,
  }),
  "an abort while a tool hangs, beside one that has answered": scene(`tool=quick tool=hang; ${never}`, {
    abort: (chunk) => chunk.type === "tool-output-available",
    ran: ["quick", "hang"],
    ended: "aborted",
    cutOffInTools: true,
  }),
  "an abort while an approved tool hangs": decided(
    `tool=hang; ${never}`,
    [{ tool: "hang", input: {}, approved: true }],
    { abort: "in tool", calls: 0, ran: ["hang"], ended: "aborted" },
  ),
};

/** The client of Responses waits for the first word before it answers, and takes an empty stream for an answer. */
const scenesByChat: Readonly<Record<string, Played>> = {
  "an error at once": scene("text=Never failAfterChunks=0", { ended: "failed" }),
  "an empty stream": scene("emptyStream", { ended: "failed" }),
  "an empty stream in the second step": scene("tool=quick; emptyStream", { calls: 2, ran: ["quick"], ended: "failed" }),
  "an abort before the first word of a stream that hangs": scene("text=Never delayMs=1 hangAfterChunks=0", {
    abort: (chunk) => chunk.type === "start-step",
    ended: "aborted",
  }),
};

/** Holds both sides against each other, and ours against what was to be. */
async function holdTogether(stage: Stage, played: Played): Promise<void> {
  const { ours, sdk, usages } = await bothSides(stage, played);
  const { used, ...seen } = ours;
  const { used: usedBySdk, ...seenBySdk } = sdk;
  expect(seen).toEqual(seenBySdk);
  // The SDK counts a call of the model with its step; ours meters it as it ends, for its tokens have to be paid.
  if (played.cutOffInTools) expect(used.inputTokens).toBeGreaterThan(usedBySdk.inputTokens);
  else expect(used).toEqual(usedBySdk);
  const { ended, ran, bodies } = ours;
  const expected = { ended: played.ended ?? "finished", ran: played.ran ?? [], calls: played.calls ?? 1 };
  expect({ ended, ran, calls: bodies.length }).toEqual(expected);
  // Each request is metered once, but those that were refused.
  expect(usages.length).toBeLessThanOrEqual(bodies.length);
}

const stages = simulatedStages(server);

describe.each([...stages])("runModel does what the SDK's streamText does, by %s:", (wire, stage) => {
  const played = wire === "chat" ? { ...scenes, ...scenesByChat } : scenes;
  test.each(Object.entries(played))("%s", (_name, scene) => holdTogether(stage, scene));
});

// The SDK finds something by such a name in the object of its tools, and says so to its clients.
test.each([...stages])(
  "a tool by the name of what every object has is as unknown as any other, by %s",
  async (_wire, stage) => {
    const told = async (name: string) => {
      const { ours } = await bothSides(stage, scene(`tool=${name}; ${seen}`, { calls: 2 }));
      return JSON.stringify(ours.chunks).replaceAll(`"${name}"`, '"fly"');
    };
    const unknown = await told("fly");
    expect(unknown).toContain("tool-input-error");
    for (const name of ["constructor", "__proto__", "toString"]) expect(await told(name)).toBe(unknown);
  },
);

/** What a vendor answers, one after another, and what has to come of it. */
interface Exchange extends Pick<Played, "ran" | "ended"> {
  readonly responses: readonly (() => Response)[];
}

const exchanges: Readonly<Record<string, Exchange>> = {
  "thoughts with signatures, a call in pieces, and the same ids again": {
    responses: [
      message(
        "tool_use",
        thought(0, "hm"),
        said(1, "Wait."),
        call(2, "t-1", "add", '{"a":', '1,"b"', ":2}"),
        call(3, "t-2", "quick"),
      ),
      message("tool_use", thought(0, "so"), said(1, "Again."), call(2, "t-3", "quick", "{}")),
      message("end_turn", thought(0, "ah"), said(1, "Three."), said(2, "Really.")),
    ],
    ran: ["add", "quick", "quick"],
  },
  "thoughts that are hidden": {
    responses: [message("tool_use", block(0, { type: "redacted_thinking", data: "x" }), call(1, "t", "quick")), yes],
    ran: ["quick"],
  },
  "a failure, then an answer": { responses: [failed, yes] },
  "a failure in the second step, then an answer": {
    responses: [message("tool_use", call(0, "t", "quick")), failed, yes],
    ran: ["quick"],
  },
  "an error in the middle": { responses: [events(opening, ...said(0, "Yes"), overloaded)], ended: "failed" },
  "an error after a call": { responses: [events(opening, ...call(0, "t", "quick"), overloaded)], ended: "failed" },
  "an end before the first word": { responses: [events(opening)], ended: "failed" },
};

// Left out: a stream that ends without the protocol's own end. The SDK takes it for an answer; here it fails the turn
// (`test/sessions/run/broken-answers.test.ts`).

const anthropicAt = (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "key" })("claude-opus-5-5");

describe("runModel does what the SDK's streamText does, by Anthropic's messages:", () => {
  test.each(Object.entries(exchanges))("%s", async (_name, { responses, ...expected }) => {
    await onVendor(responses, anthropicAt, (stage) =>
      holdTogether(stage, { ...scene(""), calls: responses.length, ...expected }),
    );
  });

  test.each([
    ["in the middle of a text", "text-delta"],
    ["after a call", "tool-input-available"],
  ])("a connection that is cut %s", async (_name, last) => {
    let cut = () => {};
    const pieces = last === "text-delta" ? said(0, "Yes").slice(0, 2) : call(0, "t", "quick");
    const response = () => {
      const start = (body: ReadableStreamDefaultController) => {
        body.enqueue(new TextEncoder().encode(textOf(opening, ...pieces)));
        cut = () => body.error(new Error("The connection is cut."));
      };
      return new Response(new ReadableStream({ start }), eventStream);
    };
    // What a connection still held goes with it, so it is cut once all has come.
    const saw: Scene["saw"] = ({ type }) => type === last && cut();
    await onVendor([response], anthropicAt, (stage) => holdTogether(stage, scene("", { saw, ended: "failed" })));
  });

  test("an abort before the vendor has answered", async () => {
    await onVendor([() => new Promise(() => {})], anthropicAt, (stage) =>
      holdTogether(stage, scene("", { abort: "asked", ended: "aborted" })),
    );
  });
});

describe("runModel does what the SDK's streamText does:", () => {
  const data = (...list: readonly object[]) => {
    const text = list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    return () => new Response(text, eventStream);
  };

  test("by Google's generateContent, with thoughts and a call that are signed", async () => {
    const response = (finishReason: string, ...parts: readonly object[]) =>
      data(
        ...parts.map((part) => ({
          candidates: [{ content: { role: "model", parts: [part] }, index: 0, finishReason }],
        })),
      );
    const responses = [
      response(
        "STOP",
        { text: "hm", thought: true, thoughtSignature: "s-1" },
        { functionCall: { id: "g-1", name: "add", args: { a: 1, b: 2 } }, thoughtSignature: "s-2" },
      ),
      response("STOP", { text: "Three." }, { text: "", thoughtSignature: "s-3" }),
    ];
    await onVendor(
      responses,
      (url) => createGoogle({ baseURL: url, apiKey: "key" })("gemini-3-flash-preview"),
      (stage) => holdTogether(stage, { ...scene(""), calls: 2, ran: ["add"] }),
    );
  });

  test("by OpenRouter's chat, with details of its reasoning", async () => {
    const response = (finish_reason: string, ...deltas: readonly object[]) =>
      data(
        ...[...deltas, {}].map((delta, at) => {
          const choice = { index: 0, delta, finish_reason: at === deltas.length ? finish_reason : null };
          return { id: "r", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] };
        }),
      );
    const details = { type: "reasoning.text", text: "hm", signature: "s", format: "anthropic-claude-v1", index: 0 };
    const asks = { index: 0, id: "o-1", type: "function", function: { name: "quick", arguments: "{}" } };
    const responses = [
      response("tool_calls", { reasoning_details: [details] }, { content: "Wait." }, { tool_calls: [asks] }),
      response("stop", { content: "Done." }),
    ];
    await onVendor(
      responses,
      (url) => createOpenRouter({ baseURL: url, apiKey: "key", compatibility: "strict" }).chat("anthropic/x"),
      (stage) => holdTogether(stage, { ...scene(""), calls: 2, ran: ["quick"] }),
    );
  });
});

test("an abort does not wait for a connection that does not heed it", async () => {
  const deaf = (input: Parameters<typeof fetch>[0], init?: RequestInit) => fetch(input, { ...init, signal: null });
  const begun = new TextEncoder().encode(textOf(opening, ...said(0, "Yes").slice(0, 2)));
  const responses = [() => new Response(new ReadableStream({ start: (body) => body.enqueue(begun) }), eventStream)];
  const modelAt = (url: string) =>
    createAnthropic({
      baseURL: `${url}/v1`,
      apiKey: "key",
      fetch: Object.assign(deaf, { preconnect: fetch.preconnect }),
    })("claude-opus-5-5");
  await onVendor(responses, modelAt, (stage) =>
    holdTogether(stage, scene("", { abort: (chunk) => chunk.type === "text-delta", ended: "aborted" })),
  );
});

describe("runModel differs from the SDK's streamText on purpose:", () => {
  const chat = stages.get("chat") as Stage;

  test("an unusable call is told in words that name no class", async () => {
    const script = 'tool=fly tool=add args={"a":"one"} tool=add args="{"; text="I see."';
    const { raw } = await bothSides(chat, scene(script));
    const words = [
      "There is no tool fly; there are add, quick, slow, fail, ask, never, nothing, hang.",
      "The tool's input is not valid.",
      "The tool's input is not valid: it is not JSON.",
    ];
    const errors = raw.chunks.flatMap((chunk) => (chunk.type === "tool-input-error" ? [chunk.errorText] : []));
    expect(errors).toEqual(words);
    const told = (raw.bodies[1] as { messages: { role: string; content: string }[] }).messages;
    expect(told.flatMap(({ role, content }) => (role === "tool" ? [content] : []))).toEqual(words);
  });

  test.each([["quick"], ["never"]])("after an error nothing is run, whatever comes then: %s", async (name) => {
    const responses = [events(opening, ...call(0, "t", name), overloaded, ...closing("tool_use")), yes];
    await onVendor(responses, anthropicAt, async (stage) => {
      const { ours, sdk } = await bothSides(stage, scene(""));
      expect(ours).toMatchObject({ ended: "failed", ran: [], chunks: sdk.chunks });
      expect(ours.bodies).toEqual(sdk.bodies.slice(0, 1));
      expect({ ran: sdk.ran, calls: sdk.bodies.length }).toEqual({ ran: name === "quick" ? ["quick"] : [], calls: 2 });
    });
  });

  test("an approved call of a tool that is gone has failed, and the answer goes on", async () => {
    const played = decided('tool=ask; text="I see." inputTokens=9', [{ tool: "gone", input: {}, approved: true }]);
    const { ours, sdk } = await bothSides(chat, played);
    const told = { role: "tool", tool_call_id: "id-1", content: "(an unusable call)" };
    expect(ours.bodies).toEqual([{ ...(ours.bodies[0] as object), messages: expect.arrayContaining([told]) }]);
    expect(ours.chunks[0]).toMatchObject({ type: "tool-output-error", toolCallId: "made-0" });
    expect(ours.ended).toBe("finished");
    expect(sdk).toMatchObject({ ended: "failed", bodies: [] });
  });
});
