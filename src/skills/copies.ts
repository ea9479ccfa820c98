import { lockAgent } from "../agents/store.ts";
import { type AgentIds, reaches } from "../kernel/auth/agent-scope.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { isUnavailable, unavailable } from "../kernel/database/failure.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, type Form, spell } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { SkillPlace } from "./change.ts";
import { agentSkillVersion } from "./files.ts";
import type { SkillDetail } from "./schema.ts";
import { getSkill, insertSkill, type SkillRow, showDetail } from "./store.ts";

/** The outcome of one destination. */
export type CopyResult =
  | { readonly agentId: string; readonly status: "created"; readonly skill: SkillDetail }
  | {
      readonly agentId: string;
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
    };

/** What is told of a copy, in its transaction. */
export type RecordCopy = (inner: Tx, skillId: string) => Promise<void>;

/**
 * Copies a skill to other agents of the tenant, one result per destination in
 * their order; a destination that fails does not stop the others. On the pool each
 * destination has its own transaction. Throws 404 for the agent and the skill copied
 * from.
 */
export async function copySkill(
  sql: AnySql,
  place: SkillPlace,
  { agentIds, within }: { readonly agentIds: readonly IdOf<"agent">[]; readonly within: AgentIds },
  form: Form,
  record: RecordCopy,
): Promise<CopyResult[]> {
  await getSkill(sql, place.tenantId, place.agentId, place.skillId);
  const results: CopyResult[] = [];
  for (const agentId of agentIds) {
    try {
      if (!reaches(within, agentId)) throw new ApiError("not_found");
      const skill = await tx(sql, async (inner) => {
        const copy = await copyTo(inner, place, agentId);
        await record(inner, copy.id);
        return copy;
      });
      results.push({ agentId, status: "created", skill });
    } catch (error) {
      // Inside one transaction, an unavailable database fails the whole request.
      const reason = isUnavailable(error) && !("savepoint" in sql) ? unavailable() : error;
      if (!(reason instanceof ApiError)) throw error;
      const { code } = spell(reason.reason, form);
      results.push({ agentId, status: "failed", error: { code, message: reason.message } });
    }
  }
  return results;
}

/** Every rule is checked before anything is written, so that a refusal leaves the transaction usable. */
async function copyTo(inner: Tx, { tenantId, agentId, skillId }: SkillPlace, toAgentId: string): Promise<SkillDetail> {
  await lockAgent(inner, tenantId, toAgentId);
  // Held until the end, so that row and files are consistent.
  const [source] = await inner<SkillRow[]>`
    select * from agent_skills where id = ${skillId} and agent_id = ${agentId} and tenant_id = ${tenantId} for share`;
  if (source === undefined) throw new ApiError("skill_not_found");
  const copy = await insertSkill(inner, tenantId, toAgentId, source);
  await inner`
    insert into skill_files (skill_id, version, path, content)
    select ${copy.id}, ${agentSkillVersion}, path, content from skill_files
    where skill_id = ${skillId} and version = ${agentSkillVersion}`;
  return showDetail(inner, copy);
}
