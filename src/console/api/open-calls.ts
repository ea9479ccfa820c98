import type { WaitingCall } from "../../console-shapes/words.ts";
import { type CursorList, useCursorList } from "./cursor-list.ts";
import { readConsole } from "./fetch.ts";

/** What waits for a person, the oldest first, in pages of `limit`, read anew every `refreshMs`; of an agent or a tool where that is chosen. */
export function useOpenCalls(
  limit: number,
  refreshMs: number,
  filters: { readonly agentId?: string; readonly tool?: string } = {},
): CursorList<WaitingCall> {
  return useCursorList<WaitingCall>({
    key: ["waiting", limit, filters],
    load: async (cursor, signal) => {
      const query = new URLSearchParams({ ...filters, limit: String(limit), ...(cursor !== undefined && { cursor }) });
      const path = `/console/api/waiting?${query}`;
      const page = await readConsole<{ data: WaitingCall[]; nextCursor: string | null }>(path, { signal });
      return { rows: page.data, nextCursor: page.nextCursor };
    },
    refreshMs,
  });
}
