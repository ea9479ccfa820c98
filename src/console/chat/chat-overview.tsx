import type { ChatConnection } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { ChatTabs } from "./chat-tabs.tsx";
import { platformText } from "./chat-words.ts";
import { HealthBadge } from "./health-view.tsx";
import { AddChatConnection } from "./new-chat-connection.tsx";

const columnsOf = (agentName: (id: string) => string): readonly Column<ChatConnection>[] => [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <Link href={`/chat/${id}`} className="row-link">
        {name}
      </Link>
    ),
  },
  { name: "Platform", cell: ({ platform }) => platformText(platform) },
  { name: "Status", cell: ({ enabled }) => <StatusBadge status={enabled ? "enabled" : "disabled"} /> },
  { name: "Health", cell: ({ health }) => <HealthBadge health={health} /> },
  {
    name: "Agent",
    cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link>,
    wideOnly: true,
  },
  { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} />, wideOnly: true },
];

/** The chat connections, and a form that adds one. */
export function ChatOverview() {
  const [creating, setCreating] = useState(false);
  const agentName = useAgentName();
  const list = useCursorList<ChatConnection>({
    key: ["chat-connections"],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(cursor && { cursor }) };
      const { chatConnections, nextCursor } = await parley.chatConnections.list(query, { signal });
      return { rows: chatConnections, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Chat"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          New connection
        </Button>
      }
    >
      <ChatTabs />
      <ListView
        list={list}
        caption="Chat connections"
        columns={columnsOf(agentName)}
        rowKey={({ id }) => id}
        empty="There is no chat connection yet. With one, people talk to an agent in Slack or Telegram."
      />
      <Dialog title="New connection" open={creating} onOpenChange={setCreating}>
        <AddChatConnection />
      </Dialog>
    </PageFrame>
  );
}
