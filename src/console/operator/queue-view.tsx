import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { JobsOfKind, QueueState, ShownTurnCounts } from "../../console-shapes/operator.ts";
import { readConsole } from "../api/fetch.ts";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";

/** How often the queue is read anew, in ms. */
const refreshMs = 2000;

/** The age of what waits longest; nothing where nothing waits. */
const ageText = (seconds: number, waiting: number) => (waiting === 0 ? "–" : durationText(seconds * 1000));

const jobColumns: readonly Column<JobsOfKind>[] = [
  { name: "Kind of job", cell: ({ task }) => <code>{task}</code> },
  { name: "Ready", cell: ({ ready }) => countText(ready), numeric: true },
  { name: "Oldest", cell: ({ oldestSeconds, ready }) => ageText(oldestSeconds, ready), numeric: true },
  { name: "Scheduled", cell: ({ scheduled }) => countText(scheduled), numeric: true },
  { name: "Running", cell: ({ running }) => countText(running), numeric: true },
  {
    name: "Dead",
    cell: ({ dead, task }) =>
      dead === 0 ? (
        "0"
      ) : (
        <Link href={`/operator/dead-letters?task=${encodeURIComponent(task)}`}>{countText(dead)}</Link>
      ),
    numeric: true,
  },
];

/** The columns of unfinished turns, for each list of tenants. */
export function loadColumns<Row>(loadOf: (row: Row) => ShownTurnCounts): readonly Column<Row>[] {
  return [
    { name: "Queued", cell: (row) => countText(loadOf(row).queued), numeric: true },
    { name: "Oldest", cell: (row) => ageText(loadOf(row).oldestSeconds, loadOf(row).queued), numeric: true },
    { name: "Parked", cell: (row) => countText(loadOf(row).parked), numeric: true, wideOnly: true },
    { name: "Running", cell: (row) => countText(loadOf(row).running), numeric: true },
    { name: "Waiting", cell: (row) => countText(loadOf(row).waiting), numeric: true },
  ];
}

type TenantInQueue = QueueState["tenants"][number];

const tenantColumns: readonly Column<TenantInQueue>[] = [
  {
    name: "Tenant",
    cell: ({ tenantId, name }) => (
      <Link href={`/operator/tenants/${tenantId}`} className="row-link">
        {name || tenantId}
      </Link>
    ),
  },
  ...loadColumns<TenantInQueue>((tenant) => tenant),
];

/** The queue's depth and age, by kind of job and by tenant, live. */
export function QueueView() {
  const queue = useQuery({
    queryKey: ["operator", "queue"],
    queryFn: ({ signal }) => readConsole<QueueState>("/console/api/operator/queue", { signal }),
    refetchInterval: refreshMs,
  });
  return (
    <Await query={queue}>
      {({ jobs, tenants }) => (
        <>
          <Section title="Jobs by kind">
            {jobs.length === 0 ? (
              <Empty>There is no job.</Empty>
            ) : (
              <DataTable caption="Jobs by kind" columns={jobColumns} rows={jobs} rowKey={({ task }) => task} />
            )}
          </Section>
          <Section title="Turns by tenant">
            {tenants.length === 0 ? (
              <Empty>No tenant has a turn that is queued, running or waiting.</Empty>
            ) : (
              <DataTable
                caption="Turns by tenant"
                columns={tenantColumns}
                rows={tenants}
                rowKey={({ tenantId }) => tenantId}
              />
            )}
          </Section>
        </>
      )}
    </Await>
  );
}
