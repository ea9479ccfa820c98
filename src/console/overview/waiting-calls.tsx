import { Link } from "wouter";
import { useCursorList } from "../api/cursor-list.ts";
import { readConsole } from "../api/fetch.ts";
import { Badge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { When } from "../parts/when.tsx";

/** A call that waits, of `GET /console/api/waiting`. */
interface WaitingCall {
  readonly kind: "approval" | "client_tool";
  readonly sessionId: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly toolCallId: string;
  readonly tool: string;
  readonly createdAt: string;
}

const columns: readonly Column<WaitingCall>[] = [
  { name: "Tool", cell: ({ tool }) => <code>{tool}</code> },
  {
    name: "Waits for",
    cell: ({ kind }) => <Badge tone="warn">{kind === "approval" ? "approval" : "result"}</Badge>,
  },
  { name: "Agent", cell: ({ agentId, agentName }) => <Link href={`/agents/${agentId}`}>{agentName}</Link> },
  {
    name: "Session",
    cell: ({ agentId, sessionId }) => <Link href={`/playground?agent=${agentId}&session=${sessionId}`}>Open</Link>,
  },
  { name: "Since", cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** What waits for a person, oldest first. */
export function WaitingCalls() {
  const list = useCursorList<WaitingCall>({
    key: ["waiting", "overview"],
    load: async (cursor, signal) => {
      const query = new URLSearchParams({ limit: "10", ...(cursor !== undefined && { cursor }) });
      const page = await readConsole<{ data: WaitingCall[]; nextCursor: string | null }>(
        `/console/api/waiting?${query}`,
        { signal },
      );
      return { rows: page.data, nextCursor: page.nextCursor };
    },
    refreshMs: 5000,
  });
  return (
    <ListView
      list={list}
      caption="Calls that wait"
      columns={columns}
      rowKey={({ sessionId, toolCallId }) => `${sessionId} ${toolCallId}`}
      empty="Nothing waits."
    />
  );
}
