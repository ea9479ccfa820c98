import { type CursorList, useCursorList } from "./cursor-list.ts";
import { readConsole } from "./fetch.ts";

/** A call that waits, of `GET /console/api/waiting`. */
export interface OpenCallRow {
  readonly kind: "approval" | "client_tool";
  readonly sessionId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly turnId: string;
  readonly userId: string;
  readonly approvalId: string | null;
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly inputIsLeftOut: boolean;
  readonly createdAt: string;
}

/** What waits for a person, the oldest first, in pages of `limit`, read anew every `refreshMs`. */
export function useOpenCalls(limit: number, refreshMs: number): CursorList<OpenCallRow> {
  return useCursorList<OpenCallRow>({
    key: ["waiting", limit],
    load: async (cursor, signal) => {
      const query = new URLSearchParams({ limit: String(limit), ...(cursor !== undefined && { cursor }) });
      const path = `/console/api/waiting?${query}`;
      const page = await readConsole<{ data: OpenCallRow[]; nextCursor: string | null }>(path, { signal });
      return { rows: page.data, nextCursor: page.nextCursor };
    },
    refreshMs,
  });
}
