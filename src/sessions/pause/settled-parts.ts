import { invalid } from "../../kernel/errors.ts";
import { storable } from "../../messages/text.ts";
import type { CallResult } from "../../messages/tool-calls.ts";
import { approvalReasonCharactersMax, clientErrorCharactersMax, clientResultBytesMax } from "../schema.ts";

/** A part of a message that a client sent, which may hold anything. */
interface SentPart {
  readonly type?: unknown;
  readonly state?: unknown;
  readonly toolCallId?: unknown;
  readonly approval?: unknown;
  readonly output?: unknown;
  readonly errorText?: unknown;
}

/** What a message's parts say of an approval; null when they say nothing. Throws 400 for a decision that is none. */
export function readDecision(
  parts: readonly unknown[],
  approvalId: string,
): { readonly approved: boolean; readonly reason: string | null } | null {
  const index = parts.findLastIndex((part) => {
    const { state, approval } = fieldsOf(part);
    return state === "approval-responded" && fieldsOf(approval).id === approvalId;
  });
  if (index === -1) return null;
  const pointer = `/message/parts/${index}/approval`;
  const { approved, reason = null } = fieldsOf(fieldsOf(parts[index]).approval);
  if (typeof approved !== "boolean") throw invalid(`${pointer}/approved`, "must be true or false");
  if (reason === null) return { approved, reason };
  if (typeof reason !== "string" || [...reason].length > approvalReasonCharactersMax)
    throw invalid(`${pointer}/reason`, `must be a text of at most ${approvalReasonCharactersMax} characters`);
  return { approved, reason };
}

/**
 * Returns the result that a message's parts have for a call of a client tool; null when they have
 * none. Only the last step counts: earlier ones may have a call with the same id. Throws 400
 * for a result beyond its size.
 */
export function readResult(
  parts: readonly unknown[],
  { toolCallId, tool }: { readonly toolCallId: string; readonly tool: string },
): CallResult | null {
  const from = parts.findLastIndex((part) => fieldsOf(part).type === "step-start");
  const index = parts.findLastIndex((part, place) => {
    const { type, state, toolCallId: id } = fieldsOf(part);
    return place > from && type === `tool-${tool}` && id === toolCallId && ends.has(state);
  });
  if (index === -1) return null;
  const { state, output = null, errorText } = fieldsOf(parts[index]);
  const pointer = `/message/parts/${index}`;
  if (state === "output-available") {
    if (Buffer.byteLength(JSON.stringify(output)) > clientResultBytesMax)
      throw invalid(`${pointer}/output`, `must be at most ${clientResultBytesMax} bytes as JSON`);
    return { toolCallId, output: storable(output) };
  }
  if (typeof errorText !== "string" || [...errorText].length > clientErrorCharactersMax)
    throw invalid(`${pointer}/errorText`, `must be a text of at most ${clientErrorCharactersMax} characters`);
  return { toolCallId, errorText: storable(errorText) };
}

const ends = new Set<unknown>(["output-available", "output-error"]);

function fieldsOf(
  value: unknown,
): SentPart & { readonly id?: unknown; readonly approved?: unknown; readonly reason?: unknown } {
  return typeof value === "object" && value !== null ? value : {};
}
