import type { UIMessageChunk } from "ai";
import { recordedCallsMax, recordedNameLengthMax, recordedToolsMax } from "../../kernel/limits.ts";
import { cleanText } from "../../messages/text.ts";
import { isToolCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ModelMeter } from "../../model/call-meter.ts";
import type { FailedCall } from "../../model/vendor-failure.ts";
import type { ModelProvider } from "../../providers/client.ts";
import { noTokens, tokenCountNames } from "../../usage/tokens.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import type { StepCall, StepCallStatus, StepFailure, ToolLeftOut, TurnRecord, TurnStep } from "../state/turn-step.ts";
import { CallFailures } from "./call-failures.ts";

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };
type OpenStep = Omit<Changing<TurnStep>, "toolCalls" | "failures"> & {
  readonly toolCalls: Changing<StepCall>[];
  failures?: StepFailure[];
};

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
  readonly #clock: ClaimClock;
  #provider: Pick<ModelProvider, "id" | "apiKey"> | null = null;
  #model = "";
  /** When the model call that is about to begin was allowed; null once its step is in the record. */
  #allowedAt: string | null = null;
  #open: OpenStep | null = null;
  #calls: number;
  readonly #failures: CallFailures;
  readonly #leftOut: Map<string, ToolLeftOut>;
  #firstTextAt: Date | null = null;

  constructor({ steps, toolsLeftOut, claimedAt }: Pick<ClaimedTurn, "steps" | "toolsLeftOut" | "claimedAt">) {
    this.#leftOut = new Map(toolsLeftOut.map((tool) => [tool.tool, tool]));
    this.#steps = structuredClone(steps) as OpenStep[];
    this.#calls = this.#steps.reduce((count, { toolCalls }) => count + toolCalls.length, 0);
    this.#failures = new CallFailures(this.#steps.reduce((count, { failures = [] }) => count + failures.length, 0));
    this.#clock = new ClaimClock(claimedAt);
  }

  /** Notes by which provider and model the steps from now on are made. */
  uses(provider: Pick<ModelProvider, "id" | "apiKey">, model: string): void {
    this.#provider = provider;
    this.#model = model;
    if (this.#open !== null) Object.assign(this.#open, { provider: provider.id, model });
  }

  /** A request to the model failed. */
  callFailed(failed: FailedCall): void {
    const step = this.#step();
    const provider = this.#provider;
    if (step === null || provider === null) return;
    step.failures ??= [];
    this.#failures.add(step.failures, failed, { provider, model: this.#model, at: this.#clock.text() });
    if (step.failures.length === 0) delete step.failures;
  }

  /** The turn fails with this error. */
  failsWith(error: unknown): void {
    this.#failures.endWith(error);
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
        this.#allowedAt = this.#clock.text();
      },
      onCall: (usage) => {
        meter.onCall(usage);
        const step = this.#step();
        if (step === null) return;
        for (const name of tokenCountNames) step[name] = (step[name] ?? 0) + usage[name];
      },
    };
  }

  /** Notes what a chunk tells of the steps; a chunk of text only the first time. */
  pass(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case "text-delta":
        this.#firstTextAt ??= this.#clock.now();
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
      provider: this.#provider?.id ?? null,
      model: this.#model,
      ...noTokens,
      toolCalls: [],
    };
    this.#allowedAt = null;
    this.#steps.push(this.#open);
    return this.#open;
  }

  #close(): void {
    if (this.#open !== null) this.#open.finishedAt = this.#clock.text();
    this.#open = null;
  }

  #addCall(toolCallId: string, toolName: string, status: "running" | "failed"): void {
    // A continuation shows an approved call of a client tool again: now it waits for the caller.
    if (this.#open === null && openCall(this.#steps, toolCallId) !== undefined) {
      this.#set(toolCallId, "waiting");
      return;
    }
    const step = this.#step();
    if (step === null || this.#calls >= recordedCallsMax) return;
    this.#calls += 1;
    const startedAt = this.#clock.text();
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
    const call = openCall(this.#steps, toolCallId);
    if (call === undefined) return;
    call.status = status;
    if (status === "running") call.startedAt = this.#clock.text();
    else if (status !== "waiting") call.finishedAt = this.#clock.text();
  }
}

/** The database's clock, as it was when a turn was claimed, plus the time since that was read. */
class ClaimClock {
  readonly #claimedAtMs: number;
  readonly #readAtMs = performance.now();

  constructor(claimedAt: Date) {
    this.#claimedAtMs = claimedAt.getTime();
  }

  now(): Date {
    return new Date(this.#claimedAtMs + (performance.now() - this.#readAtMs));
  }

  text(): string {
    return this.now().toISOString();
  }
}

/** Returns a name that a provider chose, cut to `recordedNameLengthMax` characters. */
function shortened(name: string): string {
  return cleanText(name.slice(0, recordedNameLengthMax));
}

/** Returns the newest call with this id that has no result. */
function openCall(steps: readonly OpenStep[], toolCallId: string): Changing<StepCall> | undefined {
  const id = shortened(toolCallId);
  for (let place = steps.length - 1; place >= 0; place--) {
    const call = steps[place]?.toolCalls.find((one) => one.toolCallId === id && one.finishedAt === null);
    if (call !== undefined) return call;
  }
  return undefined;
}
