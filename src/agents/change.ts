import type { AuditActor } from "../kernel/auth/actor.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { unavailable, violatedConstraint } from "../kernel/database/failure.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { createWorkspace } from "../workspaces/store.ts";
import {
  type Confirmation,
  confirmAll,
  confirmationKey,
  type FindMcpTool,
  neededConfirmations,
} from "./confirmations.ts";
import { type AgentRules, applyFields, checkEffective, type EffectiveState } from "./effective.ts";
import { hasSkill } from "./has-skill.ts";
import { checkMcpConnections, lockReferences } from "./references.ts";
import { type AgentFields, agentsPerTenantMax, configDefaults } from "./schema.ts";
import { type AgentRow, getAgent, insertAgent, lockAgent, saveDraft, saveNextVersion } from "./store.ts";

/** What changing an agent needs beyond the request. */
export interface ChangeContext {
  readonly ctx: Ctx;
  readonly sql: AnySql;
  readonly tenantId: string;
  /** Whose name the version gets; null: an operator's command. */
  readonly actor: AuditActor | null;
  readonly rules: AgentRules;
  readonly findMcpTool: FindMcpTool;
}

/** Fields of the platform-managed agent that its tenant may change. */
const managedFields = ["thinkingLevel", "providerId", "model"];
/** An update gives up after it needed new confirmations this often. */
const updateAttemptsMax = 5;

/**
 * Checks a new agent (`POST /v1/agents`), also with other parties, and returns what
 * writes it. Throws 400 for broken rules, 404 for missing references, 503 when a model
 * cannot be checked; the writing throws 400 at the cap, 404 as well, and 409
 * `agent_name_conflict`.
 */
export async function prepareAgent(
  change: ChangeContext,
  fields: AgentFields & { name: string; userId?: string },
): Promise<(inner: Tx) => Promise<AgentRow>> {
  const { sql, tenantId, rules } = change;
  const { userId = "", ...rest } = fields;
  const config = applyFields({ ...configDefaults, model: rules.defaultModel, name: fields.name }, rest);
  const id = newId("agent");
  const ownWorkspaceId = rules.makesWorkspace && fields.workspaceId === undefined ? newId("workspace") : null;
  const state = { config, workspaceId: ownWorkspaceId ?? fields.workspaceId ?? null };
  // Skills that do not exist are found under the lock.
  checkEffective(state, fields, rules, config.skills.length > 0);
  await checkMcpConnections(sql, tenantId, config.mcpConnectionIds, config.mcpConnectionIds);
  await confirm(change, neededConfirmations(null, config), new Set());
  return async (inner) => {
    await countAgents(inner, tenantId);
    if (ownWorkspaceId !== null) await createWorkspace(inner, tenantId, { userId }, "workspace", ownWorkspaceId);
    await lockReferences(inner, tenantId, id, null, state, rules.exclusiveWorkspace);
    const author = { actor: change.actor, changeNote: null };
    return named(insertAgent(inner, { id, tenantId, userId, managed: false, ...state }, author));
  };
}

/** Holds the cap: the tenant's row makes creations wait for each other. Throws 400 `invalid_request`. */
async function countAgents(inner: Tx, tenantId: string): Promise<void> {
  await inner`select 1 from tenants where id = ${tenantId} for no key update`;
  const [count] = await inner<{ agents: number }[]>`
    select count(*)::int as agents from agents where tenant_id = ${tenantId}`;
  if ((count?.agents ?? 0) < agentsPerTenantMax) return;
  throw new ApiError("invalid_request", {
    message: `A tenant has at most ${agentsPerTenantMax} agents; delete one first.`,
  });
}

/**
 * Updates an agent and saves its next version: `PUT /v1/agents/:agentId`. What needs
 * confirmation is confirmed on a read without a lock; when another update came
 * between and the locked row needs further confirmations, those are obtained and
 * the update is tried again. Throws as `prepareAgent`, 404, 409 `admin_agent_managed`.
 */
export async function updateAgent(
  change: ChangeContext,
  id: string,
  fields: AgentFields,
  record: RecordUpdate = async () => {},
): Promise<AgentRow> {
  const { sql } = change;
  const confirmed = new Set<string>();
  for (let attempt = 1; attempt <= updateAttemptsMax; attempt++) {
    await confirmedState(change, id, fields, confirmed);
    const saved = await named(tx(sql, (inner) => saveUpdate(change, inner, { id, fields, confirmed, record })));
    if (saved !== null) return saved;
  }
  throw unavailable();
}

/** Returns the state that fields leave, with what was missing of its confirmations obtained; no lock is held. */
async function confirmedState(
  change: ChangeContext,
  id: string,
  fields: AgentFields,
  confirmed: Set<string>,
): Promise<EffectiveState> {
  const { sql, tenantId } = change;
  const seen = await getAgent(sql, tenantId, id);
  const next = await nextState(change, sql, seen, fields);
  const attached = new Set(seen.config.mcpConnectionIds);
  const added = next.config.mcpConnectionIds.filter((connectionId) => !attached.has(connectionId));
  await checkMcpConnections(sql, tenantId, added, next.config.mcpConnectionIds);
  await confirm(change, neededConfirmations(seen.config, next.config), confirmed);
  return next;
}

/**
 * Checks fields as an update does and returns what saves them as a draft, whose number it returns: the agent stays as it is
 * (`POST /v1/agents/:agentId/drafts`). An update in between takes nothing from the draft, so it is checked once. Throws as
 * `updateAgent`.
 */
export async function prepareDraft(
  change: ChangeContext,
  id: string,
  fields: AgentFields,
): Promise<(inner: Tx) => Promise<number>> {
  const { tenantId, actor } = change;
  const { config } = await confirmedState(change, id, fields, new Set());
  return async (inner) => {
    const row = await lockAgent(inner, tenantId, id);
    // The workspace is the agent's own, whatever the version.
    await lockReferences(inner, tenantId, id, null, { config, workspaceId: null }, false);
    return saveDraft(inner, row, config, { actor, changeNote: noteOf(fields) });
  };
}

/** Returns why a version is made; null where that is not said, or blank. */
function noteOf({ changeNote = "" }: AgentFields): string | null {
  return changeNote.trim() === "" ? null : changeNote;
}

/** What is told of an update, in its transaction. */
export type RecordUpdate = (inner: Tx, before: AgentRow, after: AgentRow) => Promise<void>;

interface ConfirmedUpdate {
  readonly id: string;
  readonly fields: AgentFields;
  readonly confirmed: ReadonlySet<string>;
  readonly record: RecordUpdate;
}

/** Returns null when the row, as it is now, needs a confirmation that was not obtained. */
async function saveUpdate(
  change: ChangeContext,
  inner: Tx,
  { id, fields, confirmed, record }: ConfirmedUpdate,
): Promise<AgentRow | null> {
  const { tenantId, actor, rules } = change;
  const row = await lockAgent(inner, tenantId, id);
  const next = await nextState(change, inner, row, fields);
  const needed = neededConfirmations(row.config, next.config);
  if (!needed.every((confirmation) => confirmed.has(confirmationKey(confirmation)))) return null;
  await lockReferences(inner, tenantId, id, row, next, rules.exclusiveWorkspace);
  const author = { actor, changeNote: noteOf(fields) };
  const saved = await saveNextVersion(inner, id, next, author);
  await record(inner, row, saved);
  return saved;
}

async function nextState(
  { tenantId, rules }: ChangeContext,
  sql: AnySql,
  row: AgentRow,
  fields: AgentFields,
): Promise<EffectiveState> {
  const { changeNote: _ofTheVersion, ...changed } = fields;
  if (row.managed && !Object.keys(changed).every((field) => managedFields.includes(field)))
    throw new ApiError("admin_agent_managed");
  const workspaceId = fields.workspaceId === undefined ? row.workspaceId : fields.workspaceId;
  const next = { config: applyFields(row.config, fields), workspaceId };
  checkEffective(next, fields, rules, await hasSkill(sql, tenantId, row.id, next.config.skills));
  return next;
}

/** Obtains the confirmations that are still missing, and records them. */
async function confirm(change: ChangeContext, needed: readonly Confirmation[], confirmed: Set<string>): Promise<void> {
  const { ctx, sql, tenantId, findMcpTool } = change;
  const open = needed.filter((confirmation) => !confirmed.has(confirmationKey(confirmation)));
  await confirmAll(ctx, sql, tenantId, open, findMcpTool);
  for (const confirmation of open) confirmed.add(confirmationKey(confirmation));
}

async function named<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) === "agents_name") throw new ApiError("agent_name_conflict");
    throw error;
  }
}
