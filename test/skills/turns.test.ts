import { describe, expect, test } from "bun:test";
import { form, skillMd, zip } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { name, octets, skillCalls } from "../harness/skill-calls.ts";
import { script } from "../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const skills = skillCalls(t);

interface Call {
  readonly state: string;
  readonly output?: unknown;
  readonly errorText?: string;
}

/** Runs a turn that makes these calls; returns how each of them ended, and what the model was sent first. */
async function turn(agentId: string, calls: [tool: string, args: object][], body: object = {}) {
  const before = h.model.requests().length;
  const steps = calls.map(([tool, args]) => `tool=${tool} args=${JSON.stringify(args)}`).join(" ; ");
  const message = script(`${steps}${steps === "" ? "" : " ; "}text="done"`);
  const response = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
    body: { message, stream: false, ...body },
  });
  expect(response.status).toBe(201);
  const parts: ({ type: string } & Call)[] = response.body.message.parts;
  const first = h.model.requests()[before];
  const { messages, tools = [] } = (first?.body ?? {}) as {
    messages: { role: string; content: string }[];
    tools?: { function: { name: string } }[];
  };
  return {
    calls: parts.filter(({ type }) => type.startsWith("tool-") || type === "dynamic-tool"),
    system: messages
      .filter(({ role }) => role === "system")
      .map(({ content }) => content)
      .join("\n"),
    tools: tools.map((tool) => tool.function.name).sort(),
  };
}

const pathOf = (agentId: string, skillId: string, file = "SKILL.md") => `/.parley/${agentId}/skills/${skillId}/${file}`;

describe("a turn of an agent with skills", () => {
  test("tells the model each skill's name, description and path, and offers activate_skill and read", async () => {
    const agentId = await makeAgent(h, t, { instructions: "Be brief." });
    const one = await skills.created(agentId, skillMd("Brewing", "How to brew tea"));
    const two = await skills.created(agentId, skillMd("Serving", "How to serve tea"));
    const { system, tools } = await turn(agentId, []);
    expect(system).toStartWith("Be brief.");
    expect(system).toContain(`Brewing: How to brew tea (${pathOf(agentId, one.id)})`);
    expect(system).toContain(`Serving: How to serve tea (${pathOf(agentId, two.id)})`);
    expect(tools).toEqual(["activate_skill", "read"]);
  });

  test("activate_skill returns SKILL.md, read returns files, also those written since", async () => {
    const agentId = await makeAgent(h, t);
    const markdown = skillMd("Brewing");
    const { id } = await skills.created(agentId, markdown);
    await skills.put(agentId, id, "docs/größe.md", "Three minutes.");
    await skills.put(agentId, id, "leaf.bin", new Uint8Array([0, 255]));
    const { calls } = await turn(agentId, [
      ["activate_skill", { name: "Brewing" }],
      ["activate_skill", { name: "Baking" }],
      ["read", { path: pathOf(agentId, id, "docs/größe.md") }],
      ["read", { path: pathOf(agentId, id, "missing.md") }],
      ["read", { path: pathOf(agentId, id, "leaf.bin") }],
    ]);
    expect(calls.map(({ state }) => state)).toEqual([
      "output-available",
      "output-error",
      "output-available",
      "output-error",
      "output-error",
    ]);
    expect(calls[0]?.output).toBe(markdown);
    expect(calls[1]?.errorText).toContain("There is no skill");
    expect(calls[2]?.output).toMatchObject({ content: "Three minutes.", sizeBytes: 14 });
    expect(calls[4]?.errorText).toContain("binary");
  });

  test("wrong input and unknown tools are told in plain words, to the reader and the model alike", async () => {
    const agentId = await makeAgent(h, t);
    await skills.created(agentId);
    const { calls } = await turn(agentId, [
      ["activate_skill", {}],
      ["activate_skill", { name: 7, other: 1 }],
      ["no_such_tool", {}],
    ]);
    const said = [
      "The tool's input is not valid: /name: is required.",
      "The tool's input is not valid: /other: is not a known field; /name: expected string.",
      "There is no tool no_such_tool; there are activate_skill, read.",
    ];
    expect(calls.map(({ state, errorText }) => [state, errorText])).toEqual(said.map((text) => ["output-error", text]));
    const last = h.model.requests().at(-1)?.body as { messages: { role: string; content: string }[] };
    expect(last.messages.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual(said);
  });

  test("reaches its own skills only: not another agent's, not a library skill that it does not name", async () => {
    const [agentId, other] = [await makeAgent(h, t), await makeAgent(h, t)];
    const { id } = await skills.created(agentId);
    const foreign = await skills.created(other);
    const file = zip([{ name: "SKILL.md", data: skillMd(name()) }]);
    const library = (await t.call("POST", "/v1/skills", { body: form({ file }) })).body;
    const { calls, system } = await turn(agentId, [
      ["read", { path: pathOf(other, foreign.id) }],
      ["read", { path: pathOf(agentId, foreign.id) }],
      ["read", { path: pathOf(agentId, library.id) }],
      ["read", { path: pathOf(agentId, id, "../../../x") }],
      ["activate_skill", { name: foreign.name }],
    ]);
    expect(calls.map(({ state }) => state)).toEqual(Array(5).fill("output-error"));
    expect(system).not.toContain(foreign.id);
  });

  test("without the workspace group, read reads skills alone; with it, the workspace too", async () => {
    const agentId = await makeAgent(h, t);
    const { workspaceId } = (await t.call("GET", `/v1/agents/${agentId}`)).body;
    const { id } = await skills.created(agentId);
    const notes = `/v1/workspaces/${workspaceId}/files?path=notes.md`;
    expect((await t.call("PUT", notes, { body: Buffer.from("Secret."), headers: octets })).status).toBeLessThan(300);
    const calls: [string, object][] = [
      ["read", { path: "notes.md" }],
      ["read", { path: pathOf(agentId, id) }],
    ];
    expect((await turn(agentId, calls)).calls.map(({ state }) => state)).toEqual(["output-error", "output-available"]);
    await t.call("PUT", `/v1/agents/${agentId}`, { body: { tools: ["workspace"] } });
    const both = await turn(agentId, calls);
    expect(both.calls.map(({ state }) => state)).toEqual(["output-available", "output-available"]);
    expect(both.tools).toEqual(["activate_skill", "bash", "edit", "glob", "grep", "list", "read", "write"]);
  });

  test("a large SKILL.md is cut, and says so", async () => {
    const agentId = await makeAgent(h, t);
    const { id } = await skills.created(agentId, skillMd("Big"));
    await skills.put(agentId, id, "SKILL.md", skillMd("Big") + "é".repeat(400_000));
    const { calls } = await turn(agentId, [
      ["activate_skill", { name: "Big" }],
      ["read", { path: pathOf(agentId, id) }],
    ]);
    for (const { output } of calls) {
      const text = JSON.stringify(output);
      expect(Buffer.byteLength(text)).toBeLessThan(256 * 1024);
      expect(text).toContain("Truncated");
    }
  });

  test("policy auto runs activate_skill without asking", async () => {
    const agentId = await makeAgent(h, t, { approvalInChat: { default: "auto" } });
    await skills.created(agentId, skillMd("Brewing"));
    const { calls } = await turn(agentId, [["activate_skill", { name: "Brewing" }]]);
    expect(calls.map(({ state }) => state)).toEqual(["output-available"]);
  });

  test("form A's library skills appear the same way, in their current version; without any there is nothing", async () => {
    const made = await t.call("POST", "/v1/skills", {
      body: form({ file: zip([{ name: "SKILL.md", data: skillMd("Library", "Old") }]) }),
    });
    const { id } = made.body;
    const agentId = await makeAgent(h, t);
    expect(await turn(agentId, [])).toMatchObject({ system: "", tools: [] });
    const named = await t.call("PUT", `/v1/agents/${agentId}`, { body: { skills: [id] }, form: "a" });
    expect([named.status, named.body.skills]).toEqual([200, [id]]);
    const markdown = skillMd("Library", "New");
    const file = zip([
      { name: "SKILL.md", data: markdown },
      { name: "a.md", data: "A" },
    ]);
    await t.call("PUT", `/v1/skills/${id}`, { body: form({ file }) });
    const { calls, system, tools } = await turn(agentId, [
      ["activate_skill", { name: "Library" }],
      ["read", { path: pathOf(agentId, id, "a.md") }],
    ]);
    expect(system).toContain(`Library: New (${pathOf(agentId, id)})`);
    expect(tools).toEqual(["activate_skill", "read"]);
    expect(calls[0]?.output).toBe(markdown);
    expect(calls[1]?.output).toMatchObject({ content: "A" });
    // Version 1 of the agent names no skill.
    expect(await turn(agentId, [], { version: 1 })).toMatchObject({ system: "", tools: [] });
  });
});
