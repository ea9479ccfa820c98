import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";

const { h, t } = await useTenant();
const silent = { baseUrl: "http://127.0.0.1:9/v1" };
const anthropic = await makeProvider(h, t, { providerType: "anthropic", ...silent });
const custom = await makeProvider(h, t);
const claude = { providerId: anthropic.id, model: "anthropic/claude-sonnet-4-5" };
const simulated = { providerId: custom.id, model: "simulated/model" };
const all = { temperature: 0.25, topP: 0.5, maxOutputTokens: 100, stopSequences: ["END"], seed: 7 };

const put = (id: string, body: object, headers = {}) => t.call("PUT", `/v1/agents/${id}`, { body, headers });
const get = async (id: string, headers = {}) => (await t.call("GET", `/v1/agents/${id}`, { headers })).body;
const issuesOf = ({ status, body }: { status: number; body: { error: { details: { issues: object[] } } } }) => [
  status,
  body.error.details.issues,
];
/** A PUT that asks the vendor for its list of models may find it silent; that is not what is tried here. */
const create = async (fields: object) =>
  t.call("POST", "/v1/agents", { body: { name: `n-${crypto.randomUUID()}`, ...fields } });

describe("modelSettings of an agent", () => {
  test("are none at first, replaced as a whole, and reset by null; null within is absent", async () => {
    const id = await makeAgent(h, t);
    expect((await get(id)).modelSettings).toEqual({});
    expect((await put(id, { modelSettings: all })).body.modelSettings).toEqual(all);
    expect((await put(id, { name: `n-${id}` })).body.modelSettings).toEqual(all);
    const some = { temperature: null, topP: 0.1, seed: null, stopSequences: [], maxOutputTokens: null };
    expect((await put(id, { modelSettings: some })).body.modelSettings).toEqual({ topP: 0.1 });
    expect((await put(id, { modelSettings: null })).body.modelSettings).toEqual({});
  });

  test("are of its versions, and restored with one", async () => {
    const id = await makeAgent(h, t, { modelSettings: all });
    await put(id, { modelSettings: { seed: 8 } });
    const { body } = await t.call("GET", `/v1/agents/${id}/versions`);
    expect(body.data.map(({ modelSettings }: { modelSettings: object }) => modelSettings)).toEqual([{ seed: 8 }, all]);
    const { modelSettings } = (await t.call("GET", `/v1/agents/${id}/versions/1`)).body;
    expect((await put(id, { modelSettings })).body).toMatchObject({ version: 3, modelSettings: all });
  });

  test("form A neither shows nor takes them, and keeps what is set", async () => {
    const id = await makeAgent(h, t, { modelSettings: all });
    const inA = { "api-form": "a" };
    expect(await get(id, inA)).not.toHaveProperty("modelSettings");
    expect((await put(id, { modelSettings: {} }, inA)).status).toBe(400);
    const changed = await put(id, { name: `n-${id}` }, inA);
    expect([changed.status, changed.body.modelSettings]).toEqual([200, undefined]);
    expect((await get(id)).modelSettings).toEqual(all);
  });

  test("an agent from before there were any has none", async () => {
    const id = await makeAgent(h, t);
    await h.sql`update agents set config = (config::jsonb - 'modelSettings')::json where id = ${id}`;
    expect((await get(id)).modelSettings).toEqual({});
    expect((await put(id, { name: `n-${id}` })).body.modelSettings).toEqual({});
  });

  test.each([
    ["/modelSettings/temperature", { temperature: 2.1 }],
    ["/modelSettings/topP", { topP: -0.1 }],
    ["/modelSettings/maxOutputTokens", { maxOutputTokens: 0 }],
    ["/modelSettings/stopSequences", { stopSequences: Array.from({ length: 17 }, String) }],
    ["/modelSettings/stopSequences/0", { stopSequences: [""] }],
    ["/modelSettings/seed", { seed: 0.5 }],
    ["/modelSettings/topK", { topK: 1 }],
  ])("400 validation_failed: %s", async (path, modelSettings) => {
    expect(issuesOf(await create({ modelSettings }))).toEqual([400, [expect.objectContaining({ path })]]);
  });
});

describe("what a model is known not to take is refused when the agent is saved", () => {
  const seed = { path: "/modelSettings/seed", message: "is not taken by this model" };
  // The vendor is silent, and what is asked of it alone would be 503: a known misfit needs no answer.
  const agentOf = async (fields: object) => {
    const id = await makeAgent(h, t);
    await h.sql`
      update agents set config = (config::jsonb || ${JSON.stringify(fields)}::text::jsonb)::json where id = ${id}`;
    return id;
  };

  test("400 validation_failed: by its own model, when the settings or the thinking level change, and no more than what is changed", async () => {
    const id = await agentOf(claude);
    expect(issuesOf(await put(id, { modelSettings: { seed: 1 } }))).toEqual([400, [seed]]);
    expect((await put(id, { modelSettings: { temperature: 0.5 } })).status).toBe(200);
    const level = await put(id, { thinkingLevel: "low" });
    expect(issuesOf(level)).toEqual([400, [expect.objectContaining({ path: "/modelSettings/temperature" })]]);
    const old = await agentOf({ ...claude, modelSettings: { seed: 1 } });
    expect((await put(old, { name: `n-${old}` })).status).toBe(200);
  });

  test("400 validation_failed: by a fallback model, and when the model changes", async () => {
    const id = await agentOf({ fallbackModels: [claude] });
    const refused = await put(id, { modelSettings: all });
    const of = " (of the fallback model 0)";
    expect(issuesOf(refused)).toEqual([
      400,
      [
        { path: "/modelSettings/topP", message: `is not taken beside a temperature by this model${of}` },
        { path: seed.path, message: `${seed.message}${of}` },
      ],
    ]);
    expect((await put(id, { modelSettings: { temperature: 0.5 } })).status).toBe(200);
    const other = await makeAgent(h, t, { ...simulated, modelSettings: { seed: 1 } });
    const moved = await put(other, claude);
    expect([400, 503]).toContain(moved.status);
    expect((await get(other)).model).toBe(simulated.model);
  });
});
