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

const used = async (turnId: string) => {
  const { inputTokens, outputTokens } = (await usageOf(h, turnId)) ?? {};
  return [inputTokens, outputTokens];
};

describe("token counts of a provider", () => {
  const noCounts = ["-1000000000000", "-1", "1.5", "1e30", "null", "2147483648"];

  test.each(noCounts)("%s is no count: the turn succeeds, and what else is said is metered", async (count) => {
    for (const [prompt, completion, metered] of [
      [count, "7", [0, 7]],
      ["5", count, [5, 0]],
      [count, count, [0, 0]],
    ] as const) {
      const before = await creditLeft();
      said = `{"prompt_tokens":${prompt},"completion_tokens":${completion}}`;
      const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
      expect(played.status).toBe(201);
      expect(await messagesOf(t, agentId, played.sessionId)).toHaveLength(2);
      expect(await used(played.turnId)).toEqual([...metered]);
      expect(await creditLeft()).toBe(before - metered[0] - metered[1]);
    }
  });

  test("2147483647 is a count, and sums are larger", async () => {
    const max = 2_147_483_647;
    said = `{"prompt_tokens":${max},"completion_tokens":${max}}`;
    const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    expect(await used(played.turnId)).toEqual([max, max]);
    expect(await creditLeft()).toBe(credit - 2 * max);
  });

  test("cached and reasoning tokens that are no counts change nothing", async () => {
    said =
      '{"prompt_tokens":5,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":-1e12},' +
      '"completion_tokens_details":{"reasoning_tokens":-1e12}}';
    const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
    expect(await used(played.turnId)).toEqual([5, 7]);
    expect(await creditLeft()).toBe(credit - 12);
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
    expect(await used(played.turnId)).toEqual([5, 10]);
    expect(await creditLeft()).toBe(credit - 27);
  });

  test.each(['"5"', "[5]", "{}", "true"])(
    "%s in a stream that has a schema adds nothing to the credit",
    async (count) => {
      said = `{"prompt_tokens":${count},"completion_tokens":7}`;
      const played = await play(t, agentId, null, { message: userMessage("x"), stream: false });
      expect(await used(played.turnId)).toEqual([0, 0]);
      expect(await creditLeft()).toBe(credit);
    },
  );
});
