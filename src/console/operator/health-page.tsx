import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { InstallationHealth } from "../../console-shapes/health.ts";
import { readConsole } from "../api/fetch.ts";
import { errorText } from "../api/queries.ts";
import { bytesText, countText, durationText } from "../parts/moment.ts";
import { Facts, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import { GaugePlots } from "./gauge-plots.tsx";
import { Failures, TenantsOfTheHour } from "./health-lists.tsx";
import { HealthPlots } from "./health-plots.tsx";
import { Processes } from "./processes.tsx";

/** How often it is read anew, in ms. */
const refreshMs = 10_000;

/** Whether the installation is well: the last hours of all tenants, its processes and its stores. */
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
      <Await query={health}>
        {(known) => (
          <>
            <Section title="The last hour, all tenants">
              <HourFacts health={known} />
            </Section>
            <HealthPlots parts={known.parts} />
            <GaugePlots />
            <Failures health={known} />
            <TenantsOfTheHour tenants={known.tenants} />
            <Section title="Stores">
              <StoreFacts health={known} />
            </Section>
            <Processes health={known} />
          </>
        )}
      </Await>
    </>
  );
}

function HourFacts({ health: { hour, deadLetters } }: { readonly health: InstallationHealth }) {
  const ended = hour.succeeded + hour.failed;
  const ms = (value: number | null) => (value === null ? null : durationText(value));
  return (
    <Facts
      facts={{
        Turns: countText(hour.accepted),
        Succeeded: ended === 0 ? null : `${Math.floor((1000 * hour.succeeded) / ended) / 10} %`,
        "First text, median": ms(hour.firstTextMsP50),
        "First text, 95th percentile": ms(hour.firstTextMsP95),
        "Dead letters":
          deadLetters === 0 ? "none" : <Link href="/operator/dead-letters">{countText(deadLetters)}</Link>,
      }}
    />
  );
}

function StoreFacts({ health: { postgres, relay } }: { readonly health: InstallationHealth }) {
  const { pingMs, memory } = relay;
  return (
    <Facts
      facts={{
        Postgres: `${postgres.version}, ${bytesText(postgres.bytes)}${postgres.isStandby ? ", a standby" : ""}`,
        Connections: `${postgres.connections} of ${postgres.connectionsMax}`,
        "Oldest transaction": durationText(postgres.oldestTransactionSeconds * 1000),
        Relay: pingMs === null ? "does not answer" : `answers in ${durationText(pingMs)}`,
        "Memory of Redis":
          memory === null
            ? undefined
            : `${bytesText(memory.usedBytes)}${memory.maxBytes === null ? "" : ` of ${bytesText(memory.maxBytes)}`}`,
      }}
    />
  );
}
