import {
  approvalItem,
  callOfPart,
  denialOf,
  endOfCall,
  functionCallItem,
  hostedCallItem,
  messageItem,
  type OutputItem,
  placed,
  reasoningItem,
  type Unplaced,
} from "./items.ts";
import type { AskedPause, StoredResponse } from "./read.ts";

/**
 * The output of a response, from what is stored of its turn. A turn that stops to ask has one
 * message over all its responses: each response has the steps between two stops, and begins with
 * the calls that were approved at the one before it.
 */
export function responseOutput(response: StoredResponse): OutputItem[] {
  const { id, message, pauses, place } = response;
  const [before, after] = [pauses[place - 1], pauses[place]];
  if (before?.status === "waiting") return placed(id, stillAsked(response, before));
  if (message === null) return [];
  const { parts } = message;
  let from = 0;
  for (const pause of pauses.slice(0, place)) from = endOfStep(parts, from, pause);
  const until = after === undefined ? parts.length : endOfStep(parts, from, after);
  const resumed = before === undefined ? [] : resumedCalls(parts.slice(0, from), before, after);
  const isLast = after === undefined && response.sessionId === null;
  return placed(id, [...resumed, ...parts.slice(from, until).flatMap((part) => itemsOf(part, after, isLast))]);
}

/** Returns the place after the step in which a turn asked for what this pause waits for. */
function endOfStep(parts: readonly unknown[], from: number, { approvals, calls }: AskedPause): number {
  const asked = new Set([...approvals, ...calls].map(({ toolCallId }) => toolCallId));
  const found = parts.findIndex((part, index) => index >= from && asked.has(callOfPart(part)?.toolCallId ?? ""));
  if (found === -1) return from;
  const next = parts.findIndex((part, index) => index > found && (part as { type?: unknown }).type === "step-start");
  return next === -1 ? parts.length : next;
}

/** What a turn that waits still asks for. */
function stillAsked({ message }: StoredResponse, { approvals, calls }: AskedPause): Unplaced[] {
  const pending = approvals.filter(({ status }) => status === "pending");
  const waiting = calls.filter(({ status }) => status === "pending");
  const inputs = new Map(message?.parts.map(callOfPart).map((call) => [call?.toolCallId, call?.input]));
  return [
    ...waiting.map((call) => functionCallItem({ ...call, input: inputs.get(call.toolCallId) }, "completed")),
    ...pending.map((approval) => approvalItem(approval, approval.id)),
  ];
}

/** The calls that people decided on at a pause, as far as they have ended, or are the caller's now. */
function resumedCalls(parts: readonly unknown[], { approvals }: AskedPause, after: AskedPause | undefined): Unplaced[] {
  return approvals.flatMap((approval) => {
    if (after?.calls.some(({ toolCallId }) => toolCallId === approval.toolCallId) === true)
      return [functionCallItem(approval, "completed")];
    const call = parts.map(callOfPart).findLast((one) => one?.toolCallId === approval.toolCallId) ?? null;
    const isDenied = approval.status === "denied";
    const end = isDenied ? denialOf(approval.reason) : call === null ? null : endOfCall(call);
    return end === null ? [] : [hostedCallItem(approval, end, approval.id)];
  });
}

/** Returns the item of a part of the message; none for what is no item. */
function itemsOf(part: unknown, after: AskedPause | undefined, isLast: boolean): Unplaced[] {
  const { type, text, state } = part as { type?: unknown; text?: unknown; state?: unknown };
  const status = state === "streaming" ? "incomplete" : "completed";
  if (type === "text") return text === "" ? [] : [messageItem(String(text), status)];
  if (type === "reasoning") return text === "" ? [] : [reasoningItem(String(text), status)];
  const call = callOfPart(part);
  if (call === null) return [];
  const approval = after?.approvals.find(({ toolCallId }) => toolCallId === call.toolCallId);
  if (approval !== undefined) return [approvalItem(call, approval.id)];
  const isCallers = after?.calls.some(({ toolCallId }) => toolCallId === call.toolCallId) === true;
  if (isCallers || (isLast && call.state === "input-available")) return [functionCallItem(call, "completed")];
  const end = endOfCall(call);
  return end === null ? [] : [hostedCallItem(call, end, null)];
}
