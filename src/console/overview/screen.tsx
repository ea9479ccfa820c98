import { useQuery } from "@tanstack/react-query";
import { readConsole } from "../api/fetch.ts";
import { useFilters } from "../api/filters.ts";
import { errorText } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import { OverviewFigures } from "./figures.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { type Overview, rangeChoices } from "./overview.ts";
import { WaitingCalls } from "./waiting-calls.tsx";

/** How often the range is read anew, in ms. */
const refreshMs = { hour: 5_000, day: 30_000, week: 60_000 };

/** The last hour, day or week, live, and what waits for a person. */
export default function OverviewScreen() {
  const [filters, setFilters] = useFilters("range");
  const range = rangeChoices.find(({ name }) => name === filters.range) ?? rangeChoices[0];
  const overview = useQuery({
    queryKey: ["overview", range.name],
    queryFn: ({ signal }) => readConsole<Overview>(`/console/api/overview?range=${range.name}`, { signal }),
    refetchInterval: refreshMs[range.name],
    placeholderData: (before) => before,
    // Two fast tries: a page that shows old numbers has to say so soon.
    retry: 1,
  });
  const isOld = overview.data !== undefined && overview.error !== null;
  return (
    <PageFrame
      title="Overview"
      actionsNeed="reader"
      actions={rangeChoices.map(({ name, label }) => (
        <Button
          key={name}
          aria-pressed={name === range.name}
          onClick={() => setFilters({ range: name === "hour" ? "" : name })}
        >
          {label}
        </Button>
      ))}
    >
      {isOld && (
        <p className="notice" role="alert">
          {errorText(overview.error)} These numbers are of <When at={new Date(overview.dataUpdatedAt).toISOString()} />.
        </p>
      )}
      <FirstSteps />
      <Await query={overview}>{(data) => <OverviewFigures data={data} range={range} />}</Await>
      <Section title="Waiting for a person">
        <WaitingCalls />
      </Section>
    </PageFrame>
  );
}
