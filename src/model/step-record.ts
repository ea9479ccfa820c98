import type { FinishReason, LanguageModelUsage, TextStreamPart, ToolSet, TypedToolCall } from "ai";
import type { toResponseMessages } from "ai/internal";

/** A part of an answer, as the AI SDK's `streamText` would give it. */
export type AnswerPart = TextStreamPart<ToolSet>;

type Content = Parameters<typeof toResponseMessages>[0]["content"];
type Said = Extract<Content[number], { type: "text" | "reasoning" }>;

/** How a call of a model ended. */
export interface CallEnd {
  readonly type: "call-end";
  readonly finishReason: FinishReason;
  readonly usage: LanguageModelUsage;
}

/** What one step of an answer said and did: the model is told of it in the next one. */
export class StepRecord {
  readonly content: Content = [];
  finishReason: FinishReason = "other";
  readonly #open = new Map<string, Said>();
  #calls: TypedToolCall<ToolSet>[] = [];
  #asked = 0;
  #settled = 0;
  #ended = false;
  #failed = false;
  #hasOutput = false;

  /** Whether the provider said how its call ended. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Whether the stream broke off before it said anything. */
  get isEmpty(): boolean {
    return !this.#ended && !this.#failed && !this.#hasOutput;
  }

  /** Whether the model is to be called again: it asked for tools, and each of them has answered or was denied. */
  get continues(): boolean {
    const goesOn = !this.#failed && this.finishReason !== "interrupted";
    return goesOn && this.#asked > 0 && this.#asked === this.#settled;
  }

  /** Notes a part. Throws when a text goes on that was not begun. */
  add(part: AnswerPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        this.#say(part);
        break;
      case "tool-input-delta":
        this.#hasOutput = true;
        break;
      case "tool-call":
        this.#hasOutput = true;
        if (part.providerExecuted !== true) this.#asked += 1;
        this.content.push(part);
        break;
      case "tool-result":
      case "tool-error":
        if (part.providerExecuted !== true) this.#settled += 1;
        this.content.push(part);
        break;
      case "tool-approval-response":
        if (!part.approved) this.#settled += 1;
        this.content.push(part);
        break;
      case "file":
      case "reasoning-file":
        this.#hasOutput = true;
        this.content.push(part);
        break;
      case "source":
      case "custom":
      case "tool-approval-request":
        this.content.push(part);
        break;
      case "error":
        this.#failed = true;
        this.finishReason = "error";
    }
  }

  /** Notes a call that is to be run. */
  addCall(call: TypedToolCall<ToolSet>): void {
    this.#calls.push(call);
  }

  /** Notes how the call of the model ended. */
  end({ finishReason }: CallEnd): void {
    this.#ended = true;
    if (!this.#failed) this.finishReason = finishReason;
  }

  /** The calls to run, once; none when the answer was cut off, since a call may be cut off with it. */
  takeCalls(): readonly TypedToolCall<ToolSet>[] {
    const calls = this.finishReason === "stop" || this.finishReason === "tool-calls" ? this.#calls : [];
    this.#calls = [];
    return calls;
  }

  #say(part: Extract<AnswerPart, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>): void {
    const type = part.type.startsWith("text") ? "text" : "reasoning";
    const key = `${type}:${part.id}`;
    if (part.type === "text-start" || part.type === "reasoning-start") {
      const said = { type, text: "" } as Said;
      this.#open.set(key, said);
      this.content.push(said);
    }
    const said = this.#open.get(key);
    if (said === undefined) throw new Error(`The model went on with the ${type} ${part.id}, which it had not begun.`);
    if (part.type === "text-delta" || part.type === "reasoning-delta") {
      said.text += part.text;
      this.#hasOutput ||= part.text !== "";
    }
    if (part.providerMetadata !== undefined) said.providerMetadata = part.providerMetadata;
    if (part.type === "text-end" || part.type === "reasoning-end") this.#open.delete(key);
  }
}
