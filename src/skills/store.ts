import { hasSkill } from "../agents/has-skill.ts";
import { policyIssues } from "../agents/policy.ts";
import { getAgent, lockAgent } from "../agents/store.ts";
import { inOneSlice } from "../kernel/async/slices.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { olderThan, placeInTime } from "../kernel/database/keyset.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import { type IdOf, newId } from "../kernel/ids.ts";
import { agentSkillVersion, insertSkillFiles, listSkillFiles } from "./files.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import {
  manifestPath,
  type Skill,
  type SkillDetail,
  type SkillFolder,
  skillBytesMax,
  skillsPerAgentMax,
} from "./schema.ts";

export interface SkillRow {
  id: IdOf<"skill">;
  tenantId: string;
  agentId: IdOf<"agent">;
  name: string;
  description: string;
  metadata: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
}

/** Returns a page of an agent's skills, newest first. Throws 404, 400 `invalid_cursor`. */
export async function listSkills(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  cursor: string | undefined,
  limit: number,
): Promise<Page<Skill>> {
  const list = `skills:${agentId}`;
  const place = readTimeCursor(list, cursor);
  await getAgent(sql, tenantId, agentId);
  const rows = await sql<(SkillRow & { at: string })[]>`
    select *, ${placeInTime(sql, "created_at")} from agent_skills
    where agent_id = ${agentId} and tenant_id = ${tenantId}
      ${olderThan(sql, place, "created_at", "id")}
    order by created_at desc, id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, showSkill);
}

/** Returns a skill with its files. Throws 404 `not_found` for the agent, `skill_not_found` for the skill. */
export async function getSkill(sql: AnySql, tenantId: string, agentId: string, id: string): Promise<SkillDetail> {
  await getAgent(sql, tenantId, agentId);
  const [row] = await sql<SkillRow[]>`
    select * from agent_skills where id = ${id} and agent_id = ${agentId} and tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("skill_not_found");
  return showDetail(sql, row);
}

/** Returns a skill's row; the caller holds the lock of its agent. Throws 404 `skill_not_found`. */
export async function findSkill(inner: Tx, agentId: string, id: string): Promise<SkillRow> {
  const [row] = await inner<SkillRow[]>`select * from agent_skills where id = ${id} and agent_id = ${agentId}`;
  if (row === undefined) throw new ApiError("skill_not_found");
  return row;
}

/** A folder that can be a skill. */
export interface ReadSkill {
  readonly folder: SkillFolder;
  readonly manifest: Manifest;
}

/** Returns a folder as a skill. Throws 400 `skill_invalid_markdown`, 413 `skill_uncompressed_too_large`. */
export async function readSkill(folder: SkillFolder): Promise<ReadSkill> {
  const sizeBytes = [...folder.values()].reduce((sum, content) => sum + content.byteLength, 0);
  if (sizeBytes > skillBytesMax) throw new ApiError("skill_uncompressed_too_large");
  return { folder, manifest: await inOneSlice(() => readManifest(folder.get(manifestPath))) };
}

/** Creates a skill and returns it. Throws 400 `skill_limit_reached`, 404, 409 `skill_name_conflict`. */
export async function createSkill(
  inner: Tx,
  tenantId: string,
  agentId: string,
  { folder, manifest }: ReadSkill,
): Promise<SkillDetail> {
  await lockAgent(inner, tenantId, agentId);
  const row = await insertSkill(inner, tenantId, agentId, manifest);
  await insertSkillFiles(inner, row.id, agentSkillVersion, folder);
  return showDetail(inner, row);
}

/**
 * Inserts a skill's row and returns it. The caller holds the agent's lock, so that
 * concurrent inserts cannot exceed the limit or take the same name. Throws 400
 * `skill_limit_reached`, 409 `skill_name_conflict`.
 */
export async function insertSkill(
  inner: Tx,
  tenantId: string,
  agentId: string,
  { name, description, metadata }: Omit<Manifest, "meta">,
): Promise<SkillRow> {
  const [known] = await inner<{ skills: number; same: number }[]>`
    select count(*)::int as skills, (count(*) filter (where name = ${name}))::int as same
    from agent_skills where agent_id = ${agentId}`;
  if ((known?.same ?? 0) > 0) throw new ApiError("skill_name_conflict");
  if ((known?.skills ?? 0) >= skillsPerAgentMax) throw new ApiError("skill_limit_reached");
  const [row] = await inner<SkillRow[]>`
    insert into agent_skills (id, tenant_id, agent_id, name, description, metadata, created_at, updated_at)
    select ${newId("skill")}, ${tenantId}, ${agentId}, ${name}, ${description}, ${json(inner, metadata)}, moment, moment
    from clock_timestamp() as moment
    returning *`;
  return row as SkillRow;
}

/**
 * Deletes a skill with its files. Throws 404, and 400 when it is the agent's last
 * one and an approval policy has a rule for a tool that only skills bring.
 */
export function deleteSkill(sql: AnySql, tenantId: string, agentId: string, id: string): Promise<void> {
  return tx(sql, async (inner) => {
    const { config } = await lockAgent(inner, tenantId, agentId);
    await findSkill(inner, agentId, id);
    await inner`delete from agent_skills where id = ${id}`;
    const [issue] = policyIssues(config, await hasSkill(inner, tenantId, agentId, config.skills));
    if (issue !== undefined)
      throw invalid(
        "skillId",
        `is the agent's last skill, which the approval policy's rule at ${issue.path} needs; remove the rule first`,
      );
    await inner`delete from skill_files where skill_id = ${id}`;
    await eraseResponses(inner, [id]);
  });
}

/** Returns a skill as lists show it. */
function showSkill(row: SkillRow): Skill {
  return {
    id: row.id,
    tenantId: row.tenantId,
    agentId: row.agentId,
    name: row.name,
    description: row.description,
    metadata: row.metadata,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** Returns a skill with its files. */
export async function showDetail(sql: AnySql, row: SkillRow): Promise<SkillDetail> {
  return { ...showSkill(row), files: await listSkillFiles(sql, row.id, agentSkillVersion) };
}
