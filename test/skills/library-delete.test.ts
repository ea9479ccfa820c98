import { describe, expect, test } from "bun:test";
import { purgeLibrarySkill } from "../../src/skills/purge.ts";
import { form, skillMd, zip } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import { type CallOptions, eventually } from "../harness/harness.ts";
import { name } from "../harness/skill-calls.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant({ worker: true });

const archive = () => zip([{ name: "SKILL.md", data: skillMd(name()) }]);
const put = (id: string) => t.call("PUT", `/v1/skills/${id}`, { body: form({ file: archive() }) });
const get = (id: string) => t.call("GET", `/v1/skills/${id}`);

async function created() {
  const response = await t.call("POST", "/v1/skills", { body: form({ file: archive() }) });
  expect(response.status).toBe(201);
  return response.body;
}

describe("DELETE /v1/skills/:skillId", () => {
  test("204, then 404; its versions go", async () => {
    const skill = await created();
    await put(skill.id);
    expect((await t.call("DELETE", `/v1/skills/${skill.id}`)).status).toBe(204);
    expect(statusAndCode(await get(skill.id))).toEqual([404, "not_found"]);
    await eventually(async () => {
      const left = await h.sql`select 1 from skill_files where skill_id = ${skill.id}`;
      return left.length === 0;
    });
    expect(await h.sql`select 1 from library_skill_versions where skill_id = ${skill.id}`).toHaveLength(0);
  });

  test("the purge touches nothing of a skill that exists", async () => {
    const skill = await created();
    await purgeLibrarySkill(h.ctx, { skillId: skill.id, tenantId: t.id });
    expect((await get(skill.id)).body).toEqual(skill);
  });

  const remove = (id: string, options: CallOptions = {}) => t.call("DELETE", `/v1/skills/${id}`, options);
  const rule = (tool: string) => ({ default: "full", overrides: [{ tool, mcpConnectionId: null, mode: "manual" }] });
  const change = (agent: string, body: object, asked: "a" | "b" = "b") =>
    t.call("PUT", `/v1/agents/${agent}`, { body, form: asked });
  async function agentWith(...skills: string[]): Promise<string> {
    const response = await t.call("POST", "/v1/agents", { body: { name: name(), skills }, form: "a" });
    expect(response.status).toBe(201);
    return response.body.id;
  }

  test("400 validation_failed: an agent's last skill while a rule names activate_skill, or read without the workspace group", async () => {
    for (const tool of ["activate_skill", "read"]) {
      const [first, last] = [await created(), await created()];
      const agent = await agentWith(first.id, last.id);
      expect((await change(agent, { approvalInTasks: rule(tool) })).status).toBe(200);
      expect((await remove(first.id)).status).toBe(204);
      const refused = await remove(last.id, { form: "b" });
      expect(statusAndCode(refused)).toEqual([400, "validation_failed"]);
      expect(refused.body.error.message).toContain(agent);
      expect(statusAndCode(await remove(last.id, { form: "a" }))).toEqual([400, "invalid_request"]);
      expect((await get(last.id)).body).toEqual(last);
      expect((await change(agent, { approvalInTasks: { default: "full" } })).status).toBe(200);
      expect((await remove(last.id)).status).toBe(204);
      // A skill that is gone brings no tool, though the agent still names it.
      expect(statusAndCode(await change(agent, { approvalInChat: rule(tool) }))).toEqual([400, "validation_failed"]);
    }
  });

  test("204 while another skill or the workspace group brings the tool", async () => {
    const skill = await created();
    const agent = await agentWith(skill.id);
    const own = { path: "SKILL.md", content: skillMd(name()) };
    const made = await t.call("POST", `/v1/agents/${agent}/skills`, { body: own });
    const grouped = await agentWith(skill.id);
    const workspaceId = (await t.call("POST", "/v1/workspaces", { body: {}, form: "b" })).body.id;
    const fields = { tools: ["workspace"], workspaceId, approvalInChat: rule("read") };
    expect((await change(grouped, fields)).status).toBe(200);
    expect((await change(agent, { approvalInChat: rule("activate_skill") })).status).toBe(200);
    expect((await remove(skill.id)).status).toBe(204);
    // It is the last one now.
    const last = await t.call("DELETE", `/v1/agents/${agent}/skills/${made.body.id}`, { form: "b" });
    expect(statusAndCode(last)).toEqual([400, "validation_failed"]);
  });

  test("a rule and the deletion of the last skill at once, and of the last two: never both", async () => {
    for (let round = 0; round < 5; round++) {
      const [one, other] = [await created(), await created()];
      const agent = await agentWith(one.id);
      const [ruled, removed] = await Promise.all([
        change(agent, { approvalInChat: rule("activate_skill") }),
        remove(one.id),
      ]);
      expect([ruled.status, removed.status].sort()).toEqual(ruled.status === 200 ? [200, 400] : [204, 400]);
      const third = await created();
      const two = await agentWith(other.id, third.id);
      expect((await change(two, { approvalInChat: rule("activate_skill") })).status).toBe(200);
      const both = await Promise.all([remove(other.id), remove(third.id)]);
      expect(both.map(({ status }) => status).sort()).toEqual([204, 400]);
    }
  });

  test("an agent that names a deleted skill can still be updated", async () => {
    const skill = await created();
    const agent = await t.call("POST", "/v1/agents", { body: { name: name(), skills: [skill.id] }, form: "a" });
    expect([agent.status, agent.body.skills]).toEqual([201, [skill.id]]);
    await t.call("DELETE", `/v1/skills/${skill.id}`);
    const path = `/v1/agents/${agent.body.id}`;
    expect((await t.call("PUT", path, { body: { instructions: "x" }, form: "a" })).status).toBe(200);
    expect((await t.call("PUT", path, { body: { skills: [] }, form: "a" })).body.skills).toEqual([]);
    const again = await t.call("PUT", path, { body: { skills: [skill.id] }, form: "a" });
    expect(statusAndCode(again)).toEqual([400, "invalid_request"]);
  });
});
