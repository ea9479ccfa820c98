import type { Static } from "@sinclair/typebox";
import { getAgent } from "../agents/store.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Sql, Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import type { Reservation } from "../kernel/http/reservation.ts";
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
  type ChatHealth,
  type ChatPlatformName,
  platformCheckMs,
  platformNamed,
} from "./schema.ts";
import {
  type ChangedChatConnection,
  type ChatConnectionRow,
  checkChatConnectionLimit,
  findChatConnection,
  insertChatConnection,
  type NewChatConnection,
  updateChatConnection,
} from "./store.ts";

/** Characters of the secret that Telegram sends with every update. */
const webhookSecretLength = 48;
/** A change registers a webhook at most this often, when others change the connection meanwhile. */
const registrationsMax = 5;

/** What is told of a new connection, in its transaction. */
type RecordCreation = (inner: Tx, made: ChatConnectionRow) => Promise<void>;

/** What is told of a change, in its transaction. */
export type RecordChange = (inner: Tx, changed: ChangedChatConnection) => Promise<void>;

/** Writes what an operation has found out at its platform. */
export type ChatWrite = (inner: Tx) => Promise<ChangedChatConnection>;

/**
 * `POST /v1/chat-connections`: asks the platform who the bot is, stores the
 * connection, and registers the webhook if the platform lets this service do it.
 * Returns what writes the end of it. A repeat under an Idempotency-Key goes on with the
 * connection that was stored. Throws 400, 404 for the agent, 503 when the platform cannot
 * be reached.
 */
export async function createChatConnection(
  ctx: Ctx,
  sql: Sql,
  { reservation, record }: { readonly reservation: Reservation | null; readonly record: RecordCreation },
  tenantId: string,
  body: Static<typeof ChatConnectionCreate>,
): Promise<(inner: Tx) => Promise<ChatConnectionRow>> {
  const madeId = reservation?.madeId ?? null;
  const stored = madeId === null ? null : await findChatConnection(sql, tenantId, madeId);
  const enable = async (row: ChatConnectionRow, account: ChatAccount) => {
    const write = await registerAndEnable(ctx, row, account);
    return async (inner: Tx) => (await write(inner)).after;
  };
  if (stored !== null) return enable(stored, openConnectedChat(ctx, stored, platformCheckMs));
  const platform = platformNamed(body.platform as ChatPlatformName);
  const credentials = credentialsOf(platform, body.credentials);
  await getAgent(sql, tenantId, body.agentId);
  await checkChatConnectionLimit(sql, tenantId);
  const account = openChat(ctx, platform, credentials, platformCheckMs);
  const bot = await identify(account, platform);
  const registers = platforms[platform].registersWebhook;
  const made: NewChatConnection = {
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
  };
  const insert = async (inner: Tx) => {
    const inserted = await insertChatConnection(inner, ctx.sealer, made);
    await record(inner, inserted);
    return inserted;
  };
  if (!registers) return insert;
  // The bot is this connection's before its webhook is: of two connections of one bot, only one registers it.
  const row = await tx(sql, async (inner) => {
    const inserted = await insert(inner);
    await reservation?.remember(inner, inserted.id);
    return inserted;
  });
  return enable(row, account);
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

async function identify(account: ChatAccount, platform: ChatPlatformName): Promise<KnownBot> {
  try {
    return await account.identify();
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.kind !== "refused") throw platformUnavailable(platform, error);
    throw new ApiError("invalid_request", { message: `${shownNames[platform]} refused the bot token.` });
  }
}

const shownNames = { chat_a: "Slack", chat_b: "Telegram" } as const satisfies Record<ChatPlatformName, string>;

function platformUnavailable(platform: ChatPlatformName, { code }: PlatformError): ApiError {
  const wrong = code === "unreadable_answer" ? "answers with what cannot be read" : "cannot be reached right now";
  return new ApiError("service_unavailable", {
    message: `${shownNames[platform]} ${wrong}.`,
    headers: { "Retry-After": String(unavailableRetryAfterSeconds) },
  });
}

/** `POST /v1/chat-connections/:id/enable`. A connection whose webhook cannot be registered stays disabled, with its check failed. */
export async function enableChatConnection(ctx: Ctx, row: ChatConnectionRow): Promise<ChatWrite> {
  if (platforms[row.platform].registersWebhook)
    return registerAndEnable(ctx, row, openConnectedChat(ctx, row, platformCheckMs));
  return (inner) => updateChatConnection(inner, row, () => ({ enabled: true }));
}

async function registerAndEnable(ctx: Ctx, row: ChatConnectionRow, account: ChatAccount): Promise<ChatWrite> {
  const enabled = (await register(ctx, row, account)) === null;
  return (inner) =>
    updateChatConnection(inner, row, ({ health }) => ({ enabled, health: withWebhook(health, enabled) }));
}

function withWebhook(health: ChatHealth, isRegistered: boolean): ChatHealth {
  return withCheck(health, "webhook_url", isRegistered ? "pass" : "fail");
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

/** `POST /v1/chat-connections/:id/disable`, also when the platform cannot be reached. */
export async function disableChatConnection(ctx: Ctx, row: ChatConnectionRow): Promise<ChatWrite> {
  await unregister(ctx, row);
  const registers = platforms[row.platform].registersWebhook;
  return (inner) =>
    updateChatConnection(inner, row, ({ health }) => ({
      enabled: false,
      health: registers ? withCheck(health, "webhook_url", "unknown") : health,
    }));
}

/** Removes a connection's webhook at its platform, before the connection is deleted, in one try; a failure is only logged. Throws when the credentials cannot be unsealed. */
export async function unregister(ctx: Ctx, row: ChatConnectionRow): Promise<void> {
  try {
    await openConnectedChat(ctx, row, platformCheckMs).unregister();
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    ctx.log.info({ connectionId: row.id, code: error.code }, "a chat webhook was not taken back");
  }
}

/** `POST /v1/chat-connections/:id/check`: checks a connection's health, to be stored. */
export async function checkChatConnection(ctx: Ctx, row: ChatConnectionRow): Promise<ChatWrite> {
  const health = await checkHealth(ctx, row);
  return (inner) => updateChatConnection(inner, row, () => ({ health }));
}

/**
 * `PATCH /v1/chat-connections/:id`: changes name and configuration. A change of an
 * enabled connection's `businessMode` registers its webhook anew; when that fails
 * the change stays, and this throws 503, or 400 `invalid_request` when the platform
 * refuses. Throws 404.
 */
export async function changeChatConnection(
  ctx: Ctx,
  sql: Sql,
  tenantId: string,
  { id, name, configuration: given }: Static<typeof ChatConnectionPatch> & { readonly id: IdOf<"chatConnection"> },
  record: RecordChange,
): Promise<ChatConnectionRow> {
  const { before, after } = await tx(sql, async (inner) => {
    const changed = await updateChatConnection(inner, { tenantId, id }, (now) => ({
      ...(name === undefined ? {} : { name }),
      ...(given === undefined ? {} : { configuration: merged(now, given) }),
    }));
    await record(inner, changed);
    return changed;
  });
  return after.configuration.businessMode === before.configuration.businessMode
    ? after
    : registerChanged(ctx, sql, after);
}

/** Registers the webhook of an enabled connection; once more when another change came between, whose registration may have been first. */
async function registerChanged(ctx: Ctx, sql: Sql, row: ChatConnectionRow): Promise<ChatConnectionRow> {
  let now = row;
  for (let attempt = 1; now.enabled && attempt <= registrationsMax; attempt++) {
    const asked = now;
    const failure = await register(ctx, asked, openConnectedChat(ctx, asked, platformCheckMs));
    ({ after: now } = await tx(sql, (inner) =>
      updateChatConnection(inner, asked, ({ health }) => ({ health: withWebhook(health, failure === null) })),
    ));
    if (failure !== null && failure.kind !== "refused") throw platformUnavailable(asked.platform, failure);
    if (failure !== null)
      throw new ApiError("invalid_request", { message: "The change is saved, but the platform refused the webhook." });
    if (now.configuration.businessMode === asked.configuration.businessMode) break;
  }
  return now;
}

type PatchedConfiguration = NonNullable<Static<typeof ChatConnectionPatch>["configuration"]>;

/** Returns the configuration with the given fields in place of the old ones. Throws 400 for a field of the other platform. */
function merged(row: ChatConnectionRow, given: PatchedConfiguration): ChatConfiguration {
  const { platform, ...fields } = given;
  if (platform !== undefined && platformNamed(platform as ChatPlatformName) !== row.platform)
    throw invalid("/configuration/platform", "cannot change");
  for (const field of Object.keys(fields))
    if (field !== "approverIds" && !Object.hasOwn(row.configuration, field))
      throw invalid(`/configuration/${field}`, `is not a field of ${row.platform}`);
  return { ...row.configuration, ...fields };
}
