import type { UiMessage } from "./ui-message.ts";

/**
 * Why a model ended its answer (`stop`, `length`, `content-filter`, `tool-calls` …). It is in the
 * chunk that ends a stream and in the `metadata` of the message, where the AI SDK's client puts
 * what that chunk says.
 */

interface Reasoned {
  readonly finishReason?: unknown;
}

/** Returns an answer and the chunk that ends it, both with the reason that the chunk has; a chunk without one changes nothing. */
export function withFinishReason(
  message: UiMessage,
  lastChunk: unknown,
): { readonly message: UiMessage; readonly lastChunk: unknown } {
  const { finishReason } = (lastChunk ?? {}) as Reasoned;
  if (typeof finishReason !== "string") return { message, lastChunk };
  const said = { finishReason };
  return {
    message: { ...message, metadata: { ...(message.metadata as object | undefined), ...said } },
    lastChunk: { ...(lastChunk as object), messageMetadata: said },
  };
}

/** Returns the reason that an answer has, as a field of a response; none where it has none. */
export function finishReasonOf({ metadata }: UiMessage): { readonly finishReason?: string } {
  const { finishReason } = (metadata ?? {}) as Reasoned;
  return typeof finishReason === "string" ? { finishReason } : {};
}

/** Returns a message that goes on, or that was cut off while it went on: the reason of the model to stop is none of its end. */
export function withoutFinishReason(message: UiMessage): UiMessage {
  if (!("finishReason" in finishReasonOf(message))) return message;
  const { metadata, ...rest } = message;
  const { finishReason: _stopped, ...others } = metadata as Reasoned;
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
}
