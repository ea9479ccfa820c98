import { getAgent, lockAgent } from "../agents/store.ts";
import { inOneSlice } from "../kernel/async/slices.ts";
import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { agentSkillVersion } from "./files.ts";
import { readManifest } from "./manifest.ts";
import { filesPerSkillMax, manifestPath, type SkillDetail, skillBytesMax } from "./schema.ts";
import { findSkill, type SkillRow, showDetail } from "./store.ts";

/** Which skill of which agent. */
export interface SkillPlace {
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly skillId: IdOf<"skill">;
}

/** Returns a file's bytes. Throws 404 `not_found` for the agent or the file, `skill_not_found` for the skill. */
export async function readSkillFile(
  sql: AnySql,
  { tenantId, agentId, skillId }: SkillPlace,
  path: string,
): Promise<Uint8Array> {
  await getAgent(sql, tenantId, agentId);
  const [row] = await sql<{ content: Uint8Array | null }[]>`
    select f.content from agent_skills s
    left join skill_files f on f.skill_id = s.id and f.version = ${agentSkillVersion} and f.path = ${path}
    where s.id = ${skillId} and s.agent_id = ${agentId} and s.tenant_id = ${tenantId}`;
  if (row === undefined) throw new ApiError("skill_not_found");
  if (row.content === null) throw new ApiError("not_found", { message: "The skill has no such file." });
  return row.content;
}

/**
 * Creates or replaces a file and returns the skill; with SKILL.md the skill's name,
 * description and metadata follow its frontmatter. The lock on the agent's row keeps
 * concurrent changes within the limits. Throws 400 `skill_invalid_markdown`,
 * `skill_too_many_files`, 404, 409 `skill_name_conflict`, 413
 * `skill_uncompressed_too_large`.
 */
export async function writeSkillFile(
  sql: AnySql,
  { tenantId, agentId, skillId }: SkillPlace,
  path: string,
  content: Uint8Array,
): Promise<SkillDetail> {
  const manifest = path === manifestPath ? await inOneSlice(() => readManifest(content)) : null;
  return tx(sql, async (inner) => {
    await lockAgent(inner, tenantId, agentId);
    const before = await findSkill(inner, agentId, skillId);
    await checkRoom(inner, skillId, path, content.byteLength);
    const { name, description, metadata } = manifest ?? before;
    await checkName(inner, agentId, skillId, name);
    const [row] = await inner<SkillRow[]>`
      update agent_skills set name = ${name}, description = ${description}, metadata = ${json(inner, metadata)},
        updated_at = clock_timestamp()
      where id = ${skillId} returning *`;
    await inner`
      insert into skill_files (skill_id, version, path, content)
      values (${skillId}, ${agentSkillVersion}, ${path}, ${content})
      on conflict (skill_id, version, path) do update set content = excluded.content`;
    return showDetail(inner, row as SkillRow);
  });
}

async function checkRoom(inner: Tx, skillId: string, path: string, sizeBytes: number): Promise<void> {
  const [others] = await inner<{ files: number; bytes: number }[]>`
    select count(*)::int as files, coalesce(sum(octet_length(content)), 0)::int as bytes from skill_files
    where skill_id = ${skillId} and version = ${agentSkillVersion} and path <> ${path}`;
  if ((others?.files ?? 0) >= filesPerSkillMax) throw new ApiError("skill_too_many_files");
  if ((others?.bytes ?? 0) + sizeBytes > skillBytesMax) throw new ApiError("skill_uncompressed_too_large");
}

async function checkName(inner: Tx, agentId: string, skillId: string, name: string): Promise<void> {
  const [other] = await inner`
    select 1 from agent_skills where agent_id = ${agentId} and name = ${name} and id <> ${skillId}`;
  if (other !== undefined) throw new ApiError("skill_name_conflict");
}

/** Deletes a file and returns the skill, and whether there was such a file: a missing one is no error. Throws 400 for SKILL.md, 404. */
export function removeSkillFile(
  sql: AnySql,
  { tenantId, agentId, skillId }: SkillPlace,
  path: string,
): Promise<{ readonly skill: SkillDetail; readonly isRemoved: boolean }> {
  if (path === manifestPath) throw invalid("path", `must not be ${manifestPath}, which a skill cannot be without`);
  return tx(sql, async (inner) => {
    await lockAgent(inner, tenantId, agentId);
    const before = await findSkill(inner, agentId, skillId);
    // The skill's row first, as everywhere, so that a copy sees all of a change or none of it.
    const [row] = await inner<SkillRow[]>`
      update agent_skills set updated_at = clock_timestamp() where id = ${skillId} and exists (
        select 1 from skill_files where skill_id = ${skillId} and version = ${agentSkillVersion} and path = ${path})
      returning *`;
    await inner`
      delete from skill_files where skill_id = ${skillId} and version = ${agentSkillVersion} and path = ${path}`;
    return { skill: await showDetail(inner, row ?? before), isRemoved: row !== undefined };
  });
}
