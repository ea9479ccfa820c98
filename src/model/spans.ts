import type { FinishReason, streamText } from "ai";
import { isTracing, type OpenSpan, recordsContent, startSpan } from "../kernel/telemetry/trace.ts";
import type { TokenCounts } from "../usage/tokens.ts";
import { findCallError } from "./describe-error.ts";
import { AnswerContent, type PromptMessage, promptContent, type ReceivedPart } from "./span-content.ts";
import { tokenCounts } from "./token-counts.ts";

type Settings = Parameters<typeof streamText>[0];

interface EndedCall {
  readonly modelId: string;
  readonly responseId: string;
  readonly finishReason: FinishReason;
  readonly usage: TokenCounts;
}

/** Providers that the model SDK names differently from OpenTelemetry's generative-AI conventions. */
const providerNames: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/**
 * One span for each model call, with the attributes of OpenTelemetry's generative-AI
 * conventions: the model, the token counts, why it ended. The content only where an operator
 * has asked for it: elsewhere chunks cost nothing, as all is written when a model call starts
 * and ends.
 */
export class ModelSpans {
  #open: OpenSpan | null = null;
  #answer: AnswerContent | null = null;

  /** The callbacks for a model call that the SDK makes; none while no traces are recorded. */
  get callbacks(): Pick<Settings, "onLanguageModelCallStart" | "onLanguageModelCallEnd"> {
    if (!isTracing()) return {};
    return {
      onLanguageModelCallStart: (event) => this.start(event),
      onLanguageModelCallEnd: (event) => this.end({ ...event, usage: tokenCounts(event.usage) }),
    };
  }

  /** Starts the span of a model call; `prompt` is what the model is sent. */
  start(
    { provider, modelId }: { readonly provider: string; readonly modelId: string },
    prompt: readonly PromptMessage[] | null = null,
  ): void {
    if (!isTracing()) return;
    this.close(null);
    const name = provider.split(".", 1)[0] as string;
    this.#open = startSpan(`chat ${modelId}`, () => ({
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": providerNames[name] ?? name,
        "gen_ai.request.model": modelId,
      },
    }));
    if (prompt === null || !recordsContent()) return;
    this.#open.set(promptContent(prompt));
    this.#answer = new AnswerContent();
  }

  /** Takes a part of the answer, where contents are recorded. */
  came(part: ReceivedPart): void {
    this.#answer?.came(part);
  }

  /** Ends the span of a model call that succeeded. */
  end({ modelId, finishReason, usage, responseId }: EndedCall): void {
    this.#open?.set(this.#answer?.content(finishReason) ?? {});
    this.#open?.set({
      "gen_ai.response.model": modelId,
      "gen_ai.response.id": responseId,
      "gen_ai.response.finish_reasons": [finishReason],
      "gen_ai.usage.input_tokens": usage.inputTokens,
      "gen_ai.usage.output_tokens": usage.outputTokens,
    });
    this.#open?.end();
    this.#open = null;
    this.#answer = null;
  }

  /**
   * Ends the span of a model call that did not finish, if one is open: it failed and is
   * tried again, or the turn is over.
   */
  close(error: unknown): void {
    const call = findCallError(error);
    const cause = call === null ? "unfinished" : String(call.statusCode ?? "unreachable");
    this.#open?.set(this.#answer?.content("error") ?? {});
    this.#open?.fail(cause);
    this.#open?.end();
    this.#open = null;
    this.#answer = null;
  }
}
