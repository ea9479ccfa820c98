import type { Ctx } from "../kernel/context.ts";
import type { ChatAccount, ChatPlatform } from "./platform.ts";
import { type ChatCredentials, type ChatPlatformName, postTimeoutMs } from "./schema.ts";
import { slack } from "./slack/slack.ts";
import { type ChatConnectionRow, openChatCredentials } from "./store.ts";
import { telegram } from "./telegram/telegram.ts";

/** The platforms by their labels. */
export const platforms: Readonly<Record<ChatPlatformName, ChatPlatform>> = { chat_a: slack, chat_b: telegram };

/**
 * Opens a bot's account at its platform; nothing is sent yet. All requests made
 * through it end within `limitMs` milliseconds from now.
 */
export function openChat(
  { config }: Pick<Ctx, "config">,
  platform: ChatPlatformName,
  credentials: ChatCredentials,
  limitMs: number,
): ChatAccount {
  const { chatA, chatB } = config.endpoints;
  const url = platform === "chat_a" ? chatA : chatB;
  return platforms[platform].open({ url, signal: AbortSignal.timeout(limitMs) }, credentials);
}

/**
 * Opens the account of a stored connection, by default for as long as posting one
 * message may take. Throws when its credentials cannot be unsealed.
 */
export function openConnectedChat(
  ctx: Pick<Ctx, "config" | "sealer">,
  row: Pick<ChatConnectionRow, "id" | "platform" | "sealedCredentials">,
  limitMs: number = postTimeoutMs,
): ChatAccount {
  return openChat(ctx, row.platform, openChatCredentials(ctx.sealer, row), limitMs);
}
