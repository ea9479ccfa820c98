import { describe, expect, test } from "bun:test";
import type { ApprovalPolicyCreate } from "parley/client";
import { purgeAgent } from "../../src/agents/purge.ts";
import { agentPurges } from "../../workers/tasks.ts";
import { form, skillMd, zip } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import type { CallOptions } from "../harness/harness.ts";
import { missingAgent, missingSkill, octets, skillCalls } from "../harness/skill-calls.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant();
const skills = skillCalls(t);
const agentId = await skills.agent();

describe("404 and isolation", () => {
  test("404 not_found: missing and foreign alike, for every operation; 400 for malformed ids", async () => {
    const skill = await skills.created(agentId);
    const other = await skills.agent();
    const stranger = await h.tenant();
    const one = (agent: string, id: string) => `/v1/agents/${agent}/skills/${id}`;
    const json = { body: { path: "SKILL.md", content: skillMd("x") } };
    const ofAgent: [string, string, CallOptions][] = [
      ["GET", "", {}],
      ["POST", "", json],
      ["POST", "/upload", { body: form({ type: "zip", file: zip([]) }) }],
    ];
    for (const [method, path, options] of ofAgent) {
      const missing = await t.call(method, `/v1/agents/${missingAgent}/skills${path}`, options);
      expect(statusAndCode(missing)).toEqual([404, "not_found"]);
      expectSameError(await stranger.call(method, `/v1/agents/${agentId}/skills${path}`, options), missing);
      expect(statusAndCode(await t.call(method, `/v1/agents/ag_x/skills${path}`, options))).toEqual([
        400,
        "validation_failed",
      ]);
    }
    const ofSkill: [string, string, CallOptions][] = [
      ["GET", "", {}],
      ["DELETE", "", {}],
      ["GET", "/files?path=SKILL.md", {}],
      ["PUT", "/files?path=a", { body: "x", headers: octets }],
      ["DELETE", "/files?path=a", {}],
      ["POST", "/copies", { body: { agentIds: [other] } }],
    ];
    for (const [method, path, options] of ofSkill) {
      const missing = await t.call(method, one(agentId, missingSkill) + path, options);
      expect(statusAndCode(missing)).toEqual([404, "skill_not_found"]);
      expectSameError(await t.call(method, one(other, skill.id) + path, options), missing);
      const inA = await t.call(method, one(agentId, missingSkill) + path, { ...options, form: "a" });
      expect(statusAndCode(inA)).toEqual([404, "not_found"]);
      const noAgent = await t.call(method, one(missingAgent, skill.id) + path, options);
      expect(statusAndCode(noAgent)).toEqual([404, "not_found"]);
      expectSameError(await stranger.call(method, one(agentId, skill.id) + path, options), noAgent);
      expect(statusAndCode(await t.call(method, one(agentId, "skill_x") + path, options))).toEqual([
        400,
        "validation_failed",
      ]);
    }
    expect((await t.call("GET", one(agentId, skill.id))).body).toEqual(skill);
  });
});

describe("DELETE /v1/agents/:agentId/skills/:skillId", () => {
  const rule = (tool: string): ApprovalPolicyCreate => ({
    default: "full",
    overrides: [{ tool, mcpConnectionId: null, mode: "manual" }],
  });
  const change = (agent: string, body: object) => t.call("PUT", `/v1/agents/${agent}`, { body, form: "b" });
  const remove = (agent: string, id: string) => t.call("DELETE", `/v1/agents/${agent}/skills/${id}`);

  test("204 removes the files too", async () => {
    const skill = await skills.created(agentId);
    expect((await remove(agentId, skill.id)).status).toBe(204);
    expect(statusAndCode(await remove(agentId, skill.id))).toEqual([404, "skill_not_found"]);
    expect(await h.sql`select 1 from skill_files where skill_id = ${skill.id}`).toHaveLength(0);
  });

  test("400 validation_failed: the last skill while a rule names activate_skill, or read without the workspace group", async () => {
    for (const field of ["approvalInChat", "approvalInTasks"])
      for (const tool of ["activate_skill", "read"]) {
        const agent = await skills.agent();
        // Without a skill the agent has no such tool.
        expect(statusAndCode(await change(agent, { [field]: rule(tool) }))).toEqual([400, "validation_failed"]);
        const [first, second] = [await skills.created(agent), await skills.created(agent)];
        expect((await change(agent, { [field]: rule(tool) })).status).toBe(200);
        expect((await remove(agent, first.id)).status).toBe(204);
        expect(statusAndCode(await remove(agent, second.id))).toEqual([400, "validation_failed"]);
        expect((await t.call("GET", `/v1/agents/${agent}/skills/${second.id}`)).body).toEqual(second);
        expect((await change(agent, { [field]: { default: "full" } })).status).toBe(200);
        expect((await remove(agent, second.id)).status).toBe(204);
      }
  });

  test("204 for the last skill while a rule names read and the agent has the workspace group", async () => {
    const agent = await skills.agent({ tools: ["workspace"], approvalInChat: rule("read") });
    const skill = await skills.created(agent);
    expect((await remove(agent, skill.id)).status).toBe(204);
  });

  test("a rule and the deletion of the last skill at once: never both", async () => {
    for (let round = 0; round < 5; round++) {
      const agent = await skills.agent();
      const skill = await skills.created(agent);
      const [ruled, removed] = await Promise.all([
        change(agent, { approvalInChat: rule("activate_skill") }),
        remove(agent, skill.id),
      ]);
      expect([ruled.status === 200, removed.status === 204].filter(Boolean)).toHaveLength(1);
    }
  });
});

describe("an agent's deletion", () => {
  test("removes its skills with their files", async () => {
    const agent = await skills.agent();
    const skill = await skills.created(agent);
    expect((await t.call("DELETE", `/v1/agents/${agent}`)).status).toBe(204);
    expect(statusAndCode(await t.call("GET", `/v1/agents/${agent}/skills/${skill.id}`))).toEqual([404, "not_found"]);
    await purgeAgent(h.ctx, { agentId: agent, tenantId: t.id }, agentPurges);
    expect(await h.sql`select 1 from agent_skills where agent_id = ${agent}`).toHaveLength(0);
    expect(await h.sql`select 1 from skill_files where skill_id = ${skill.id}`).toHaveLength(0);
  });
});
