import { useQuery } from "@tanstack/react-query";
import type { Overview } from "../../console-shapes/overview.ts";
import { readConsole } from "../api/fetch.ts";
import { errorText } from "../api/queries.ts";
import { PageFrame, Section } from "../parts/page.tsx";
import { RangeFilter } from "../parts/range-filter.tsx";
import { Await } from "../parts/states.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { When } from "../parts/when.tsx";
import { FailingProviders } from "./failing-providers.tsx";
import { OverviewFigures } from "./figures.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { overviewPeriods, overviewRange, usualPeriod } from "./overview-range.ts";
import { WaitingCalls } from "./waiting-calls.tsx";

/** What turns came to in a time, live, and what waits for a person. */
export default function OverviewScreen() {
  const [filters, setFilters] = useTimeFilters();
  const range = overviewRange(filters.since, new Date());
  const overview = useQuery({
    queryKey: ["overview", range.query],
    queryFn: ({ signal }) => readConsole<Overview>(`/console/api/overview?${range.query}`, { signal }),
    refetchInterval: range.refreshMs,
    placeholderData: (before) => before,
    // Two fast tries: a page that shows old numbers has to say so soon.
    retry: 1,
  });
  const isOld = overview.data !== undefined && overview.error !== null;
  return (
    <PageFrame
      title="Overview"
      actionsNeed="reader"
      actions={
        <RangeFilter
          value={filters.since}
          usual={usualPeriod}
          names={overviewPeriods}
          now={new Date()}
          onChange={(since) => setFilters({ since })}
        />
      }
    >
      {isOld && (
        <p className="notice" role="alert">
          {errorText(overview.error)} These numbers are of <When at={new Date(overview.dataUpdatedAt).toISOString()} />.
        </p>
      )}
      <FirstSteps />
      <FailingProviders />
      <Await query={overview}>{(data) => <OverviewFigures data={data} range={range} />}</Await>
      <Section title="Waiting for a person">
        <WaitingCalls />
      </Section>
    </PageFrame>
  );
}
