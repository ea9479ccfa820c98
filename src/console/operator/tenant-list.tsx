import { useState } from "react";
import { Link } from "wouter";
import type { TenantState } from "../../console-shapes/operator.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { readConsole, sendConsole } from "../api/fetch.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { ShownOnce } from "../parts/shown-once.tsx";
import { When } from "../parts/when.tsx";
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
        <TextFilter label="Search" value={name} onChange={(text) => setFilters({ name: text })} />
      </FilterBar>
      <ListView
        list={list}
        caption="Tenants, the newest first"
        columns={columns}
        rowKey={({ tenantId }) => tenantId}
        empty={name ? "No tenant matches." : "There is no tenant yet."}
      />
    </>
  );
}

/** The button that makes a tenant. */
export function AddTenant() {
  const [creating, setCreating] = useState(false);
  return (
    <>
      <Button tone="primary" onClick={() => setCreating(true)}>
        New tenant
      </Button>
      <Dialog title="New tenant" open={creating} onOpenChange={setCreating}>
        <NewTenant onDone={() => setCreating(false)} />
      </Dialog>
    </>
  );
}

/** Makes a tenant, and shows its first key: the service never does again. */
function NewTenant({ onDone }: { onDone(): void }) {
  const [token, setToken] = useState<string | null>(null);
  const form = useApiForm({ name: "" }, async ({ name }) => {
    const made = await sendConsole<{ token: string }>("POST", "/console/api/operator/tenants", { name: name.trim() });
    setToken(made.token);
    await queryClient.invalidateQueries({ queryKey: ["operator", "tenants"] });
  });
  if (token !== null)
    return (
      <ShownOnce secret={token} onDone={onDone}>
        Copy its first API key now. It is not shown again.
      </ShownOnce>
    );
  return (
    <ApiForm form={form} action="Create" disabled={form.values.name.trim() === ""}>
      <TextField form={form} name="name" label="Name" />
    </ApiForm>
  );
}
