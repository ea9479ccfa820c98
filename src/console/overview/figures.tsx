import { Link } from "wouter";
import { useMay } from "../api/role.ts";
import { countText, durationText, exactText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { Plot } from "../parts/plot.tsx";
import { When } from "../parts/when.tsx";
import { changeText, type Overview, percentText, type rangeChoices, successShare, type TurnSums } from "./overview.ts";

interface OverviewFiguresProps {
  readonly data: Overview;
  readonly range: (typeof rangeChoices)[number];
}

const minuteText = (at: string) => new Date(at).toLocaleTimeString(undefined, { timeStyle: "short" });

/** The numbers of a range beside those of the time before, its plots, and its failures by their causes. */
export function OverviewFigures({ data, range }: OverviewFiguresProps) {
  const { parts, whole, now, causes } = data;
  const mayTalk = useMay("runner");
  const at = parts.map((part) => part.at);
  const of = (name: keyof TurnSums) => parts.map((part) => part[name]);
  const shared = { at, formatAt: range.name === "hour" ? minuteText : exactText };
  const isQuiet = whole.accepted + now.running + now.queued + now.waiting === 0;
  if (isQuiet)
    return (
      <p className="hint">
        No turn in the last {range.label}.{" "}
        {mayTalk && (
          <>
            <Link href="/playground">Talk to an agent</Link>.
          </>
        )}
      </p>
    );
  return (
    <>
      <Tiles {...{ data, range }} />
      <div className="plots">
        <Plot
          {...shared}
          caption="Turns"
          kind="bars"
          figure={countText(whole.accepted)}
          series={[{ name: "Accepted", values: of("accepted"), color: "--plot-1" }]}
        />
        <Plot
          {...shared}
          caption="Time to first text"
          format={durationText}
          figure={whole.firstTextMsP50 === null ? "–" : durationText(whole.firstTextMsP50)}
          series={[
            { name: "Median", values: of("firstTextMsP50"), color: "--plot-1" },
            { name: "95th percentile", values: of("firstTextMsP95"), color: "--plot-3" },
          ]}
        />
        <Plot
          {...shared}
          caption="Failures"
          kind="bars"
          figure={countText(whole.failed)}
          series={[{ name: "Failed", values: of("failed"), color: "--bad" }]}
        />
        <Plot
          {...shared}
          caption="Tokens"
          figure={countText(whole.inputTokens + whole.outputTokens)}
          series={[
            { name: "Input", values: of("inputTokens"), color: "--plot-2" },
            { name: "Output", values: of("outputTokens"), color: "--plot-4" },
          ]}
        />
      </div>
      {causes.length > 0 && <Causes causes={causes} since={range.since} />}
    </>
  );
}

/** What is now, and what the range came to. */
function Tiles({ data: { now, whole, before }, range }: OverviewFiguresProps) {
  const share = successShare(whole);
  const shareBefore = successShare(before);
  return (
    <ul className="tiles" aria-label="Turns now, and in the range">
      {(["running", "queued"] as const).map((status) => (
        <li key={status}>
          <Link href={`/turns?status=${status}`}>
            <strong>{countText(now[status])}</strong> {status}
          </Link>
        </li>
      ))}
      <li>
        <Link href="/turns?status=waiting">
          <strong>{countText(now.waiting)}</strong> waiting
          {now.waitingSince !== null && (
            <span className="faint">
              oldest <When at={now.waitingSince} />
            </span>
          )}
        </Link>
      </li>
      <li>
        <Link href={`/turns?since=${range.since}`} title={`Compared with ${range.before}`}>
          <strong>{countText(whole.accepted)}</strong> turns
          <span className="faint">{changeText(whole.accepted, before.accepted)}</span>
        </Link>
      </li>
      <li>
        <Link href={`/turns?status=failed&since=${range.since}`} title={`Compared with ${range.before}`}>
          <strong>{share === null ? "–" : percentText(share)}</strong> succeeded
          {shareBefore !== null && <span className="faint">before {percentText(shareBefore)}</span>}
        </Link>
      </li>
      <li>
        <Link href={`/turns?order=longest&since=${range.since}`}>
          <strong>{whole.firstTextMsP95 === null ? "–" : durationText(whole.firstTextMsP95)}</strong> to first text,
          95th percentile
        </Link>
      </li>
    </ul>
  );
}

function Causes({ causes, since }: { readonly causes: Overview["causes"]; readonly since: string }) {
  const most = Math.max(...causes.map(({ count }) => count));
  return (
    <Section title="Failures by cause">
      <ol className="bars long">
        {causes.map(({ code, message, count }) => (
          <li key={`${code} ${message}`}>
            <Link
              href={`/turns?status=failed&error=${encodeURIComponent(code)}&since=${since}`}
              className="clipped"
              title={code}
            >
              {message || code}
            </Link>
            <i className="bad" style={{ inlineSize: `${(100 * count) / most}%` }} aria-hidden="true" />
            <span className="numeric">{countText(count)}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
