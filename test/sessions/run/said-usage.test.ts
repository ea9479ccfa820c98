import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { changeTenant } from "../../../src/tenants/store.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, play, usageOf } from "../../harness/turns.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });
const credit = 1_000_000_000_000;
beforeEach(() => changeTenant(h.sql, t.id, { usageCredit: credit }));

/** A usage as JSON text, because numbers such as 1e30 are to come as they were written. */
let said = "null";
/** The same for requests that are not streamed: those of compaction. */
let saidOfSummary = "null";
const vendor = startVendor(({ body }: VendorRequest) => {
  if (body.stream !== true) {
    const choice = { index: 0, message: { role: "assistant", content: "A summary." }, finish_reason: "stop" };
    const text = `{"id":"c","choices":[${JSON.stringify(choice)}],"usage":${saidOfSummary}}`;
    return new Response(text, { headers: { "content-type": "application/json" } });
  }
  const first = { id: "c", choices: [{ index: 0, delta: { content: "Yes." }, finish_reason: null }] };
  const last = { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const events = [JSON.stringify(first), JSON.stringify(last), `{"id":"c","choices":[],"usage":${said}}`, "[DONE]"];
  const text = events.map((event) => `data: ${event}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
});
afterAll(() => vendor.stop());

const provider = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
// An unknown model has a window of 128,000 tokens; this reserve leaves 300 for the prompt.
const agentId = await makeAgent(h, t, { providerId: provider.id, compactionReserveTokens: 127_700 });

async function creditLeft(): Promise<number> {
  const [row] = await h.sql<{ usageCredit: number }[]>`select usage_credit from tenants where id = ${t.id}`;
  return row?.usageCredit ?? Number.NaN;
}

async function used(turnId: string): Promise<[input: number, output: number]> {
  const { inputTokens = Number.NaN, outputTokens = Number.NaN } = (await usageOf(h, turnId)) ?? {};
  return [inputTokens, outputTokens];
}

async function isEstimate(turnId: string): Promise<boolean> {
  const [row] = await h.sql`
    select usage.estimated, usage_estimated as same from usage join turns on turns.id = turn_id where turn_id = ${turnId}`;
  expect(row?.same).toBe(row?.estimated);
  return row?.estimated;
}

describe("token counts of a provider", () => {
  const noCounts = ["-1000000000000", "-1", "1.5", "1e30", "2147483648"];

  test.each(noCounts)("%s is no count: it is estimated, and what else is said is metered", async (count) => {
    for (const [prompt, completion, input, output] of [
      [count, "7", null, 7],
      ["5", count, 5, 1], // "Yes." makes one token.
      [count, count, null, 1],
    ] as const) {
      const before = await creditLeft();
      said = `{"prompt_tokens":${prompt},"completion_tokens":${completion}}`;
      const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
      expect(played.status).toBe(201);
      expect(await messagesOf(t, agentId, played.sessionId)).toHaveLength(2);
      const [inputTokens, outputTokens] = await used(played.turnId);
      expect([input ?? inputTokens, output]).toEqual([inputTokens, outputTokens]);
      expect(inputTokens).toBeGreaterThan(0);
      expect(inputTokens).toBeLessThan(100);
      expect(await creditLeft()).toBe(before - inputTokens - outputTokens);
      expect(await isEstimate(played.turnId)).toBe(true);
    }
  });

  test("2147483647 is a count, and sums are larger", async () => {
    const max = 2_147_483_647;
    said = `{"prompt_tokens":${max},"completion_tokens":${max}}`;
    const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    expect(await used(played.turnId)).toEqual([max, max]);
    expect(await creditLeft()).toBe(credit - 2 * max);
  });

  // "Yes." makes one token; the estimate of the input is null here.
  test.each<[said: string, input: number | null, output: number]>([
    ['{"prompt_tokens":null,"completion_tokens":7}', null, 7],
    ['{"prompt_tokens":0,"completion_tokens":7}', null, 7],
    ['{"completion_tokens":7}', null, 7],
    ['{"prompt_tokens":5,"completion_tokens":null}', 5, 1],
    ['{"prompt_tokens":5}', 5, 1],
    ['{"prompt_tokens":0,"completion_tokens":0}', null, 1],
    ["{}", null, 1],
    ["null", null, 1],
  ])("of %s the vendor's client makes zeros, and what is missing is estimated", async (usage, input, output) => {
    said = usage;
    const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    const [inputTokens, outputTokens] = await used(played.turnId);
    expect([input ?? inputTokens, output]).toEqual([inputTokens, outputTokens]);
    expect(inputTokens).toBeGreaterThan(0);
    expect(inputTokens).toBeLessThan(100);
    expect(await isEstimate(played.turnId)).toBe(true);
    expect(await creditLeft()).toBe(credit - inputTokens - outputTokens);
  });

  test("cached and reasoning tokens that are no counts change nothing", async () => {
    said =
      '{"prompt_tokens":5,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":-1e12},' +
      '"completion_tokens_details":{"reasoning_tokens":-1e12}}';
    const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    expect(await used(played.turnId)).toEqual([5, 7]);
    expect(await creditLeft()).toBe(credit - 12);
    expect(await isEstimate(played.turnId)).toBe(false);
  });

  test.each(noCounts)("%s of a compaction is no count either", async (count) => {
    said = '{"prompt_tokens":5,"completion_tokens":7}';
    saidOfSummary = `{"prompt_tokens":${count},"completion_tokens":3}`;
    const long = (word: string) => ({ message: userMessage(`${word} ${"lorem ".repeat(150)}`), stream: false });
    const { sessionId } = await play(t, agentId, null, long("alpha"));
    const played = await play(t, agentId, sessionId, long("beta"));
    expect(played.status).toBe(200);
    const [turn] = await h.sql`select model_calls from turns where id = ${played.turnId}`;
    expect(turn?.modelCalls).toBe(2);
    const [inputTokens, outputTokens] = await used(played.turnId);
    expect(outputTokens).toBe(10);
    expect(inputTokens).toBeGreaterThan(5 + 225);
    expect(await creditLeft()).toBe(credit - 12 - inputTokens - outputTokens);
  });

  test.each(['"5"', "[5]", "{}", "true", "1e999"])(
    "%s cannot be read: it costs the estimate, and no answer",
    async (count) => {
      for (const usage of [`{"prompt_tokens":${count},"completion_tokens":7}`, count]) {
        said = usage;
        const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
        expect([usage, played.status]).toEqual([usage, 201]);
        const [inputTokens, outputTokens] = await used(played.turnId);
        expect(inputTokens).toBeGreaterThan(0);
        expect(outputTokens).toBe(usage === count ? 1 : 7);
        expect(await isEstimate(played.turnId)).toBe(true);
      }
    },
  );
});
