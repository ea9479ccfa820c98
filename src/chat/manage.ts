import type { Static } from "@sinclair/typebox";
import { getAgent } from "../agents/store.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { type IdOf, newId, randomBody } from "../kernel/ids.ts";
import { unavailableRetryAfterSeconds } from "../kernel/limits.ts";
import { checkHealth, verifiedHealth, webhookUrlOf, withCheck } from "./health.ts";
import { type ChatAccount, type KnownBot, PlatformError } from "./platform.ts";
import { openChat, openConnectedChat, platforms } from "./platforms.ts";
import {
  type ChatConfiguration,
  type ChatConnectionCreate,
  type ChatConnectionPatch,
  type ChatCredentials,
  type ChatPlatformName,
  platformCheckMs,
  platformNamed,
} from "./schema.ts";
import {
  type ChatConnectionRow,
  checkChatConnectionLimit,
  getChatConnection,
  insertChatConnection,
  removeChatConnection,
  updateChatConnection,
} from "./store.ts";

/** Characters of the secret that Telegram sends with every update. */
const webhookSecretLength = 48;

/**
 * `POST /v1/chat-connections`: asks the platform who the bot is, stores the
 * connection, and registers the webhook if the platform lets this service do it.
 * Throws 400, 404 for the agent, 503 when the platform cannot be reached.
 */
export async function createChatConnection(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  body: Static<typeof ChatConnectionCreate>,
): Promise<ChatConnectionRow> {
  const platform = platformNamed(body.platform as ChatPlatformName);
  const credentials = credentialsOf(platform, body.credentials);
  await getAgent(sql, tenantId, body.agentId);
  await checkChatConnectionLimit(sql, tenantId);
  const account = openChat(ctx, platform, credentials, platformCheckMs);
  const bot = await identify(account);
  const registers = platforms[platform].registersWebhook;
  const row = await insertChatConnection(sql, ctx.sealer, {
    id: newId("chatConnection"),
    tenantId,
    agentId: body.agentId,
    name: body.name,
    platform,
    // No message arrives before the webhook is registered.
    enabled: !registers,
    configuration: platform === "chat_a" ? { channelIds: [] } : { chatIds: [], businessMode: false },
    credentials,
    bot,
    health: verifiedHealth("unknown"),
  });
  return registers ? registerAndEnable(ctx, sql, row, account) : row;
}

/** Returns the secrets that the platform needs. Throws 400 for a missing or foreign one. */
function credentialsOf(
  platform: ChatPlatformName,
  { botToken, signingSecret }: Static<typeof ChatConnectionCreate>["credentials"],
): ChatCredentials {
  if (platform === "chat_a") {
    if (signingSecret === undefined) throw invalid("/credentials/signingSecret", "is required");
    return { botToken, signingSecret };
  }
  if (signingSecret !== undefined) throw invalid("/credentials/signingSecret", "is not a known field");
  return { botToken, webhookSecret: randomBody(webhookSecretLength) };
}

async function identify(account: ChatAccount): Promise<KnownBot> {
  try {
    return await account.identify();
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.kind !== "refused") throw platformUnavailable();
    throw new ApiError("invalid_request", { message: "The chat platform refused the bot token." });
  }
}

function platformUnavailable(): ApiError {
  return new ApiError("service_unavailable", {
    message: "The chat platform cannot be reached right now.",
    headers: { "Retry-After": String(unavailableRetryAfterSeconds) },
  });
}

/** `POST /v1/chat-connections/:id/enable`. A connection whose webhook cannot be registered stays disabled, with its check failed. Throws 404. */
export async function enableChatConnection(ctx: Ctx, sql: AnySql, tenantId: string, id: IdOf<"chatConnection">) {
  const row = await getChatConnection(sql, tenantId, id);
  if (!platforms[row.platform].registersWebhook) return updateChatConnection(sql, tenantId, id, { enabled: true });
  return registerAndEnable(ctx, sql, row, openConnectedChat(ctx, row, platformCheckMs));
}

async function registerAndEnable(
  ctx: Ctx,
  sql: AnySql,
  row: ChatConnectionRow,
  account: ChatAccount,
): Promise<ChatConnectionRow> {
  const failure = await register(ctx, row, account);
  const health = withCheck(row.health, "webhook_url", failure === null ? "pass" : "fail");
  return updateChatConnection(sql, row.tenantId, row.id, { enabled: failure === null, health });
}

/** Registers the webhook. Returns why it could not be, or null. */
async function register(ctx: Ctx, row: ChatConnectionRow, account: ChatAccount): Promise<PlatformError | null> {
  try {
    await account.register(webhookUrlOf(ctx, row), row.configuration.businessMode ?? false);
    return null;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    ctx.log.info({ connectionId: row.id, code: error.code }, "a chat webhook was not registered");
    return error;
  }
}

/** `POST /v1/chat-connections/:id/disable`, also when the platform cannot be reached. Throws 404. */
export async function disableChatConnection(ctx: Ctx, sql: AnySql, tenantId: string, id: IdOf<"chatConnection">) {
  const row = await getChatConnection(sql, tenantId, id);
  await unregister(ctx, row);
  const health = platforms[row.platform].registersWebhook
    ? withCheck(row.health, "webhook_url", "unknown")
    : row.health;
  return updateChatConnection(sql, tenantId, id, { enabled: false, health });
}

/** `DELETE /v1/chat-connections/:id`, also when the platform cannot be reached. Throws 404. */
export async function deleteChatConnection(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  id: IdOf<"chatConnection">,
): Promise<void> {
  await unregister(ctx, await getChatConnection(sql, tenantId, id));
  await removeChatConnection(sql, tenantId, id);
}

/** Removes a connection's webhook at its platform, in one try; a failure is only logged. Throws when the credentials cannot be unsealed. */
export async function unregister(ctx: Ctx, row: ChatConnectionRow): Promise<void> {
  try {
    await openConnectedChat(ctx, row, platformCheckMs).unregister();
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    ctx.log.info({ connectionId: row.id, code: error.code }, "a chat webhook was not taken back");
  }
}

/** `POST /v1/chat-connections/:id/check`: checks a connection's health and stores the result. Throws 404. */
export async function checkChatConnection(ctx: Ctx, sql: AnySql, tenantId: string, id: IdOf<"chatConnection">) {
  const row = await getChatConnection(sql, tenantId, id);
  return updateChatConnection(sql, tenantId, id, { health: await checkHealth(ctx, row) });
}

/**
 * `PATCH /v1/chat-connections/:id`: changes name and configuration. A change of an
 * enabled connection's `businessMode` registers its webhook anew; when that fails
 * the change stays, and this throws 503, or 400 `invalid_request` when the platform
 * refuses. Throws 404.
 */
export async function changeChatConnection(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  id: IdOf<"chatConnection">,
  body: Static<typeof ChatConnectionPatch>,
): Promise<ChatConnectionRow> {
  const before = await getChatConnection(sql, tenantId, id);
  const configuration = body.configuration === undefined ? before.configuration : merged(before, body.configuration);
  const row = await updateChatConnection(sql, tenantId, id, {
    ...(body.name === undefined ? {} : { name: body.name }),
    configuration,
  });
  if (!row.enabled || configuration.businessMode === before.configuration.businessMode) return row;
  const failure = await register(ctx, row, openConnectedChat(ctx, row, platformCheckMs));
  const health = withCheck(row.health, "webhook_url", failure === null ? "pass" : "fail");
  const checked = await updateChatConnection(sql, tenantId, id, { health });
  if (failure === null) return checked;
  if (failure.kind !== "refused") throw platformUnavailable();
  throw new ApiError("invalid_request", { message: "The change is saved, but the platform refused the webhook." });
}

type PatchedConfiguration = NonNullable<Static<typeof ChatConnectionPatch>["configuration"]>;

/** Returns the configuration with the given fields in place of the old ones. Throws 400 for a field of the other platform. */
function merged(row: ChatConnectionRow, given: PatchedConfiguration): ChatConfiguration {
  const { platform, ...fields } = given;
  if (platform !== undefined && platformNamed(platform as ChatPlatformName) !== row.platform)
    throw invalid("/configuration/platform", "cannot change");
  for (const field of Object.keys(fields))
    if (!Object.hasOwn(row.configuration, field))
      throw invalid(`/configuration/${field}`, `is not a field of ${row.platform}`);
  return { ...row.configuration, ...fields };
}
