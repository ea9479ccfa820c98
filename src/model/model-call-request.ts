import type { LanguageModel, ModelMessage, streamText, ToolSet } from "ai";
import type { ModelSettings } from "../providers/model-settings.ts";
import type { ModelMeter } from "./call-meter.ts";
import type { CallValues } from "./call-values.ts";
import type { PromptCache } from "./prompt-cache.ts";
import type { ResponseFormat } from "./response-format.ts";
import type { Refusals } from "./sending/refusals.ts";
import type { ModelSpans } from "./spans.ts";
import type { ThinkingSettings } from "./thinking.ts";
import type { TurnFiles } from "./turn-files.ts";
import type { FailedCall } from "./vendor-failure.ts";

/**
 * Fetches files given as URLs: those of messages, for providers that do not accept URLs,
 * and those that a model made.
 */
export type DownloadFiles = NonNullable<Parameters<typeof streamText>[0]["experimental_download"]>;

/** Which tools the model may call, or has to call first; a choice of one tool names it. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** The input of one model call. */
export interface ModelCallRequest {
  readonly model: LanguageModel;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly thinking: ThinkingSettings;
  /** None: the vendor's defaults. */
  readonly settings?: ModelSettings;
  /** Null, or not given: nothing is done for the caches of vendors. */
  readonly cache?: PromptCache | null;
  readonly download: DownloadFiles;
  readonly signal: AbortSignal;
  readonly spans: ModelSpans;
  readonly meter: ModelMeter;
  readonly files: TurnFiles;
  readonly values: CallValues;
  readonly refusals: Refusals;
  /** Told of each request to a model that failed, as soon as it has. */
  readonly onCallFailed: (failed: FailedCall) => void;
  /** What the final text has to fit; null: any text is an answer. */
  readonly format: ResponseFormat | null;
  /** `auto` where it is not given. */
  readonly toolChoice?: ToolChoice;
  /** How often a request that failed before its response began is sent again; `providerRetriesMax` where it is not given. */
  readonly retriesMax?: number;
}
