import type { AuditEvent } from "parley/client";
import { useRef } from "react";
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
  { name: "Action", cell: ({ action }) => <strong>{action}</strong> },
  { name: "Resource", cell: Resource },
  { name: "Changed", cell: ({ changes }) => changes.join(", ") || <span className="faint">–</span>, wideOnly: true },
  { name: "Who", cell: Actor },
  { name: "When", cell: ({ at }) => <When at={at} /> },
];

/** By name where there is one, and by kind; the id is what the filter takes. */
function Actor({ actor, actorName }: AuditEvent) {
  const { kind, id } = actorText(actor);
  return <Named kind={actorName === null ? kind : `${actorName} (${kind})`} id={id} />;
}

function Resource({ resourceType, resourceId }: AuditEvent) {
  const place = resourceId === null ? null : resourcePlace(resourceType, resourceId);
  return <Named kind={resourceType.replaceAll("_", " ")} id={resourceId} place={place} />;
}

interface ActionFilterProps {
  readonly value: string | undefined;
  /** The actions of the rows that are shown. */
  readonly seen: readonly string[];
  onChange(action: string): void;
}

/** Actions are many, and new ones come: those that were seen are offered, and any can be typed. */
function ActionFilter({ value, seen, onChange }: ActionFilterProps) {
  const known = useRef(new Set<string>());
  for (const action of seen) known.current.add(action);
  return <TextFilter label="Action" value={value} onChange={onChange} suggestions={[...known.current].toSorted()} />;
}

interface NamedProps {
  readonly kind: string;
  readonly id: string | null;
  readonly place?: string | null;
}

/** What something is, and its id below it: beside each other two such columns are wider than a window. */
function Named({ kind, id, place = null }: NamedProps) {
  return (
    <>
      {kind}
      {id !== null && <code className="block">{place === null ? id : <Link href={place}>{id}</Link>}</code>}
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
        <ActionFilter
          value={filters.action}
          seen={list.rows.map(({ action }) => action)}
          onChange={(action) => setFilters({ action })}
        />
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
