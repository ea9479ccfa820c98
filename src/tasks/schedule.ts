import { type TSchema, Type } from "@sinclair/typebox";
import { invalid } from "../kernel/errors.ts";
import { MomentText, readDateTime } from "../kernel/http/date-time.ts";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { validateBody } from "../kernel/http/validate.ts";
import { everMatches, openCron } from "./cron.ts";

/** The shortest interval (docs/configuration.md, "Limits"). */
const intervalMsMin = 60_000;
/** The longest interval, a hundred years, so that its next fire is a valid date. */
const intervalMsMax = 100 * 366 * 24 * 60 * 60 * 1000;

/** When a task runs by itself (docs/decisions/tasks.md). */
export type Schedule =
  | { readonly kind: "once"; readonly config: { readonly at: string } }
  | { readonly kind: "interval"; readonly config: { readonly everyMs: number } }
  | { readonly kind: "cron"; readonly config: { readonly expression: string; readonly timezone: string } };

const configs = {
  once: Closed({ at: MomentText }),
  interval: Closed({ everyMs: Type.Integer({ minimum: intervalMsMin, maximum: intervalMsMax }) }),
  cron: Closed({ expression: Type.String({ maxLength: 256 }), timezone: Type.String({ maxLength: 64 }) }),
};
type Kind = keyof typeof configs;
const kinds = Object.keys(configs) as Kind[];

/**
 * A schedule or null in a body. The schema accepts any value: `readSchedule` checks it
 * by its kind, because the issues of a union would only report that no variant fits.
 */
export const ScheduleField = Type.Unknown({
  example: { kind: "cron", config: { expression: "0 7 * * 1-5", timezone: "Europe/Lisbon" } },
  anyOf: [...kinds.map((kind) => Closed({ kind: Type.Literal(kind), config: configs[kind] })), Type.Null()],
});

/** Set in a body, so that the issues point into it. */
const AnyKind = Closed({
  schedule: Closed({ kind: OneOf(...kinds), config: Type.Record(Type.String(), Type.Unknown()) }),
});
const bodies: Record<Kind, TSchema> = {
  once: Closed({ schedule: Closed({ kind: Type.Literal("once"), config: configs.once }) }),
  interval: Closed({ schedule: Closed({ kind: Type.Literal("interval"), config: configs.interval }) }),
  cron: Closed({ schedule: Closed({ kind: Type.Literal("cron"), config: configs.cron }) }),
};

/**
 * Checks a schedule, or null, that a body holds under `/schedule`. Throws 400 naming
 * the field. Whether it has a fire to come is checked by `firstFire`.
 */
export function readSchedule(value: unknown): Schedule | null {
  if (value === null) return null;
  const { kind } = validateBody(AnyKind, { schedule: value }).schedule as { kind: Kind };
  const { schedule: read } = validateBody(bodies[kind], { schedule: value }) as { schedule: Schedule };
  if (read.kind === "once" && readDateTime(read.config.at) === null)
    throw invalid("/schedule/config/at", "is not a moment that exists");
  if (read.kind === "cron") checkCron(read.config);
  return read;
}

const numbers = /^[\d*,/-]+$/;
/**
 * The characters of each field of an expression: the common form, without the
 * library's own L, W, # and ?, which other readers of a schedule do not know.
 */
const cronFields: readonly RegExp[] = [
  numbers,
  numbers,
  numbers,
  /^([\d*,/-]|\b(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\b)+$/i,
  /^([\d*,/-]|\b(SUN|MON|TUE|WED|THU|FRI|SAT)\b)+$/i,
];

function checkCron({ expression, timezone }: { expression: string; timezone: string }): void {
  if (!isZone(timezone)) throw invalid("/schedule/config/timezone", "must be an IANA time zone, such as Europe/Berlin");
  const path = "/schedule/config/expression";
  const fields = expression.split(/ +/);
  if (fields.length !== cronFields.length || !cronFields.every((field, at) => field.test(fields[at] ?? "")))
    throw invalid(path, "must be a cron expression of five fields: numbers, names of months and days, and * , - /");
  try {
    openCron(expression, timezone);
  } catch {
    throw invalid(path, "is not a valid cron expression");
  }
  if (!everMatches(expression)) throw invalid(path, "matches no moment to come");
}

/** Returns whether this is the name of a time zone. The runtimes also accept offsets, which have no daylight saving. */
function isZone(timezone: string): boolean {
  if (!/^[A-Za-z]/.test(timezone)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone });
    return true;
  } catch {
    return false;
  }
}

/** Returns the first fire of a schedule that is set now. Throws 400 when it has none, because its time is past or never comes. */
export function firstFire(schedule: Schedule, now: Date): Date {
  const fire = nextFire(schedule, now, now);
  if (fire !== null) return fire;
  if (schedule.kind === "once") throw invalid("/schedule/config/at", "must be in the future");
  throw invalid("/schedule/config/expression", "matches no moment to come");
}

/**
 * Returns the first fire of a schedule after a time, or null when none is left.
 * `base` is a fire of an interval, or the time when it was set: its fires are whole
 * periods later.
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
