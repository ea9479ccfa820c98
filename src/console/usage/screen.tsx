import { useQuery } from "@tanstack/react-query";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useFilters } from "../api/filters.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Button } from "../parts/button.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { PageFrame, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { BarFigure } from "./bar-figure.tsx";
import { DayPlots } from "./day-plots.tsx";
import { csvOf, daysOf, rowsOf, type UsageChoice, type UsageRow, usageChoices } from "./usage-rows.ts";

/** What was used: by day as plots, and by agent, model or user. */
export default function UsageScreen() {
  const [filters, setFilters] = useFilters("from", "to", "agentId", "userId", "by");
  const by = usageChoices.find((choice) => choice === filters.by) ?? "agent";
  const days = daysOf(filters.from, filters.to, Date.now());
  const about = {
    ...days,
    ...(filters.agentId && { agentId: filters.agentId }),
    ...(filters.userId && { userId: filters.userId }),
  };
  const agentName = useAgentName();
  return (
    <PageFrame title="Usage">
      <FilterBar>
        <TextFilter label="From" type="date" value={days.from} onChange={(from) => setFilters({ from })} />
        <TextFilter label="To" type="date" value={days.to} onChange={(to) => setFilters({ to })} />
        <AgentPicker value={filters.agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
        <TextFilter label="User" value={filters.userId} onChange={(userId) => setFilters({ userId })} />
      </FilterBar>
      <DayPlots about={about} />
      <Section
        title="By"
        actionsNeed="reader"
        actions={usageChoices.map((choice) => (
          <Button
            key={choice}
            tone={choice === by ? "primary" : "plain"}
            aria-pressed={choice === by}
            onClick={() => setFilters({ by: choice })}
          >
            {choice}
          </Button>
        ))}
      >
        <Grouped by={by} about={about} agentName={agentName} />
      </Section>
    </PageFrame>
  );
}

interface GroupedProps {
  readonly by: UsageChoice;
  readonly about: { readonly from: string; readonly to: string; readonly agentId?: string; readonly userId?: string };
  agentName(id: string): string;
}

function Grouped({ by, about, agentName }: GroupedProps) {
  const usage = useQuery({
    queryKey: ["usage", by, about],
    queryFn: ({ signal }) => parley.usage.get({ ...about, groupBy: by }, { signal }),
  });
  return (
    <Await query={usage}>
      {(report) => {
        const rows = rowsOf(report, by, agentName);
        if (rows.length === 0) return <Empty>Nothing was used in these days.</Empty>;
        const table = (
          <DataTable caption={`Usage by ${by}`} columns={columnsOf(by)} rows={rows} rowKey={({ key }) => key} />
        );
        return (
          <>
            {/* The days have their plots above. */}
            {by === "day" ? (
              table
            ) : (
              <BarFigure caption={`Tokens by ${by}`} rows={rows}>
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
    { name: by.charAt(0).toUpperCase() + by.slice(1), cell: ({ label }) => label },
    { name: "Tokens in", cell: ({ inputTokens }) => countText(inputTokens), numeric: true },
    { name: "Tokens out", cell: ({ outputTokens }) => countText(outputTokens), numeric: true },
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
