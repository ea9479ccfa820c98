import type { AgentCreate, Skill } from "parley/client";
import { form, skillMd } from "./archives.ts";
import type { CallOptions, TestTenant } from "./harness.ts";

export const mib = 1024 * 1024;
export const forms = ["a", "b"] as const;
export const missingAgent = `ag_${"0".repeat(24)}`;
export const missingSkill = `skill_${"0".repeat(24)}`;
export const octets = { "content-type": "application/octet-stream" };

let made = 0;
/** A name that no other skill or agent of the test has. */
export const name = () => `skill ${++made}`;

/** The code of a cause in a form: form A calls all of these `invalid_request`. */
export const codeIn = (formName: "a" | "b", code: string) => (formName === "a" ? "invalid_request" : code);

/** The calls that tests of skills make all the time. */
export function skillCalls(t: TestTenant) {
  async function agent(fields: Partial<AgentCreate> = {}, tenant = t): Promise<string> {
    return (await tenant.parley.agents.create({ name: name(), ...fields })).id;
  }
  function create(agentId: string, markdown = skillMd(name()), options: CallOptions = {}) {
    const body = { path: "SKILL.md", content: markdown };
    return t.call("POST", `/v1/agents/${agentId}/skills`, { body, ...options });
  }
  function created(agentId: string, markdown = skillMd(name())): Promise<Skill> {
    return t.parley.skills.create(agentId, { path: "SKILL.md", content: markdown });
  }
  function upload(agentId: string, type: string, file: Uint8Array, options: CallOptions = {}) {
    return t.call("POST", `/v1/agents/${agentId}/skills/upload`, { body: form({ type, file }), ...options });
  }
  /** Where a file of a skill lies. */
  const at = (agentId: string, id: string, path: string) =>
    `/v1/agents/${agentId}/skills/${id}/files?path=${encodeURIComponent(path)}`;
  function put(agentId: string, id: string, path: string, content: string | Uint8Array) {
    return t.call("PUT", at(agentId, id, path), { body: Buffer.from(content), headers: octets });
  }
  async function count(agentId: string): Promise<number> {
    return (await t.parley.skills.list(agentId)).data.length;
  }
  return { agent, create, created, upload, at, put, count };
}
