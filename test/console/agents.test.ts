import { describe, expect, test } from "bun:test";
import type { AgentVersion } from "parley/client";
import { agentOfForm, formOfAgent, newAgent, newAgentLike } from "../../src/console/agents/agent-form.ts";
import { diffVersions } from "../../src/console/agents/version-diff.ts";
import { diffLines } from "../../src/console/parts/line-diff.ts";

const version: AgentVersion = {
  ...{ agentId: "ag_1", tenantId: "ten_1", version: 1, createdAt: "2026-03-01T12:00:00Z" },
  ...{ name: "Helper", model: "m", providerId: "prv_1", thinkingLevel: null, instructions: "One\nTwo" },
  ...{ memoryInjectionEnabled: true, tools: ["memory"], mcpConnectionIds: ["mcp_1"], metadata: { a: 1 } },
  ...{ autoCompaction: false, compactionReserveTokens: 1_000, turnLimits: { maxSeconds: 60 } },
  promptCaching: "off",
  modelSettings: { temperature: 0.5, stopSequences: ["END"], seed: 7 },
  approvalInChat: { default: "auto", overrides: [{ tool: "bash", mcpConnectionId: null, mode: "deny" }] },
  approvalInTasks: { default: "full", overrides: [] },
  clientTools: [{ name: "locate", description: "d", inputSchema: { type: "object" } }],
  fallbackModels: [{ providerId: "prv_2", model: "n" }],
  changeNote: "Why",
};

describe("the form of an agent", () => {
  test("of a new one has the provider and the model of the newest that has both", () => {
    const agents = [
      { providerId: "prv_2", model: null },
      { providerId: "prv_1", model: "m" },
      { providerId: "prv_0", model: "n" },
    ];
    expect(newAgentLike(agents)).toEqual({ ...newAgent, providerId: "prv_1", model: "m" });
    expect(newAgentLike([])).toEqual(newAgent);
  });

  test("holds all that a version holds, and gives it back", () => {
    const { agentId, tenantId, version: _number, createdAt, changeNote, ...settings } = version;
    expect(agentOfForm(formOfAgent(version))).toEqual(settings);
  });

  test("sends what is no number as it is written, so that the service says what is wrong with it", () => {
    const body = agentOfForm({ ...newAgent, name: "x", "turnLimits.maxTokens": "many", compactionReserveTokens: "" });
    expect(body).toMatchObject({ turnLimits: { maxTokens: "many" }, compactionReserveTokens: "" });
    expect(body).toMatchObject({
      modelSettings: {},
      model: null,
      providerId: null,
      tools: [],
      clientTools: [],
      metadata: {},
    });
  });

  test("says at its field what is no JSON", () => {
    for (const [field, path] of [
      ["clientTools", "/clientTools"],
      ["modelSettings.stopSequences", "/modelSettings/stopSequences"],
      ["approvalInChat.overrides", "/approvalInChat/overrides"],
    ])
      expect(() => agentOfForm({ ...newAgent, [field as string]: "[{" })).toThrow(
        expect.objectContaining({ details: { issues: [{ path, message: expect.stringContaining("no JSON") }] } }),
      );
  });
});

describe("what differs between two versions", () => {
  test("is each field line by line, and nothing that every version has of its own", () => {
    const newer = { ...version, version: 2, createdAt: "later", instructions: "One\n2\nThree" };
    expect(diffVersions(version, newer)).toEqual([
      {
        field: "instructions",
        lines: [
          { kind: "same", text: "One" },
          { kind: "removed", text: "Two" },
          { kind: "added", text: "2" },
          { kind: "added", text: "Three" },
        ],
      },
    ]);
    expect(diffVersions(version, { ...version, version: 2 })).toEqual([]);
  });

  test("of long texts is all of them, without comparing each with each", () => {
    const long = Array.from({ length: 600 }, (_, at) => `${at}`);
    expect(diffLines(long, ["x"]).map(({ kind }) => kind)).toEqual([...long.map(() => "removed" as const), "added"]);
  });
});
