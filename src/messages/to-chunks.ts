import type { UiMessage } from "./ui-message.ts";

/**
 * Returns the chunks of a stored message, for a follower whose turn log is no longer in
 * the relay. The AI SDK assembles the same message from them; only the division into
 * deltas differs from the original stream.
 */
export function chunksOf(message: UiMessage): unknown[] {
  const chunks: unknown[] = [];
  let inStep = false;
  for (const [index, part] of message.parts.entries()) {
    const { type, ...fields } = part as Record<string, unknown> & { type: string };
    if (type === "step-start") {
      if (inStep) chunks.push({ type: "finish-step" });
      chunks.push({ type: "start-step" });
      inStep = true;
      continue;
    }
    // A reasoning part keeps its id in the message, a text does not.
    chunks.push(...chunksOfPart(type, fields, typeof fields.id === "string" ? fields.id : `part-${index}`));
  }
  if (inStep) chunks.push({ type: "finish-step" });
  return chunks;
}

function chunksOfPart(type: string, fields: Record<string, unknown>, id: string): unknown[] {
  if (type === "text" || type === "reasoning") return textChunks(type, fields, id);
  if (type === "dynamic-tool" || type.startsWith("tool-")) return toolChunks(type, fields);
  if (type === "file" || type.startsWith("source-") || type.startsWith("data-")) return [{ type, ...fields }];
  return [];
}

function textChunks(
  type: "text" | "reasoning",
  { text, providerMetadata }: Record<string, unknown>,
  id: string,
): unknown[] {
  const extra = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id, ...extra },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id, ...extra },
  ];
}

function toolChunks(type: string, fields: Record<string, unknown>): unknown[] {
  const { toolCallId, input, output, errorText, state } = fields;
  const dynamic = type === "dynamic-tool";
  const toolName = dynamic ? fields.toolName : type.slice("tool-".length);
  const flag = dynamic ? { dynamic: true } : {};
  const called = [{ type: "tool-input-available", toolCallId, toolName, input, ...flag }, ...approvalChunks(fields)];
  if (state === "output-available") return [...called, { type: "tool-output-available", toolCallId, output, ...flag }];
  if (state === "output-error") return [...called, { type: "tool-output-error", toolCallId, errorText, ...flag }];
  if (state === "output-denied") return [...called, { type: "tool-output-denied", toolCallId }];
  return called;
}

/** Returns the chunks of a call's approval: the request, and the decision if there is one. */
function approvalChunks({ toolCallId, approval }: Record<string, unknown>): unknown[] {
  if (typeof approval !== "object" || approval === null) return [];
  const { id: approvalId, approved, reason } = approval as { id?: string; approved?: boolean; reason?: string };
  const asked = { type: "tool-approval-request", approvalId, toolCallId };
  if (approved === undefined) return [asked];
  const decision = {
    type: "tool-approval-response",
    approvalId,
    approved,
    ...(reason === undefined ? {} : { reason }),
  };
  return [asked, decision];
}
