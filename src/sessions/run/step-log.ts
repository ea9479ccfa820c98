import type { UIMessageChunk } from "ai";
import { recordedCallsMax, recordedNameLengthMax, recordedToolsMax } from "../../kernel/limits.ts";
import { cleanText } from "../../messages/text.ts";
import { isToolCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ModelMeter } from "../../model/call-meter.ts";
import type { ModelProvider } from "../../providers/client.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import type { StepCall, StepCallStatus, ToolLeftOut, TurnRecord, TurnStep } from "../state/turn-step.ts";

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };
type OpenStep = Omit<Changing<TurnStep>, "toolCalls"> & { readonly toolCalls: Changing<StepCall>[] };

/**
 * Keeps the record of a turn's steps while a claim runs: it begins with the steps of the
 * claims before it, and learns from the model's meter and from the chunks that readers get.
 * It writes nothing; the statement that ends the claim does.
 *
 * Its moments are by the database's clock: the claim's, plus the time since the claim was
 * read. So they lie between the turn's `started_at` and `finished_at` whatever the clock of
 * this machine says.
 */
export class StepLog {
  readonly #steps: OpenStep[];
  readonly #claimedAtMs: number;
  readonly #readAtMs = performance.now();
  #provider: string | null = null;
  #model = "";
  /** When the model call that is about to begin was allowed; null once its step is in the record. */
  #allowedAt: string | null = null;
  #open: OpenStep | null = null;
  #calls: number;
  readonly #leftOut: Map<string, ToolLeftOut>;
  #firstTextAt: Date | null = null;

  constructor({ steps, toolsLeftOut, claimedAt }: Pick<ClaimedTurn, "steps" | "toolsLeftOut" | "claimedAt">) {
    this.#leftOut = new Map(toolsLeftOut.map((tool) => [tool.tool, tool]));
    this.#steps = structuredClone(steps) as OpenStep[];
    this.#calls = this.#steps.reduce((count, { toolCalls }) => count + toolCalls.length, 0);
    this.#claimedAtMs = claimedAt.getTime();
  }

  /** Notes by which provider and model the steps from now on are made. */
  uses({ id }: Pick<ModelProvider, "id">, model: string): void {
    this.#provider = id;
    this.#model = model;
    if (this.#open !== null) Object.assign(this.#open, { provider: id, model });
  }

  /** The model call under way failed, and another one is made in its place: it stays a step of its own in the record. */
  fallsBack(): void {
    this.#step();
    this.#close();
  }

  /** Notes what people and the caller said since to calls of an earlier claim, which is in the answer that goes on: denials and results. */
  settle(extended: UiMessage | null): void {
    for (const part of extended?.parts ?? []) {
      if (!isToolCall(part)) continue;
      if (part.state === "approval-responded" && part.approval?.approved === false)
        this.#set(part.toolCallId, "denied");
      if (part.state === "output-available") this.#set(part.toolCallId, "succeeded");
      if (part.state === "output-error") this.#set(part.toolCallId, "failed");
    }
  }

  /** Returns a meter that does what `meter` does and tells this record of each model call. */
  metered(meter: ModelMeter): ModelMeter {
    return {
      ...meter,
      beforeCall: async () => {
        await meter.beforeCall();
        this.#open = null;
        this.#allowedAt = this.#now();
      },
      onCall: (usage) => {
        meter.onCall(usage);
        const step = this.#step();
        if (step === null) return;
        step.inputTokens += usage.inputTokens;
        step.outputTokens += usage.outputTokens;
      },
    };
  }

  /** Notes what a chunk tells of the steps; a chunk of text only the first time. */
  pass(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case "text-delta":
        this.#firstTextAt ??= new Date(this.#nowMs());
        break;
      case "start-step":
        this.#step();
        break;
      case "finish-step":
        this.#close();
        break;
      case "tool-input-available":
        this.#addCall(chunk.toolCallId, chunk.toolName, "running");
        break;
      case "tool-input-error":
        this.#addCall(chunk.toolCallId, chunk.toolName, "failed");
        break;
      case "tool-approval-request":
        if (chunk.isAutomatic !== true) this.#set(chunk.toolCallId, "waiting");
        break;
      case "tool-output-available":
        if (chunk.preliminary !== true) this.#set(chunk.toolCallId, "succeeded");
        break;
      case "tool-output-error":
        this.#set(chunk.toolCallId, "failed");
        break;
      case "tool-output-denied":
        this.#set(chunk.toolCallId, "denied");
    }
  }

  /** A tool begins to run. */
  beginTool(toolCallId: string): void {
    this.#set(toolCallId, "running");
  }

  /** A vendor was not offered a tool; the first reason stays. */
  leavesOut(tool: ToolLeftOut): void {
    if (this.#leftOut.size < recordedToolsMax && !this.#leftOut.has(tool.tool)) this.#leftOut.set(tool.tool, tool);
  }

  /** The tools that were left out of any request of the turn so far. */
  get toolsLeftOut(): readonly ToolLeftOut[] {
    return [...this.#leftOut.values()];
  }

  /** When the first text of this claim came; null before that. */
  get firstTextAt(): Date | null {
    return this.#firstTextAt;
  }

  /** All steps of the turn so far. */
  get steps(): readonly TurnStep[] {
    return this.#steps;
  }

  /** The claim ends. Returns the record; a step that was under way ends now. */
  close(): TurnRecord {
    // A call that the provider refused, or that never reached it, is a step too.
    this.#step();
    this.#close();
    return { steps: this.#steps, firstTextAt: this.#firstTextAt, toolsLeftOut: this.toolsLeftOut };
  }

  /** Returns the step under way; one begins when a model call was allowed since the last. */
  #step(): OpenStep | null {
    if (this.#open !== null || this.#allowedAt === null) return this.#open;
    this.#open = {
      index: this.#steps.length,
      startedAt: this.#allowedAt,
      finishedAt: null,
      provider: this.#provider,
      model: this.#model,
      inputTokens: 0,
      outputTokens: 0,
      toolCalls: [],
    };
    this.#allowedAt = null;
    this.#steps.push(this.#open);
    return this.#open;
  }

  #close(): void {
    if (this.#open !== null) this.#open.finishedAt = this.#now();
    this.#open = null;
  }

  #addCall(toolCallId: string, toolName: string, status: "running" | "failed"): void {
    // A continuation shows an approved call of a client tool again: now it waits for the caller.
    if (this.#open === null && this.#openCall(toolCallId) !== undefined) {
      this.#set(toolCallId, "waiting");
      return;
    }
    const step = this.#step();
    if (step === null || this.#calls >= recordedCallsMax) return;
    this.#calls += 1;
    const startedAt = this.#now();
    const finishedAt = status === "running" ? null : startedAt;
    step.toolCalls.push({
      toolCallId: shortened(toolCallId),
      tool: shortened(toolName),
      status,
      startedAt,
      finishedAt,
    });
  }

  /** Moves the newest call with this id that has no result, which may be one of an earlier claim. */
  #set(toolCallId: string, status: StepCallStatus): void {
    const call = this.#openCall(toolCallId);
    if (call === undefined) return;
    call.status = status;
    if (status === "running") call.startedAt = this.#now();
    else if (status !== "waiting") call.finishedAt = this.#now();
  }

  #openCall(toolCallId: string): Changing<StepCall> | undefined {
    const id = shortened(toolCallId);
    for (let place = this.#steps.length - 1; place >= 0; place--) {
      const call = this.#steps[place]?.toolCalls.find((one) => one.toolCallId === id && one.finishedAt === null);
      if (call !== undefined) return call;
    }
    return undefined;
  }

  #now(): string {
    return new Date(this.#nowMs()).toISOString();
  }

  #nowMs(): number {
    return this.#claimedAtMs + (performance.now() - this.#readAtMs);
  }
}

/** Returns a name that a provider chose, cut to `recordedNameLengthMax` characters. */
function shortened(name: string): string {
  return cleanText(name.slice(0, recordedNameLengthMax));
}
