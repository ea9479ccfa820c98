import {
  type ModelMessage,
  NoSuchToolError,
  type ToolApprovalStatus,
  type ToolModelMessage,
  type ToolSet,
  type TypedToolCall,
} from "ai";
import { collectToolApprovals, toResponseMessages, validateApprovedToolApprovals } from "ai/internal";
import { newId } from "../kernel/ids.ts";
import { toolCallsAtOnceMax, toolCallsPerStepMax } from "../kernel/limits.ts";
import { isClientTool } from "../tools/client-tool.ts";
import { ToolError, unusableCall } from "../tools/error.ts";
import { FiledResult } from "../tools/filed-result.ts";
import type { CallContext } from "../tools/tool.ts";
import type { CallValues } from "./call-values.ts";
import { ProgressPace, type ToolProgressPart } from "./progress-pace.ts";
import type { AnswerPart } from "./step-record.ts";
import { readerParts, type TurnFiles } from "./turn-files.ts";

type Call = TypedToolCall<ToolSet>;
type Output = Extract<AnswerPart, { type: "tool-result" | "tool-error" }>;

/** Returns the agent's policy on a tool as the SDK's approval status; undefined: its calls run. */
export type ApprovalOf = (toolName: string) => Exclude<ToolApprovalStatus, string> | undefined;

/** What is needed to run tool calls. */
export interface ToolCallsRequest {
  readonly tools: ToolSet;
  readonly approvalOf: ApprovalOf;
  /** The messages that the model was sent before it made the calls. */
  readonly messages: ModelMessage[];
  readonly signal: AbortSignal;
  readonly files: TurnFiles;
  readonly values: CallValues;
}

/** How a tool call is handled. `told` has the parts about it for the reader. */
interface ClassifiedCall {
  /** Whether it runs, or the caller is asked to run it, once the model call has ended. */
  readonly runs: boolean;
  /** The error that the model gets for a call that cannot run. */
  readonly failure: Output | null;
  readonly told: readonly AnswerPart[];
}

/**
 * Returns how a call is handled, as soon as the model has made it: it runs, waits for a
 * person, is denied or has failed already.
 */
export function classifyCall(call: Call, { tools, approvalOf }: ToolCallsRequest): ClassifiedCall {
  const classified: ClassifiedCall = { runs: false, failure: null, told: [] };
  const ours = call.providerExecuted !== true;
  // The vendor has run it already, also where a tool of ours has its name.
  if (!ours) return classified;
  if (call.invalid === true) return { ...classified, failure: failureOf(call, tools, call.error) };
  if (!Object.hasOwn(tools, call.toolName)) return classified;
  const status = approvalOf(call.toolName);
  if (status === undefined) return { ...classified, runs: true };
  const approvalId = newId("approval");
  const request = { type: "tool-approval-request", approvalId, toolCall: call } as const;
  if (status.type !== "denied") return { ...classified, told: [request] };
  const { reason } = status;
  const response = { type: "tool-approval-response", approvalId, approved: false, toolCall: call } as const;
  const denial = reason === undefined ? response : { ...response, reason };
  return { ...classified, told: [{ ...request, isAutomatic: true }, denial, denied(call)] };
}

/** Returns how a call beyond `toolCallsPerStepMax` is handled: it does not run, and the model and the reader get an error. */
export function refuseCall(call: Call, { tools }: ToolCallsRequest): ClassifiedCall {
  if (call.invalid === true) return { runs: false, failure: failureOf(call, tools, call.error), told: [] };
  const error = new ToolError(
    `This call was not made: at most ${toolCallsPerStepMax} tools can be called at once. Call the others afterwards.`,
  );
  return { runs: false, failure: null, told: [failureOf(call, tools, error)] };
}

/**
 * Runs calls, `toolCallsAtOnceMax` at a time, and yields the result of each as soon as it
 * is known, and before that how far it has come; nothing more after an abort. Never throws: a
 * failed call has an error as its result.
 */
export async function* runCalls(
  calls: readonly Call[],
  request: ToolCallsRequest,
): AsyncGenerator<Output | ToolProgressPart, void, undefined> {
  const { signal } = request;
  if (calls.length === 0) return;
  const outputs: (Output | ProgressPace)[] = [];
  let wake = () => {};
  const onAbort = () => wake();
  const waiting = calls.values();
  const startNext = () => {
    const { value: call, done } = waiting.next();
    if (done === true || signal.aborted) return;
    const pace = new ProgressPace(call.toolCallId, (due) => {
      outputs.push(due);
      wake();
    });
    void runCall(call, request, pace).then((output) => {
      pace.close();
      outputs.push(output);
      wake();
      startNext();
    });
  };
  for (let started = 0; started < toolCallsAtOnceMax; started++) startNext();
  signal.addEventListener("abort", onAbort, { once: true });
  for (let left = calls.length; left > 0 && !signal.aborted; ) {
    const output = outputs.shift();
    if (output === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    } else if (output instanceof ProgressPace) {
      const report = output.take();
      if (report !== null) yield report;
    } else {
      left -= 1;
      yield output;
    }
  }
  signal.removeEventListener("abort", onAbort);
}

async function runCall(
  call: Call,
  { tools, messages, signal, files, values }: ToolCallsRequest,
  pace: ProgressPace,
): Promise<Output> {
  const { toolCallId, toolName, input } = call;
  const context: CallContext = { onProgress: (progress) => pace.report(progress) };
  const options = { toolCallId, messages, abortSignal: signal, context };
  const execute = Object.hasOwn(tools, toolName) ? tools[toolName]?.execute : undefined;
  if (execute === undefined) {
    // A tool may have been removed between a call and its approval.
    const gone = new NoSuchToolError({ toolName, availableTools: Object.keys(tools) });
    return failureOf(call, tools, unusableCall(gone));
  }
  try {
    const returned: unknown = await execute(input, options);
    const output = returned instanceof FiledResult ? files.admit(returned) : values.admit(returned);
    return { type: "tool-result", ...aboutCall(call, tools), output } as Output;
  } catch (error) {
    return failureOf(call, tools, error);
  }
}

/** Returns whether people have decided on calls since the model made them. */
export function areDecided(messages: ModelMessage[]): boolean {
  const { approvedToolApprovals, deniedToolApprovals } = collectToolApprovals<ToolSet>({ messages });
  return approvedToolApprovals.length + deniedToolApprovals.length > 0;
}

/**
 * Handles the calls that people have decided on since the model made them: runs what was
 * approved and still fits its tool and the policy, and denies the rest. An approved call of a
 * client tool is the caller's now, and `waits` says so. Yields their parts for the reader, and
 * returns the message with their results for the model; null when nothing was decided.
 *
 * While the caller is waited for, what a person denied is not told as denied: the AI SDK's
 * client (7.0) sends a tool's output by itself beside a call whose approval is responded to, and
 * not beside one that is denied. The next continuation tells it.
 */
export async function* resolveDecidedCalls(
  request: ToolCallsRequest,
): AsyncGenerator<AnswerPart, { readonly answered: ToolModelMessage | null; readonly waits: boolean }, undefined> {
  const { tools, messages, approvalOf } = request;
  const decided = collectToolApprovals<ToolSet>({ messages });
  const checked = await validateApprovedToolApprovals<ToolSet, Record<string, never>>({
    approvedToolApprovals: decided.approvedToolApprovals,
    tools,
    toolApproval: ({ toolCall }) => approvalOf(toolCall.toolName),
    messages,
    toolsContext: {},
    runtimeContext: {},
  });
  const approved = checked.approvedToolApprovals.map(({ toolCall }) => toolCall);
  const callers = approved.filter(({ toolName }) => isClientTool(tools, toolName));
  const refused = [...decided.deniedToolApprovals, ...checked.deniedToolApprovals];
  const toldNow = callers.length === 0 ? refused : checked.deniedToolApprovals;
  for (const { toolCall } of toldNow) yield denied(toolCall);
  const failures = checked.invalidToolApprovals.map(({ toolCall, error }) =>
    failureOf(toolCall, tools, unusableCall(error)),
  );
  yield* failures;
  const outputs: Output[] = [];
  for (const { toolCallId, toolName, input } of callers)
    yield { type: "tool-call", toolCallId, toolName, input } as AnswerPart;
  const ours = approved.filter((call) => !callers.includes(call));
  for await (const part of runCalls(ours, request)) {
    if (part.type !== "tool-progress") outputs.push(part);
    yield* readerParts(part);
  }
  const [told] = await toResponseMessages({ content: [...outputs, ...failures], tools });
  const results: ToolModelMessage["content"] = told?.role === "tool" ? told.content : [];
  for (const { toolCall, approvalResponse, existingToolResult } of refused) {
    const { toolCallId, toolName } = toolCall;
    const { reason } = approvalResponse;
    const output = { type: "execution-denied", ...(reason === undefined ? {} : { reason }) } as const;
    if (existingToolResult === undefined) results.push({ type: "tool-result", toolCallId, toolName, output });
  }
  const answered = results.length === 0 ? null : { role: "tool" as const, content: results };
  return { answered, waits: callers.length > 0 };
}

function denied({ toolCallId, toolName }: Call): AnswerPart {
  return { type: "tool-output-denied", toolCallId, toolName } as AnswerPart;
}

function failureOf(call: Call, tools: ToolSet, error: unknown): Output {
  return { type: "tool-error", ...aboutCall(call, tools), error } as Output;
}

function aboutCall({ toolCallId, toolName, input, toolMetadata, providerMetadata }: Call, tools: ToolSet) {
  return {
    toolCallId,
    toolName,
    input,
    dynamic: tools[toolName]?.type === "dynamic",
    ...(toolMetadata === undefined ? {} : { toolMetadata }),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}
