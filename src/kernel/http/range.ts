import { invalid } from "../errors.ts";
import { readMoment } from "./date-time.ts";

/** From this moment on, and until before that one; what is left out is open. */
export interface MomentRange {
  readonly from: Date | undefined;
  readonly to: Date | undefined;
}

/** Returns the moments `from` and `to` of a list's query. Throws 400 naming the field that is none, and `to` where it is before `from`. */
export function readMomentRange(query: { readonly from?: string; readonly to?: string }): MomentRange {
  const [from, to] = [readMoment("from", query.from), readMoment("to", query.to)];
  if (from !== undefined && to !== undefined) requireOrder(from.getTime(), to.getTime());
  return { from, to };
}

/** Throws 400 naming `to` where a range ends before it begins. */
export function requireOrder(fromMs: number, toMs: number): void {
  if (toMs < fromMs) throw invalid("to", "must not be before from");
}
