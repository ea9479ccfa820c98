import { useQuery } from "@tanstack/react-query";
import type { MerchantEventSummary } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useFilters } from "../api/filters.ts";
import { FilterBar } from "../parts/filter-bar.tsx";
import { countText } from "../parts/moment.ts";
import { Facts } from "../parts/page.tsx";
import { Plot } from "../parts/plot.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import { eventStatusChoices } from "./billing-words.ts";
import { useMerchant } from "./use-merchant.ts";

const periods = [
  ["7", "Last 7 days"],
  ["30", "Last 30 days"],
  ["90", "Last 90 days"],
] as const;

/** How the usage of end users reached the provider: by status, and by day. */
export function BillingSummary() {
  const merchant = useMerchant();
  const [filters, setFilters] = useFilters("days");
  const days = periods.find(([value]) => value === filters.days)?.[0] ?? "30";
  const summary = useQuery({
    queryKey: ["merchant-events", "summary", days],
    queryFn: ({ signal }) => parley.merchantEvents.summarize({ days: Number(days) }, { signal }),
    refetchInterval: 10_000,
  });
  return (
    <>
      {merchant.data?.connection === null && (
        <Empty>
          <p>
            No billing provider is connected. <Link href="/billing/provider">Connect one</Link> to report the usage of
            your end users to it.
          </p>
        </Empty>
      )}
      <FilterBar>
        <div className="field">
          <label htmlFor="billing-days">Time</label>
          <select
            id="billing-days"
            value={days}
            onChange={({ target }) => setFilters({ days: target.value === "30" ? "" : target.value })}
          >
            {periods.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
      </FilterBar>
      <Await query={summary}>{(known) => <Summary summary={known} />}</Await>
    </>
  );
}

function Summary({
  summary: { counts, lastAcceptedAt, oldestPendingAt, series },
}: {
  readonly summary: MerchantEventSummary;
}) {
  const sum = (name: "acceptedEvents" | "acceptedTokens" | "pendingEvents") =>
    countText(series.reduce((all, day) => all + day[name], 0));
  const shared = { at: series.map(({ day }) => day), byDay: true, kind: "bars" as const };
  return (
    <>
      <ul className="tiles" aria-label="Usage events by status">
        {eventStatusChoices.map((status) => (
          <li key={status}>
            <Link href={`/billing/events?status=${status}`}>
              <strong>{countText(counts[status] ?? 0)}</strong> {status}
            </Link>
          </li>
        ))}
      </ul>
      <Facts
        facts={{
          "Last accepted": <When at={lastAcceptedAt} />,
          "Oldest that is pending": <When at={oldestPendingAt} />,
        }}
      />
      <div className="plots">
        <Plot
          {...shared}
          caption="Accepted tokens by day"
          figure={sum("acceptedTokens")}
          series={[{ name: "Tokens", values: series.map((day) => day.acceptedTokens), color: "--plot-1" }]}
        />
        <Plot
          {...shared}
          caption="Accepted events by day"
          figure={sum("acceptedEvents")}
          series={[{ name: "Accepted", values: series.map((day) => day.acceptedEvents), color: "--plot-2" }]}
        />
        <Plot
          {...shared}
          caption="Pending events by day"
          figure={sum("pendingEvents")}
          series={[{ name: "Pending", values: series.map((day) => day.pendingEvents), color: "--plot-3" }]}
        />
      </div>
    </>
  );
}
