import { Link } from "wouter";
import type { FailingProvider, HourOfTenant, InstallationHealth } from "../../console-shapes/health.ts";
import type { FailureCause } from "../../console-shapes/overview.ts";
import { useFilters } from "../api/filters.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { countText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";

/** Tenants that are shown by one measure. */
const shownMax = 10;

/** What failed in the last hour, by cause and by provider; nothing where nothing did. */
export function Failures({ health: { causes, providers } }: { readonly health: InstallationHealth }) {
  if (causes.length === 0) return null;
  return (
    <Section title="Failures of the last hour">
      <DataTable
        caption="Failures by cause"
        columns={causeColumns}
        rows={causes}
        rowKey={(row) => row.code + row.message}
      />
      {providers.length > 0 && (
        <DataTable
          caption="Failures by provider"
          columns={providerColumns}
          rows={providers}
          rowKey={({ tenantId, providerId }) => `${tenantId} ${providerId}`}
        />
      )}
    </Section>
  );
}

const causeColumns: readonly Column<FailureCause>[] = [
  { name: "Failure", cell: ({ message, code }) => message || code },
  { name: "Code", cell: ({ code }) => <code>{code}</code> },
  { name: "Turns", cell: ({ count }) => countText(count), numeric: true },
];

const providerColumns: readonly Column<FailingProvider>[] = [
  {
    name: "Provider",
    cell: ({ providerId, providerType }) =>
      providerId === null ? (
        "the installation's own"
      ) : (
        <>
          {providerType ?? "deleted"} <code className="faint">{providerId}</code>
        </>
      ),
  },
  {
    name: "Tenant",
    cell: ({ tenantId, tenantName }) => <Link href={`/operator/tenants/${tenantId}`}>{tenantName || tenantId}</Link>,
  },
  { name: "Last status", cell: ({ lastStatus }) => lastStatus ?? "no answer", numeric: true },
  { name: "Turns", cell: ({ failed }) => countText(failed), numeric: true },
];

const orders = [
  ["failed", "Failures"],
  ["tokens", "Tokens"],
] as const;

/** The tenants of the last hour with the most turns, or what is chosen. */
export function TenantsOfTheHour({ tenants }: Pick<InstallationHealth, "tenants">) {
  const [{ by }, setFilters] = useFilters("by");
  const order = by === "failed" || by === "tokens" ? by : "turns";
  const rows = tenants.toSorted((one, other) => other[order] - one[order]).slice(0, shownMax);
  return (
    <Section title="Tenants of the last hour">
      {tenants.length === 0 ? (
        <Empty>No turn in the last hour.</Empty>
      ) : (
        <>
          <FilterBar>
            <SelectFilter
              label="Sort by"
              any="Turns"
              value={order === "turns" ? undefined : order}
              options={orders}
              onChange={(chosen) => setFilters({ by: chosen })}
            />
          </FilterBar>
          <DataTable
            caption="Tenants of the last hour"
            columns={tenantColumns}
            rows={rows}
            rowKey={(row) => row.tenantId}
          />
        </>
      )}
    </Section>
  );
}

const tenantColumns: readonly Column<HourOfTenant>[] = [
  {
    name: "Tenant",
    cell: ({ tenantId, name, suspended }) => (
      <>
        <Link href={`/operator/tenants/${tenantId}`}>{name || tenantId}</Link>{" "}
        {suspended && <StatusBadge status="suspended" />}
      </>
    ),
  },
  { name: "Turns", cell: ({ turns }) => countText(turns), numeric: true },
  { name: "Failed", cell: ({ failed }) => countText(failed), numeric: true },
  { name: "Tokens", cell: ({ tokens }) => countText(tokens), numeric: true },
];
