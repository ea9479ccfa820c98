/** Decides what the model answers: from a conversation to a reply that either wire format can print. */
import { stepsAskedFor } from "./ask.ts";
import { type Conversation, countTokens, type ToolResult } from "./conversation.ts";
import { cutEvenly, cutIntoWords, cutPairs, filler } from "./pieces.ts";
import { lastingOf, type ScriptedCall, type Step, stepsOf } from "./script.ts";

/** How an answer ends once its chunks are sent. */
export interface Ending {
  /**
   * `done`: properly; `fail`: with an error event; `cut`: the connection drops; `hang`:
   * nothing is sent until the client disconnects.
   */
  readonly kind: "done" | "fail" | "cut" | "hang";
  /** The number of chunks that are sent before it. */
  readonly afterChunks: number;
}

/** An answer, independent of a wire format. */
export interface ModelReply {
  /** The HTTP status of a refusal; `null`: the model answers. In an ending of kind `fail` it is the error's status. */
  readonly status: number | null;
  readonly retryAfterSeconds: number | null;
  readonly reasoning: ReadonlyArray<string>;
  readonly text: ReadonlyArray<string>;
  readonly calls: ReadonlyArray<ScriptedCall>;
  /** `stop`, `tool_calls`, or what the script says. */
  readonly finish: string;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | null;
  readonly firstDelayMs: number;
  readonly delayMs: number;
  readonly ending: Ending;
  /** Whether `momentMark` in the text becomes the time at which it is sent. */
  readonly stamped: boolean;
  /** Sends no chunk at all. */
  readonly empty: boolean;
}

/** Stands for the time of sending in a text that is stamped. */
export const momentMark = "{now}";
/** The longest piece of a message that an echo repeats, in characters. */
const echoCharsMax = 200;
/** The longest piece of a tool result that an answer quotes, in characters. */
const quoteCharsMax = 1000;
/** The pieces of a generated text have this many characters unless the script says otherwise. */
const fillerPieceChars = 1000;

/**
 * Returns the model's answer. `chunkDelayMs` is the pause between chunks where no script
 * sets one. Throws ScriptError.
 */
export function replyTo(conversation: Conversation, chunkDelayMs: number): ModelReply {
  const steps = stepsOf(conversation.prompt) ?? stepsAskedFor(conversation.prompt, conversation.tools);
  const step = steps[conversation.stepsPlayed] ?? afterLastStep(steps);
  const text = textPieces(step, conversation);
  const reasoning = cutIntoWords(step.reasoning ?? "");
  return {
    status: step.fail ?? (step.failAfterChunks === undefined ? null : 500),
    retryAfterSeconds: step.retryAfter ?? null,
    reasoning,
    text,
    calls: step.calls,
    finish: step.finish ?? (step.calls.length > 0 ? "tool_calls" : "stop"),
    usage: usageOf(step, conversation, reasoning, text),
    firstDelayMs: step.firstDelayMs ?? 0,
    delayMs: step.delayMs ?? chunkDelayMs,
    ending: endingOf(step),
    stamped: step.stamped ?? false,
    empty: step.emptyStream ?? false,
  };
}

function afterLastStep(steps: ReadonlyArray<Step>): Step {
  const last = steps.at(-1);
  return last === undefined ? { calls: [] } : lastingOf(last);
}

function endingOf({ failAfterChunks, cutAfterChunks, hangAfterChunks }: Step): Ending {
  if (failAfterChunks !== undefined) return { kind: "fail", afterChunks: failAfterChunks };
  if (cutAfterChunks !== undefined) return { kind: "cut", afterChunks: cutAfterChunks };
  if (hangAfterChunks !== undefined) return { kind: "hang", afterChunks: hangAfterChunks };
  return { kind: "done", afterChunks: Number.POSITIVE_INFINITY };
}

function textPieces(step: Step, conversation: Conversation): string[] {
  const pieces = step.splitPairs === true ? cutPairs : (cut: string[]) => cut;
  if (step.size !== undefined)
    return pieces(cutEvenly(filler(step.size), step.chunks ?? Math.ceil(step.size / fillerPieceChars)));
  if (step.text === undefined && step.chunks !== undefined)
    return Array.from(
      { length: step.chunks },
      (_, index) => `chunk-${index + 1}${step.stamped ? `@${momentMark}` : ""} `,
    );
  const text = step.text ?? (step.calls.length > 0 ? "" : ownWords(conversation));
  return pieces(step.chunks === undefined ? cutIntoWords(text) : cutEvenly(text, step.chunks));
}

function usageOf(step: Step, { inputTokens }: Conversation, reasoning: string[], text: string[]): ModelReply["usage"] {
  if (step.usage === false) return null;
  const pieces = [...reasoning, ...text, ...step.calls.map((call) => call.tool + call.arguments)];
  const units = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { inputTokens: step.inputTokens ?? inputTokens, outputTokens: step.outputTokens ?? countTokens(units) };
}

function ownWords({ prompt, images, tools, toolResults }: Conversation): string {
  if (toolResults.length > 0) return toolResults.map(sentenceAbout).join("\n");
  const seen = images === 0 ? "" : ` I see ${images === 1 ? "one picture" : `${images} pictures`} in it.`;
  // A person who tries an agent for the first time has no other way to know how to make it call a tool.
  const one = tools.find(({ name }) => name === "bash") ?? tools[0];
  const can = one === undefined ? "" : ` Write “use the ${one.name} tool” and I call it.`;
  return `Hello! You said: “${shorten(prompt.trim(), echoCharsMax)}”.${seen} I am the simulated model, and I answer like this every time.${can}`;
}

function sentenceAbout({ tool, output }: ToolResult): string {
  const quote = shorten(output, quoteCharsMax);
  if (/\bdenied\b/i.test(output)) return `The call of the ${tool} tool was denied, and I was told: ${quote}`;
  return `The ${tool} tool answered: ${quote}`;
}

function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`;
}
