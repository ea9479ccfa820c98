import { Link } from "wouter";
import type { Overview } from "../../console-shapes/overview.ts";
import { useMay } from "../api/role.ts";
import { countText, durationText, exactText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { TurnPlots } from "../parts/turn-plots.tsx";
import { When } from "../parts/when.tsx";
import { changeText, percentText, successShare } from "./overview.ts";
import { type OverviewTime, overviewText } from "./overview-range.ts";

interface OverviewFiguresProps {
  readonly data: Overview;
  readonly range: OverviewTime;
}

const minuteText = (at: string) => new Date(at).toLocaleTimeString(undefined, { timeStyle: "short" });

/** The numbers of a range beside those of the time before, its plots, and its failures by their causes. */
export function OverviewFigures({ data, range }: OverviewFiguresProps) {
  const { parts, whole, now, causes } = data;
  const mayTalk = useMay("runner");
  const isQuiet = whole.accepted + now.running + now.queued + now.waiting === 0;
  if (isQuiet)
    return (
      <p className="hint">
        {overviewText(range)}: no turns.{" "}
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
      {data.before.accepted > 0 && <p className="hint">Compared with {range.before}.</p>}
      <TurnPlots parts={parts} whole={whole} formatAt={range.name === "hour" ? minuteText : exactText} />
      {causes.length > 0 && <Causes causes={causes} since={range.name} />}
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
        <Link href={`/turns?since=${range.name}`}>
          <strong>{countText(whole.accepted)}</strong> {whole.accepted === 1 ? "turn" : "turns"}
          <span className="faint">{changeText(whole.accepted, before.accepted)}</span>
        </Link>
      </li>
      <li>
        <Link href={`/turns?status=failed&since=${range.name}`}>
          <strong>{share === null ? "–" : percentText(share)}</strong> succeeded
          {shareBefore !== null && <span className="faint">before {percentText(shareBefore)}</span>}
        </Link>
      </li>
      <li>
        <Link href={`/turns?order=longest&since=${range.name}`}>
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
