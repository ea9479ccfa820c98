import type { ChangeableLimits, EndedCounts } from "../../console-shapes/operator.ts";

/** The fields of a tenant's limits, as they are typed; an empty one is no limit. */
export type LimitForm = { -readonly [Name in keyof ChangeableLimits]: string };

const names = [
  "usageCredit",
  "quotaTurnsPerDay",
  "rateLimit",
  "runningTurns",
  "queuedTurns",
  "storedMib",
  "weight",
] as const;

/** The form of a tenant's limits. */
export function formOfLimits(limits: ChangeableLimits): LimitForm {
  const form = {} as LimitForm;
  for (const name of names) form[name] = limits[name] === null ? "" : String(limits[name]);
  return form;
}

/**
 * The body that changes the limits to what the form says: the changed ones only, so that a credit
 * that turns spend meanwhile stays what it is. What is no number is sent as it is, for the service to refuse.
 */
export function changedLimits(form: LimitForm, before: ChangeableLimits): { [name: string]: unknown } {
  const was = formOfLimits(before);
  const body: { [name: string]: unknown } = {};
  for (const name of names) {
    const text = form[name].trim();
    if (text !== was[name]) body[name] = text === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text;
  }
  return body;
}

/** What a tenant stores, in words beside the limit of it. */
export function storedText(bytes: number | null): string {
  const stored = bytes === null ? "Not counted yet." : `It stores ${(bytes / 1024 / 1024).toFixed(1)} MiB.`;
  return `${stored} Empty: no limit.`;
}

/** What was ended, in words. */
export function endedText({ queued, running, waiting, runs }: EndedCounts): string {
  const turns = queued + running + waiting;
  if (turns + runs === 0) return "There was nothing to end.";
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const parts = [
    ...(turns > 0 ? [`${count(turns, "turn")} (${queued} queued, ${running} running, ${waiting} waiting)`] : []),
    ...(runs > 0 ? [`${count(runs, "run")} of tasks`] : []),
  ];
  return `Ended: ${parts.join(" and ")}.`;
}
