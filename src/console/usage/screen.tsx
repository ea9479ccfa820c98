import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { useMay } from "../api/role.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Button } from "../parts/button.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import { CostNote } from "../parts/cost.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { PageFrame, Section } from "../parts/page.tsx";
import { customName, type DaySpan, daysIn } from "../parts/periods.ts";
import { RangeFilter } from "../parts/range-filter.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { BarFigure } from "./bar-figure.tsx";
import { DayPlots } from "./day-plots.tsx";
import {
  calendarOfUtc,
  csvOf,
  type Measure,
  measures,
  rowsOf,
  type UsageChoice,
  type UsageRow,
  usageChoices,
} from "./usage-rows.ts";
import { UtcDays } from "./utc-days.tsx";

/** The days of the report where none are chosen. */
const usual = "month";

/** Addresses of before name the days by themselves. */
function customSince({ from, to }: { readonly from?: string; readonly to?: string }): string | undefined {
  return from === undefined || to === undefined ? undefined : customName({ from, to });
}

/** What was used: by day as plots, and by agent, model or user. */
export default function UsageScreen() {
  const [filters, setFilters] = useTimeFilters("from", "to", "agentId", "userId", "by", "measure");
  const measure = measures.find((one) => one === filters.measure) ?? "tokens";
  const by = usageChoices.find((choice) => choice === filters.by) ?? "agent";
  const today = calendarOfUtc(new Date());
  const since = filters.since ?? customSince(filters);
  const days = daysIn(since, today) ?? (daysIn(usual, today) as DaySpan);
  const about = {
    ...days,
    ...(filters.agentId && { agentId: filters.agentId }),
    ...(filters.userId && { userId: filters.userId }),
  };
  const agentName = useAgentName();
  const mayPrice = useMay("admin");
  return (
    <PageFrame title="Usage" actionsNeed="reader" actions={<CopyLink />}>
      <FilterBar keeps>
        <RangeFilter
          value={since}
          usual={usual}
          ofDays
          now={today}
          onChange={(name) => setFilters({ since: name, from: "", to: "" })}
        />
        <AgentPicker value={filters.agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
        <TextFilter label="User" value={filters.userId} onChange={(userId) => setFilters({ userId })} />
      </FilterBar>
      <UtcDays days={days} />
      <DayPlots about={about} />
      <p className="hint">
        A turn counts when it has ended: those that wait for a person are in the overview alone. A call costs what its
        model cost at that moment
        {mayPrice ? (
          <>
            , by <Link href="/budgets/prices">your prices</Link> where you have set some
          </>
        ) : (
          ""
        )}
        .
      </p>
      <Section
        title="Breakdown"
        actionsNeed="reader"
        actions={
          <>
            {/* biome-ignore lint/a11y/useSemanticElements: buttons that choose are no fields. */}
            <span role="group" aria-label="What is compared" className="choices">
              {measures.map((one) => (
                <Button key={one} aria-pressed={one === measure} onClick={() => setFilters({ measure: one })}>
                  {one}
                </Button>
              ))}
            </span>
            <span aria-hidden="true" className="faint">
              by
            </span>
            {/* biome-ignore lint/a11y/useSemanticElements: as above. */}
            <span role="group" aria-label="By what" className="choices">
              {usageChoices.map((choice) => (
                <Button key={choice} aria-pressed={choice === by} onClick={() => setFilters({ by: choice })}>
                  {choice}
                </Button>
              ))}
            </span>
          </>
        }
      >
        <Grouped by={by} measure={measure} about={about} agentName={agentName} />
      </Section>
    </PageFrame>
  );
}

interface GroupedProps {
  readonly by: UsageChoice;
  readonly measure: Measure;
  readonly about: { readonly from: string; readonly to: string; readonly agentId?: string; readonly userId?: string };
  agentName(id: string): string;
}

function Grouped({ by, measure, about, agentName }: GroupedProps) {
  const providers = useProviders().data?.providers ?? [];
  const providerName = (id: string) => providers.find((provider) => provider.id === id)?.name ?? id;
  const usage = useQuery({
    queryKey: ["usage", by, about],
    queryFn: ({ signal }) => parley.usage.get({ ...about, groupBy: by }, { signal }),
  });
  return (
    <Await query={usage}>
      {(report) => {
        const rows = rowsOf(report, { by, measure, agentName, providerName });
        if (rows.length === 0) return <Empty>Nothing was used in these days.</Empty>;
        const table = (
          <DataTable caption={`Usage by ${by}`} columns={columnsOf(by)} rows={rows} rowKey={({ key }) => key} />
        );
        return (
          <>
            <CostNote of={rows} />
            {/* The days have their plots above. */}
            {by === "day" ? (
              table
            ) : (
              <BarFigure caption={`${measure === "cost" ? "Cost" : "Tokens"} by ${by}`} rows={rows} measure={measure}>
                {table}
              </BarFigure>
            )}
            <p className="more">
              <Button onClick={() => download(`usage-by-${by}-${about.from}-${about.to}.csv`, csvOf(by, rows))}>
                Download CSV
              </Button>
            </p>
          </>
        );
      }}
    </Await>
  );
}

function columnsOf(by: UsageChoice): readonly Column<UsageRow>[] {
  return [
    {
      name: by.charAt(0).toUpperCase() + by.slice(1),
      cell: ({ label, place }) => (place === null ? label : <Link href={place}>{label}</Link>),
    },
    { name: "Tokens in", cell: ({ inputTokens }) => countText(inputTokens), numeric: true },
    { name: "Tokens out", cell: ({ outputTokens }) => countText(outputTokens), numeric: true },
    { name: "Cost", cell: (row) => costText(row), numeric: true },
    { name: "Turns", cell: ({ requestCount }) => countText(requestCount), numeric: true },
    { name: "Time", cell: ({ durationMs }) => durationText(durationMs), numeric: true, wideOnly: true },
  ];
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
