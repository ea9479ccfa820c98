import type { Agent } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";

const columns: readonly Column<Agent>[] = [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <Link href={`/agents/${id}`} className="row-link">
        {name}
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { name: "Model", cell: ({ model }) => model ?? <span className="faint">none</span> },
  { name: "Version", cell: ({ version }) => version, numeric: true },
  { name: "Tools", cell: toolsText, wideOnly: true },
  { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  { name: "", cell: ({ id }) => <Link href={`/playground?agent=${id}`}>Try</Link> },
];

function toolsText({ tools, clientTools, mcpConnectionIds }: Agent): string {
  const servers = mcpConnectionIds.length;
  const words = [...tools, ...clientTools.map(({ name }) => name)];
  return [...words, ...(servers > 0 ? [`${servers} MCP`] : [])].join(", ") || "–";
}

/** The agents, the newest first. */
export function AgentOverview() {
  const list = useCursorList<Agent>({
    key: ["agents", "list"],
    load: async (cursor, signal) => {
      const { agents, nextCursor } = await parley.agents.list({ limit: 50, ...(cursor && { cursor }) }, { signal });
      return { rows: agents, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Agents"
      actions={
        <ButtonLink to="/agents/new" tone="primary">
          New agent
        </ButtonLink>
      }
    >
      <ListView
        list={list}
        caption="Agents"
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <>
            There is no agent yet. <Link href="/agents/new">Create one</Link>; it needs a{" "}
            <Link href="/providers">provider</Link> for its model.
          </>
        }
      />
    </PageFrame>
  );
}
