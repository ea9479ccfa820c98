import { useQuery } from "@tanstack/react-query";
import type { GaugePart } from "../../console-shapes/health.ts";
import { readConsole } from "../api/fetch.ts";
import { bytesText, durationText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { Plot, type PlotSeries } from "../parts/plot.tsx";

/** They are written down once a minute. */
const refreshMs = 60_000;

/** How the installation was in the last day, the highest of each ten minutes; nothing while nothing is written down. */
export function GaugePlots() {
  const gauges = useQuery({
    queryKey: ["operator", "gauges"],
    queryFn: ({ signal }) => readConsole<{ data: readonly GaugePart[] }>("/console/api/operator/gauges", { signal }),
    refetchInterval: refreshMs,
  });
  const parts = gauges.data?.data ?? [];
  if (parts.every(({ turnsWaiting }) => turnsWaiting === null)) return null;
  const at = parts.map((part) => part.at);
  const line = (name: string, gauge: Exclude<keyof GaugePart, "at">, color: PlotSeries["color"]): PlotSeries => ({
    ...{ name, color },
    values: parts.map((part) => part[gauge]),
  });
  return (
    <Section title="The last day">
      <div className="plots">
        <Plot
          at={at}
          caption="Queue"
          isWhole
          series={[
            line("Turns that wait", "turnsWaiting", "--plot-3"),
            line("Turns that run", "turnsRunning", "--plot-1"),
            line("Jobs that are due", "jobsReady", "--plot-4"),
          ]}
        />
        <Plot
          at={at}
          caption="Longest wait"
          format={(seconds) => durationText(seconds * 1000)}
          series={[line("Oldest", "oldestSeconds", "--plot-3")]}
        />
        <Plot at={at} caption="Dead letters" isWhole series={[line("Dead letters", "deadLetters", "--bad")]} />
        <Plot
          at={at}
          caption="Memory of processes"
          format={bytesText}
          series={[line("Workers", "workerMemoryBytes", "--plot-1"), line("HTTP", "httpMemoryBytes", "--plot-2")]}
        />
        <Plot
          at={at}
          caption="Connections of Postgres"
          isWhole
          series={[line("Connections", "postgresConnections", "--plot-1")]}
        />
      </div>
    </Section>
  );
}
