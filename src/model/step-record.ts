import type { FinishReason, TextStreamPart, ToolSet, TypedToolCall } from "ai";
import type { toResponseMessages } from "ai/internal";
import type { ToolProgressPart } from "./progress-pace.ts";

/** A part of an answer, as the AI SDK's `streamText` would yield it; and how far a tool's call has come. */
export type AnswerPart = TextStreamPart<ToolSet> | ToolProgressPart;

type Content = Parameters<typeof toResponseMessages>[0]["content"];
type TextContent = Extract<Content[number], { type: "text" | "reasoning" }>;

/** How a model call ended. */
export interface ModelCallEnd {
  readonly type: "call-end";
  readonly finishReason: FinishReason;
  /** Whether a tool call was cut off with the answer. */
  readonly isCut: boolean;
}

/** What the model call said so far is no part of the answer for the model: it failed, and another one is made in its place. */
export interface ModelCallVoid {
  readonly type: "call-void";
}

/** The record of one step of an answer; its content becomes part of the prompt of the next step. */
export class StepRecord {
  readonly content: Content = [];
  finishReason: FinishReason = "other";
  readonly #open = new Map<string, TextContent>();
  #calls: TypedToolCall<ToolSet>[] = [];
  #calledTools = 0;
  #settledTools = 0;
  #ended = false;
  #failed = false;
  #hasOutput = false;
  #isCut = false;

  /** How many tools the model has called in this step, those aside that its provider runs. */
  get calledTools(): number {
    return this.#calledTools;
  }

  /** Whether the stream had no output, no error and no reported end. */
  get isEmpty(): boolean {
    return !this.#ended && !this.#failed && !this.#hasOutput;
  }

  /** Whether the model is called again: it made tool calls, and each of them has a result or was denied. */
  get continues(): boolean {
    const goesOn = !this.#failed && this.finishReason !== "interrupted";
    return goesOn && this.#calledTools > 0 && this.#calledTools === this.#settledTools;
  }

  /** Whether the provider said that it failed. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Whether calls wait for somebody: they were made, and have no result. */
  get awaits(): boolean {
    return this.#calledTools > this.#settledTools && !this.#failed;
  }

  /** Whether a call was cut off with the answer. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Returns the content without calls that have no result, which a provider refuses to be sent. */
  withoutOpenCalls(): Pick<StepRecord, "content"> {
    const settled = new Set(
      this.content.flatMap((part) =>
        part.type === "tool-result" || part.type === "tool-error" ? [part.toolCallId] : [],
      ),
    );
    return { content: this.content.filter((part) => part.type !== "tool-call" || settled.has(part.toolCallId)) };
  }

  /** Records a part. Throws for a part of a text that was not started. */
  add(part: AnswerPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        this.#addText(part);
        break;
      case "tool-input-delta":
        this.#hasOutput = true;
        break;
      case "tool-call":
        this.#hasOutput = true;
        if (part.providerExecuted !== true) this.#calledTools += 1;
        this.content.push(part);
        break;
      case "tool-result":
      case "tool-error":
        if (part.providerExecuted !== true) this.#settledTools += 1;
        this.content.push(part);
        // One that the model made and that was cut off.
        this.#calls = this.#calls.filter(({ toolCallId }) => toolCallId !== part.toolCallId);
        break;
      case "tool-approval-response":
        if (!part.approved) this.#settledTools += 1;
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

  /** Records a tool call that is to be run. */
  addCall(call: TypedToolCall<ToolSet>): void {
    this.#calls.push(call);
  }

  /** Records how the model call ended. */
  end({ finishReason, isCut }: ModelCallEnd): void {
    this.#ended = true;
    this.#isCut = isCut;
    if (!this.#failed) this.finishReason = finishReason;
  }

  /** Forgets what was said so far. */
  clear(): void {
    this.content.length = 0;
    this.#open.clear();
    this.#calls = [];
    this.#calledTools = 0;
    this.#settledTools = 0;
    this.#hasOutput = false;
  }

  /** Returns the tool calls to run and forgets them. */
  takeCalls(): readonly TypedToolCall<ToolSet>[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  #addText(part: Extract<AnswerPart, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>): void {
    const type = part.type.startsWith("text") ? "text" : "reasoning";
    const key = `${type}:${part.id}`;
    if (part.type === "text-start" || part.type === "reasoning-start") {
      const started = { type, text: "" } as TextContent;
      this.#open.set(key, started);
      this.content.push(started);
    }
    const open = this.#open.get(key);
    if (open === undefined) throw new Error(`The model went on with the ${type} ${part.id}, which it had not begun.`);
    if (part.type === "text-delta" || part.type === "reasoning-delta") {
      open.text += part.text;
      this.#hasOutput ||= part.text !== "";
    }
    if (part.providerMetadata !== undefined) open.providerMetadata = part.providerMetadata;
    if (part.type === "text-end" || part.type === "reasoning-end") this.#open.delete(key);
  }
}
