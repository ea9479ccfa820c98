import { Type } from "@sinclair/typebox";
import { invalid } from "../errors.ts";

/** The shape of an RFC 3339 date-time with an offset. Whether such a time exists is checked by `readDateTime`. */
export const MomentText = Type.String({
  maxLength: 64,
  pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$",
  errorMessage: "must be an RFC 3339 date-time with an offset",
});

const shape = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Returns the moment that an RFC 3339 date-time names (seconds may be left out); null when
 * there is none. `Date` alone would read February 30 as March 2, and 24:00 as the
 * next day. A moment outside the years 1 to 9999 UTC is none: the database could
 * not take it as it is written.
 */
export function readDateTime(text: string): Date | null {
  const written = text.toUpperCase();
  const day = shape.exec(written)?.[1];
  if (day === undefined) return null;
  const midnight = new Date(day);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return null;
  const moment = new Date(written);
  const year = moment.getUTCFullYear();
  return year >= 1 && year <= 9999 ? moment : null;
}

/** Returns the moment of a query's field, undefined where it is left out. Throws 400 naming the field. */
export function readMoment(field: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const moment = readDateTime(text);
  if (moment === null) throw invalid(field, "must be an RFC 3339 date-time with an offset");
  return moment;
}
