import type { AnySql } from "../../kernel/database/client.ts";
import { isToolCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { pauseBefore } from "../state/turn-log.ts";

/**
 * Returns the message as it was when a continuation of its turn began, from the stored one: what
 * the continuation added is cut away, and the calls that were decided on have not run yet. So
 * the reader of an ended continuation is given what its readers were given live, however it
 * ended. Null: nobody knows.
 */
export async function saidBefore(sql: AnySql, logId: string, stored: UiMessage): Promise<UiMessage | null> {
  const pause = await pauseBefore(sql, logId);
  if (pause === null || pause.saidParts > stored.parts.length) return null;
  const said = stored.parts.slice(0, pause.saidParts);
  // What was denied in earlier steps has ended.
  const lastStep = said.findLastIndex((part) => (part as { type?: unknown }).type === "step-start");
  const decided = new Set(pause.decided);
  const parts = said.map((part, index) =>
    index > lastStep && isToolCall(part) && decided.has(part.approval?.id ?? "")
      ? { ...part, state: "input-available" }
      : part,
  );
  return { ...stored, parts };
}
