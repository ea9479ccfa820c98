import { afterAll, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import type { OpenModel } from "../../src/model/model-chain.ts";
import { startSimulatedModel } from "../../src/simulated-model/server.ts";
import { runModelAlone } from "../harness/run-model.ts";
import { startVendor } from "../servers/vendor.ts";

const down = startVendor(() => new Response("{}", { status: 503 }));
const simulated = await startSimulatedModel();
afterAll(async () => {
  await down.stop();
  await simulated.stop();
});

const openai = (baseURL: string) => createOpenAI({ baseURL, apiKey: "key" }).responses("gpt-4o");
const metadata = { openai: { itemId: "msg_of_the_first_account" }, other: { kept: true } };
const messages: UiMessage[] = [
  { id: "q", role: "user", parts: [{ type: "text", text: "Hello" }] },
  { id: "a", role: "assistant", parts: [{ type: "text", text: "Hi.", providerMetadata: metadata }] },
  { id: "r", role: "user", parts: [{ type: "text", text: "And now?" }] },
];

async function fallBack(isForeign: boolean) {
  simulated.clear();
  const models = [openai(down.url), openai(simulated.url)];
  const chain = models.map(
    (model, index): OpenModel =>
      async () => {
        return { model, thinking: {}, settings: {}, roomTokens: null, isForeign: isForeign && index > 0 };
      },
  );
  const result = await runModelAlone(models[0] as (typeof models)[number], { messages, chain });
  expect([result.error, result.ended]).toEqual([null, "finished"]);
  return { sent: JSON.stringify(simulated.requests()[0]?.body), said: JSON.stringify(result.message.parts) };
}

test("ids of one account's answers are kept from another account, in both directions", async () => {
  const same = await fallBack(false);
  expect(same.sent).toContain("msg_of_the_first_account");
  expect(same.said).toContain("itemId");
  const foreign = await fallBack(true);
  expect(foreign.sent).not.toContain("msg_of_the_first_account");
  expect(foreign.sent).toContain("Hi.");
  expect(foreign.said).not.toContain("itemId");
});
