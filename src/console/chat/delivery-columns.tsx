import type { ChatDelivery } from "parley/client";
import { Link } from "wouter";
import { StatusBadge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { When } from "../parts/when.tsx";
import { needsRepair } from "./chat-words.ts";
import { RepairButton } from "./repair-button.tsx";

/** The columns that each list of deliveries has. */
export function deliveryColumns<Row extends ChatDelivery>(
  agentIdOf: (row: Row) => string,
  connectionIdOf: (row: Row) => string,
): readonly Column<Row>[] {
  return [
    {
      name: "Delivery",
      cell: ({ id, diagnostic }) => (
        <>
          <code>{id}</code>
          {diagnostic !== null && <span className="error-text">{diagnostic}</span>}
        </>
      ),
    },
    { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
    { name: "Kind", cell: ({ kind }) => kind.replaceAll("_", " "), wideOnly: true },
    {
      name: "Thread",
      cell: (row) => {
        const thread = <code>{row.threadId}</code>;
        if (row.sessionId === null) return thread;
        return <Link href={`/sessions/${agentIdOf(row)}/${row.sessionId}`}>{thread}</Link>;
      },
      wideOnly: true,
    },
    { name: "Attempt", cell: ({ attempt }) => attempt, numeric: true, wideOnly: true },
    { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
    {
      name: "",
      cell: (row) => needsRepair(row) && <RepairButton delivery={row} connectionId={connectionIdOf(row)} />,
    },
  ];
}
