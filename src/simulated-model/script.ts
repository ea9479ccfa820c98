/** What the settings of a script mean: from names and raw values to typed steps, strictly. */
import { readScript, ScriptError, type Setting } from "./grammar.ts";

/** A tool call the model is to make; `arguments` is the JSON text that it sends. */
export interface ScriptedCall {
  readonly tool: string;
  readonly arguments: string;
}

/** One answer of the model, as its script sets it. Absent settings take the defaults of `reply.ts`. */
export interface Step {
  readonly calls: ReadonlyArray<ScriptedCall>;
  /** The answer, or with tool calls the text before them. */
  readonly text?: string;
  /** Thoughts sent before the text. */
  readonly reasoning?: string;
  /** Length of a generated text, in UTF-16 units. */
  readonly size?: number;
  /** The number of pieces in which the text is sent. */
  readonly chunks?: number;
  /** Cuts every surrogate pair of the text in two, over two chunks. */
  readonly splitPairs?: boolean;
  /** Each generated chunk has the time when it was sent: `chunk-1@1700000000000 `, in milliseconds since 1970; in streams only. */
  readonly stamped?: boolean;
  /** Pause before each chunk after the first. */
  readonly delayMs?: number;
  /** Pause before the first chunk. */
  readonly firstDelayMs?: number;
  /** HTTP status with which the request fails at once, or the error named in `failAfterChunks`. */
  readonly fail?: number;
  /** Seconds for the Retry-After header of a failure. */
  readonly retryAfter?: number;
  /** An error event is sent after this many chunks. */
  readonly failAfterChunks?: number;
  /** The connection is cut after this many chunks. */
  readonly cutAfterChunks?: number;
  /** Nothing is sent after this many chunks, until the client disconnects. */
  readonly hangAfterChunks?: number;
  /** A stream that holds nothing but its end. */
  readonly emptyStream?: boolean;
  readonly finish?: string;
  /** `false` leaves the usage out. */
  readonly usage?: boolean;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

type Draft = { -readonly [name in keyof Step]: Step[name] } & { calls: ScriptedCall[] };

/** The longest pause, in milliseconds: half an hour, so that a 20-minute turn can be played. */
const pauseMsMax = 30 * 60 * 1000;
/** The longest generated text, in characters: twice the largest answer the service accepts. */
const sizeMax = 32 * 1024 * 1024;
/** The most pieces one answer is cut into. */
const chunksMax = 100_000;
/** The most tokens that a script may report. */
const tokensMax = 1_000_000_000;

const wholeNumbers: Record<string, readonly [min: number, max: number]> = {
  size: [0, sizeMax],
  chunks: [1, chunksMax],
  delayMs: [0, pauseMsMax],
  firstDelayMs: [0, pauseMsMax],
  fail: [400, 599],
  retryAfter: [0, 3600],
  failAfterChunks: [0, chunksMax],
  cutAfterChunks: [0, chunksMax],
  hangAfterChunks: [0, chunksMax],
  inputTokens: [0, tokensMax],
  outputTokens: [0, tokensMax],
};

/** Settings that also hold for the following steps, until set again. */
const lasting = ["delayMs", "firstDelayMs", "usage"] as const;

/** Returns the steps of the script in a user message; `null` when it has none. Throws ScriptError. */
export function stepsOf(text: string): ReadonlyArray<Step> | null {
  const raw = readScript(text);
  if (raw === null) return null;
  const steps: Step[] = [];
  for (const settings of raw) {
    const before = steps.at(-1);
    const draft: Draft = { calls: [] };
    if (before !== undefined) copyLasting(before, draft);
    for (const setting of settings) apply(setting, draft);
    check(draft);
    steps.push(draft);
  }
  steps.slice(0, -1).forEach((step, index) => {
    if (step.calls.length === 0)
      throw new ScriptError(`Script error: step ${index + 1} calls no tool, so no step can follow it.`);
  });
  return steps;
}

/** Returns the settings of `step` that also hold for what follows it. */
export function lastingOf(step: Step): Step {
  const next: Draft = { calls: [] };
  copyLasting(step, next);
  return next;
}

function copyLasting(from: Step, to: Draft): void {
  for (const name of lasting) if (from[name] !== undefined) Object.assign(to, { [name]: from[name] });
}

function apply({ name, value }: Setting, draft: Draft): void {
  const range = wholeNumbers[name];
  if (range !== undefined) Object.assign(draft, { [name]: wholeNumber(name, value, range) });
  else if (name === "text" || name === "reasoning" || name === "finish") draft[name] = word(name, value);
  else if (name === "splitPairs" || name === "emptyStream" || name === "stamped") draft[name] = flag(name, value);
  else if (name === "usage") draft.usage = usage(value);
  else if (name === "tool") draft.calls.push({ tool: word(name, value), arguments: "{}" });
  else if (name === "args") {
    const call = draft.calls.pop();
    if (call === undefined) throw new ScriptError("Script error: args= must follow the tool= it belongs to.");
    draft.calls.push({ tool: call.tool, arguments: typeof value === "string" ? value : JSON.stringify(value) });
  } else throw new ScriptError(`Script error: there is no setting ${name}.`);
}

function check(draft: Draft): void {
  if (draft.text !== undefined && draft.size !== undefined)
    throw new ScriptError("Script error: text= and size= exclude each other.");
  const early = [draft.failAfterChunks, draft.cutAfterChunks, draft.hangAfterChunks, draft.emptyStream];
  if (early.filter((end) => end !== undefined).length > 1)
    throw new ScriptError("Script error: a step ends in one way only (fail, cut, hang or empty).");
  if (draft.fail !== undefined && draft.failAfterChunks === undefined && early.some((end) => end !== undefined))
    throw new ScriptError("Script error: fail= refuses at once; only failAfterChunks= can stand beside it.");
}

function wholeNumber(name: string, value: unknown, [min, max]: readonly [number, number]): number {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new ScriptError(`Script error: ${name}= takes a whole number from ${min} to ${max}.`);
}

function word(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new ScriptError(`Script error: ${name}= takes a word or a "quoted" text.`);
}

function flag(name: string, value: unknown): true {
  if (value === true) return value;
  throw new ScriptError(`Script error: ${name} stands alone, without a value.`);
}

function usage(value: unknown): false {
  if (value === "none") return false;
  throw new ScriptError("Script error: usage= takes only none; inputTokens= and outputTokens= set numbers.");
}
