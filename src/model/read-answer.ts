import { DefaultGeneratedFile, InvalidResponseDataError } from "ai";
import { AnswerCalls } from "./answer-calls.ts";
import type { CallMeter } from "./call-meter.ts";
import { EndedWrongError, isGoodEnd } from "./ended-wrong.ts";
import type { DownloadFiles, ModelCallRequest } from "./model-call-request.ts";
import type { Model, ModelPart } from "./model-part.ts";
import type { ThoughtName } from "./sending/said.ts";
import type { AnswerPart, ModelCallEnd } from "./step-record.ts";
import { saidUsage } from "./token-counts.ts";
import { withoutBookkeeping } from "./vendor-metadata.ts";

type Finish = Extract<ModelPart, { type: "finish" }>;
type Said = readonly (AnswerPart | ModelCallEnd)[];
type TextPart = Extract<ModelPart, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>;

/**
 * Reads one answer as it comes. Of the client's parts those are returned that readers know and the next step needs; a
 * vendor's own bookkeeping is left out.
 */
export class AnswerReader {
  /** The model has said that it ended. What comes after that is no part of it. */
  isOver = false;
  readonly #request: ModelCallRequest;
  readonly #meter: CallMeter;
  readonly #calls: AnswerCalls;
  readonly #response: { id: string; modelId: string };
  /** Texts and thoughts that have begun, by kind and id, and how they end. */
  readonly #open = new Map<string, AnswerPart>();
  /** What an unsigned thought is told with, so that no other vendor is sent it; null: nothing. */
  readonly #nameOfThoughts: ThoughtName | null;
  #gave = false;
  #failed = false;

  constructor(model: Model, request: ModelCallRequest, nameOfThoughts: ThoughtName | null, meter: CallMeter) {
    this.#nameOfThoughts = nameOfThoughts;
    this.#request = request;
    this.#meter = meter;
    this.#calls = new AnswerCalls(request);
    this.#response = { id: "", modelId: model.modelId };
  }

  /** Returns what a part says, or a promise of it. Throws where the answer broke off, and `EndedWrongError`. */
  read(part: ModelPart): Said | Promise<Said> {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return this.#text(part);
      case "tool-input-start":
        return [this.#calls.start(part)];
      case "tool-input-delta": {
        this.#meter.came(part.delta);
        return listed(this.#calls.write(part));
      }
      case "tool-call": {
        // Its input came in pieces before, but from a few providers.
        if (!this.#calls.isWritten(part)) this.#meter.came(part.input || "{}");
        return this.#calls.call(part).then(listed);
      }
      case "tool-result":
        return this.#calls.result(part);
      case "file":
        this.#gave = true;
        return fileOf(part, this.#request);
      case "response-metadata":
        this.#response.id = part.id ?? this.#response.id;
        this.#response.modelId = part.modelId ?? this.#response.modelId;
        return [];
      case "finish":
        return this.#finish(part);
      case "tool-input-end":
      case "source":
        return [withoutBookkeeping(part) as AnswerPart];
      case "error":
        this.#failed = true;
        return [part as AnswerPart];
      default:
        // Pictures of thoughts, approvals that a vendor asks for its own tools, a vendor's own kinds.
        return [];
    }
  }

  /** A text that was not begun is begun, one that was begun twice ends before, and an end without a beginning is none. */
  #text(part: TextPart): AnswerPart[] {
    const kind = part.type.startsWith("text") ? "text" : "reasoning";
    const key = `${kind}:${part.id}`;
    const open = this.#open.get(key);
    const told = withoutBookkeeping(part);
    const plain = { type: `${kind}-end`, id: part.id } as AnswerPart;
    const isNamed = kind === "text" || this.#nameOfThoughts === null || told.providerMetadata !== undefined;
    const end = isNamed ? plain : ({ ...plain, providerMetadata: this.#nameOfThoughts } as AnswerPart);
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#open.set(key, end);
        return [...(open === undefined ? [] : [open]), told as AnswerPart];
      case "text-end":
      case "reasoning-end":
        this.#open.delete(key);
        // Without its citations: each of them is a source by itself.
        return open === undefined ? [] : [{ ...open, ...metadataOf(told) }];
      default: {
        this.#meter.came(part.delta);
        if (part.type === "text-delta") this.#gave ||= part.delta.trim() !== "";
        const { delta: text, ...rest } = told as typeof part;
        const begun = open === undefined ? [{ type: `${kind}-start`, id: part.id } as AnswerPart] : [];
        if (open === undefined || told.providerMetadata !== undefined) this.#open.set(key, end);
        return [
          ...begun,
          ...(text !== "" || rest.providerMetadata !== undefined ? [{ ...rest, text }] : []),
        ] as AnswerPart[];
      }
    }
  }

  async #finish(part: Finish): Promise<(AnswerPart | ModelCallEnd)[]> {
    if (isBrokenOff(part)) throw new InvalidResponseDataError({ data: null, message: "No end of the answer came." });
    this.isOver = true;
    // The gateway's client hands on whatever the server sends, so the usage may be missing.
    const usage = this.#meter.end(saidUsage(part.usage));
    const finishReason = part.finishReason.unified;
    const { id: responseId, modelId } = this.#response;
    this.#request.spans.end({ responseId, modelId, finishReason, usage });
    const calls = await this.#calls.end(finishReason);
    const hasGiven = this.#gave || this.#calls.any;
    if (!hasGiven && !this.#failed && !isGoodEnd(part.finishReason, this.#calls.hasSome))
      throw new EndedWrongError(finishReason);
    return [...this.#open.values(), ...calls, { type: "call-end", finishReason, isCut: this.#calls.isCut }];
  }
}

function metadataOf({ providerMetadata }: { readonly providerMetadata?: object | undefined }): object {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

function listed(part: AnswerPart | null): AnswerPart[] {
  return part === null ? [] : [part];
}

/**
 * Whether a stream has ended without the protocol's own end, as one of another media type
 * does too: the vendors' clients then report an interruption, or the reason with which they began.
 */
function isBrokenOff({ finishReason }: Finish): boolean {
  return finishReason.raw === undefined && ["other", "interrupted"].includes(finishReason.unified);
}

async function fileOf(
  part: Extract<ModelPart, { type: "file" }>,
  { download, signal }: ModelCallRequest,
): Promise<Said> {
  const { data, mediaType } = part;
  const bytes = data.type === "data" ? data.data : await downloaded(data.url, download, signal);
  return [withoutBookkeeping({ ...part, file: new DefaultGeneratedFile({ data: bytes, mediaType }) }) as AnswerPart];
}

async function downloaded(url: URL, download: DownloadFiles, abortSignal: AbortSignal): Promise<Uint8Array> {
  const [file] = await download([{ url, isUrlSupportedByModel: false, abortSignal }]);
  if (file == null) throw new Error("A file that the model made cannot be fetched.");
  return file.data;
}
