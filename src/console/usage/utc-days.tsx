import { customName, type DaySpan, periodText } from "../parts/periods.ts";

/** Which days a report is of. It is by the days of UTC, unlike the other screens: it says so. */
export function UtcDays({ days }: { readonly days: DaySpan }) {
  return <p className="hint">{periodText(customName(days))}. Days begin and end by UTC.</p>;
}
