import { Link } from "wouter";
import type { ProviderMark } from "../../console-shapes/marks.ts";
import { useProviderMarks } from "../api/marks.ts";
import { useProviders } from "../api/providers.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { countText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";

/** The providers that failed turns of the last hour, by what; nothing where there is none. */
export function FailingProviders() {
  const failing = useProviderMarks().data?.data.filter(({ failedInHour }) => failedInHour > 0) ?? [];
  if (failing.length === 0) return null;
  return (
    <Section title="Failing providers">
      <DataTable
        caption="Providers that failed turns of the last hour"
        columns={columns}
        rows={failing.toSorted((one, other) => other.failedInHour - one.failedInHour)}
        rowKey={({ providerId }) => providerId}
      />
    </Section>
  );
}

const columns: readonly Column<ProviderMark>[] = [
  {
    name: "Provider",
    cell: ({ providerId }) => (
      <>
        <ProviderLink providerId={providerId} /> <StatusBadge status="failing" />
      </>
    ),
  },
  { name: "Failed turns", cell: ({ failedInHour }) => countText(failedInHour), numeric: true },
  {
    name: "Last failure",
    cell: ({ turnId, status, code, message, at }) => (
      <>
        <Link href={`/turns/${turnId}`}>{[status ?? "no answer", code].filter(Boolean).join(" · ")}</Link>{" "}
        <span className="faint">
          <When at={at} />
        </span>
        <span className="block clipped" title={message} dir="auto">
          {message}
        </span>
      </>
    ),
  },
];

function ProviderLink({ providerId }: { readonly providerId: string }) {
  const name = useProviders().data?.providers.find(({ id }) => id === providerId)?.name;
  // The installation's own provider, or one that is deleted, has no page.
  return name === undefined ? <code>{providerId}</code> : <Link href={`/providers/${providerId}`}>{name}</Link>;
}
