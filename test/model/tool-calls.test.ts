import { describe, expect, test } from "bun:test";
import { jsonSchema, type ToolSet, type TypedToolCall, tool } from "ai";
import { toolCallsAtOnceMax } from "../../src/kernel/limits.ts";
import { CallValues } from "../../src/model/call-values.ts";
import { runCalls } from "../../src/model/tool-calls.ts";
import { TurnFiles } from "../../src/model/turn-files.ts";
import { eventually } from "../harness/eventually.ts";

const calls = Array.from({ length: 3 * toolCallsAtOnceMax }, (_, index) => ({
  type: "tool-call",
  toolCallId: `call-${index}`,
  toolName: "held",
  input: {},
})) as unknown as TypedToolCall<ToolSet>[];

/** A tool whose calls last until the test releases them, and how many run. */
function heldTool() {
  const releases: (() => void)[] = [];
  const seen = { running: 0, most: 0, begun: 0 };
  const held = tool({
    inputSchema: jsonSchema({ type: "object" }),
    execute: async () => {
      seen.begun += 1;
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      await new Promise<void>((resolve) => releases.push(resolve));
      seen.running -= 1;
      return "done";
    },
  });
  return { tools: { held }, seen, releases };
}

/** Runs all calls, and returns how many outputs they had. */
async function countOutputs(tools: ToolSet, signal: AbortSignal): Promise<number> {
  const turn = { messages: [], files: new TurnFiles([]), values: new CallValues([]) };
  let count = 0;
  for await (const _output of runCalls(calls, { tools, approvalOf: () => undefined, ...turn, signal })) count += 1;
  return count;
}

describe("runCalls", () => {
  test("runs 8 calls at once, and each further one when another has ended", async () => {
    const { tools, seen, releases } = heldTool();
    const { signal } = new AbortController();
    const counted = countOutputs(tools, signal);
    for (let ended = 0; ended < calls.length; ended++) {
      const begun = Math.min(calls.length, toolCallsAtOnceMax + ended);
      await eventually(() => seen.begun === begun && releases.length > 0);
      releases.shift()?.();
    }
    expect(await counted).toBe(calls.length);
    expect(seen.most).toBe(toolCallsAtOnceMax);
  });

  test("begins no further call after an abort", async () => {
    const { tools, seen, releases } = heldTool();
    const stop = new AbortController();
    const counted = countOutputs(tools, stop.signal);
    await eventually(() => seen.begun === toolCallsAtOnceMax);
    stop.abort();
    for (const release of releases) release();
    expect(await counted).toBe(0);
    await eventually(() => seen.running === 0);
    expect(seen.begun).toBe(toolCallsAtOnceMax);
  });
});
