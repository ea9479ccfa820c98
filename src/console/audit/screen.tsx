import type { AuditEvent } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { actorText, resourcePlace } from "./audit-words.ts";

const columns: readonly Column<AuditEvent>[] = [
  { name: "When", cell: ({ at }) => <When at={at} /> },
  { name: "Action", cell: ({ action }) => <strong>{action.replaceAll("_", " ").replace(".", ": ")}</strong> },
  { name: "Resource", cell: Resource },
  { name: "Changed", cell: ({ changes }) => changes.join(", ") || <span className="faint">–</span>, wideOnly: true },
  { name: "Who", cell: ({ actor }) => actorText(actor) },
];

function Resource({ resourceType, resourceId }: AuditEvent) {
  const name = resourceType.replaceAll("_", " ");
  if (resourceId === null) return name;
  const place = resourcePlace(resourceType, resourceId);
  return (
    <>
      {name} {place === null ? <code>{resourceId}</code> : <Link href={place}>{resourceId}</Link>}
    </>
  );
}

/** Who did what, the newest first. */
export default function Audit() {
  const [filters, setFilters] = useFilters("action", "actorId", "resourceId");
  const list = useCursorList<AuditEvent>({
    key: ["audit", filters],
    load: async (cursor, signal) => {
      const { data, nextCursor } = await parley.auditEvents.list(
        { limit: 50, ...filters, ...(cursor && { cursor }) },
        { signal },
      );
      return { rows: data, nextCursor };
    },
    refreshMs: 15_000,
  });
  const filtered = Object.keys(filters).length > 0;
  return (
    <PageFrame title="Audit">
      <FilterBar>
        <TextFilter label="Action" value={filters.action} onChange={(action) => setFilters({ action })} />
        <TextFilter label="Resource" value={filters.resourceId} onChange={(resourceId) => setFilters({ resourceId })} />
        <TextFilter label="Who" value={filters.actorId} onChange={(actorId) => setFilters({ actorId })} />
      </FilterBar>
      <p className="hint">
        Actions such as <code>agent.update</code>; resources and people by their ids. Events are kept for 400 days, and
        hold names of fields, never values.
      </p>
      <ListView
        list={list}
        caption="Audit events, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty={filtered ? "No event matches." : "Nothing was changed yet."}
      />
    </PageFrame>
  );
}
