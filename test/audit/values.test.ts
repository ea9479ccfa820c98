import { expect, test } from "bun:test";
import { newMerchant, organization } from "../contract/outside.ts";
import { freshName, Scene } from "../contract/scene.ts";
import { useWorld } from "../contract/world.ts";

const w = await useWorld();
const s = await Scene.open(w);

/** The newest event of a resource: its action, what changed, and what its settings became. */
async function newest(resourceId: string) {
  const [event] = (await s.parley.auditEvents.list({ resourceId })).data;
  return [event?.action, event?.changes, event?.values];
}

/** A Telegram bot of its own, connected. */
async function newTelegram(): Promise<string> {
  const agentId = await s.theAgent();
  const credentials = { botToken: w.telegram.make().token };
  return (await s.parley.chatConnections.create({ name: freshName(), agentId, platform: "telegram", credentials })).id;
}

test("a chat connection's platform is called as the interface calls it, and an update says what was before", async () => {
  const id = await newTelegram();
  const [action, changes, values] = await newest(id);
  expect([action, changes]).toEqual(["chat_connection.create", ["name", "agentId", "platform", "credentials"]]);
  expect(values).toContainEqual({ field: "platform", before: null, after: "chat_b" });
  await s.parley.chatConnections.update(id, { name: "Sales", configuration: { businessMode: true } });
  const [updated, changed, kept] = await newest(id);
  expect([updated, changed]).toEqual(["chat_connection.update", ["name", "configuration"]]);
  const [configuration] = kept as { field: string; before: string; after: string }[];
  expect([configuration?.before, configuration?.after].map((text) => JSON.parse(text ?? "null"))).toMatchObject([
    { platform: "chat_b", businessMode: false },
    { platform: "chat_b", businessMode: true },
  ]);
});

test("lists of somebody's words are not kept, empty ones neither, which would seem to have vanished", async () => {
  const id = await newTelegram();
  for (const chatIds of [["-1"], []]) {
    await s.parley.chatConnections.update(id, { configuration: { chatIds } });
    expect(await newest(id)).toEqual(["chat_connection.update", ["configuration"], []]);
  }
});

test("a chat connection that is disabled and enabled has one event of each, however often", async () => {
  const id = await newTelegram();
  for (const verb of ["enable", "disable", "disable", "enable", "enable"] as const)
    await s.parley.chatConnections[verb](id);
  const events = (await s.parley.auditEvents.list({ resourceId: id })).data;
  expect(events.map(({ action, changes }) => [action, changes])).toEqual([
    ["chat_connection.enable", ["enabled", "health"]],
    ["chat_connection.disable", ["enabled", "health"]],
    ["chat_connection.create", ["name", "agentId", "platform", "credentials"]],
  ]);
});

test("what an MCP server is told has its value before", async () => {
  const { agentId, mcpConnectionId } = await s.theAttached();
  await s.parley.agents.updateMcpAttachment(agentId, mcpConnectionId, { forwardUserId: true });
  expect(await newest(agentId)).toEqual([
    "agent.update_mcp_attachment",
    ["forwardUserId"],
    [{ field: "forwardUserId", before: "false", after: "true" }],
  ]);
  await s.parley.agents.updateMcpAttachment(agentId, mcpConnectionId, {
    forwardUserId: true,
    forwardedMetadataKeys: ["plan"],
  });
  expect(await newest(agentId)).toEqual(["agent.update_mcp_attachment", ["forwardedMetadataKeys"], []]);
});

test("a billing provider is called as the interface calls it, and a guard has its value before", async () => {
  const { token: credential } = await organization(s);
  const id = await newMerchant(s, { provider: "polar", environment: "sandbox", credential });
  expect((await newest(id))[2]).toEqual([
    { field: "provider", before: null, after: "billing_a" },
    { field: "environment", before: null, after: "sandbox" },
  ]);
  const guard = { enabled: true, productIds: ["prod-1"] };
  await s.parley.merchantConnection.update({ guard });
  const [action, changes, values] = await newest(id);
  expect([action, changes]).toEqual(["merchant_connection.update", ["guard"]]);
  const [kept] = values as { before: string; after: string }[];
  expect([JSON.parse(kept?.before ?? "").enabled, JSON.parse(kept?.after ?? "").enabled]).toEqual([false, true]);
  // The same once more has the guard ask anew, and is no change to be told of.
  const { connection } = await s.parley.merchantConnection.update({ guard });
  expect(connection.configVersion).toBe(3);
  expect(await newest(id)).toEqual([action, changes, values]);
});

test("of ten equal changes at once one leaves an event", async () => {
  const { id: provider } = await s.parley.providers.create({
    name: freshName(),
    providerType: "anthropic",
    apiKey: "sk-ant-0123456789",
  });
  const prompt = (await s.parley.prompts.create({ name: "at once", template: "t" })).id;
  for (const [path, id] of [
    [`/v1/prompts/${prompt}`, prompt],
    [`/v1/providers/${provider}`, provider],
  ] as const) {
    const ask = () => s.t.call("PATCH", path, { body: { name: "the same" } });
    const all = await Promise.all(Array.from({ length: 10 }, ask));
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
    const { data } = (await s.t.call("GET", `/v1/audit-events?resourceId=${id}`)).body;
    expect(data.filter(({ action }: { action: string }) => action.endsWith(".update"))).toHaveLength(1);
  }
});

test("what is the same in another order, or was not there, leaves no event", async () => {
  const { id } = await s.parley.prompts.create({ name: freshName(), template: "t" });
  const change = (metadata: object) => s.t.call("PATCH", `/v1/prompts/${id}`, { body: { metadata } });
  for (const metadata of [
    { a: { b: 1, c: [1, 2] }, d: 2 },
    { d: 2, a: { c: [1, 2], b: 1 } },
  ])
    expect((await change(metadata)).status).toBe(200);
  const workspace = (await s.parley.workspaces.create({ name: freshName() })).id;
  const file = `/v1/workspaces/${workspace}/files?path=a.txt`;
  await s.t.call("PUT", file, { body: "a", headers: { "content-type": "application/octet-stream" } });
  for (const _ of [1, 2]) expect((await s.t.call("DELETE", file)).status).toBe(204);
  const actions = async (of: string) =>
    (await s.parley.auditEvents.list({ resourceId: of })).data.map(({ action }) => action);
  expect(await actions(id)).toEqual(["prompt.update", "prompt.create"]);
  expect((await change({ a: { b: 1, c: [2, 1] }, d: 2 })).status).toBe(200);
  expect(await actions(id)).toEqual(["prompt.update", "prompt.update", "prompt.create"]);
  expect(await actions(workspace)).toEqual(["workspace.delete_file", "workspace.write_file", "workspace.create"]);
});

test("what a state, a price or a server was before is kept with what it became", async () => {
  const chat = await newTelegram();
  for (const [verb, before] of [
    ["disable", "true"],
    ["enable", "false"],
  ] as const) {
    await s.t.call("POST", `/v1/chat-connections/${chat}/${verb}`);
    const [action, , values] = await newest(chat);
    expect(action).toBe(`chat_connection.${verb}`);
    expect(values).toContainEqual({ field: "enabled", before, after: before === "true" ? "false" : "true" });
  }
  const setPrice = (inputUsd: string) =>
    s.t.call("PUT", "/v1/model-prices", { body: { prices: [{ model: "m", inputUsd, outputUsd: "2" }] } });
  for (const price of ["1", "3", "3"]) expect((await setPrice(price)).status).toBe(200);
  const { data } = await s.parley.auditEvents.list({ action: "model_prices.update" });
  const [[latest] = []] = data.map(({ values }) => values as { before: string; after: string }[]);
  expect(data).toHaveLength(2);
  expect([latest?.before, latest?.after].map((text) => JSON.parse(text ?? "")[0].inputUsd)).toEqual(["1", "3"]);
});

test("a server that is replaced is told of with what was before, a file that never was is not, nor events in another order", async () => {
  const mcp = await s.newMcp();
  await s.parley.mcpConnections.reconnect(mcp, {
    url: w.mcp.url,
    authType: "bearer",
    bearerToken: "secret-token-1234",
  });
  const [action, changes, values] = await newest(mcp);
  expect([action, changes]).toEqual(["mcp_connection.reconnect", ["authType", "bearerToken"]]);
  expect(values).toEqual([{ field: "authType", before: "none", after: "bearer" }]);
  const { agentId, skillId } = await s.newSkill();
  await s.t.call("DELETE", `/v1/agents/${agentId}/skills/${skillId}/files?path=never.txt`);
  expect((await newest(skillId))[0]).toBe("skill.create");
  const webhook = (await s.parley.webhooks.create({ url: "https://example.com", events: ["turn.ended", "run.ended"] }))
    .id;
  await s.parley.webhooks.update(webhook, { events: ["run.ended", "turn.ended"] });
  expect((await newest(webhook))[0]).toBe("webhook.create");
});

test("events of one resource stand in the order of its changes, also of those that are asked for at once", async () => {
  const agentId = await s.newAgent();
  const { name, model, providerId } = await s.parley.agents.get(agentId);
  const save = (index: number) =>
    s.t.call("PUT", `/v1/agents/${agentId}`, { body: { name, model, providerId, instructions: `${index}` } });
  const saved = await Promise.all(Array.from({ length: 20 }, (_, index) => save(index)));
  expect(saved.map(({ status }) => status)).toEqual(saved.map(() => 200));
  const { data } = await s.parley.auditEvents.list({ resourceId: agentId, action: "agent.update" });
  const versions = data.map(({ values }) => Number(values.find(({ field }) => field === "version")?.after));
  expect(versions).toEqual(versions.toSorted((a, b) => b - a));
  expect(versions).toHaveLength(20);
});
