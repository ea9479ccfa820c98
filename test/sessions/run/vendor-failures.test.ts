import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { ProviderType } from "../../../src/kernel/config.ts";
import { eventStream } from "../../harness/anthropic-events.ts";
import { makeClientToken } from "../../harness/client-tokens.ts";
import { useService } from "../../harness/fixture.ts";
import type { TestTenant } from "../../harness/harness.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { play } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";
import { vendorWords } from "../../servers/vendor-answers.ts";
import { answerIds, type FailingVendor, failingVendors, quotedKey as key } from "../../servers/vendor-refusals.ts";

/** How a vendor answers now; null: it closes the connection without an answer. */
let respond: () => Response = () => new Response();
const server = startVendor(({ body }) => (body === null ? new Response("no", { status: 404 }) : respond()));
afterAll(() => server.stop());
const h = await useService({
  worker: true,
  env: {
    PLATFORM_PROVIDER_TYPE: "custom",
    PLATFORM_PROVIDER_API_KEY: key,
    PLATFORM_PROVIDER_BASE_URL: `${server.url}/v1`,
  },
});

/** Calls to vendors' own addresses reach this machine instead, as by their DNS; `isReached`: there is a server. */
let isReached = true;
const network = globalThis.fetch;
const redirected = (input: string | URL | Request, init?: RequestInit) => {
  const to = isReached ? server.url : "http://127.0.0.1:1";
  const url = String(input instanceof Request ? input.url : input);
  return network(url.replace(/^https:\/\/(api\.openai\.com|ai-gateway\.vercel\.sh)/, to), init);
};
globalThis.fetch = Object.assign(redirected, { preconnect: network.preconnect });
afterAll(() => {
  globalThis.fetch = network;
});

/** Retries are made at once. */
const soon = { "content-type": "application/json", "retry-after-ms": "1" };

async function failedTurn(t: TestTenant, agentId: string) {
  const played = await play(t, agentId, null, { message: userMessage("x"), userId: "anna" });
  const { body } = await t.call("GET", `/v1/turns/${played.turnId}`);
  return { played, turn: body };
}

describe.each(Object.keys(failingVendors))("a turn that fails at %s says what the vendor said", (name) => {
  const { providerType, refusals, begun, broken, isAtHome = false } = failingVendors[name] as FailingVendor;
  const model = "m";
  let t: TestTenant;
  let providerId = "";
  let agentId = "";
  beforeEach(async () => {
    isReached = true;
    if (agentId !== "") return;
    t = await h.tenant();
    const made = await makeProvider(h, t, { providerType, baseUrl: isAtHome ? null : `${server.url}/v1`, apiKey: key });
    providerId = made.id;
    agentId = await makeAgent(h, t, { providerId, model });
  });

  test.each([400, 401, 429, 500] as const)("with status %i", async (status) => {
    const { body, headers = {}, shown } = refusals[status];
    respond = () => Response.json(body, { status, headers: { ...soon, ...headers } });
    const { played, turn } = await failedTurn(t, agentId);
    expect(turn.error).toMatchObject({
      code: "provider_error",
      details: { vendor: { providerId, model, status, ...shown } },
    });
    const [step] = turn.steps;
    const failure = { providerId, model, status, ...shown, at: expect.any(String) };
    expect(step.failures.at(-1)).toEqual(failure);
    expect(step.failures).toHaveLength(status === 429 || status === 500 ? 2 : 1);
    // What readers are told has nothing of it.
    expect(played.body).not.toContain(shown.message.slice(0, 20));
    expect(JSON.stringify(turn)).not.toContain(key.slice(0, 10));
  });

  test("amid its answer", async () => {
    respond = () => new Response(begun + broken.event, { headers: { ...eventStream.headers, ...answerIds } });
    const { turn } = await failedTurn(t, agentId);
    expect(turn.error.details).toEqual({ vendor: { providerId, model, status: broken.status, ...broken.shown } });
    expect(turn.steps[0].failures).toHaveLength(1);
  });

  test("without an answer: its status is null", async () => {
    const gone = startVendor(() => new Response("no", { status: 404 }));
    const baseUrl = isAtHome ? null : `${gone.url}/v1`;
    const made = await makeProvider(h, t, { providerType, baseUrl, apiKey: key });
    const lone = await makeAgent(h, t, { providerId: made.id, model });
    await gone.stop();
    isReached = false;
    const { turn } = await failedTurn(t, lone);
    const message = "The model provider cannot be reached.";
    expect(turn.error.details.vendor).toMatchObject({ providerId: made.id, status: null, message, requestId: null });
  });
});

describe("the words of a vendor", () => {
  let t: TestTenant;
  beforeEach(async () => {
    t = await h.tenant();
  });
  const make = async (fields: { providerType?: ProviderType } = {}) => {
    const { id } = await makeProvider(h, t, {
      providerType: "custom",
      baseUrl: `${server.url}/v1`,
      apiKey: key,
      ...fields,
    } as object);
    return { id, agentId: await makeAgent(h, t, { providerId: id, model: "m" }) };
  };
  const says = (message: string, status = 400) => {
    respond = () => Response.json({ error: { message } }, { status, headers: soon });
  };

  test("are cut at 500 units, never within a pair", async () => {
    const { agentId } = await make();
    says(`${"a".repeat(499)}😀 and more`);
    const { message } = (await failedTurn(t, agentId)).turn.error.details.vendor;
    expect(message).toBe("a ".trim().repeat(499));
    says("😀".repeat(300));
    expect((await failedTurn(t, agentId)).turn.error.details.vendor.message).toBe("😀".repeat(250));
  });

  test("are shown to client tokens without code, message and request id", async () => {
    const { id, agentId } = await make();
    says("Your organization is out of money.");
    const { turn } = await failedTurn(t, agentId);
    const holder = await makeClientToken(t, { agentId });
    const { body } = await holder.call("GET", `/v1/turns/${turn.id}`);
    expect(body.error).toEqual({ code: "provider_error", message: "The model provider answered with status 400." });
    expect(body.steps[0].failures).toEqual([{ providerId: id, model: "m", status: 400, at: expect.any(String) }]);
    expect(JSON.stringify(body)).not.toContain("out of money");
  });

  test("stand in no list, no session and no row but the record of the steps", async () => {
    const { agentId } = await make();
    says("Teapot words.");
    const { turn, played } = await failedTurn(t, agentId);
    const elsewhere = await Promise.all(
      [
        "/v1/turns",
        `/v1/agents/${agentId}/sessions/${played.sessionId}`,
        `/v1/agents/${agentId}/sessions/${played.sessionId}/messages`,
      ].map(async (path) => JSON.stringify((await t.call("GET", path)).body)),
    );
    expect([...elsewhere, JSON.stringify(played.body)].join("")).not.toContain("Teapot");
    const [row] = await h.sql`select t.error, t.last_chunk, t.answer from turns t where id = ${turn.id}`;
    expect(JSON.stringify(row)).not.toContain("Teapot");
  });

  test("of the operator's own provider are kept nowhere", async () => {
    const agentId = await makeAgent(h, t);
    await h.sql`update agent_versions set config = config::jsonb || '{"providerId":null}' where agent_id = ${agentId}`;
    says("The operator is out of money.");
    const { turn } = await failedTurn(t, agentId);
    expect(turn.error).toEqual({ code: "provider_error", message: "The model provider answered with status 400." });
    expect(turn.steps).toMatchObject([{ provider: null, failures: [] }]);
    const [row] = await h.sql`select t.* from turns t where id = ${turn.id}`;
    expect(JSON.stringify(row)).not.toContain("out of money");
  });

  test("of a model that failed before a fallback answered stand in its step", async () => {
    const first = await make();
    const second = await makeProvider(h, t, { providerType: "custom", baseUrl: `${server.url}/second/v1` });
    const agentId = await makeAgent(h, t, {
      providerId: first.id,
      model: "own",
      fallbackModels: [{ providerId: second.id, model: "other" }],
    });
    let asked = 0;
    respond = () => {
      asked += 1;
      if (asked > 1) return vendorWords.custom?.text("Said.") ?? new Response();
      return Response.json({ error: { message: "Too busy.", code: "busy" } }, { status: 503 });
    };
    const played = await play(t, agentId, null, { message: userMessage("x") });
    const { body } = await t.call("GET", `/v1/turns/${played.turnId}`);
    expect([body.status, body.error]).toEqual(["succeeded", null]);
    expect(
      body.steps.map(({ model, failures }: { model: string; failures: { message: string }[] }) => [
        model,
        failures.map(({ message }) => message),
      ]),
    ).toEqual([
      ["own", ["Too busy."]],
      ["other", []],
    ]);
  });
});
