import type { Ctx } from "../kernel/context.ts";
import { webhookUrlOf } from "./health.ts";
import type { ChatConnectionRow } from "./store.ts";

/** Returns a connection in the interface's form: never its secrets. */
export function showChatConnection(ctx: Pick<Ctx, "publicUrl">, row: ChatConnectionRow) {
  const { id, tenantId, agentId, name, platform, enabled, configuration, health } = row;
  return {
    id,
    tenantId,
    agentId,
    name,
    platform,
    enabled,
    configuration: { platform, ...configuration },
    webhookUrl: webhookUrlOf(ctx, row),
    identity: { botId: row.botId, botUserId: row.botUserId, teamId: row.teamId, appId: row.appId },
    health,
    credentialFragment: row.credentialFragment,
    credentialVersion: row.credentialVersion,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
