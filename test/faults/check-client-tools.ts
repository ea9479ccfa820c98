import { isDeepStrictEqual } from "node:util";
import type { Entry, History, Message } from "./record.ts";
import type { Remains } from "./rows.ts";

/** A call of a client tool has one result: the one that was taken, and no other. */
export function checkClientTools({ entries }: History, { transcripts }: Remains): string[] {
  const taken = entries.filter(({ kind, status }) => kind === "answer" && status === 202);
  const byCall = Map.groupBy(
    taken,
    ({ body: { toolCall } }) => `${toolCall.assistantMessageId} ${toolCall.toolCallId}`,
  );
  return [...byCall].flatMap(([call, all]) => {
    if (all.length > 1) return [`${call} has ${all.length} results: ${all.map(({ id }) => id).join(", ")}`];
    return all.flatMap((entry) => checkStored(entry, transcripts));
  });
}

function checkStored(entry: Entry, transcripts: ReadonlyMap<string, readonly Message[]>): string[] {
  const { toolCallId, assistantMessageId } = entry.body.toolCall;
  // It may have been cut away, or its turn was cancelled.
  const message = transcripts.get(entry.sessionId ?? "")?.find(({ id }) => id === assistantMessageId);
  const part = message?.parts.findLast((known) => known.toolCallId === toolCallId);
  if (part === undefined) return [];
  const { output, errorText } = entry.result ?? {};
  const kept = output === undefined ? part.errorText === errorText : isDeepStrictEqual(part.output, output);
  return kept ? [] : [`${entry.id}: ${JSON.stringify(entry.result)} was taken, and ${JSON.stringify(part)} is stored`];
}
