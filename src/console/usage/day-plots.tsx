import { useQuery } from "@tanstack/react-query";
import { parley } from "../api/client.ts";
import { countText } from "../parts/moment.ts";
import { costText, dollarText } from "../parts/money.ts";
import { Plot } from "../parts/plot.tsx";
import { Await } from "../parts/states.tsx";
import { everyDay } from "./usage-rows.ts";

interface DayPlotsProps {
  readonly about: { readonly from: string; readonly to: string; readonly agentId?: string; readonly userId?: string };
}

/** Tokens and turns of each day. */
export function DayPlots({ about }: DayPlotsProps) {
  const usage = useQuery({
    queryKey: ["usage", "day", about],
    queryFn: ({ signal }) => parley.usage.get({ ...about, groupBy: "day" }, { signal }),
  });
  const days = everyDay(about);
  return (
    <Await query={usage}>
      {({ buckets, totals }) => {
        const bucketOf = (day: string) => buckets.find((bucket) => bucket.day === day);
        const of = (name: "inputTokens" | "outputTokens" | "requestCount") =>
          days.map((day) => bucketOf(day)?.[name] ?? 0);
        // A day on which no price was known is no day that was free.
        const costs = days.map((day) => {
          const { costUsd } = bucketOf(day) ?? { costUsd: totals.costUsd === null ? null : "0" };
          return costUsd === null ? null : Number(costUsd);
        });
        const shared = { at: days, byDay: true, kind: "bars" as const };
        return (
          <div className="plots">
            <Plot
              {...shared}
              isWhole={false}
              caption="Cost by day"
              figure={costText(totals)}
              format={(value) => dollarText(String(value))}
              series={[{ name: "US dollars", values: costs, color: "--plot-4" }]}
              empty={totals.costUsd === null && "Nothing in these days has a price."}
            />
            <Plot
              {...shared}
              caption="Tokens in by day"
              figure={countText(totals.inputTokens)}
              series={[{ name: "In", values: of("inputTokens"), color: "--plot-1" }]}
            />
            <Plot
              {...shared}
              caption="Tokens out by day"
              figure={countText(totals.outputTokens)}
              series={[{ name: "Out", values: of("outputTokens"), color: "--plot-2" }]}
            />
            <Plot
              {...shared}
              caption="Turns by day"
              figure={countText(totals.requestCount)}
              series={[{ name: "Turns", values: of("requestCount"), color: "--plot-3" }]}
            />
          </div>
        );
      }}
    </Await>
  );
}
