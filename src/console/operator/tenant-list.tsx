import { Link } from "wouter";
import { useCursorList } from "../api/cursor-list.ts";
import { readConsole } from "../api/fetch.ts";
import { useFilters } from "../api/filters.ts";
import { StatusBadge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { When } from "../parts/when.tsx";
import type { TenantState } from "./operator-shapes.ts";
import { loadColumns } from "./queue-view.tsx";

/** How often the first page is read anew, in ms. */
const refreshMs = 5000;

const columns: readonly Column<TenantState>[] = [
  {
    name: "Name",
    cell: ({ tenantId, name }) => (
      <Link href={`/operator/tenants/${tenantId}`} className="row-link">
        {name || tenantId}
      </Link>
    ),
  },
  { name: "Status", cell: (tenant) => <TenantStatus tenant={tenant} /> },
  { name: "Weight", cell: ({ weight }) => weight, numeric: true, wideOnly: true },
  ...loadColumns<TenantState>(({ load }) => load),
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} />, wideOnly: true },
];

/** Whether a tenant works, is suspended, or is being deleted. */
export function TenantStatus({ tenant }: { readonly tenant: TenantState }) {
  if (tenant.status === "deleting") return <StatusBadge status="deleting" />;
  return <StatusBadge status={tenant.suspended ? "suspended" : "active"} />;
}

/** The tenants of the installation, the newest first. */
export function TenantList() {
  const [{ name }, setFilters] = useFilters("name");
  const list = useCursorList<TenantState>({
    key: ["operator", "tenants", name],
    load: async (cursor, signal) => {
      const query = new URLSearchParams({ limit: "50", ...(name && { name }), ...(cursor && { cursor }) });
      const page = await readConsole<{ data: TenantState[]; nextCursor: string | null }>(
        `/console/api/operator/tenants?${query}`,
        { signal },
      );
      return { rows: page.data, nextCursor: page.nextCursor };
    },
    refreshMs,
  });
  return (
    <>
      <FilterBar>
        <TextFilter label="Name" value={name} onChange={(text) => setFilters({ name: text })} />
      </FilterBar>
      <ListView
        list={list}
        caption="Tenants, the newest first"
        columns={columns}
        rowKey={({ tenantId }) => tenantId}
        empty={name ? "No tenant matches." : "There is no tenant yet. The command `tenant create` makes one."}
      />
    </>
  );
}
