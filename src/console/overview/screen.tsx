import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { readConsole } from "../api/fetch.ts";
import { countText, durationText } from "../parts/moment.ts";
import { PageFrame, Section } from "../parts/page.tsx";
import { Plot } from "../parts/plot.tsx";
import { Await } from "../parts/states.tsx";
import { latestOf, type Overview, sumOf } from "./minutes.ts";
import { WaitingCalls } from "./waiting-calls.tsx";

/** How often the hour is read anew, in ms. */
const refreshMs = 5000;

/** The last hour, live, and what waits for a person. */
export default function OverviewScreen() {
  const overview = useQuery({
    queryKey: ["overview"],
    queryFn: ({ signal }) => readConsole<Overview>("/console/api/overview", { signal }),
    refetchInterval: refreshMs,
  });
  return (
    <PageFrame title="Overview">
      <Await query={overview}>{(hour) => <Hour hour={hour} />}</Await>
      <Section title="Waiting for a person">
        <WaitingCalls />
      </Section>
    </PageFrame>
  );
}

const minuteText = (at: string) => new Date(at).toLocaleTimeString(undefined, { timeStyle: "short" });

function Hour({ hour: { minutes, now } }: { readonly hour: Overview }) {
  const at = minutes.map((minute) => minute.at);
  const of = (name: Exclude<keyof Overview["minutes"][number], "at">) => minutes.map((minute) => minute[name]);
  const shared = { at, formatAt: minuteText };
  const failed = sumOf(minutes, "failed");
  const isQuiet = sumOf(minutes, "accepted") + now.running + now.queued + now.waiting === 0;
  const median = latestOf(minutes, "firstTextMsP50");
  return (
    <>
      <ul className="tiles" aria-label="Turns now">
        {(["running", "queued", "waiting"] as const).map((status) => (
          <li key={status}>
            <Link href={`/turns?status=${status}`}>
              <strong>{countText(now[status])}</strong> {status}
            </Link>
          </li>
        ))}
      </ul>
      {isQuiet && (
        <p className="hint">
          No turn in the last hour. <Link href="/playground">Talk to an agent</Link>, or{" "}
          <Link href="/agents/new">make another one</Link>.
        </p>
      )}
      <div className="plots">
        <Plot
          {...shared}
          caption="Turns a minute"
          kind="bars"
          figure={`${countText(sumOf(minutes, "accepted"))} in the hour`}
          series={[{ name: "Accepted", values: of("accepted"), color: "--plot-1" }]}
        />
        <Plot
          {...shared}
          caption="Time to first text"
          format={durationText}
          figure={median === null ? "–" : durationText(median)}
          series={[
            { name: "Median", values: of("firstTextMsP50"), color: "--plot-1" },
            { name: "95th percentile", values: of("firstTextMsP95"), color: "--plot-3" },
          ]}
        />
        <Plot
          {...shared}
          caption="Failures"
          kind="bars"
          figure={`${countText(failed)} in the hour`}
          series={[{ name: "Failed", values: of("failed"), color: "--bad" }]}
        />
        <Plot
          {...shared}
          caption="Tokens"
          figure={countText(sumOf(minutes, "inputTokens") + sumOf(minutes, "outputTokens"))}
          series={[
            { name: "Input", values: of("inputTokens"), color: "--plot-2" },
            { name: "Output", values: of("outputTokens"), color: "--plot-4" },
          ]}
        />
      </div>
    </>
  );
}
