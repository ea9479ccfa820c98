import { Cron, CronPattern } from "croner";

/**
 * Returns a cron expression that computes its fires. A fire that daylight saving
 * skips happens once, at the first time after the gap; one that it repeats happens
 * once, the first time. An expression for every hour follows elapsed time: no fire
 * of it is skipped or repeated. Throws for an invalid expression.
 */
export function openCron(expression: string, timezone: string): Cron {
  return new Cron(spellOut(expression), {
    timezone,
    paused: true,
    mode: "5-part",
    fixedTimeRule: "no-wildcard",
  });
}

/** The most days that each month has. */
const daysOfMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Returns whether a valid expression has a moment that ever comes: not one that names only days that its months do not have, such as
 * 31 February, and no weekday. The library finds that out by a search of ten thousand years (up to 0.4 s).
 */
export function everMatches(expression: string): boolean {
  const { month, day, starDOW } = new CronPattern(expression, undefined, { mode: "5-part" });
  if (!starDOW) return true;
  const firstDay = day.indexOf(1) + 1;
  return month.some((isNamed, at) => isNamed === 1 && firstDay <= (daysOfMonths[at] ?? 0));
}

/**
 * Names the minutes and hours of an expression one by one: the library gives the
 * once-only rule to named times alone, and the steps of `*\/30 1-3 * * *` name
 * times too. All 24 hours are a wildcard, however they are written.
 */
function spellOut(expression: string): string {
  const { minute, hour } = new CronPattern(expression, undefined, { mode: "5-part" });
  const [, , ...days] = expression.split(/ +/);
  const hours = listed(hour);
  return [listed(minute), hours === allHours ? "*" : hours, ...days].join(" ");
}

function listed(named: readonly number[]): string {
  return named.flatMap((isNamed, value) => (isNamed === 1 ? [value] : [])).join(",");
}

const allHours = Array.from({ length: 24 }, (_, hour) => hour).join(",");
