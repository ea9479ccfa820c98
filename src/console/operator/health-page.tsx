import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { readConsole } from "../api/fetch.ts";
import { errorText } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { bytesText, countText, durationText } from "../parts/moment.ts";
import { Facts, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import type { InstallationHealth, WorkerState } from "./operator-shapes.ts";

/** How often it is read anew, in ms. */
const refreshMs = 10_000;

/** Whether the installation is well: the last hour of all tenants, its processes and its stores. */
export function HealthPage() {
  const health = useQuery({
    queryKey: ["operator", "health"],
    queryFn: ({ signal }) => readConsole<InstallationHealth>("/console/api/operator/health", { signal }),
    refetchInterval: refreshMs,
    retry: 1,
  });
  return (
    <>
      {health.data !== undefined && health.error !== null && (
        <p className="notice" role="alert">
          {errorText(health.error)} These numbers are of <When at={health.data.at} />.
        </p>
      )}
      <Await query={health}>{(known) => <Known health={known} />}</Await>
      <Section title="Workers">
        <Workers />
      </Section>
    </>
  );
}

function Known({
  health: { hour, causes, tenants, postgres, relayPingMs, version },
}: {
  readonly health: InstallationHealth;
}) {
  const ended = hour.succeeded + hour.failed;
  const ms = (value: number | null) => (value === null ? null : durationText(value));
  return (
    <>
      <Section title="The last hour, all tenants">
        <Facts
          facts={{
            Turns: countText(hour.accepted),
            Succeeded: ended === 0 ? null : `${Math.floor((1000 * hour.succeeded) / ended) / 10} %`,
            "First text, median": ms(hour.firstTextMsP50),
            "First text, 95th percentile": ms(hour.firstTextMsP95),
          }}
        />
        {causes.length > 0 && (
          <DataTable
            caption="Failures by cause"
            columns={causeColumns}
            rows={causes}
            rowKey={(row) => row.code + row.message}
          />
        )}
      </Section>
      <Section title="Tenants, the most turns first">
        {tenants.length === 0 ? (
          <Empty>No turn in the last hour.</Empty>
        ) : (
          <DataTable
            caption="Tenants of the last hour"
            columns={tenantColumns}
            rows={tenants}
            rowKey={(row) => row.tenantId}
          />
        )}
      </Section>
      <Section title="Stores">
        <Facts
          facts={{
            Parley: version,
            Postgres: `${postgres.version}, ${bytesText(postgres.bytes)}${postgres.isStandby ? ", a standby" : ""}`,
            Connections: `${postgres.connections} of ${postgres.connectionsMax}`,
            "Oldest transaction": durationText(postgres.oldestTransactionSeconds * 1000),
            Relay: relayPingMs === null ? "does not answer" : `answers in ${durationText(relayPingMs)}`,
          }}
        />
      </Section>
    </>
  );
}

const causeColumns: readonly Column<InstallationHealth["causes"][number]>[] = [
  { name: "Failure", cell: ({ message, code }) => message || code },
  { name: "Code", cell: ({ code }) => <code>{code}</code> },
  { name: "Turns", cell: ({ count }) => countText(count), numeric: true },
];

const tenantColumns: readonly Column<InstallationHealth["tenants"][number]>[] = [
  {
    name: "Tenant",
    cell: ({ tenantId, name }) => <Link href={`/operator/tenants/${tenantId}`}>{name || tenantId}</Link>,
  },
  { name: "Turns", cell: ({ turns }) => countText(turns), numeric: true },
  { name: "Failed", cell: ({ failed }) => countText(failed), numeric: true },
  { name: "Tokens", cell: ({ tokens }) => countText(tokens), numeric: true },
];

const workerColumns: readonly Column<WorkerState>[] = [
  { name: "Host", cell: ({ host, pid }) => `${host}${pid === null ? "" : `, process ${pid}`}` },
  { name: "State", cell: ({ state }) => <StatusBadge status={state} /> },
  { name: "Turns", cell: ({ turns, slots }) => `${turns} of ${slots}`, numeric: true },
  { name: "Last beat", cell: ({ beatSecondsAgo }) => durationText(beatSecondsAgo * 1000), numeric: true },
  { name: "Started", cell: ({ startedAt }) => <When at={startedAt} /> },
];

function Workers() {
  const workers = useQuery({
    queryKey: ["operator", "workers", "of-health"],
    queryFn: ({ signal }) => readConsole<{ data: WorkerState[] }>("/console/api/operator/workers", { signal }),
    refetchInterval: refreshMs,
  });
  return (
    <Await query={workers}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty>No worker: turns are accepted, and none runs.</Empty>
        ) : (
          <DataTable
            caption="Worker processes"
            columns={workerColumns}
            rows={data}
            rowKey={({ workerId }) => workerId}
          />
        )
      }
    </Await>
  );
}
