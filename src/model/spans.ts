import { APICallError, type FinishReason, type LanguageModelUsage, type streamText } from "ai";
import { isTracing, type OpenSpan, startSpan } from "../kernel/telemetry/trace.ts";

type Settings = Parameters<typeof streamText>[0];

interface EndedCall {
  readonly modelId: string;
  readonly responseId: string;
  readonly finishReason: FinishReason;
  readonly usage: LanguageModelUsage;
}

/** The model SDK's names of providers where OpenTelemetry's generative-AI conventions have another. */
const providerNames: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/**
 * A span for each call of a model, with the attributes of OpenTelemetry's
 * generative-AI conventions: which model, how many tokens, why it ended. Never
 * what was said. Made at the two ends of a call, so chunks cost nothing.
 */
export class ModelSpans {
  #open: OpenSpan | null = null;

  /** What to hand to the SDK where it makes the call; nothing while no traces are recorded. */
  get callbacks(): Pick<Settings, "onLanguageModelCallStart" | "onLanguageModelCallEnd"> {
    if (!isTracing()) return {};
    return {
      onLanguageModelCallStart: (event) => this.start(event),
      onLanguageModelCallEnd: (event) => this.end(event),
    };
  }

  /** A call begins. */
  start({ provider, modelId }: { readonly provider: string; readonly modelId: string }): void {
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
  }

  /** The call has ended as it should. */
  end({ modelId, finishReason, usage, responseId }: EndedCall): void {
    this.#open?.set({
      "gen_ai.response.model": modelId,
      "gen_ai.response.id": responseId,
      "gen_ai.response.finish_reasons": [finishReason],
      "gen_ai.usage.input_tokens": usage.inputTokens ?? 0,
      "gen_ai.usage.output_tokens": usage.outputTokens ?? 0,
    });
    this.#open?.end();
    this.#open = null;
  }

  /** Ends a call that never came to its end: it failed and is tried again, or the turn is over. */
  close(error: unknown): void {
    const cause = APICallError.isInstance(error) ? String(error.statusCode ?? "unreachable") : "unfinished";
    this.#open?.fail(cause);
    this.#open?.end();
    this.#open = null;
  }
}
