import type { UIMessageChunk } from "ai";
import type { Ctx } from "../../kernel/context.ts";
import type { LogKey } from "../../kernel/relay/relay.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { assembledAnswer } from "../run/progress.ts";

/** Reading what a lost turn showed takes at most this long. */
const logReadMs = 5_000;

/** The claim whose worker is lost: its sealed turn log, and what it answers. */
interface LostClaim extends LogKey {
  readonly assistantMessageId: string;
  /** The answer that a continuation goes on with, decisions included; null for a new one. */
  readonly extended: UiMessage | null;
}

/**
 * Returns the answer of a lost claim as far as its readers saw it. Of a log that is lost, or
 * cannot be read in time, its beginning, or what its completed steps have `saved`.
 */
export async function lostAnswer(
  { relay, log }: Pick<Ctx, "relay" | "log">,
  { assistantMessageId, extended, logId, attempt }: LostClaim,
  saved: readonly UIMessageChunk[],
): Promise<UiMessage> {
  const shown: UIMessageChunk[] = [];
  try {
    for await (const item of relay.follow({ logId, attempt }, 1, AbortSignal.timeout(logReadMs))) {
      if (item.type !== "batch") break;
      for (const line of item.batch.sse.split("\n")) {
        if (line.startsWith("data: ")) shown.push(JSON.parse(line.slice("data: ".length)) as UIMessageChunk);
      }
    }
  } catch (error) {
    log.warn({ err: error, logId }, "what a lost turn showed cannot be read to its end");
  }
  return assembledAnswer(assistantMessageId, extended, shown.length < saved.length ? saved : shown);
}
