import type { TurnSums } from "../../console-shapes/overview.ts";

/** The share of turns that ended well among those that ended by themselves; null where none did. */
export function successShare({ succeeded, failed }: TurnSums): number | null {
  const ended = succeeded + failed;
  return ended === 0 ? null : succeeded / ended;
}

/** A share in percent: whole ones only where they are exact, so that 99.6 % is not 100 %. */
export function percentText(share: number): string {
  const percent = share * 100;
  return `${Number.isInteger(percent) ? percent : Math.min(99.9, Math.max(0.1, percent)).toFixed(1)} %`;
}

/** How a number changed: `+12 %`; empty where there is nothing to compare with. */
export function changeText(now: number, before: number): string {
  if (before === 0) return "";
  const percent = Math.round(((now - before) / before) * 100);
  return percent === 0 ? "±0 %" : `${percent > 0 ? "+" : "−"}${Math.abs(percent).toLocaleString()} %`;
}
