import { useQuery } from "@tanstack/react-query";
import type { HttpProcess, InstallationHealth } from "../../console-shapes/health.ts";
import type { WorkerState } from "../../console-shapes/operator.ts";
import { readConsole } from "../api/fetch.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { bytesText, countOf, durationText } from "../parts/moment.ts";
import { Facts, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";

/** How often the workers are read anew, in ms. */
const refreshMs = 10_000;

const columns: readonly Column<WorkerState>[] = [
  { name: "Host", cell: ({ host, pid }) => `${host}${pid === null ? "" : `, process ${pid}`}` },
  { name: "State", cell: ({ state }) => <StatusBadge status={state} /> },
  { name: "Version", cell: ({ version }) => version ?? "not said" },
  { name: "Memory", cell: ({ memoryBytes }) => (memoryBytes === null ? "–" : bytesText(memoryBytes)), numeric: true },
  { name: "Turns", cell: ({ turns, slots }) => `${turns} of ${slots}`, numeric: true },
  { name: "Last beat", cell: ({ beatSecondsAgo }) => durationText(beatSecondsAgo * 1000), numeric: true },
  { name: "Started", cell: ({ startedAt }) => <When at={startedAt} /> },
];

const httpColumns: readonly Column<HttpProcess>[] = [
  { name: "Host", cell: ({ host, pid }) => `${host}, process ${pid}` },
  { name: "State", cell: ({ state }) => <StatusBadge status={state} /> },
  { name: "Version", cell: ({ version }) => version },
  { name: "Memory", cell: ({ memoryBytes }) => bytesText(memoryBytes), numeric: true },
  { name: "Last beat", cell: ({ beatSecondsAgo }) => durationText(beatSecondsAgo * 1000), numeric: true },
  { name: "Started", cell: ({ startedAt }) => <When at={startedAt} /> },
];

/** The HTTP processes and all workers, each with its version and memory. */
export function Processes({ health }: { readonly health: InstallationHealth }) {
  const { process: answering, httpProcesses } = health;
  const workers = useQuery({
    queryKey: ["operator", "workers", "of-health"],
    queryFn: ({ signal }) => readConsole<{ data: WorkerState[] }>("/console/api/operator/workers", { signal }),
    refetchInterval: refreshMs,
  });
  return (
    <Section title="Processes">
      <Facts
        facts={{
          "This page is sent by": `${answering.host}, process ${answering.pid}`,
          Version: answering.version,
          Memory: bytesText(answering.memoryBytes),
        }}
      />
      {httpProcesses.length > 0 && (
        <DataTable
          caption="HTTP processes"
          columns={httpColumns}
          rows={httpProcesses}
          rowKey={({ host, pid, startedAt }) => `${host} ${pid} ${startedAt}`}
        />
      )}
      <Await query={workers}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>No worker: turns are accepted, and none runs.</Empty>
          ) : (
            <>
              <Versions processes={[...data, ...httpProcesses]} answering={answering.version} />
              <DataTable caption="Worker processes" columns={columns} rows={data} rowKey={({ workerId }) => workerId} />
            </>
          )
        }
      </Await>
    </Section>
  );
}

/** Which versions run side by side, as during a deploy; nothing where it is one. */
function Versions({
  processes,
  answering,
}: {
  readonly processes: readonly Pick<WorkerState, "version">[];
  readonly answering: string;
}) {
  const counts = Map.groupBy(processes, ({ version }) => version ?? "an older version");
  if (counts.size === 1 && counts.has(answering)) return null;
  const texts = [...counts].map(
    ([version, running]) => `${countOf(running.length, "process", "processes")} of ${version}`,
  );
  return (
    <p className="notice">
      Several versions run: {texts.join(", ")}, and {answering} sends this page.
    </p>
  );
}
