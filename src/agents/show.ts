import { avatarUrl, type UrlSigner } from "./avatar.ts";
import type { AgentConfig } from "./schema.ts";
import type { AgentRow } from "./store.ts";

/**
 * Returns an agent in form B, with form A's `skills` in addition. The picture's URL is
 * signed anew for every response.
 */
export function showAgent(signer: UrlSigner, agent: AgentRow) {
  const { id, tenantId, userId, status, workspaceId, version, config, createdAt, updatedAt } = agent;
  return {
    id,
    tenantId,
    ...showConfig(config),
    workspaceId,
    userId,
    avatarUrl: agent.avatarId === null ? null : avatarUrl(signer, id, agent.avatarId),
    version,
    status,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** Returns the versioned fields, named one by one, so that nothing else that a row may hold gets into a response. */
export function showConfig(config: AgentConfig) {
  return {
    name: config.name,
    model: config.model,
    thinkingLevel: config.thinkingLevel,
    providerId: config.providerId,
    autoCompaction: config.autoCompaction,
    compactionReserveTokens: config.compactionReserveTokens,
    memoryInjectionEnabled: config.memoryInjectionEnabled,
    tools: config.tools,
    clientTools: config.clientTools,
    instructions: config.instructions,
    metadata: config.metadata,
    mcpConnectionIds: config.mcpConnectionIds,
    approvalInChat: config.approvalInChat,
    approvalInTasks: config.approvalInTasks,
    fallbackModels: config.fallbackModels,
    turnLimits: config.turnLimits,
    modelSettings: config.modelSettings ?? {},
    promptCaching: config.promptCaching ?? "auto",
    skills: config.skills,
  };
}
