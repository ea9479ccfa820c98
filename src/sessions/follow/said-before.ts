import type { AnySql } from "../../kernel/database/client.ts";
import { type Batch, chunksOfEvents } from "../../kernel/relay/relay.ts";
import { isToolCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { clientResultsOf } from "../state/turn-log.ts";

/** What a continuation's log says of the message that it goes on with. */
interface Continued {
  /** How many steps the continuation began. */
  steps: number;
  /** How many parts it added before the first of them: a tool's files. */
  parts: number;
  /** The calls that it began with, and ended. */
  readonly calls: Set<string>;
}

/**
 * Returns the message as it was when its turn stopped to ask, from the stored one and the
 * log of the continuation that has ended: what the log did is taken back. So the reader of an
 * ended continuation is given what its readers were given live. Null: the two do not fit.
 */
export async function saidBefore(
  sql: AnySql,
  logId: string,
  answer: UiMessage,
  log: AsyncIterable<Batch | "end">,
): Promise<UiMessage | null> {
  const continued = await continuedIn(log);
  if (continued === null) return null;
  const { steps, parts: added, calls } = continued;
  const begins = answer.parts.flatMap((part, index) =>
    (part as { type?: unknown }).type === "step-start" ? [index] : [],
  );
  if (steps >= begins.length) return null;
  const length = (steps === 0 ? answer.parts.length : (begins.at(-steps) ?? 0)) - added;
  const lastStep = begins.at(-steps - 1) ?? 0;
  if (length <= lastStep) return null;
  // A client's result is in the message before the continuation tells it.
  for (const callId of await clientResultsOf(sql, logId)) calls.delete(callId);
  const parts = answer.parts
    .slice(0, length)
    .map((part, index) =>
      index > lastStep && isToolCall(part) && calls.has(part.toolCallId) ? { ...part, state: "input-available" } : part,
    );
  return { ...answer, parts };
}

/** Returns what a log did; null unless all of it can be read. */
async function continuedIn(log: AsyncIterable<Batch | "end">): Promise<Continued | null> {
  const seen: Continued = { steps: 0, parts: 0, calls: new Set() };
  for await (const item of log) {
    if (item === "end") return seen;
    for (const chunk of chunksOfEvents(item.sse)) count(seen, chunk as Record<string, unknown>);
  }
  return null;
}

function count(seen: Continued, { type, toolCallId, transient }: Record<string, unknown>): void {
  const kind = String(type);
  if (kind === "start-step") seen.steps++;
  if (seen.steps > 0) return;
  if (/^tool-(output-|input-error)/.test(kind)) seen.calls.add(String(toolCallId));
  else if (transient !== true && /^(file$|source-|data-)/.test(kind)) seen.parts++;
}
