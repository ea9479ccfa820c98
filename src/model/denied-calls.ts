import type { ModelMessage, ToolModelMessage } from "ai";

/** Why a call was denied that the agent's policy does not allow. */
export const deniedByPolicy = "The agent's approval policy does not allow this tool.";
/** What the AI SDK (7.0) tells a model of a call that was denied without a reason. */
const deniedWithoutReason = "Tool call execution denied.";

/**
 * Returns a message as it is sent, with its denied calls told as the AI SDK tells them of a stored message. While a turn goes on
 * it has `execution-denied` in that place, which vendors' clients send otherwise: so the next turn begins with what this one has sent.
 */
export function withDenials(message: ModelMessage): ModelMessage {
  if (message.role !== "tool" || !message.content.some(isDenial)) return message;
  const content: ToolModelMessage["content"] = message.content.map((part) =>
    isDenial(part)
      ? { ...part, output: { type: "error-text", value: part.output.reason ?? deniedWithoutReason } }
      : part,
  );
  return { ...message, content };
}

type Part = ToolModelMessage["content"][number];
type Result = Extract<Part, { readonly type: "tool-result" }>;
type Denial = Result & { readonly output: Extract<Result["output"], { readonly type: "execution-denied" }> };

function isDenial(part: Part): part is Denial {
  return part.type === "tool-result" && part.output.type === "execution-denied";
}

interface DeniedPart {
  readonly state?: string;
  readonly approval?: { readonly isAutomatic?: boolean; readonly reason?: string };
}

/** Returns a part of a stored message with the reason of a denial by the policy, which is not stored. */
export function withPolicyReason(part: unknown): unknown {
  const { state, approval } = part as DeniedPart;
  if (state !== "output-denied" || approval?.isAutomatic !== true || approval.reason !== undefined) return part;
  return { ...(part as object), approval: { ...approval, reason: deniedByPolicy } };
}
