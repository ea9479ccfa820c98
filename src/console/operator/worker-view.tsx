import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { ShownTurn, WorkerState } from "../../console-shapes/operator.ts";
import { readConsole, sendConsole } from "../api/fetch.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { bytesText, countText, durationText } from "../parts/moment.ts";
import { Facts } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";

/** How often the workers are read anew, in ms. */
const refreshMs = 2000;
const workersKey = ["operator", "workers"];

const columns: readonly Column<ShownTurn>[] = [
  { name: "Turn", cell: ({ turnId }) => <code>{turnId}</code> },
  { name: "Tenant", cell: ({ tenantId }) => <TenantLink tenantId={tenantId} /> },
  { name: "Agent", cell: ({ agentId }) => <code>{agentId}</code>, wideOnly: true },
  { name: "Kind", cell: ({ kind }) => kind },
  { name: "Started", cell: ({ startedAt }) => <When at={startedAt} /> },
];

function TenantLink({ tenantId }: { readonly tenantId: string }) {
  return (
    <Link href={`/operator/tenants/${tenantId}`}>
      <code>{tenantId}</code>
    </Link>
  );
}

/** The worker processes with what they run, live; one that is drained is watched until it is gone. */
export function WorkerView() {
  const [drained, setDrained] = useState<readonly string[]>([]);
  const workers = useQuery({
    queryKey: workersKey,
    queryFn: ({ signal }) => readConsole<{ data: readonly WorkerState[] }>("/console/api/operator/workers", { signal }),
    refetchInterval: refreshMs,
  });
  return (
    <Await query={workers}>
      {({ data }) => {
        const gone = drained.filter((id) => data.every(({ workerId }) => workerId !== id));
        return (
          <>
            <div role="status" className="drained">
              {gone.map((id) => (
                <p key={id}>
                  <code>{id}</code> is empty, and its process has ended.
                </p>
              ))}
            </div>
            {data.length === 0 ? (
              <Empty>No worker runs. Turns wait until one is started.</Empty>
            ) : (
              <ul className="workers" aria-label="Workers">
                {data.map((worker) => (
                  <WorkerItem
                    key={worker.workerId}
                    worker={worker}
                    isLast={data.filter(({ state }) => state === "working").length < 2}
                    onDrain={() => setDrained((before) => [...before, worker.workerId])}
                  />
                ))}
              </ul>
            )}
          </>
        );
      }}
    </Await>
  );
}

interface WorkerItemProps {
  readonly worker: WorkerState;
  /** Whether no other worker would take what comes. */
  readonly isLast: boolean;
  onDrain(): void;
}

function WorkerItem({ worker, isLast, onDrain }: WorkerItemProps) {
  const { workerId, state, turns, slots, running } = worker;
  const share = slots === 0 ? 0 : Math.min(100, (100 * turns) / slots);
  async function drain(): Promise<void> {
    await sendConsole("POST", `/console/api/operator/workers/${workerId}/drain`);
    onDrain();
    await queryClient.invalidateQueries({ queryKey: workersKey });
    toast(`${workerId} takes nothing new.`);
  }
  return (
    <li className="worker">
      <header>
        <h2>
          <CopyableId id={workerId} />
        </h2>
        <StatusBadge status={state} />
        <div className="actions">
          {state === "working" && (
            <ConfirmButton label="Drain" title={`Drain ${workerId}?`} tone="plain" onConfirm={drain}>
              <p>
                It finishes what it runs, takes nothing new, and then its process ends. A turn whose step takes too long
                goes on at another worker.
                {isLast && " No other worker is there: what comes waits until one is started."}
              </p>
            </ConfirmButton>
          )}
        </div>
      </header>
      <div>
        <p>
          {state === "draining"
            ? `${countText(turns)} ${turns === 1 ? "turn" : "turns"} left`
            : `${countText(turns)} of ${countText(slots)} slots in use`}
        </p>
        <div className={`slots ${state}`} aria-hidden="true">
          {turns > 0 && <i style={{ width: `${share}%` }} />}
        </div>
      </div>
      <Facts
        facts={{
          Host: `${worker.host}${worker.pid === null ? "" : `, process ${worker.pid}`}`,
          Version: worker.version ?? "not said",
          Memory: worker.memoryBytes === null ? null : bytesText(worker.memoryBytes),
          "Last beat": `${durationText(worker.beatSecondsAgo * 1000)} ago`,
          Started: <When at={worker.startedAt} />,
          "Most turns":
            worker.tenants.length === 0
              ? undefined
              : worker.tenants.map(({ tenantId, turns: held }) => (
                  <div key={tenantId}>
                    <TenantLink tenantId={tenantId} /> {countText(held)}
                  </div>
                )),
        }}
      />
      {running.length > 0 && (
        <DataTable
          caption={`Turns that ${workerId} runs, the oldest first`}
          columns={columns}
          rows={running}
          rowKey={({ turnId }) => turnId}
        />
      )}
      {turns > running.length && running.length > 0 && (
        <p className="faint">The {countText(running.length)} oldest are shown.</p>
      )}
    </li>
  );
}
