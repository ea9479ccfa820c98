import type { Usage, UsageBucket } from "parley/client";

/** What usage is added up by. */
export const usageChoices = ["day", "agent", "model", "user"] as const;
export type UsageChoice = (typeof usageChoices)[number];

/** The days that a report covers at most, and those that it covers unless the address names others. */
export const rangeDaysMax = 31;
const dayMs = 86_400_000;

/** One row of a report: what it is about, and the sums. */
export interface UsageRow {
  readonly key: string;
  readonly label: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly requestCount: number;
  readonly durationMs: number;
}

/** Returns the first and the last day (UTC) of a report: those given, else the last 31 days. */
export function daysOf(from: string | undefined, to: string | undefined, now: number): { from: string; to: string } {
  const last = to ?? dayText(now);
  const first = from ?? dayText(Date.parse(last) - (rangeDaysMax - 1) * dayMs);
  return { from: first, to: last };
}

/** Returns each day from the first to the last, both included; at most `rangeDaysMax`. */
export function everyDay({ from, to }: { readonly from: string; readonly to: string }): string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const days = Math.min(rangeDaysMax, Math.floor((last - first) / dayMs) + 1);
  return Number.isNaN(days) ? [] : Array.from({ length: Math.max(0, days) }, (_, at) => dayText(first + at * dayMs));
}

function dayText(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Returns a report's buckets as rows, the largest first; `agentName` says what an agent is called. */
export function rowsOf({ buckets }: Usage, by: UsageChoice, agentName: (id: string) => string): UsageRow[] {
  return buckets
    .map((bucket) => {
      const { key, label } = subjectOf(bucket, by, agentName);
      const { inputTokens, outputTokens, requestCount, durationMs } = bucket;
      return { key, label, inputTokens, outputTokens, requestCount, durationMs };
    })
    .toSorted((one, other) => (by === "day" ? (one.key < other.key ? 1 : -1) : allTokens(other) - allTokens(one)));
}

function subjectOf(
  { day, agentId, userId, model, provider }: UsageBucket,
  by: UsageChoice,
  agentName: (id: string) => string,
): { key: string; label: string } {
  switch (by) {
    case "day":
      return { key: day ?? "", label: day ?? "–" };
    case "agent":
      return { key: agentId ?? "", label: agentId === null ? "–" : agentName(agentId) };
    case "user":
      return { key: userId ?? "", label: userId || "without a user" };
    case "model":
      return { key: `${provider} ${model}`, label: model ?? "–" };
  }
}

/** All tokens of a row. */
export function allTokens({ inputTokens, outputTokens }: Pick<UsageRow, "inputTokens" | "outputTokens">): number {
  return inputTokens + outputTokens;
}

/** Returns rows as CSV (RFC 4180) with a heading. A text that a spreadsheet would read as a formula gets a quote in front. */
export function csvOf(by: UsageChoice, rows: readonly UsageRow[]): string {
  const heading = [by, "input_tokens", "output_tokens", "turns", "duration_ms"];
  const lines = rows.map(({ label, inputTokens, outputTokens, requestCount, durationMs }) => [
    csvText(label),
    ...[inputTokens, outputTokens, requestCount, durationMs].map(String),
  ]);
  return [heading, ...lines].map((line) => `${line.join(",")}\r\n`).join("");
}

function csvText(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
