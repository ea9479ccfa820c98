import type { McpConnection, McpConnectionCreate } from "parley/client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { authTypeText, statusReason, targetOfForm } from "./connection-words.ts";
import { emptyTarget, TargetSettings } from "./target-fields.tsx";

const columns: readonly Column<McpConnection>[] = [
  {
    name: "Name",
    cell: (connection) => (
      <>
        <Link href={`/connections/${connection.id}`} className="row-link">
          {connection.name}
        </Link>
        {statusReason(connection) !== null && <span className="faint">{statusReason(connection)}</span>}
      </>
    ),
  },
  { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { name: "URL", cell: ({ url }) => url, wideOnly: true },
  { name: "Authentication", cell: ({ authType }) => authTypeText(authType), wideOnly: true },
  { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
];

/** The MCP connections, and a form that adds one. */
export function ConnectionOverview() {
  const [creating, setCreating] = useState(false);
  const list = useCursorList<McpConnection>({
    key: ["mcp-connections", "list"],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(cursor && { cursor }) };
      const { mcpConnections, nextCursor } = await parley.mcpConnections.list(query, { signal });
      return { rows: mcpConnections, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Connections"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          New connection
        </Button>
      }
    >
      <ListView
        list={list}
        caption="MCP connections"
        columns={columns}
        rowKey={({ id }) => id}
        empty="There is no connection yet. With one, agents have the tools of an MCP server."
      />
      <Dialog title="New connection" open={creating} onOpenChange={setCreating}>
        <NewConnection />
      </Dialog>
    </PageFrame>
  );
}

function NewConnection() {
  const [, navigate] = useLocation();
  const form = useApiForm({ name: "", ...emptyTarget }, async (values) => {
    const body: McpConnectionCreate = { name: values.name, ...targetOfForm(values) };
    const made = await parley.mcpConnections.create(body);
    await queryClient.invalidateQueries({ queryKey: ["mcp-connections"] });
    toast(`${made.name} is created.`);
    navigate(`/connections/${made.id}`);
  });
  return (
    <ApiForm form={form} action="Create">
      <TextField form={form} name="name" label="Name" />
      <TargetSettings form={form} />
    </ApiForm>
  );
}
