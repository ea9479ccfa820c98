import { type TSchema, Type } from "@sinclair/typebox";
import { Cron, CronPattern } from "croner";
import { invalid } from "../errors.ts";
import { Closed } from "../schema.ts";
import { validateBody } from "../validate.ts";

/** An interval is at least this long (document 2, "Limits"). */
const intervalMsMin = 60_000;
/** And at most a hundred years, so that its next fire is a moment that can be written down. */
const intervalMsMax = 100 * 366 * 24 * 60 * 60 * 1000;

/** When a task runs by itself (document 2, "Task"; design section 3, "Schedules"). */
export type Schedule =
  | { readonly kind: "once"; readonly config: { readonly at: string } }
  | { readonly kind: "interval"; readonly config: { readonly everyMs: number } }
  | { readonly kind: "cron"; readonly config: { readonly expression: string; readonly timezone: string } };

const At = Type.String({
  maxLength: 64,
  pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$",
  errorMessage: "must be an RFC 3339 date-time with an offset",
});
/** Set in a body, so that the issues point into it. */
const bodies = {
  once: inBody(Closed({ at: At })),
  interval: inBody(Closed({ everyMs: Type.Integer({ minimum: intervalMsMin, maximum: intervalMsMax }) })),
  cron: inBody(Closed({ expression: Type.String({ maxLength: 256 }), timezone: Type.String({ maxLength: 64 }) })),
};

function inBody<T extends TSchema>(config: T) {
  return Closed({ schedule: Closed({ config }) });
}

/**
 * Checks a schedule as a body holds it under `/schedule`. Throws 400 naming the
 * field, also for a cron expression that no date matches. Whether it still has a
 * fire to come is `firstFire`'s business.
 */
export function readSchedule(value: { readonly kind: Schedule["kind"]; readonly config: unknown }): Schedule {
  const { kind } = value;
  const { schedule } = validateBody<TSchema>(bodies[kind], { schedule: { config: value.config } }) as {
    schedule: { config: unknown };
  };
  const read = { kind, config: schedule.config } as Schedule;
  if (read.kind === "once" && Number.isNaN(Date.parse(read.config.at)))
    throw invalid("/schedule/config/at", "is not a moment that exists");
  if (read.kind === "cron") checkCron(read.config);
  return read;
}

function checkCron({ expression, timezone }: { expression: string; timezone: string }): void {
  if (!isZone(timezone)) throw invalid("/schedule/config/timezone", "must be an IANA time zone, such as Europe/Berlin");
  const path = "/schedule/config/expression";
  if (!/^\S+( +\S+){4}$/.test(expression) || expression.includes("?"))
    throw invalid(path, "must be a cron expression of five fields");
  try {
    openCron(expression, timezone);
  } catch {
    throw invalid(path, "is not a valid cron expression");
  }
}

/** Whether this is the name of a zone. The runtimes also take offsets, which know no daylight saving. */
function isZone(timezone: string): boolean {
  if (!/^[A-Za-z]/.test(timezone)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone });
    return true;
  } catch {
    return false;
  }
}

/** The first fire of a schedule that is set now. Throws 400 when it has none, because its time is past or never comes. */
export function firstFire(schedule: Schedule, now: Date): Date {
  const fire = nextFire(schedule, now, now);
  if (fire !== null) return fire;
  if (schedule.kind === "once") throw invalid("/schedule/config/at", "must be in the future");
  throw invalid("/schedule/config/expression", "matches no moment to come");
}

/**
 * The first fire of a schedule after a moment, or null when none is left. `base`
 * is a fire of an interval, or the moment when it was set: its fires lie whole
 * periods behind it.
 */
export function nextFire(schedule: Schedule, after: Date, base: Date): Date | null {
  switch (schedule.kind) {
    case "once": {
      const at = new Date(schedule.config.at);
      return at > after ? at : null;
    }
    case "interval": {
      const { everyMs } = schedule.config;
      const periods = Math.floor((after.getTime() - base.getTime()) / everyMs) + 1;
      return new Date(base.getTime() + Math.max(1, periods) * everyMs);
    }
    case "cron":
      return openCron(schedule.config.expression, schedule.config.timezone).nextRun(after);
  }
}

/**
 * A cron expression that can be asked for its fires. What daylight saving skips
 * happens once, at the first moment after the gap; what it repeats happens once,
 * the first time. An expression for every hour follows the clock that never
 * jumps: nothing of it is skipped or repeated. Throws for an invalid expression.
 */
function openCron(expression: string, timezone: string): Cron {
  return new Cron(spellOut(expression), {
    timezone,
    paused: true,
    mode: "5-part",
    fixedTimeRule: "no-wildcard",
  });
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
