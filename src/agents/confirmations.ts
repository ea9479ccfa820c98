import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, invalid, invalidAll } from "../kernel/errors.ts";
import { takenToolNames } from "../mcp-connections/find-tool.ts";
import { mayBeOfMcp } from "../mcp-connections/names.ts";
import { type ModelSettings, settingIssues } from "../providers/model-settings.ts";
import { checkModel, thinkingLevelsOf } from "../providers/models.ts";
import { findProvider, type ProviderRow } from "../providers/store.ts";
import { newMcpRules } from "./policy.ts";
import type { AgentConfig } from "./schema.ts";

/** Returns whether an MCP server has a tool of this name. Throws 400 `mcp_connection_discovery_failed` when it cannot be reached. */
export type FindMcpTool = (tenantId: string, mcpConnectionId: string, tool: string) => Promise<boolean>;

/**
 * What another party must confirm before a configuration is saved: a provider its
 * model, the catalogue a thinking level and the settings of each model, an MCP server its tool, or that none of its tools has
 * the name of a client tool. Confirming takes
 * network requests, so it happens before any row is locked.
 */
export type Confirmation =
  | { readonly kind: "model"; readonly providerId: string; readonly model: string; readonly path: string }
  | { readonly kind: "thinking_level"; readonly providerId: string; readonly model: string; readonly level: string }
  | SettingsConfirmation
  | { readonly kind: "mcp_tool"; readonly mcpConnectionId: string; readonly tool: string; readonly path: string }
  | { readonly kind: "client_tools"; readonly mcpConnectionId: string; readonly tools: readonly NamedTool[] };

/** The settings of one of the agent's models. `of` names a fallback; empty for the agent's own model. */
interface SettingsConfirmation {
  readonly kind: "settings";
  /** Null: the operator's own provider. */
  readonly providerId: string | null;
  readonly model: string;
  readonly level: string | null;
  readonly settings: ModelSettings;
  readonly of: string;
}

/** A client tool by its name, with the pointer to it. */
interface NamedTool {
  readonly name: string;
  readonly path: string;
}

/** Returns the confirmations that a change needs; what it leaves as it was is not confirmed again. */
export function neededConfirmations(before: AgentConfig | null, after: AgentConfig): Confirmation[] {
  const { providerId, model, thinkingLevel: level } = after;
  const needed: Confirmation[] = newMcpRules(before, after).map((rule) => ({ kind: "mcp_tool", ...rule }));
  const had = new Set(before?.fallbackModels.map(({ providerId, model }) => JSON.stringify([providerId, model])));
  for (const [index, fallback] of after.fallbackModels.entries())
    if (!had.has(JSON.stringify([fallback.providerId, fallback.model])))
      needed.push({ kind: "model", ...fallback, path: `/fallbackModels/${index}` });
  needed.push(...newNeighbours(before, after), ...newSettings(before, after));
  if (providerId === null || model === null) return needed;
  const isNewModel = before?.providerId !== providerId || before.model !== model;
  if (isNewModel) needed.push({ kind: "model", providerId, model, path: "" });
  if (level !== null && (isNewModel || before.thinkingLevel !== level))
    needed.push({ kind: "thinking_level", providerId, model, level });
  return needed;
}

/** Models that have not had these settings: each of the agent's models is to take all of them. */
function newSettings(before: AgentConfig | null, after: AgentConfig): SettingsConfirmation[] {
  const had = new Set(before === null ? [] : settingsOf(before).map((each) => JSON.stringify({ ...each, of: "" })));
  return settingsOf(after).filter((each) => !had.has(JSON.stringify({ ...each, of: "" })));
}

function settingsOf(config: AgentConfig): SettingsConfirmation[] {
  const { model, thinkingLevel: level, modelSettings: settings = {} } = config;
  if (Object.keys(settings).length === 0) return [];
  const asked = { kind: "settings", level, settings } as const;
  const own = model === null ? [] : [{ ...asked, providerId: config.providerId, model, of: "" }];
  const fallbacks = config.fallbackModels.map((fallback, index) => ({
    ...asked,
    ...fallback,
    of: ` (of the fallback model ${index})`,
  }));
  return [...own, ...fallbacks];
}

/** Client tools and MCP connections that have not been side by side: no tool of the one may have the name of one of the other. */
function newNeighbours(before: AgentConfig | null, after: AgentConfig): Confirmation[] {
  const named = new Set(before?.clientTools.map(({ name }) => name));
  const mayMeet = after.clientTools
    .map(({ name }, index) => ({ name, path: `/clientTools/${index}/name` }))
    .filter(({ name }) => mayBeOfMcp(name));
  return after.mcpConnectionIds.flatMap((mcpConnectionId): Confirmation[] => {
    const isNew = before?.mcpConnectionIds.includes(mcpConnectionId) !== true;
    const tools = mayMeet.filter(({ name }) => isNew || !named.has(name));
    return tools.length === 0 ? [] : [{ kind: "client_tools", mcpConnectionId, tools }];
  });
}

/** Returns a text that identifies a confirmation, so that one already obtained is recognised. */
export function confirmationKey(confirmation: Confirmation): string {
  if (confirmation.kind === "mcp_tool")
    return JSON.stringify([confirmation.kind, confirmation.mcpConnectionId, confirmation.tool]);
  if (confirmation.kind === "client_tools" || confirmation.kind === "settings") return JSON.stringify(confirmation);
  const { kind, providerId, model } = confirmation;
  return JSON.stringify([kind, providerId, model, confirmation.kind === "thinking_level" ? confirmation.level : ""]);
}

/**
 * Obtains the confirmations, one after the other. Throws 404 `provider_not_found` (A: 400), 400
 * `model_not_found`, `validation_failed`, `mcp_connection_discovery_failed`,
 * 503 `model_validation_unavailable`.
 */
export async function confirmAll(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  needed: readonly Confirmation[],
  findMcpTool: FindMcpTool,
): Promise<void> {
  for (const confirmation of needed) {
    if (confirmation.kind === "mcp_tool") {
      if (!(await findMcpTool(tenantId, confirmation.mcpConnectionId, confirmation.tool)))
        throw invalid(confirmation.path, "is not a tool of this MCP connection");
      continue;
    }
    if (confirmation.kind === "client_tools") {
      await confirmNames(ctx, tenantId, confirmation);
      continue;
    }
    if (confirmation.kind === "settings") {
      await confirmSettings(ctx, sql, tenantId, confirmation);
      continue;
    }
    const provider = await findProvider(sql, tenantId, confirmation.providerId);
    const path = confirmation.kind === "model" ? confirmation.path : "";
    if (provider === null) throw providerMissing(`${path}/providerId`);
    if (confirmation.kind === "model") await confirmModel(ctx, provider, confirmation);
    else checkLevel(await thinkingLevelsOf(ctx, provider, confirmation.model), confirmation.level);
  }
}

/** Throws 400 for settings that a model is known not to take. A provider that is gone is another confirmation's. */
async function confirmSettings(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  { providerId, model, level, settings, of }: SettingsConfirmation,
): Promise<void> {
  const provider = providerId === null ? ctx.config.platformProvider : await findProvider(sql, tenantId, providerId);
  if (provider === null) return;
  const issues = settingIssues({ ...provider, model, thinkingLevel: level }, settings);
  if (issues.length === 0) return;
  throw invalidAll(
    issues.map(({ setting, message }) => ({ path: `/modelSettings/${setting}`, message: message + of })),
  );
}

async function confirmModel(
  ctx: Ctx,
  provider: ProviderRow,
  { model, path }: Extract<Confirmation, { kind: "model" }>,
): Promise<void> {
  try {
    await checkModel(ctx, provider, model);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "model_not_found") throw error;
    const message = "is not offered by this provider";
    throw new ApiError("model_not_found", { details: { issues: [{ path: `${path}/model`, message }] } });
  }
}

/** Throws 400 for the first client tool that has the name of a tool of an MCP server. */
async function confirmNames(
  ctx: Ctx,
  tenantId: string,
  { mcpConnectionId, tools }: Extract<Confirmation, { kind: "client_tools" }>,
): Promise<void> {
  const names = tools.map(({ name }) => name);
  const taken = new Set(await takenToolNames(ctx, tenantId, mcpConnectionId, names));
  const found = tools.find(({ name }) => taken.has(name));
  if (found !== undefined) throw invalid(found.path, "is the name of a tool of an attached MCP connection");
}

function checkLevel({ known, levels }: { known: boolean; levels: readonly string[] }, level: string): void {
  // It is not known what a model outside the catalogue takes; the provider decides at the first call.
  if (!known || levels.includes(level)) return;
  const choices = levels.length === 0 ? "the model takes none" : `choose one of ${levels.join(", ")}`;
  throw invalid("/thinkingLevel", `is not supported: ${choices}`);
}

/** Returns the error of a configuration that names a provider which the tenant does not have, by the pointer to its name. */
export function providerMissing(path = "/providerId"): ApiError {
  return new ApiError("provider_missing_for_agent", {
    details: { issues: [{ path, message: "names no provider" }] },
  });
}
