import type { RequestOptions } from "./client.ts";
import { clientTool, type Plan } from "./plan.ts";
import type { Entry, Message, ToolResult } from "./record.ts";

/** A way to settle what a turn has stopped for. `path` leads to the session, or to what is below it; `op` is unique. */
export type Settle = (
  send: (options: RequestOptions) => Promise<Entry>,
  path: (rest: string) => string,
  plan: Plan,
  op: string,
) => Promise<void>;

function resultOf({ approved }: Plan, op: string): ToolResult {
  return approved ? { output: { picked: op, of: [1, null, "ü"] } } : { errorText: `nothing picked: ${op}` };
}

/** Gives a call its result by the operation that is there for it, and follows what comes of it. */
export const answerCall: Settle = async (send, path, plan, op) => {
  const listed = await send({ kind: "calls", method: "GET", path: path("/tool-calls") });
  const calls: { toolCallId: string; status: string }[] = listed.body?.toolCalls ?? [];
  const pending = calls.filter(({ status }) => status === "pending");
  // Now and then one that has its result already, which must be refused.
  const from = pending.length > 0 || plan.where > 0.2 ? pending : calls;
  const chosen = from[Math.floor(plan.where * from.length)];
  if (chosen === undefined) return;
  const result = resultOf(plan, op);
  const to = path(`/tool-calls/${encodeURIComponent(chosen.toolCallId)}`);
  const settled = await send({ kind: "answer", method: "POST", path: to, body: result, result });
  await follow(send, path, plan, settled);
};

/** Sends back the message that waits, with every decision and result in it, as the AI SDK does. */
export const roundTrip: Settle = async (send, path, plan, op) => {
  const page = await send({ kind: "read", method: "GET", path: path("/messages?limit=10") });
  const last: Message | undefined = page.body?.data?.at(-1);
  if (last?.role !== "assistant") return;
  const parts = last.parts.map((part) => settledPart(part, plan, op));
  const message = { ...last, parts };
  const body = { message, stream: plan.stream };
  const { leaveAfterChunks } = plan;
  const sent = await send({ kind: "round trip", method: "POST", path: path(""), body, leaveAfterChunks });
  if (sent.status === 202) await follow(send, path, plan, sent);
};

// biome-ignore lint/suspicious/noExplicitAny: a message's parts are of many kinds.
function settledPart(part: any, plan: Plan, op: string): object {
  if (part.state === "approval-requested")
    return { ...part, state: "approval-responded", approval: { id: part.approval.id, approved: plan.approved } };
  if (part.type !== `tool-${clientTool.name}` || part.state !== "input-available") return part;
  const { output, errorText } = resultOf(plan, op);
  return output === undefined
    ? { ...part, state: "output-error", errorText }
    : { ...part, state: "output-available", output };
}

async function follow(
  send: (options: RequestOptions) => Promise<Entry>,
  path: (rest: string) => string,
  { leaveAfterChunks }: Plan,
  { body }: Entry,
): Promise<void> {
  const continuation = body?.continuation?.id;
  if (continuation === undefined) return;
  const to = path(`/tool-approval-continuations/${continuation}`);
  await send({ kind: "continue", method: "GET", path: to, leaveAfterChunks });
}
