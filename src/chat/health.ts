import type { Ctx } from "../kernel/context.ts";
import { PlatformError } from "./platform.ts";
import { openConnectedChat } from "./platforms.ts";
import { type ChatHealth, type CheckStatus, type HealthCheck, platformCheckMs } from "./schema.ts";
import type { ChatConnectionRow } from "./store.ts";

/** Channels that are checked concurrently. */
const membershipsAtOnce = 8;

/** Returns the address that the platform calls. */
export function webhookUrlOf(
  ctx: Pick<Ctx, "publicUrl">,
  { platform, id }: Pick<ChatConnectionRow, "platform" | "id">,
) {
  return `${ctx.publicUrl}/v1/chat/webhooks/${platform}/${id}`;
}

/** Returns the health of a connection whose token has just been verified. */
export function verifiedHealth(webhook: CheckStatus): ChatHealth {
  return {
    checkedAt: new Date().toISOString(),
    tokenValid: true,
    identityVerified: true,
    checks: [
      { code: "bot_identity", status: "pass" },
      { code: "webhook_url", status: webhook },
    ],
  };
}

/** Returns a health with another status of one check. */
export function withCheck(health: ChatHealth, code: HealthCheck["code"], status: CheckStatus): ChatHealth {
  const others = health.checks.filter((check) => check.code !== code);
  return { ...health, checks: [...others, { code, status }] };
}

/** Returns the result of checking a connection at its platform: its token, bot, channels and webhook. What cannot be told is `unknown`. */
export async function checkHealth(ctx: Ctx, row: ChatConnectionRow): Promise<ChatHealth> {
  const account = openConnectedChat(ctx, row, platformCheckMs);
  const identity = await resultOf(() => account.identify());
  const refused = identity instanceof PlatformError && identity.kind === "refused";
  const known = identity instanceof PlatformError ? null : identity;
  const same = known?.installation === row.installation;
  const channels = row.configuration.channelIds ?? row.configuration.chatIds ?? [];
  const memberships: HealthCheck[] = [];
  for (let at = 0; at < channels.length; at += membershipsAtOnce) {
    const checks = channels.slice(at, at + membershipsAtOnce).map(async (subject): Promise<HealthCheck> => {
      const status = known === null ? "unknown" : await account.membership(row, subject);
      return { code: "channel_membership", status, subject };
    });
    memberships.push(...(await Promise.all(checks)));
  }
  const registered = known === null ? "unknown" : await resultOf(() => account.webhookStatus(webhookUrlOf(ctx, row)));
  const webhook = registered instanceof PlatformError ? "unknown" : registered;
  return {
    checkedAt: new Date().toISOString(),
    // A platform that cannot be reached says nothing about the token.
    tokenValid: known === null && !refused ? row.health.tokenValid : !refused,
    identityVerified: known === null && !refused ? row.health.identityVerified : same,
    checks: [
      {
        code: "bot_identity",
        status: refused || (known !== null && !same) ? "fail" : known === null ? "unknown" : "pass",
      },
      ...memberships,
      { code: "webhook_url", status: webhook === "unknown" && row.webhookSeenAt !== null ? "pass" : webhook },
    ],
  };
}

async function resultOf<T>(ask: () => Promise<T>): Promise<T | PlatformError> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
}
