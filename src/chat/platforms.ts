import type { Ctx } from "../kernel/context.ts";
import type { ChatPlatform, Endpoint } from "./platform.ts";
import { type ChatPlatformName, postTimeoutMs } from "./schema.ts";
import { slack } from "./slack/slack.ts";
import { telegram } from "./telegram/telegram.ts";

/** The platforms by their labels. */
export const platforms: Readonly<Record<ChatPlatformName, ChatPlatform>> = { chat_a: slack, chat_b: telegram };

/** Where a platform is reached; a call that has no signal of its own ends after `postTimeoutMs`. */
export function endpointOf(
  ctx: Pick<Ctx, "config">,
  platform: ChatPlatformName,
  signal: AbortSignal = AbortSignal.timeout(postTimeoutMs),
): Endpoint {
  const { chatA, chatB } = ctx.config.endpoints;
  return { url: platform === "chat_a" ? chatA : chatB, signal };
}
